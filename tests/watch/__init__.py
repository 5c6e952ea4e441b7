"""Tests of the warm runner."""
