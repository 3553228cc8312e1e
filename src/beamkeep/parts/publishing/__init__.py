"""Publishing: DOIs of datasets and editions, and the pages they lead to."""
