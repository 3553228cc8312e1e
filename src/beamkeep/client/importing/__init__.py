"""Entering a described beamline: read a file, say what would change, then change it."""
