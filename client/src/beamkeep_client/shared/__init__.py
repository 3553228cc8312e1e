"""What the server and the client share."""
