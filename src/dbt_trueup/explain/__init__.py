"""`trueup explain`: why a row looks as it does.

`facts` asks dbt for the facts about one key. `sources` also asks for the keys from which it takes
values. `screen` writes the facts for people.
"""
