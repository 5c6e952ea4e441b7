"""The former place of `dbt_trueup.expectations.suite`. Kept for code that uses it."""

from __future__ import annotations

from dbt_trueup.expectations.suite import build_suite

__all__ = ["build_suite"]
