"""Commands for a host of the service or of its files: custody, copies, scans, federation."""
