"""Tests of the materialization `trueup`: one model, one store, one commit."""
