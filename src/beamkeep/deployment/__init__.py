"""A deployment: its settings, its parts put together, and the verbs that run it."""
