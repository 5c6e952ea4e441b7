"""`trueup lint`: finds hazards in the incremental models and snapshots of a dbt project.

`model` reads the manifest. `source` reads the SQL with Jinja in it. `keys`, `filters` and
`repeatable` have the rules, a function each, and `rules` lists them.
"""
