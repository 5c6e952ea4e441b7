"""`python -m dbt_trueup.expectations files` checks the collection `files`."""

from __future__ import annotations

import gc
import sys

from .command_line import main

exit_code = main()
# dbt leaves the threads of a failed command to the end of Python, which then complains of them.
gc.collect()
sys.exit(exit_code)
