"""The page at /docs: every operation with an example, a search, and a form that calls it."""

from .routes import reference_page_routes

__all__ = ["reference_page_routes"]
