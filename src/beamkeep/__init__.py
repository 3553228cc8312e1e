"""Beamkeep: operations control for experiment facilities."""
