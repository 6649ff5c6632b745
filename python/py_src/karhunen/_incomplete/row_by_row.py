"""Components that learn from rows with holes, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.utils.metaestimators import available_if

from karhunen import _core
from karhunen._incomplete.fitted import FittedIncomplete
from karhunen._incomplete.inputs import row_ids, to_entries
from karhunen._incomplete.options import engine_options, told_as_given
from karhunen._shared.choices import Mean, OnlineRule

if TYPE_CHECKING:
    from typing_extensions import Self


def _learns_row_by_row(estimator: RowByRow) -> bool:
    """Tell whether there is `partial_fit`; say why not."""
    if estimator.method in ("auto", "online"):
        return True
    raise AttributeError(
        f"method = {estimator.method!r} does not learn row by row; partial_fit needs 'online' or 'auto'"
    )


class RowByRow(FittedIncomplete):
    """What :class:`IncompletePCA` learns without a fit."""

    mean: Mean
    online_rule: OnlineRule
    n_samples_seen_: int
    #: What `partial_fit` goes on from.
    _stream: _core.Stream | None

    @available_if(_learns_row_by_row)
    def partial_fit(self, X: Any, y: None = None, entry_weight: Any = None) -> Self:
        """Learn from some more rows with holes, one after the other, and forget them (method "online").

        Components, mean and whatever follows from them improve with every call. `scores_`, `explained_variance_` and
        `noise_variance_` are those of the rows of the last call; of fewer rows than components only `scores_` are, the
        variances are those of the rows that were learned last, eight for each component and 64 at least. After
        :meth:`fit`, learning goes on from what was fitted. `tol`, `max_iter` and other options of iterations have no
        use here.

        Parameters
        ----------
        X : array-like, dataframe, sparse matrix or Observed of shape (n_samples, n_features)
            Any number of rows.
        y : None
            Ignored; there for pipelines.
        entry_weight : array-like, sparse matrix or None, default=None
            As for :meth:`fit`. There is no `sample_weight`: rows that count more than once are passed as often, where
            they come.

        Returns
        -------
        IncompletePCA
            Itself.

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
        entries = to_entries(self, X, reset=first, entry_weight=entry_weight)
        p = entries.shape[1]
        stream = getattr(self, "_stream", None)
        if stream is None and first:
            sizes = (options["n_components"], p)
            flags = (self.mean == "joint", options["row_offsets"])
            stream = _core.Stream(*sizes, options["online_rule"], options["seed"], *flags)
        elif stream is None:
            if self.online_rule != "diagonal":
                raise ValueError(f"online_rule = {self.online_rule!r} cannot go on from a fit; 'diagonal' can")
            stream = _core.Stream.resume(self._model_now())
        with told_as_given(self):
            stream = stream.learned(entries, options["n_components"])
            model = stream.finish(entries, {**options, "method": "online"})
        self._stream = stream
        self.n_samples_seen_ = stream.n_samples_seen
        # Scores are those of the last rows, whose ids they have.
        self.row_ids_ = row_ids(X)
        self._adopt(model)
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Give what a pickle keeps: model and stream as plain values."""
        state = super().__getstate__()
        if state.get("_stream") is not None:
            state["_stream"] = state["_stream"].state()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take what a pickle kept."""
        state = dict(state)
        if state.get("_stream") is not None:
            state["_stream"] = _core.Stream.from_state(state["_stream"])
        super().__setstate__(state)
