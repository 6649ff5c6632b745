"""Monitoring of new rows by the limits of fitted ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from karhunen import _core
from karhunen._diagnostics.incomplete import IncompleteSamples, with_incomplete_limits
from karhunen._diagnostics.model import fitted_model, frame
from karhunen._diagnostics.samples import Samples, samples, with_limits
from karhunen._inputs.matrix import to_weights
from karhunen._shared.choices import SpeLimit
from karhunen._shared.options import choice_option, number_option, probability

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Monitor:
    """Control limits of T² and of the squared prediction error, learned from the rows of a fit.

    Parameters
    ----------
    pca : PCA, TruncatedSVD, IncrementalPCA or IncompletePCA
        A fitted model.
    X : array-like, sparse matrix or dataframe of shape (n_samples, n_features), path or None, default=None
        The rows of the fit, which are taken to be normal operation; with missing values for an `IncompletePCA`. None
        takes what the model keeps of them: by :meth:`keep` or by ``karhunen fit --limits``. An `IncompletePCA` has
        less accurate ones without: the fit keeps the scale of errors by the leverage of its rows if they are fewer
        than 1,000 or have fewer than 100,000 entries, or else its noise variance is that scale.
    sample_weight : array-like of shape (n_samples,) or None
        Their weights.
    level : float, default=0.99
        Share of normal rows within each limit, between 0 and 1.
    method : {"box", "jackson-mudholkar"}, default="box"
        Limit of the squared prediction error: a multiple of chi-squared with the same mean and variance (Box 1954),
        or the normal approximation of a power (Jackson & Mudholkar 1979). An `IncompletePCA` takes "box".
    n_observations : float or None, default=None
        Number of independent rows that the rows of the fit are worth in the limits of T², where they depend on one
        another, as in a series; None is the number that the weights mean. Not for an `IncompletePCA`.

    Attributes
    ----------
    fitted : Samples, IncompleteSamples or None
        Diagnostics of the rows of the fit; None without `X`.
    t2_limit, spe_limit : float
        Limits for new rows, of an `IncompletePCA` for rows without missing values. `spe_limit` is infinite if the
        components explain all variance, since errors are rounding then.

    Notes
    -----
    T² of new rows has a multiple of the F distribution (Tracy, Young & Mason 1992), T² of rows of the fit a multiple of
    the beta distribution, see `limits`. Variances along components near the discarded ones are estimated too large, and
    T² of new rows is smaller: the limit is multiplied by the mean of T² of rows left out of the fit over the mean of
    the F distribution, for complete rows if this is less than one. The limit is not multiplied for fits of at most
    ``k + 20`` rows, with `k` components: there fewer new rows than `1 - level` are beyond it along such components.
    Rows of the fit that are far from the others make the factor larger, and the limit wider.

    Limits for the squared prediction error come from the mean and the variance of errors (Nomikos & MacGregor 1995,
    doi:10.1080/00401706.1995.10485888). A fit minimises the errors of its own rows. Limits for new rows therefore
    take the error of each row under the fit of the other rows, and the level allows for the number of rows from
    which mean and variance come. The scatter matrix without a row differs by a matrix of rank one, so that one more
    fit, with more components, gives the errors of all rows. With 200 rows and more for each component and one, and
    100 and more for each column, errors are divided by ``(1 - h)**2`` instead, with the leverage `h`, and the limit
    of T² is not multiplied. So it is for an `IncompletePCA` of 1,000 rows and 100,000 entries or more; a smaller
    one is fitted twenty times without a twentieth of the rows, from one start each. If columns are divided by their
    deviations, small tables, such as 100 x 900 or 300 x 100, are fitted without each row. Rows are taken for
    independent: of a series, more new rows than the level says are beyond both limits, and `n_observations` mends
    that for T².

    Examples
    --------
    >>> import numpy as np
    >>> import karhunen
    >>> from karhunen import diagnostics
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 2)) @ rng.standard_normal((2, 6)) + 0.1 * rng.standard_normal((200, 6))
    >>> monitor = diagnostics.Monitor(karhunen.PCA(2).fit(X), X)
    >>> new = X[:3] + [[0, 0, 0, 0, 0, 0], [0, 0, 2, 0, 0, 0], [0, 0, 0, 0, 0, 0]]
    >>> monitor.check(new).beyond_spe
    array([False,  True, False])
    """

    def __init__(
        self,
        pca: Any,
        X: Any = None,
        sample_weight: Any = None,
        *,
        level: float = 0.99,
        method: SpeLimit = "box",
        n_observations: float | None = None,
    ) -> None:
        self._method = choice_option("method", method, SpeLimit)
        self._level = probability("level", level)
        self._n_observations = None if n_observations is None else number_option("n_observations", n_observations)
        self._pca = pca
        self.fitted = None if X is None else samples(pca, X)
        self._of_fitted: list[float] | None = None
        if X is None and sample_weight is not None:
            raise ValueError("sample_weight needs the rows of the fit; give X")
        #: The model of `pca`, and that with limits for new rows.
        self._of_pca: Any = fitted_model(pca)
        self._model: Any = self._of_pca
        if isinstance(self._model, _core.IncompleteModel):
            self._learn_incomplete(X, sample_weight)
        elif isinstance(self.fitted, Samples):
            weights = to_weights("sample_weight", sample_weight, len(self.fitted.t2), "rows")
            self._of_fitted = _core.spe_of_rows(self.fitted.spe, self.fitted.distance2, weights)
            self._model = with_limits(pca, X, self.fitted, weights)
        self.t2_limit, self.spe_limit = self.limits()

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickling, with the model as plain values."""
        self._check_model()
        model = type(self._model), _core.to_state(self._model)
        return {name: value for name, value in vars(self).items() if name != "_of_pca"} | {"_model": model}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickle."""
        if "_model" not in state:
            raise ValueError("the monitor was pickled by an earlier version; make it again from the rows of the fit")
        vars(self).update(state, _model=_core.from_state(*state["_model"]))
        self._of_pca = fitted_model(self._pca)

    def _check_model(self) -> None:
        """Refuse a model that was fitted or changed after the monitor was made."""
        if fitted_model(self._pca) is not self._of_pca:
            raise ValueError("pca has another model than the monitor was made for; make the monitor again")

    def _learn_incomplete(self, X: Any, sample_weight: Any) -> None:
        """Learn from rows with missing values, if they are given."""
        if self._n_observations is not None:
            raise ValueError("n_observations is for models of complete data; leave it out")
        if self._method != "box":
            raise ValueError(f"method = {self._method!r} needs rows without missing values; use 'box'")
        if isinstance(self.fitted, IncompleteSamples):
            self._of_fitted = [*self.fitted.spe_scale(sample_weight), np.inf]
            self._model = with_incomplete_limits(self._pca, X, sample_weight)

    def keep(self) -> None:
        """Keep the numbers that give the limits in the model and its files, so that a monitor of it needs no rows.

        The command line has the same limits then: ``karhunen diagnose`` and reports of new rows.

        Raises
        ------
        TypeError
            Of an `IncrementalPCA`, which changes with its rows: keep the monitor.
        ValueError
            If `pca` was fitted again, or an attribute assigned, after the monitor was made.

        Examples
        --------
        >>> import numpy as np
        >>> import karhunen
        >>> from karhunen import diagnostics
        >>> X = np.random.default_rng(0).standard_normal((60, 6)) * [9, 5, 1, 1, 1, 1]
        >>> pca = karhunen.PCA(2).fit(X)
        >>> monitor = diagnostics.Monitor(pca, X)
        >>> monitor.keep()
        >>> diagnostics.Monitor(pca).limits() == monitor.limits()
        True
        """
        self._check_model()
        if self._of_pca is not getattr(self._pca, "_model", None):
            raise TypeError(f"the model of {type(self._pca).__name__} changes with its rows; keep the monitor")
        self._pca._model = self._of_pca = self._model

    def limits(self, level: float | None = None, *, fitted: bool = False) -> tuple[float, float]:
        """Compute the limits of T² and of the squared prediction error.

        Parameters
        ----------
        level : float or None, default=None
            Share of normal rows within each limit; None takes the `level` of the monitor.
        fitted : bool, default=False
            True for rows of the fit, whose T² has another distribution, so that its limit may be the larger one, and
            whose errors the fit has minimised.

        Returns
        -------
        t2, spe : float
            The limits.
        """
        level = self._level if level is None else probability("level", level)
        if fitted and self._of_fitted is None:
            raise ValueError("fitted needs the rows of the fit; give the monitor X")
        if isinstance(self._model, _core.IncompleteModel):
            return self._limits_of_complete_row(level, self._of_fitted if fitted else None)
        if fitted and self._of_fitted is not None:
            t2 = _core.t2_limit(self._model, level, "fitted", self._n_observations)
            return t2, _core.spe_limit(self._of_fitted, level, self._method)
        limits = _core.new_row_limits(self._model, self._n_observations, level, self._method)
        if limits is None:
            raise ValueError(
                "the model keeps no limits for new rows; give the rows of the fit as X, or keep limits with "
                "Monitor(pca, X).keep() or karhunen fit --limits"
            )
        return limits[0], limits[1]

    def check(self, X: Any) -> MonitoredRows:
        """Compare new rows with the limits.

        Parameters
        ----------
        X : array-like, sparse matrix or dataframe of shape (n_samples, n_features), or path
            New rows.

        Returns
        -------
        MonitoredRows
            Their diagnostics, and which are beyond a limit.

        Raises
        ------
        ValueError
            If `pca` was fitted again, or an attribute assigned, after the monitor was made; as `transform`.
        """
        self._check_model()
        found = samples(self._pca, X)
        if isinstance(found, IncompleteSamples):
            t2 = _core.incomplete_t2_limits(self._model, found.t2_degrees, self._level, "new")
            scale = _core.incomplete_model_spe_scale(self._model)
            return MonitoredRows(found, t2, _core.incomplete_spe_limits(scale, found.spe_degrees, self._level))
        return MonitoredRows(found, self.t2_limit, self.spe_limit)

    def _limits_of_complete_row(self, level: float, of_fitted: list[float] | None) -> tuple[float, float]:
        """Return the limits of a row without missing values under an `IncompletePCA`."""
        n_scores = np.count_nonzero(self._pca.explained_variance_ > 0.0) + (self._pca.row_offsets_ is not None)
        degrees = np.array([n_scores, self._pca.n_features_in_ - n_scores], dtype=np.uintp)
        rows, scale = "fitted", of_fitted
        if scale is None:
            rows, scale = "new", _core.incomplete_model_spe_scale(self._model)
        t2 = _core.incomplete_t2_limits(self._model, degrees[:1], level, rows)
        spe = _core.incomplete_spe_limits(scale, degrees[1:], level)
        return float(t2[0]), float(spe[0])


@dataclass(frozen=True, eq=False)
class MonitoredRows:
    """New rows and their limits.

    Attributes
    ----------
    samples : Samples or IncompleteSamples
        Diagnostics of the rows.
    t2_limit, spe_limit : float or ndarray of shape (n_samples,)
        The limits; one for each row with missing values, by what is observed.
    """

    samples: Samples | IncompleteSamples
    t2_limit: float | NDArray[np.float64]
    spe_limit: float | NDArray[np.float64]

    @property
    def beyond_t2(self) -> NDArray[np.bool_]:
        """True for rows whose T² is beyond its limit, of shape (n_samples,)."""
        return self.samples.t2 > self.t2_limit

    @property
    def beyond_spe(self) -> NDArray[np.bool_]:
        """True for rows whose squared prediction error is beyond its limit, of shape (n_samples,)."""
        return self.samples.spe > self.spe_limit

    def to_frame(self) -> Any:
        """Return one row for each sample: T², SPE, and which is beyond its limit."""
        table = frame(np.column_stack([self.samples.t2, self.samples.spe]), self.samples.index, ["T2", "SPE"])
        return table.assign(beyond_T2=self.beyond_t2, beyond_SPE=self.beyond_spe)
