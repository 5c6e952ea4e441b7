"""The package through dbt, on Spark."""
