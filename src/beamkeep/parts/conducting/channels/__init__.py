"""Control systems that conducts read and write and observers follow: one module for each kind."""
