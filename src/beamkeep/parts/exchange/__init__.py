"""Exchange: signatures of records that other facilities import."""
