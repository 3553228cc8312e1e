"""What the optional libraries of Beamkeep have in common."""


class MissingExtraError(Exception):
    """The settings ask for something that is not installed."""


class BrokenEntryPointError(Exception):
    """An action or an advisor that is installed and cannot be used."""
