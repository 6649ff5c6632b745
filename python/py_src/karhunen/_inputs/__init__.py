"""Conversion of users' data to arrays that the engine reads, and refusal of unsupported data."""
