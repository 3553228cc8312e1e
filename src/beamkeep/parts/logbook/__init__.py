"""Logbooks: entries copied to the logbook of the facility."""
