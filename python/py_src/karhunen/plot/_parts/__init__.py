"""Parts of which pictures are made."""
