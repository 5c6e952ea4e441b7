"""Tests of `trueup adopt`."""
