"""Empirical orthogonal functions of fields of xarray."""
