"""The seams in memory, for fast tests."""
