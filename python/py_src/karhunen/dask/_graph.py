"""Passes over partitions as graphs of dask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dask.base import get_scheduler
from dask.delayed import Delayed, delayed

from karhunen._core import FAN_IN

#: Bytes of an argument from which it is sent to all workers before the pass.
_LARGE = 2**20


def merged(results: list[Delayed], merge: Callable[[list[Any]], Any]) -> Any:
    """Compute results and merge them in their order, by a tree.

    Parameters
    ----------
    results : list of Delayed
        One for each partition.
    merge : callable
        Merges a list of neighbouring results.

    Returns
    -------
    object
        The result of all partitions.
    """
    while len(results) > 1:
        groups = [results[i : i + FAN_IN] for i in range(0, len(results), FAN_IN)]
        results = [delayed(merge, pure=False)(group) for group in groups]
    return results[0].compute()


def at_workers(argument: bytes) -> Any:
    """Return an argument of many tasks: sent to all workers at once if it is large and there is a client."""
    if len(argument) >= _LARGE:
        try:
            from distributed import get_client

            client = get_client()
            # The configuration may choose another scheduler.
            if get_scheduler() == client.get:
                return client.scatter(argument, broadcast=True, hash=False)
        except (ImportError, ValueError):  # without distributed, or without a client
            pass
    return delayed(argument)
