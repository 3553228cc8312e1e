"""Control systems that conducts read and write: one module for each kind."""
