"""The feed: the events of the log as other systems read them."""
