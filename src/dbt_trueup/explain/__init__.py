"""`trueup explain` and `trueup prove`: why a row looks as it does, and whether the fold is right.

`facts` asks dbt for the facts about one key, and `screen` words them. `proof` folds the commands of
a sample of keys again, in other batches, and compares the results.
"""
