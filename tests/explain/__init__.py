"""Tests of `trueup explain`."""
