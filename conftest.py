"""Imports the installed package before pytest does.

pytest would import it from `src/` for the doctests there, and then not find `dbt_trueup.udfs`.
"""

import dbt_trueup  # noqa: F401
