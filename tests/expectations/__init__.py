"""Tests of the suite of Great Expectations."""
