"""`trueup adopt`: makes a collection from a table that exists and its log.

`drift` asks how the table differs from the log. `screen` writes the answer for people. `steps` runs
the operation and the models.
"""
