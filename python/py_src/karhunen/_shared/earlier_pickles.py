"""Conversion of pickles of version 0.2.0 and before, in which each kind of model had its own layout."""

from __future__ import annotations

import json
from inspect import signature
from typing import Any

import numpy as np

#: Names of arrays in records, by those in earlier pickles.
_NAMES = {"shares": "pre_image_shares", "ridge_centre": "pre_image_centre"}


def arguments_missing_in(state: dict[str, Any], kind: type) -> dict[str, Any]:
    """Return the defaults of the arguments that a pickle of an earlier version lacks.

    Parameters
    ----------
    state : dict
        Attributes of an estimator.
    kind : type
        Class of the estimator.

    Returns
    -------
    dict
        Defaults by name.
    """
    arguments = signature(kind).parameters.values()
    return {
        argument.name: argument.default
        for argument in arguments
        if argument.name not in state and argument.default is not argument.empty
    }


def refuse_without_model(state: dict[str, Any], kind: type) -> None:
    """Refuse a pickle of an MCA or FAMD that holds results, and no model of the engine.

    Parameters
    ----------
    state : dict
        Attributes of an estimator.
    kind : type
        Class of the estimator.

    Raises
    ------
    ValueError
        If the state is of such a pickle.
    """
    if "_encoding" in state:
        raise ValueError(
            f"the pickle holds an {kind.__name__} of a version of karhunen that did not keep the model; fit the rows "
            "again, and save the new estimator"
        )


def record_of(state: dict[str, Any]) -> dict[str, Any]:
    """Return the record of a model that a pickle holds.

    Parameters
    ----------
    state : dict
        A record, or the state that an earlier version wrote.

    Returns
    -------
    dict
        Arrays and texts by name.
    """
    if "kind" in state:
        return state
    record: dict[str, Any] = {}
    for name, value in state.items():
        if isinstance(value, tuple) or name in ("rows", "ridge"):
            continue
        if isinstance(value, (bool, int)):
            record[name] = json.dumps(value)
        elif value is not None:
            record[_NAMES.get(name, name)] = np.asarray(value)
    # Texts are stored unchanged.
    record.update({name: value for name, value in state.items() if isinstance(value, str)})
    if state.get("ridge") is not None:
        record["pre_image_scores"], record["pre_image_coefficients"] = state["ridge"]
    _add_rows(record, "landmarks", state.get("landmarks"))
    _add_rows(record, state.get("basis", ""), state.get("rows"))
    if "n_observed" in record:
        _add_entries(record)
    return record


def _add_rows(record: dict[str, Any], name: str, rows: Any) -> None:
    """Add rows of a kernel model, which are data, indices and pointers where they are sparse."""
    if isinstance(rows, tuple):
        values, columns, pointers = rows
        record[f"{name}_values"], record[f"{name}_pointers"] = values, pointers
        record[f"{name}_columns"] = columns.astype(np.uint32)
    elif rows is not None:
        record[name] = rows


def _add_entries(record: dict[str, Any]) -> None:
    """Add the parts of a model of incomplete data that have another form in records."""
    record["n_observed"] = record["n_observed"].astype(np.int64)
    for name, rows in (("score_covariances", "scores"), ("loading_covariances", "mean")):
        if name in record:
            n = len(record[rows])
            record[name] = record[name].reshape(n, len(record[name]) // max(n, 1))
    convergence = json.loads(record["convergence"])
    trace = convergence.pop("trace")
    record["convergence"] = json.dumps(convergence)
    for name in ("iteration", "cost", "rmse", "held_out_rmse", "step", "seconds"):
        column = [np.nan if entry[name] is None else entry[name] for entry in trace]
        record[f"trace_{name}"] = np.array(column, dtype=np.int64 if name == "iteration" else np.float64)
