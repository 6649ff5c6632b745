"""Tables in files, and how they are read."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from numbers import Number
from typing import Any

import numpy as np

from karhunen import _core
from karhunen._shared.options import bytes_option, flag_option, is_whole


@dataclass(frozen=True)
class Table(os.PathLike[str]):
    """A table in a file, and how it is read: what :func:`karhunen.read` returns, to be passed instead of a path.

    Attributes
    ----------
    path : str
        The file or folder.
    options : dict
        The options of :func:`karhunen.read`.
    """

    path: str
    options: dict[str, Any]

    def __fspath__(self) -> str:
        """Return the path."""
        return self.path

    @cached_property
    def _content(self) -> _core.FileTable:
        return _core.FileTable([self.path], None, None, None, True, None, None, self.options)

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the columns, if they have any."""
        return self._content.feature_names

    @property
    def sample_names(self) -> list[str] | None:
        """Names of the rows, if they have any."""
        return self._content.sample_names

    @property
    def labels(self) -> dict[str, list[str]]:
        """The columns of labels, one text for each row."""
        return dict(self._content.labels)

    @property
    def sample_weight(self) -> np.ndarray | None:
        """The column of weights, which fits take unless they are given others."""
        weights = self._content.weights
        return None if weights is None else np.array(weights)


def read(
    path: str | os.PathLike[str],
    *,
    header: bool | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    comment: str | None = "auto",
    skip: int | tuple[int, int] | Iterable[int | tuple[int, int]] = (),
    na: str | float | Iterable[str | float] = (),
    row_names: str | None = "auto",
    labels: str | Iterable[str] = (),
    columns: str | Iterable[str] = (),
    weights: str | None = None,
    transpose: bool = False,
    array: str | None = None,
    max_unpacked: int | None = None,
) -> Table:
    """Say how a table in a file is read, where its content has two readings or is not all to be fitted.

    Pass the result instead of a path: ``PCA().fit(karhunen.read("t.csv", labels="class"))``. The fit reads the rows, so
    that a table larger than memory stays in its file.

    Parameters
    ----------
    path : str or path
        File or folder, in any format that a path alone may have; options that the format has not are refused.
    header : bool, optional
        Whether the first line of a text table holds names; by default as its content shows.
    delimiter : str, optional
        Delimiter of a text table, one or a few characters; a blank for any blanks.
    decimal, thousands : str, optional
        Decimal sign ("." or ","), and sign that groups the thousands.
    comment : str or None, default="auto"
        Lines that begin with this character are comments; None for none. "auto" takes "#" above the table.
    skip : int, pair of int, or list of them, default=()
        Lines to leave out: the first ones (a number), or from one line to another directly below the names (a pair).
    na : str, number, or list of them, default=()
        Words and numbers for missing values, besides the empty cell, NA, N/A, NaN and null in any case.
    row_names : str or None, default="auto"
        Column that names the rows; None for none. "auto" takes a first column of texts that differ.
    labels, columns : str or list of str, default=()
        Columns that are not features; and the columns to fit, where others are left out.
    weights : str, optional
        Column of the weights of the rows, which fits take unless they are given others.
    transpose : bool, default=False
        Swap rows and columns.
    array : str, optional
        Array of an NPZ archive.
    max_unpacked : int, optional
        Most bytes of a file once it is unpacked; 16 GiB by default.

    Returns
    -------
    Table
        To be passed instead of a path, with `labels`, `sample_weight`, `feature_names` and `sample_names`.

    Raises
    ------
    TypeError
        If `path` is not one path.
    """

    def words(name: str, given: Any) -> list[str]:
        one = isinstance(given, (str, Number)) and not isinstance(given, bool)
        if not one and not isinstance(given, Iterable):
            raise ValueError(f"{name} = {given!r} is not allowed: give a str, or a list of them")
        return [str(word) for word in ([given] if one else given)]

    if isinstance(path, Table) or not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"path must be the path of a file or folder, got {path!r}")
    options = {
        "delimiter": delimiter,
        "header": None if header is None else flag_option("header", header),
        "decimal": decimal,
        "thousands": thousands,
        "comment": comment,
        "skip": _skipped(skip),
        "na": words("na", na),
        "row_names": row_names,
        "labels": words("labels", labels),
        "columns": words("columns", columns),
        "weights": weights,
        "transpose": flag_option("transpose", transpose),
        "array": array,
        "max_unpacked": bytes_option("max_unpacked", max_unpacked),
    }
    return Table(os.fspath(path), options)


def _skipped(skip: Any) -> list[tuple[int, int]]:
    """Return the first and the last line of each run of lines to leave out."""
    is_none = (isinstance(skip, tuple) and not skip) or (is_whole(skip) and skip == 0)
    given = skip if isinstance(skip, list) else [] if is_none else [skip]
    runs = [(1, run) if is_whole(run) else run for run in given]
    for run in runs:
        is_pair = isinstance(run, tuple) and len(run) == 2 and all(is_whole(line) for line in run)
        if not is_pair or not 1 <= run[0] <= run[1]:
            raise ValueError(
                f"skip = {skip!r} is not allowed: give the number of lines to leave out at the top, or (first, last) "
                "for lines directly below the names, or a list of these"
            )
    if sum(is_whole(run) for run in given) > 1:
        raise ValueError(f"skip = {skip!r} has several numbers of lines at the top; for lines 2 and 3 give (2, 3)")
    return [(int(first), int(last)) for first, last in runs]


def table_among(given: Iterable[Any]) -> dict[str, Any] | None:
    """Return the options of :func:`read` of files that are one table; None where they are paths alone.

    Raises
    ------
    ValueError
        If the files have different options.
    """
    found = [path.options if isinstance(path, Table) else None for path in given]
    if any(options != found[0] for options in found):
        raise ValueError("files that are read as one table need the same options of karhunen.read")
    return found[0]
