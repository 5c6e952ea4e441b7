"""`trueup demo`: a messy log of ten lines, and the tables that a plain MERGE and trueup make of it.

Spark and dbt really run, in a temporary folder. Only the log is fixed: tables and reasons are read
from what the two have made.
"""
