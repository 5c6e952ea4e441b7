"""Eleven bugs, and for each the test that catches it."""
