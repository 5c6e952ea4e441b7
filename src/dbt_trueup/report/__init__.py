"""`trueup report`: one HTML file that shows what the collections of a project did.

`data` asks dbt, `summary` words the lines at the top, and `page` writes the file. The page
needs no server and no network. To write it, `vl-convert-python` must be installed. `metrics` writes
the statistics for Prometheus instead of a page.
"""
