"""The routes of the feed beside the catalogue: the schemas of events, and events as they happen."""
