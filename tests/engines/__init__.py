"""The same collections on servers and clusters of Spark, each started by the test on loopback."""
