"""Online learning of components from rows with missing values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if

from karhunen import _core
from karhunen._incomplete.fitted import FittedIncomplete
from karhunen._incomplete.inputs import open_rows, row_ids, to_entries
from karhunen._incomplete.options import engine_options, errors_as_given
from karhunen._inputs.files import is_source
from karhunen._shared.choices import ColumnScaling, Mean, OnlineRule
from karhunen._shared.fitted_model import leaves_unchanged

if TYPE_CHECKING:
    from typing_extensions import Self


def _learns_row_by_row(estimator: RowByRow) -> bool:
    """Return True if the method has `partial_fit`, else raise AttributeError."""
    if estimator.method in ("auto", "online"):
        return True
    raise AttributeError(
        f"method = {estimator.method!r} does not learn row by row; partial_fit needs 'online' or 'auto'"
    )


class RowByRow(FittedIncomplete):
    """Online learning of :class:`IncompletePCA`."""

    mean: Mean
    scale: bool | ColumnScaling | ArrayLike
    online_rule: OnlineRule
    n_samples_seen_: int
    #: State of `partial_fit`.
    _stream: _core.Stream | None

    @available_if(_learns_row_by_row)
    @leaves_unchanged
    def partial_fit(self, X: Any, y: None = None, entry_weight: Any = None) -> Self:
        """Update the components with each of some rows in turn, without keeping the rows (method "online").

        Components and mean improve with every call. `scores_`, `explained_variance_` and `noise_variance_` are of the
        rows of the last call; if these are fewer than the components, the variances are of the latest rows, eight for
        each component and at least 64. After :meth:`fit`, learning continues from the fitted model, with its scales and
        weights of features. Rows without entries count in `n_samples_seen_` and teach nothing: the first call needs an
        observed entry, since there is no model before it. `tol`, `max_iter` and other options of iterations have no
        effect.

        Parameters
        ----------
        X : array-like, dataframe, sparse matrix, Observed, path or RowBlocks of shape (n_samples, n_features)
            Any number of rows. The rows of a file, of several, or of :class:`~karhunen.RowBlocks` are read block by
            block: the entries of one block are held, whatever their number, and `scores_` are of the last block.
        y : None
            Ignored; present for compatibility with pipelines.
        entry_weight : array-like, sparse matrix or None, default=None
            As in :meth:`fit`. There is no `sample_weight`: repeat rows with multiplicities above one.

        Returns
        -------
        IncompletePCA
            The fitted estimator.

        Examples
        --------
        >>> import numpy as np
        >>> from karhunen import IncompletePCA
        >>> rng = np.random.default_rng(0)
        >>> x = np.outer(rng.normal(size=2000), [1.0, 2.0, -1.0])
        >>> x[rng.random(x.shape) < 0.3] = np.nan
        >>> pca = IncompletePCA(1)
        >>> for rows in np.split(x, 20):
        ...     pca = pca.partial_fit(rows)
        >>> pca.n_samples_seen_
        2000
        >>> (pca.components_[0] / pca.components_[0, 0]).round(1).tolist()
        [1.0, 2.0, -1.0]
        """
        if self.mean == "fixed":
            raise ValueError("mean = 'fixed' needs all rows at once; partial_fit takes 'joint' and 'none'")
        options = engine_options(self)
        first = not hasattr(self, "_model")
        if first and options["scale"] is not False:
            raise ValueError(
                f"scale = {self.scale!r} needs the scales before the first row; fit some rows first, from which "
                "partial_fit continues, or divide the columns"
            )
        in_blocks = is_source(X)
        if in_blocks:
            rows, ids = open_rows(self, X, reset=first, entry_weight=entry_weight)
            self.column_ids_ = None if first else self.column_ids_
        else:
            rows, ids = to_entries(self, X, reset=first, entry_weight=entry_weight), row_ids(X)
        stream = getattr(self, "_stream", None)
        if stream is None and first:
            stream = _core.Stream(options, self.n_features_in_)
        elif stream is None:
            if self.online_rule != "diagonal":
                raise ValueError(f"online_rule = {self.online_rule!r} cannot continue from a fit; 'diagonal' can")
            stream = _core.Stream.resume(self._model_now())
        with errors_as_given(self):
            if in_blocks:
                stream, last = stream.learned_from(rows, options["n_components"])
            else:
                stream, last = stream.learned(rows, options["n_components"]), rows
            model = stream.finish(last, {**options, "method": "online"})
        self._stream = stream
        self.n_samples_seen_ = stream.n_samples_seen
        # Scores and their ids belong to the last rows.
        self.row_ids_ = None if ids is None else ids[-last.shape[0] :]
        self._adopt(model)
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickling, with model and stream as plain values."""
        state = super().__getstate__()
        if state.get("_stream") is not None:
            state["_stream"] = state["_stream"].state()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the state of a pickle."""
        state = dict(state)
        if state.get("_stream") is not None:
            state["_stream"] = _core.Stream.from_state(state["_stream"])
        super().__setstate__(state)
