"""`trueup report`: one HTML file that shows what the collections of a project did.

`data` asks dbt, `summary` words the lines at the top, `charts` draws, and `page` writes the file.
It needs no server, no network and no script. `metrics` writes statistics for Prometheus.
"""
