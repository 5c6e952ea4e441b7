"""`trueup adopt`: makes a collection of a table that exists, and of its log.

`drift` asks how the table differs from the log. `screen` writes the answer for people. `steps` runs
the operation and the models.
"""
