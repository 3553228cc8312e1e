"""The agents of the service itself: what each one looks at, and what it decides."""
