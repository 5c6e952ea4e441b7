"""A real database and real tools in front of trueup."""
