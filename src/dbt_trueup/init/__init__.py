"""`trueup init`: guesses what a log is, and writes the models of a collection.

`sample` asks dbt for the columns and some rows. `guess` decides what they mean. `files` writes
the text of the models. `project` names what exists in the project, and saves the files.
"""
