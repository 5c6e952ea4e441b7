"""Tests that run the package through dbt, on Spark."""
