"""Texts of errors and warnings in the names that users of Spark typed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from karhunen._shared.warning import translated

#: Parameters of karhunen.PCA that have other names here.
NAMES = {"n_components": "k", "max_iter": "maxIter", "random_state": "seed", "n_threads": "numThreads"}

_HINTS = {
    "remove or impute it, or use karhunen.IncompletePCA, which takes missing values": "fill it, or drop such rows",
}


def in_spark_terms(text: str, weight_col: str | None = None) -> str:
    """Return a text of the engine with the parameters and columns of Spark.

    Parameters
    ----------
    text : str
        Text of an error or a warning.
    weight_col : str or None
        Name of the column of weights.
    """
    for old, new in _HINTS.items():
        text = text.replace(old, new)
    if weight_col is None:
        text = text.replace("sample_weight is not allowed: ", "")
    words = {**NAMES, "sample_weight": f"weightCol {weight_col!r}"}
    text = re.sub(r"\bsample_weight\[(\d+)\]", lambda found: f"row {found[1]} of {weight_col!r}", text)
    # Names in quotes are names of columns.
    return re.sub(rf"(?<!')\b({'|'.join(words)})\b(?!')", lambda found: words[found[1]], text)


@contextmanager
def spark_terms(weight_col: str | None = None) -> Iterator[None]:
    """Change the texts of errors and warnings by :func:`in_spark_terms`."""
    with translated(lambda text: in_spark_terms(text, weight_col)):
        try:
            yield
        except Exception as error:
            if len(error.args) == 1 and isinstance(error.args[0], str):
                error.args = (in_spark_terms(error.args[0], weight_col),)
            raise
