"""How the outside reaches the service: each surface is one loop over the catalogue."""
