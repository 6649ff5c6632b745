"""Empirical orthogonal functions of fields in xarray.

:class:`EOF` fits a DataArray, a Dataset or a list of DataArrays along a dimension, and returns maps, series and
reconstructions with coordinates and attributes. Needs xarray 2024.2 or later, and dask for chunked fields.
"""

from karhunen._xarray.eof import EOF
from karhunen._xarray.rotated import RotatedEOF

__all__ = ["EOF", "RotatedEOF"]
