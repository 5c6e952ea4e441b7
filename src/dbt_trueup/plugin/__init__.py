"""What the dbt plugin does to the Spark sessions of a process."""
