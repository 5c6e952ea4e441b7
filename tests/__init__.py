"""The tests of trueup."""
