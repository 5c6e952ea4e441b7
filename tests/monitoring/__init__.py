"""Tests of what watches collections: the monitoring models and the generic tests."""
