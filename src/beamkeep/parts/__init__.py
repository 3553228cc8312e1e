"""What a deployment can switch on: one room each, and none imports another."""
