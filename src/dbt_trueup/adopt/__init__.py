"""How a collection and another table differ: `trueup check --against`, and `trueup adopt`.

`drift` asks dbt for the differences. `screen` writes them for people.
"""
