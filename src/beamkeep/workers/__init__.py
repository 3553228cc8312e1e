"""What works by itself beside the surfaces, and calls the service from inside."""
