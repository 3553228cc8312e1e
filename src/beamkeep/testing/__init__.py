"""Support for tests, benchmarks and demonstrations; the service imports nothing of it."""
