"""What users pass, as what the engine reads, and what is refused."""
