"""Operation: procedures, which people drive by hand or a conductor walks."""
