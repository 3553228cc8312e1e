"""Lists: the rows of every kind of object, folded from the log, and how they are found."""
