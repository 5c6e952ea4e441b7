"""What the dbt plugin prepares in a process: Java, Spark sessions, and the errors of statements."""
