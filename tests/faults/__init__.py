"""Runs that are killed, and runs that collide."""
