"""What agents are shown: the definitions of tools, which of them are listed, and a search."""
