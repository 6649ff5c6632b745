"""Types of arrays."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

#: A float32 or float64 array.
FloatArray: TypeAlias = NDArray[np.floating[Any]]
#: Matrices that the engine reads.
Matrix: TypeAlias = FloatArray | sp.csr_array | sp.csc_array
#: Rows that the engine stores.
Rows: TypeAlias = FloatArray | sp.csr_array
#: Ids of rows or columns, of any type.
Ids: TypeAlias = NDArray[Any]
