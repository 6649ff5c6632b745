"""Pictures of the features."""
