"""Tests of the dbt plugin."""
