"""Protecting: streams on which the safety of people rests are not decided from snapshots."""

WHOLE = 512
"""The length up to which such streams are folded from their first event."""
