"""What the optional libraries of Beamkeep have in common."""


class MissingExtraError(Exception):
    """The settings ask for something that is not installed."""
