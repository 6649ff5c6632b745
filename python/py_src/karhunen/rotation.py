"""Rotation of loadings to simple structure, or to a target.

Functions take a fitted :class:`karhunen.PCA`, :class:`karhunen.TruncatedSVD`, :class:`karhunen.IncrementalPCA` or
:class:`karhunen.IncompletePCA` and return a :class:`Rotation`; the model is not changed.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_array

from karhunen import PCA, IncompletePCA, _core
from karhunen._diagnostics.model import fitted_model, frame, rotated_names
from karhunen._incomplete.inputs import to_entries
from karhunen._inputs.files import to_rows
from karhunen._inputs.matrix import to_scores
from karhunen._inputs.report import about, write_page
from karhunen._shared.fitted_model import feature_names
from karhunen._shared.options import count_option, flag_option, number_option
from karhunen._shared.summary import Summary
from karhunen._shared.warning import warn

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from numpy.typing import NDArray
    from typing_extensions import Self

__all__ = ["Rotation", "oblimin", "procrustes", "promax", "quartimax", "varimax"]


class Rotation:
    """Rotated components of a fitted model, sorted by their variance or in the order of a target.

    Numbers are of the model as it was when it was rotated, whatever is fitted later. Arrays are read-only.
    """

    _rotated: _core.RotatedModel | _core.RotatedIncompleteModel
    _pca: Any

    def __init__(self, rotated: _core.RotatedModel | _core.RotatedIncompleteModel, pca: Any) -> None:
        self._rotated = rotated
        self._found = rotated.describe()
        self._pca = pca

    @property
    def pattern(self) -> NDArray[np.float64]:
        """Rotated loadings, shape (n_features, n_components): the coefficients of the components in each feature."""
        return self._found["pattern"]

    @property
    def structure(self) -> NDArray[np.float64]:
        """Covariances of features and rotated components, shape (n_features, n_components).

        Of a scaled fit their correlations; of a fit without centring mean products. Equal to `pattern` after an
        orthogonal rotation.
        """
        return self._found["structure"]

    @property
    def matrix(self) -> NDArray[np.float64]:
        """The rotation, shape (n_components, n_components).

        The pattern is the loadings of the model times this matrix, divided by the roots of feature weights.
        """
        return self._found["rotation"]

    @property
    def score_rotation(self) -> NDArray[np.float64]:
        """The matrix that multiplies standardised scores of the model, shape (n_components, n_components)."""
        return self._found["score_rotation"]

    @property
    def component_correlations(self) -> NDArray[np.float64]:
        """Correlations of the components, shape (n_components, n_components); the identity if it is orthogonal."""
        return self._found["component_correlations"]

    @property
    def communalities(self) -> NDArray[np.float64]:
        """Variance of each feature that the components explain, shape (n_features,); no rotation changes it."""
        return self._found["communalities"]

    @property
    def explained_variance(self) -> NDArray[np.float64]:
        """Variance of each rotated component, of weighted features, shape (n_components,).

        Of an oblique rotation sums of pattern times structure, which may be negative.
        """
        return self._found["variances"]

    @property
    def explained_variance_ratio(self) -> NDArray[np.float64]:
        """Shares of `explained_variance` in the total variance, shape (n_components,)."""
        return self._found["ratios"]

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        return feature_names(self._pca)

    @property
    def component_names(self) -> list[str]:
        """Names of the components: RC1, RC2, ...."""
        return rotated_names(len(self.explained_variance))

    @property
    def criterion(self) -> str:
        """Name and options of the rotation."""
        return self._found["criterion"]

    @property
    def n_iter(self) -> int:
        """Number of iterations."""
        return self._found["n_iter"]

    @property
    def converged(self) -> bool:
        """True if the iterations converged."""
        return self._found["converged"]

    def __repr__(self) -> str:
        """Return the criterion and the shares of the variance."""
        shares = ", ".join(f"{100.0 * share:.2f}%" for share in self.explained_variance_ratio)
        return f"<Rotation of {len(self.explained_variance)} components by {self.criterion}: {shares}>"

    def transform(self, X: Any) -> NDArray[np.floating[Any]]:
        """Compute the scores of the rotated components.

        Parameters
        ----------
        X : array-like, sparse matrix or dataframe of shape (n_samples, n_features), or path
            Rows, fitted or new; of an `IncompletePCA` rows as that takes them, with missing values.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Scores of unit variance over the rows of the fit, as of psych's `principal`; without centring of unit mean
            square. Scores of rows with missing values are estimates, which have less. In float32 if `X` is, in float64
            otherwise.
        """
        if isinstance(self._rotated, _core.RotatedIncompleteModel):
            scores = self._pca.transform(X)
            return self._rotated.of_scores(scores.astype(np.float64)).astype(scores.dtype, copy=False)
        rows = to_rows(self._pca, X, reset=False)
        with self._pca._call() as draw:
            return self._rotated.transform(rows, self._pca.n_threads, draw)

    def inverse_transform(self, X: Any) -> NDArray[np.floating[Any]]:
        """Map scores to rows, as the rotated components reproduce them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Scores as of :meth:`transform`; zeros leave a component out.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Rows in the units of the data, in float32 if `X` is, in float64 otherwise; row offsets are zero.
        """
        scores = to_scores(self._pca, X)
        if isinstance(self._rotated, _core.RotatedIncompleteModel):
            of_model = self._rotated.to_scores(scores.astype(np.float64))
            return self._pca.inverse_transform(of_model.astype(scores.dtype, copy=False))
        with self._pca._call() as draw:
            return self._rotated.inverse_transform(scores, self._pca.n_threads, draw)

    def summary(self) -> Summary:
        """Describe the rotated model: sentences and a table of the components, as :meth:`karhunen.PCA.summary` does.

        Returns
        -------
        Summary
            Text if printed, HTML in a notebook.
        """
        return Summary(self._rotated, getattr(self._pca, "feature_names_in_", None))

    def _repr_html_(self) -> str:
        """Return what notebooks show."""
        return self.summary()._repr_html_()

    def to_frame(self) -> Any:
        """Return the pattern as a pandas.DataFrame, with the communalities in a last column."""
        return frame(self.pattern, self.names, self.component_names).assign(communality=self.communalities)

    def report(
        self,
        path: str | os.PathLike[str],
        X: Any = None,
        *,
        sample_weight: Any = None,
        level: float | None = None,
        title: str | None = None,
    ) -> Path:
        """Write a page that shows the rotated model, and rows if they are given, as :meth:`karhunen.PCA.report` does.

        Parameters
        ----------
        path : path-like
            File to write; an existing file is replaced when the new one is complete.
        X : array-like, sparse matrix or dataframe of shape (n_samples, n_features), path or None, default=None
            Rows to show; of an `IncompletePCA` as that takes them. They count as the fitted rows if there are as many,
            and their scores have the variances of the fit.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the rows, as in the fit. Rows count as the rows of a weighted fit only with its weights.
        level : float or None, default=None
            Share of normal rows within each limit; None is 0.95.
        title : str or None, default=None
            Title of the page; None is a general one.

        Returns
        -------
        pathlib.Path
            The file.
        """
        texts = about(self._pca, X, level, title)
        to_given = to_entries if isinstance(self._rotated, _core.RotatedIncompleteModel) else to_rows
        rows = None if X is None else to_given(self._pca, X, reset=False)
        return write_page(self._pca, path, rows, texts, self._rotated, sample_weight)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the rotated model to a file that :meth:`load` and the command line ``karhunen`` read.

        Parameters
        ----------
        path : path-like
            File to write, in safetensors format whatever its extension. It holds the fitted model, too.

        Raises
        ------
        OSError
            If the file cannot be written.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from sklearn.datasets import load_wine
        >>> from karhunen import PCA, rotation
        >>> path = pathlib.Path(tempfile.mkdtemp(), "wine.model")
        >>> rotation.varimax(PCA(3, scale=True).fit(load_wine().data)).save(path)
        >>> rotation.Rotation.load(path)
        <Rotation of 3 components by varimax with Kaiser normalisation: 33.41%, 20.55%, 12.57%>
        """
        _core.save(path, self._rotated, self._pca._extras())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a rotated model that :meth:`save` or ``karhunen rotate`` wrote.

        Parameters
        ----------
        path : path-like
            File to read.

        Returns
        -------
        Rotation
            The rotated components.

        Raises
        ------
        OSError, ValueError
            If the file cannot be read or holds another kind of model.
        """
        rotated, extras, options = _core.load_rotated(path)
        if isinstance(rotated, _core.RotatedIncompleteModel):
            incomplete = IncompletePCA(**IncompletePCA._stored(options))
            return cls(rotated, incomplete._adopt_file(rotated.fitted, extras))
        return cls(rotated, PCA(**PCA._stored(options))._adopt_file(rotated.fitted, extras))

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickling, with the rotated model as plain values."""
        return {"_pca": self._pca, "_state": _core.to_state(self._rotated)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the state of a pickle."""
        self._rotated = (
            _core.from_state(_core.RotatedIncompleteModel, state["_state"])
            if isinstance(state["_pca"], IncompletePCA)
            else _core.from_state(_core.RotatedModel, state["_state"])
        )
        self._found = self._rotated.describe()
        self._pca = state["_pca"]


def varimax(pca: Any, *, n_components: int | None = None, kaiser: bool = True) -> Rotation:
    """Rotate the loadings so that the variances of their squares are largest within each component.

    Kaiser (1958), doi:10.1007/BF02289233; as R's `varimax`.

    Parameters
    ----------
    pca : PCA, TruncatedSVD, IncrementalPCA or IncompletePCA
        A fitted model.
    n_components : int or None, default=None
        Number of leading components to rotate; None is all that have variance.
    kaiser : bool, default=True
        Kaiser normalisation: features count alike, whatever their communality.

    Returns
    -------
    Rotation
        The rotated components.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from karhunen import PCA, rotation
    >>> pca = PCA(3, scale=True).fit(load_wine().data)
    >>> rotated = rotation.varimax(pca)
    >>> shares = rotated.explained_variance_ratio.sum(), pca.explained_variance_ratio_.sum()
    >>> [float(share.round(3)) for share in shares]
    [0.665, 0.665]
    """
    normalise = flag_option("kaiser", kaiser)
    return _rotated(pca, "varimax", n_components, kaiser=normalise)


def quartimax(pca: Any, *, n_components: int | None = None, kaiser: bool = False) -> Rotation:
    """Rotate the loadings so that the variances of their squares are largest within each feature.

    Neuhaus & Wrigley (1954), doi:10.1111/j.2044-8317.1954.tb00147.x; as GPArotation's `quartimax` and psych.

    Parameters
    ----------
    pca : PCA, TruncatedSVD, IncrementalPCA or IncompletePCA
        A fitted model.
    n_components : int or None, default=None
        Number of leading components to rotate; None is all that have variance.
    kaiser : bool, default=False
        Kaiser normalisation: features count alike, whatever their communality.

    Returns
    -------
    Rotation
        The rotated components.
    """
    normalise = flag_option("kaiser", kaiser)
    return _rotated(pca, "quartimax", n_components, kaiser=normalise)


def promax(pca: Any, *, n_components: int | None = None, power: float = 4.0, kaiser: bool = True) -> Rotation:
    """Rotate to correlated components whose pattern is near a power of the varimax rotation.

    Hendrickson & White (1964), doi:10.1111/j.2044-8317.1964.tb00244.x; as R's `promax`.

    Parameters
    ----------
    pca : PCA, TruncatedSVD, IncrementalPCA or IncompletePCA
        A fitted model.
    n_components : int or None, default=None
        Number of leading components to rotate; None is all that have variance.
    power : float, default=4.0
        The power, above 1.
    kaiser : bool, default=True
        Kaiser normalisation of the varimax rotation.

    Returns
    -------
    Rotation
        The rotated components.
    """
    exponent, normalise = number_option("power", power), flag_option("kaiser", kaiser)
    return _rotated(pca, "promax", n_components, kaiser=normalise, power=exponent)


def oblimin(pca: Any, *, n_components: int | None = None, gamma: float = 0.0, kaiser: bool = False) -> Rotation:
    """Rotate to correlated components by the direct oblimin criterion.

    By gradient projection, Jennrich (2002), doi:10.1007/BF02294706; as GPArotation's `oblimin` and psych. SPSS
    normalises.

    Parameters
    ----------
    pca : PCA, TruncatedSVD, IncrementalPCA or IncompletePCA
        A fitted model.
    n_components : int or None, default=None
        Number of leading components to rotate; None is all that have variance.
    gamma : float, default=0.0
        At most 0.8; the smaller, the less correlated the components. 0 is quartimin. Above 0 the criterion may have no
        minimum.
    kaiser : bool, default=False
        Kaiser normalisation: features count alike, whatever their communality.

    Returns
    -------
    Rotation
        The rotated components.
    """
    number, normalise = number_option("gamma", gamma), flag_option("kaiser", kaiser)
    return _rotated(pca, "oblimin", n_components, kaiser=normalise, gamma=number)


def procrustes(pca: Any, target: Any) -> Rotation:
    """Rotate the leading components orthogonally to the least squared distance from a target.

    Schoenemann (1966), doi:10.1007/BF02289451.

    Parameters
    ----------
    pca : PCA, TruncatedSVD, IncrementalPCA or IncompletePCA
        A fitted model.
    target : array-like or dataframe of shape (n_features, n_components), or Rotation
        Loadings to come near to; its number of columns is the number of components that are rotated. The index of a
        data frame must hold the names of the features, in their order; of a `Rotation` the pattern is taken.

    Returns
    -------
    Rotation
        The rotated components, in the order and with the signs of the target.
    """
    index = getattr(target, "index", None) if hasattr(target, "columns") else None
    if index is not None and [str(name) for name in index] != feature_names(pca):
        raise ValueError("the index of target does not hold the names of the features; reindex it, or pass an array")
    pattern = target.pattern if isinstance(target, Rotation) else target
    values = np.array(check_array(pattern, dtype=np.float64, input_name="target"), order="C")
    return _rotated(pca, "procrustes", values.shape[1], target=values)


def _rotated(pca: Any, method: str, n_components: int | None, **options: Any) -> Rotation:
    """Rotate the leading components of a fitted model."""
    k = None if n_components is None else count_option("n_components", n_components)
    rotated = _core.rotate(fitted_model(pca), method, k, **options)
    # A copy: the model may be fitted again.
    found = Rotation(rotated, deepcopy(pca))
    if not found.converged:
        warn(
            f"the rotation stopped after {found.n_iter} iterations before it converged; rotate fewer components, or "
            "set gamma of oblimin to 0 or less",
            UserWarning,
        )
    return found
