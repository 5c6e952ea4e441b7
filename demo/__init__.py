"""The demonstration: the history of a git repository as a collection of files."""
