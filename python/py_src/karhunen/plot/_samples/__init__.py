"""Pictures of the rows."""
