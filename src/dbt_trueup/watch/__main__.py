"""`python -m dbt_trueup.watch` is the same as `trueup watch`."""

from __future__ import annotations

import sys

from dbt_trueup.command_line.program import main

sys.exit(main(["watch", *sys.argv[1:]]))
