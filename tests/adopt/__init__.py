"""Tests of `trueup adopt` without Spark. tests/functional/test_adopt.py adopts tables."""
