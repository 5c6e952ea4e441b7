"""Imports the installed package before pytest does.

pytest would import it from `src/` for the doctests there, and then not find `dbt_trueup.udfs`.
"""

import dbt_trueup  # noqa: F401

collect_ignore = ["src/dbt_trueup/expectations/suite.py"]
"""They have no doctests, and importing Great Expectations to find that out takes three seconds."""
