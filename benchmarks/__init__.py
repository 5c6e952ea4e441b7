"""Measurements. Nothing here is a test: a machine that is busy changes every figure."""
