"""The pages at /pages: what is published, for everybody, with its description for machines."""

from .routes import landing_routes

__all__ = ["landing_routes"]
