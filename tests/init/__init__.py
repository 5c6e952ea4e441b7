"""What `trueup init` guesses and writes, without Spark."""
