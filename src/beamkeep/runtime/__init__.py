"""The one path every call takes, and the seams it needs."""
