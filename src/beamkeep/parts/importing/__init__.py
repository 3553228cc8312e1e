"""Import of a described beamline: parse a file, preview the changes, apply them."""
