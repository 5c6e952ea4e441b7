"""The former place of `dbt_trueup.expectations.suite`, kept for code that imports it from here."""

from .expectations.suite import build_suite

__all__ = ["build_suite"]
