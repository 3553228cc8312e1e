"""Injected instructions as data: 25 attacks, where each text is put, and who obeys it."""
