"""What rules read through: protocols and values of the deployment."""
