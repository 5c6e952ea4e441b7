"""The SQL aggregates and what they are made of; Python knows this folder as `dbt_trueup.udfs`."""
