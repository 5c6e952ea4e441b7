"""`python -m dbt_trueup.expectations` is the same as `trueup check`."""

from __future__ import annotations

import sys

from dbt_trueup.command_line.program import main

sys.exit(main(["check", *sys.argv[1:]]))
