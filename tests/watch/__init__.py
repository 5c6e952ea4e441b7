"""Tests of `trueup watch`."""
