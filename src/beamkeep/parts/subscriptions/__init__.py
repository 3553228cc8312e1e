"""Subscriptions: events sent to programs of others by signed requests."""
