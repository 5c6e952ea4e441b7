"""Tests of the macros that read a collection."""
