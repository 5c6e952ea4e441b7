"""`trueup explain`: why a row looks as it does.

`facts` asks dbt for the facts about one key, and `screen` writes them for people.
"""
