"""`python -m dbt_trueup.expectations files` checks the collection `files`."""

from __future__ import annotations

import gc
import sys

from .command_line import main

exit_code = main()
# A failed dbt command leaves threads behind, and Python complains about them at exit.
gc.collect()
sys.exit(exit_code)
