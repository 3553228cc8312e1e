"""Everything that calls the service. `make reference` writes `synchronous` from it."""
