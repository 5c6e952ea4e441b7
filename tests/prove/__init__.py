"""Tests of `trueup prove`."""
