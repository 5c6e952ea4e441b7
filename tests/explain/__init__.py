"""Tests of `trueup explain` and `trueup prove`."""
