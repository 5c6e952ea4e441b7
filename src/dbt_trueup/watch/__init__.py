"""The loop of `trueup watch`, which runs collections again as their logs grow.

Between rounds it looks only at the versions of the tables that the models read, and at the times
of the project's files.
"""
