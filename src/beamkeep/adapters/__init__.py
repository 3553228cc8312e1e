"""One module for each outside thing the service uses."""
