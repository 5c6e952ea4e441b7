"""Bugs that are put into the macros, one at a time. Each must show."""
