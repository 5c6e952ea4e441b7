"""Runs of the materialization `trueup` that race, that are stopped and that are killed."""
