"""The evidence of decisions: which answers an agent had, and whether they still read the same."""
