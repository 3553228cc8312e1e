"""The bounded contexts of the service."""
