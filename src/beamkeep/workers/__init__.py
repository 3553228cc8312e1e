"""Background work of the service."""
