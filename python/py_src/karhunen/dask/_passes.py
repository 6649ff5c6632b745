"""The passes of a fit over the partitions of a collection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dask
import numpy as np
from dask.delayed import delayed

from karhunen._cluster.part import SumsOfParts, merge, sum_part
from karhunen._inputs.matrix import to_weights
from karhunen._shared.options import flag_option
from karhunen._shared.standardization import in_order_of_labels
from karhunen._shared.warning import warn
from karhunen.dask._collections import is_stored, names_of_columns, partitions, to_collection, weights_of
from karhunen.dask._graph import at_workers, merged


class Passes:
    """Partitions of rows and their weights, which every pass reads.

    Parameters
    ----------
    X : dask array, dask dataframe or xarray DataArray
        Rows.
    sample_weight : dask array or series, or array-like, of shape (n_samples,), or None
        Their weights.
    n_threads : int
        Number of threads for each partition.
    persist : bool
        Keep the partitions in the memory of the workers.
    repeated : str
        Text of the warning that a fit reads the partitions several times.
    """

    def __init__(
        self,
        X: Any,
        sample_weight: Any,
        n_threads: int,
        persist: bool,
        repeated: str = "every pass of block Krylov iteration computes the partitions of X again, some ten times",
    ) -> None:
        flag_option("persist", persist)
        rows = to_collection(X)
        weights = weights_of(sample_weight, rows)
        if persist:
            # Together, because weights may be computed from the rows.
            rows, weights = dask.persist(rows, weights)
        self._is_read_again = not persist and not is_stored(X)
        self._repeated = repeated
        self._n_threads = n_threads
        self._names = names_of_columns(X)
        self.n_features: int = rows.shape[1]
        self.parts = partitions(rows, weights)

    def names(self) -> Sequence[str] | None:
        """Return the names of the columns, if they have any."""
        return self._names

    def feature_weights(self, feature_weight: Any) -> np.ndarray | None:
        """Convert weights of the columns, a Series in the order of the columns."""
        ordered = in_order_of_labels("feature_weight", feature_weight, self._names)
        return to_weights("feature_weight", ordered, self.n_features, "columns")

    def reduce(self, number: int, task: bytes) -> SumsOfParts:
        """Compute the result of a task for all partitions; the first pass has number 0."""
        if number == 1 and self._is_read_again:
            warn(
                f"{self._repeated}; fit(X, persist=True) keeps them in the memory of the workers",
                UserWarning,
            )
        sent, work = at_workers(task), delayed(sum_part, pure=False)
        sums = [work(sent, self._n_threads, part, *block) for part, block in enumerate(self.parts)]
        result: SumsOfParts = merged(sums, merge)
        return result
