"""Diagnostics of fitted models."""
