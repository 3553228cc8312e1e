"""Verification of access tokens with the configured identity providers."""
