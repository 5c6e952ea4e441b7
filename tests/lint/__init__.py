"""Tests of `trueup lint`."""
