"""Pictures of fits and of results computed from them."""
