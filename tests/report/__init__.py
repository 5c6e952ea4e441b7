"""Tests of `trueup report`."""
