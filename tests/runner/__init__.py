"""Tests of the rounds, and what tests of the loops share."""
