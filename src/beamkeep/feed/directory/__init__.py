"""The directory: finds objects of every kind by name, and names them by id."""
