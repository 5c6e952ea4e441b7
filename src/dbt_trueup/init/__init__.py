"""`trueup init`: guesses what a log is, and writes the model of a collection.

`sample` asks dbt for the columns and some rows. `guess` decides what they mean, a field after the
other. `files` writes the text of the model and its properties. `project` names what exists in the
project, and saves the files.
"""
