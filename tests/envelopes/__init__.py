"""Tests of the forms of messages."""
