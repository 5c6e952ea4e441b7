"""Check a collection with Great Expectations."""

from .command_line import read_collection

__all__ = ["read_collection"]
