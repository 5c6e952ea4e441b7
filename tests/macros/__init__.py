"""Tests of the macros, without dbt and Spark."""
