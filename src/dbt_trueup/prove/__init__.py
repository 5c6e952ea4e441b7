"""`trueup prove`: whether a collection is what its log says, by a fold that needs no SQL.

`evidence` asks dbt for the commands of keys and for what the store has of them. `fold` computes the
keys again with dicts. `proof` compares the two, and `screen` writes the result for people.
"""
