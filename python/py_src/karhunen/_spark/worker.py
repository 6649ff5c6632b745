"""Functions that Spark sends to the executors."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

from karhunen._cluster.part import BUILD


def on_worker(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Wrap a function of one argument for `mapInArrow` and `applyInArrow`.

    Parameters
    ----------
    function : callable
        Can be pickled: a function of a module, or a `functools.partial` of one.

    Returns
    -------
    callable
        Calls the function on an executor. It raises a RuntimeError if the executor has another build of karhunen.
    """
    content, expected = pickle.dumps(function), BUILD

    # Spark sends this function by value, so that it runs whatever the executor has. The content needs the same build.
    def call(data: Any) -> Any:
        from karhunen._cluster import part

        found = getattr(part, "BUILD", "an older version")
        if found != expected:
            raise RuntimeError(
                f"the executors have another version of karhunen ({found}) than the driver ({expected}); install the "
                "same version everywhere"
            )
        return pickle.loads(content)(data)

    return call
