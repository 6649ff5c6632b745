"""The engine, in Rust: converts, releases the interpreter lock, calls, converts."""

from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any, TypeAlias, TypedDict, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

__all__ = [
    "Model",
    "NotConvergedError",
    "__version__",
    "column_moments",
    "fit",
    "from_state",
    "load",
    "save",
    "to_state",
]

__version__: str

_Float: TypeAlias = np.float32 | np.float64
_Data: TypeAlias = NDArray[_Float] | sp.csr_array | sp.csc_array | sp.csr_matrix | sp.csc_matrix
_OnProgress: TypeAlias = Callable[[str, float], object]

class NotConvergedError(RuntimeError):
    """An iteration stopped before its tolerance, and `strict` was asked for."""

@final
class Model:
    """A fitted model. Its arrays are read-only views of the engine's memory."""

    @property
    def components(self) -> NDArray[np.float64]:
        """Shape (n_components, n_features)."""
    @property
    def explained_variance(self) -> NDArray[np.float64]:
        """Variance along each component."""
    @property
    def explained_variance_ratio(self) -> NDArray[np.float64]:
        """Share of the total variance."""
    @property
    def singular_values(self) -> NDArray[np.float64]:
        """Singular values of the mapped data."""
    @property
    def mean(self) -> NDArray[np.float64]:
        """What is subtracted from each column."""
    @property
    def scale(self) -> NDArray[np.float64]:
        """What each column is divided by."""
    @property
    def residuals(self) -> NDArray[np.float64]:
        """Residual of each component, relative to the largest variance."""
    @property
    def feature_weights(self) -> NDArray[np.float64] | None:
        """Weights of the columns, if there were any."""
    @property
    def noise_variance(self) -> float:
        """Mean discarded variance."""
    @property
    def total_variance(self) -> float:
        """Sum of all variances, kept or not."""
    @property
    def sum_of_weights(self) -> float:
        """Sum of the sample weights."""
    @property
    def n_samples(self) -> int:
        """Rows fitted."""
    @property
    def dtype(self) -> str:
        """`"f32"` or `"f64"`: the type of the data."""
    @property
    def solver(self) -> str:
        """The route that was taken."""
    @property
    def reason(self) -> str:
        """Why it was taken."""
    @property
    def n_passes(self) -> int:
        """Passes over the data."""
    @property
    def tol(self) -> float:
        """The tolerance that the residuals were held to."""
    @property
    def n_converged(self) -> int:
        """How many components are within the tolerance."""
    def loadings(self) -> NDArray[np.float64]:
        """Components times the square root of their variance, shape (n_features, n_components)."""
    def covariance(self) -> NDArray[np.float64]:
        """Compute the covariance of the features under the model."""
    def precision(self) -> NDArray[np.float64]:
        """Compute the inverse of the covariance."""
    def transform(
        self,
        x: _Data,
        whiten: bool = False,
        n_threads: int | None = None,
        on_progress: _OnProgress | None = None,
    ) -> NDArray[Any]:
        """Scores of rows, in the type of `x`."""
    def inverse_transform(
        self,
        scores: NDArray[_Float],
        whiten: bool = False,
        n_threads: int | None = None,
        on_progress: _OnProgress | None = None,
    ) -> NDArray[Any]:
        """Rows from scores, in the type of `scores`."""
    def score_samples(self, x: _Data, n_threads: int | None = None) -> NDArray[np.float64]:
        """Compute the log-likelihood of each row."""

def fit(
    x: _Data,
    options: dict[str, Any],
    sample_weight: NDArray[np.float64] | None = None,
    feature_weight: NDArray[np.float64] | None = None,
    on_progress: _OnProgress | None = None,
) -> Model:
    """Fit components to `x`."""

def column_moments(x: _Data, n_threads: int | None = None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute the mean and the variance (divisor n) of each column."""

def to_state(model: Model) -> dict[str, Any]:
    """Give everything that a model consists of, as arrays, numbers and JSON."""

def from_state(state: dict[str, Any]) -> Model:
    """Give the model of a state."""

class _Beside(TypedDict):
    """What a model file holds beside the model."""

    feature_names: list[str] | None
    set_aside: list[str]
    id_column: str | None
    about_mean: tuple[list[float], list[float]] | None

def save(path: str | PathLike[str], model: Model, beside: Mapping[str, Any]) -> None:
    """Write a model file; `beside` holds what `load` gives."""

def load(path: str | PathLike[str]) -> tuple[Model, _Beside, str]:
    """Read a model file: the model, what it holds beside, the options of the fit as JSON."""
