"""Files beneath the directories that the deployment allows."""
