"""The relay: every event on a message bus."""
