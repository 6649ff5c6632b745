"""The engine in Rust: converts arguments, releases the interpreter lock, calls the engine, converts results."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from os import PathLike
from typing import Any, TypeAlias, TypedDict, TypeVar, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

__all__ = [
    "FAN_IN",
    "CategoricalModel",
    "ClusterFit",
    "Entries",
    "FileTable",
    "IncompleteModel",
    "IncrementalFit",
    "IncrementalState",
    "KernelModel",
    "Model",
    "NotConvergedError",
    "NystromMap",
    "PartTree",
    "RotatedIncompleteModel",
    "RotatedModel",
    "RowSource",
    "Scatter",
    "Stream",
    "__version__",
    "adjust_p_values",
    "are_many_categories",
    "bootstrap",
    "choose_completion",
    "column_moments",
    "compare_categories",
    "complete",
    "correlate",
    "cross_validate",
    "diagnose_features",
    "diagnose_incomplete_features",
    "diagnose_incomplete_r2",
    "diagnose_incomplete_rows",
    "diagnose_r2",
    "diagnose_rotated_features",
    "diagnose_rotated_incomplete_features",
    "diagnose_rows",
    "end",
    "explain_incomplete_rows",
    "explain_rows",
    "fit",
    "fit_categorical",
    "fit_incomplete",
    "fit_kernel",
    "fit_nystrom",
    "fit_scatter",
    "forked",
    "from_state",
    "incomplete_model_spe_scale",
    "incomplete_spe_limits",
    "incomplete_spe_p_values",
    "incomplete_spe_scale",
    "incomplete_t2_limits",
    "incomplete_t2_p_values",
    "jackknife",
    "keep_incomplete_limits",
    "keep_limits",
    "load",
    "load_rotated",
    "merge_parts",
    "named_parameters",
    "names_in_files",
    "new_row_limits",
    "note_of_weights",
    "observe",
    "observe_triples",
    "parallel_analysis",
    "rotate",
    "round_to_single",
    "save",
    "scores_of_draws",
    "select_components",
    "separate_components",
    "share_rows",
    "spe_limit",
    "spe_of_rows",
    "split_entries",
    "squared_cosines",
    "suggest_components",
    "sum_batches",
    "sum_entries",
    "sum_part",
    "sum_rows",
    "summarise",
    "sums_of_covariance",
    "suspect_columns",
    "t2_limit",
    "takes_batches",
    "takes_missing_values",
    "to_state",
    "unmatched_variants",
    "write_plink",
    "write_report",
]

__version__: str

#: Number of results of parts that a node of the tree merges.
FAN_IN: int

_Float: TypeAlias = np.float32 | np.float64
_Matrix: TypeAlias = NDArray[_Float] | sp.csr_array | sp.csc_array | sp.csr_matrix | sp.csc_matrix
_Data: TypeAlias = _Matrix | FileTable | RowSource
_Ids: TypeAlias = NDArray[np.int32] | NDArray[np.int64]
_OnProgress: TypeAlias = Callable[..., object]
_Log: TypeAlias = tuple[str, bool, Callable[[str], None]]
#: The result of a task for some parts.
_Sums: TypeAlias = bytes | NDArray[np.uint8]
_BlockKernel: TypeAlias = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]
_Column: TypeAlias = tuple[str, NDArray[Any], list[str] | None]
_Rows: TypeAlias = tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]

class NotConvergedError(RuntimeError):
    """An iteration stopped before its tolerance, and `strict` was set."""

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
        """Centre of each column."""
    @property
    def scale(self) -> NDArray[np.float64]:
        """Divisor of each column."""
    @property
    def residuals(self) -> NDArray[np.float64]:
        """Residual of each component, relative to the largest variance."""
    @property
    def feature_weights(self) -> NDArray[np.float64] | None:
        """Weights of the columns, if there were any."""
    @property
    def about_mean(self) -> tuple[list[float], list[float]] | None:
        """Variances of the scores about their mean, and their shares, where the model has them."""
    @property
    def noise_variance(self) -> float:
        """Mean of the discarded variances."""
    @property
    def total_variance(self) -> float:
        """Sum of all variances, including discarded ones."""
    @property
    def sum_of_weights(self) -> float:
        """Sum of the sample weights."""
    @property
    def n_samples(self) -> int:
        """Number of fitted rows."""
    @property
    def dtype(self) -> str:
        """Type of the data, `"f32"` or `"f64"`."""
    @property
    def solver(self) -> str:
        """The solver that was used."""
    @property
    def reason(self) -> str:
        """Reason for its choice."""
    @property
    def n_passes(self) -> int:
        """Number of passes over the data."""
    @property
    def tol(self) -> float:
        """Tolerance for the residuals."""
    @property
    def advice(self) -> str | None:
        """Remedy for components beyond the tolerance; ``None`` if there are none, or the model was read from a file."""
    @property
    def n_converged(self) -> int:
        """Number of components within the tolerance."""
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
        """Compute scores of rows, in the dtype of `x`."""
    def transform_oadp(
        self, x: _Data, n_threads: int | None = None, on_progress: _OnProgress | None = None
    ) -> NDArray[Any]:
        """Compute scores of rows that were not fitted, without the shrinkage of projections, in the dtype of `x`."""
    def inverse_transform(
        self,
        scores: NDArray[_Float],
        whiten: bool = False,
        n_threads: int | None = None,
        on_progress: _OnProgress | None = None,
    ) -> NDArray[Any]:
        """Map scores to rows, in the dtype of `scores`."""
    def score_samples(self, x: _Data, n_threads: int | None = None) -> NDArray[np.float64]:
        """Compute the log-likelihood of each row."""

def fit(
    x: _Data,
    options: dict[str, Any],
    sample_weight: NDArray[np.float64] | None = None,
    feature_weight: NDArray[np.float64] | None = None,
    on_progress: _OnProgress | None = None,
    checkpoint: _Log | None = None,
    device: list[str] | None = None,
) -> Model:
    """Fit components to `x`; `checkpoint` keeps the passes. `device` holds folders of libraries for a fit on a GPU."""

@final
class Scatter:
    """Weights, means and products of columns of rows. Its arrays are read-only views of the engine's memory."""

    @property
    def n_samples(self) -> int:
        """Number of rows."""
    @property
    def sum_of_weights(self) -> float:
        """Sum of the sample weights."""
    @property
    def mean(self) -> NDArray[np.float64]:
        """Weighted mean of each column."""
    @property
    def matrix(self) -> NDArray[np.float64]:
        """Sums of products of deviations from the mean, shape (n_features, n_features)."""
    def merged(self, other: Scatter, places: list[int] | None = None) -> Scatter:
        """Return the sums of these and the `other` rows, whose column `j` is column `places[j]` of these."""

def sum_rows(
    x: _Data,
    sample_weight: NDArray[np.float64] | None = None,
    memory_limit: int | None = None,
    n_threads: int | None = None,
    on_progress: _OnProgress | None = None,
) -> Scatter:
    """Sum the weights, means and products of columns of the rows of `x`."""

def sums_of_covariance(x: _Data, mean: NDArray[np.float64], n_samples: int) -> Scatter:
    """Return the sums of `n_samples` rows with the covariance matrix `x`."""

def fit_scatter(
    scatter: Scatter,
    options: dict[str, Any],
    feature_weight: NDArray[np.float64] | None = None,
    on_progress: _OnProgress | None = None,
) -> Model:
    """Fit components to the rows that were summed."""

@final
class FileTable:
    """A table of files. Values beyond the memory limit stay in the files."""

    def __new__(
        cls,
        paths: list[str],
        memory_limit: int | None,
        cache_dir: str | None,
        n_threads: int | None,
        missing: bool,
        cells: tuple[str | None, str | None, str | None, bool, float | None] | None = None,
        fitted: tuple[
            int,
            list[str] | None,
            str | None,
            float | None,
            tuple[list[float] | None, bool, bool] | None,
        ]
        | None = None,
        table: dict[str, Any] | None = None,
    ) -> FileTable: ...
    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_features)."""
    @property
    def dtype(self) -> str:
        """Type of the values: f32 or f64."""
    @property
    def feature_names(self) -> list[str] | None:
        """One name for each column."""
    @property
    def sample_names(self) -> list[str] | None:
        """One name for each row."""
    @property
    def labels(self) -> list[tuple[str, list[str]]]:
        """The columns of labels: their names, and one text for each row."""
    @property
    def weights(self) -> list[float] | None:
        """The column of weights."""
    @property
    def of_file(self) -> dict[str, Any] | None:
        """How the file was read, if there is anything to say of it."""
    @property
    def log1p(self) -> float | None:
        """The sum of each row to which counts were normalised."""
    @property
    def warnings(self) -> list[str]:
        """Possible faults of the table, each with a remedy."""

@final
class RowSource:
    """Rows of a function of Python, read ahead by one thread."""

    def __new__(
        cls,
        open: Callable[[int], Iterator[_Matrix]],
        shape: tuple[int, int],
        single: bool,
        n_stored: int | None,
        block_bytes: int,
    ) -> RowSource: ...
    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_features)."""

def column_moments(x: _Data, n_threads: int | None = None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute the mean and the variance (divisor n) of each column."""

@final
class Entries:
    """Observed entries, stored by rows and by columns."""

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_features)."""
    @property
    def n_observed(self) -> int:
        """Number of entries."""
    @property
    def dtype(self) -> str:
        """`"float32"` or `"float64"`."""
    def weighed(self, weights: NDArray[np.float64]) -> Entries:
        """Return the entries with the multiplicities `weights` of their rows."""
    def with_feature_weights(self, weights: NDArray[np.float64]) -> Entries:
        """Return the entries with weights of their columns."""
    def row_counts(self) -> NDArray[np.uint64]:
        """Count the entries of each row."""
    def column_counts(self) -> NDArray[np.uint64]:
        """Count the entries of each column."""
    def triples(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any], NDArray[Any] | None]:
        """Row, column, value and weight of every entry; no weights if all are one."""

@final
class IncompleteModel:
    """A fitted model of incomplete data. Its arrays are read-only views of the engine's memory."""

    @property
    def components(self) -> NDArray[np.float64]:
        """Shape (n_components, n_features)."""
    @property
    def scores(self) -> NDArray[np.float64]:
        """Shape (n_samples, n_components)."""
    @property
    def row_offsets(self) -> NDArray[np.float64] | None:
        """Offset of each fitted row, if the model has row offsets."""
    @property
    def mean(self) -> NDArray[np.float64]:
        """Mean of each feature."""
    @property
    def scale(self) -> NDArray[np.float64] | None:
        """Standard deviations by which the columns are divided, if they are."""
    @property
    def feature_weights(self) -> NDArray[np.float64] | None:
        """Weights of the columns, if they were given."""
    @property
    def mean_prior(self) -> tuple[float, float] | None:
        """Mean and variance of the learned prior of the means."""
    @property
    def mean_variance(self) -> NDArray[np.float64]:
        """Posterior variance of the mean of each feature."""
    @property
    def explained_variance(self) -> NDArray[np.float64]:
        """Variance along each component."""
    @property
    def explained_variance_ratio(self) -> NDArray[np.float64]:
        """Share of the total variance."""
    @property
    def singular_values(self) -> NDArray[np.float64]:
        """Norms of the columns of the scores."""
    @property
    def feature_noise_variance(self) -> NDArray[np.float64]:
        """Noise variance of each feature, in the squared units of the data."""
    @property
    def conformal_errors(self) -> NDArray[np.float64] | None:
        """Errors of the entries held out, over their standard deviations, absolute and ascending."""
    def interval_factor(self, level: float) -> float:
        """Return the number of standard deviations on both sides of a prediction that make an interval."""
    @property
    def noise_variance(self) -> float:
        """Variance of an observation of weight 1 about its prediction."""
    @property
    def total_variance(self) -> float:
        """Variance of complete rows under the model, summed over features."""
    @property
    def n_samples(self) -> int:
        """Number of fitted rows."""
    @property
    def n_observed(self) -> NDArray[np.uint64]:
        """Number of observed entries of each feature."""
    @property
    def dtype(self) -> str:
        """Type of the data, `"f32"` or `"f64"`."""
    @property
    def method(self) -> str:
        """The method that was used."""
    @property
    def reason(self) -> str:
        """Reason for its choice."""
    @property
    def stop(self) -> str:
        """Reason for the end of the fit."""
    @property
    def cost(self) -> float:
        """The cost of the model."""
    @property
    def rmse(self) -> float:
        """Root mean squared error of the fitted entries."""
    @property
    def held_out_rmse(self) -> float | None:
        """Root mean squared error of the held-out entries."""
    @property
    def has_error_bars(self) -> bool:
        """Whether the model has covariances."""
    def trace(self) -> NDArray[np.float64]:
        """Return iteration, cost, RMSE, held-out RMSE, step and seconds as columns; NaN if absent."""
    def runs(self) -> NDArray[np.float64]:
        """Return penalty, cost, RMSE, held-out RMSE and iterations of every run as columns; NaN if absent."""
    @property
    def dominant(self) -> tuple[int, float, int] | None:
        """The column that hides components of the others, their share of the variance, and the number of lost ones."""
    @property
    def starts(self) -> tuple[int, int, float, float | None, int, str] | None:
        """Starts, those with the lowest cost, difference of costs, angle, components not compared, and a sentence."""
    @property
    def identifiability(self) -> tuple[int, int | None, int, int, str] | None:
        """Numbers of parts, pairs of columns apart, short rows and short columns, and a sentence."""
    @property
    def converged(self) -> bool:
        """Whether a criterion of convergence was met and the starts agree."""
    @property
    def overfit(self) -> tuple[float, int, bool] | None:
        """Gain, number of parameters, and whether they outnumber the entries, of components that fit noise."""
    @property
    def far(self) -> tuple[int, int, int, float, float] | None:
        """Number of out-of-range predictions, and row, column, value, deviations of the farthest."""
    @property
    def refitted(self) -> bool:
        """Whether the model was fitted again to all entries."""
    def score_covariances(self) -> NDArray[Any] | None:
        """Covariances of the scores of the fitted rows."""
    def loading_covariances(self) -> NDArray[Any] | None:
        """Covariances of the loadings of the features."""
    def transform(
        self, entries: Entries, n_threads: int | None = None, on_progress: _OnProgress | None = None
    ) -> NDArray[Any]:
        """Compute scores of rows with missing values, in the dtype of the entries."""
    def transform_with_covariances(
        self, entries: Entries, n_threads: int | None = None, on_progress: _OnProgress | None = None
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Compute scores of rows with missing values, and their covariances."""
    def offsets(
        self, entries: Entries, n_threads: int | None = None, on_progress: _OnProgress | None = None
    ) -> NDArray[np.float64] | None:
        """Compute offsets of rows with missing values; None without row offsets."""
    def score_samples(
        self, entries: Entries, n_threads: int | None = None, on_progress: _OnProgress | None = None
    ) -> NDArray[np.float64]:
        """Compute log-likelihoods of rows with missing values."""
    def values(
        self, entries: Entries, n_threads: int | None = None, on_progress: _OnProgress | None = None
    ) -> NDArray[Any]:
        """Compute all entries of rows with missing values, in the dtype of the entries."""
    def inverse_transform(
        self, scores: NDArray[_Float], n_threads: int | None = None, on_progress: _OnProgress | None = None
    ) -> NDArray[Any]:
        """Map scores to rows, in the dtype of `scores`."""
    def predict_pairs(
        self,
        rows: NDArray[np.int64],
        columns: NDArray[np.int64],
        noise: bool | None = None,
        n_threads: int | None = None,
        on_progress: _OnProgress | None = None,
    ) -> NDArray[np.float64]:
        """Predict entries of the fitted data, with standard deviations (with or without noise) if `noise` is given."""
    def predict_rows(
        self, entries: Entries, noise: bool, n_threads: int | None = None, on_progress: _OnProgress | None = None
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Predict all entries of rows with missing values, with standard deviations."""

@final
class Stream:
    """Components learned from a stream of rows. Immutable: further learning returns a new object."""

    def __new__(cls, options: dict[str, Any], n_features: int) -> Stream:
        """Start with small random loadings."""
    @staticmethod
    def resume(model: IncompleteModel) -> Stream:
        """Continue from a fitted model, with the rule `diagonal`."""
    @staticmethod
    def from_state(state: str) -> Stream:
        """Restore a stream from its state."""
    def state(self) -> str:
        """Return the complete state as JSON."""
    @property
    def n_samples_seen(self) -> int:
        """Number of rows seen so far, including repeated ones."""
    def learned(self, entries: Entries, n_components: int) -> Stream:
        """Learn from every row in turn."""
    def learned_from(self, source: _Data, n_components: int) -> tuple[Stream, Entries]:
        """Learn from every row of a source in turn, block by block; also return the entries of the last block."""
    def finish(self, entries: Entries, options: dict[str, Any]) -> IncompleteModel:
        """Return a model of any rows, seen before or not."""

def observe(
    x: _Data,
    weights: NDArray[_Float] | None = None,
    n_threads: int | None = None,
    options: Mapping[str, object] | None = None,
) -> Entries:
    """Read the values of an array that are not NaN, or the stored values of a sparse matrix.

    Rows that the engine reads itself have no weights; `options` are the options of a fit, with its memory limit.
    """

def observe_triples(
    rows: _Ids,
    columns: _Ids,
    values: NDArray[_Float],
    shape: tuple[int, int],
    average: bool = False,
    weights: NDArray[_Float] | None = None,
    n_threads: int | None = None,
) -> Entries:
    """Sort triples by rows and by columns."""

def split_entries(entries: Entries, share: float, seed: int, n_threads: int | None = None) -> tuple[Entries, Entries]:
    """Hold out a share of the entries."""

def fit_incomplete(
    entries: Entries,
    options: dict[str, Any],
    on_progress: _OnProgress | None = None,
    start: tuple[NDArray[_Float], NDArray[_Float], NDArray[_Float] | None] | None = None,
    checkpoint: tuple[str, float, bool, Callable[[str], None]] | None = None,
) -> IncompleteModel:
    """Fit components to observed entries, from loadings, scores and optionally a mean if given.

    `checkpoint` holds a file, the seconds between writes, whether the fit resumes from it, and a function that is
    called with a message after a failed write.
    """

def cross_validate(
    entries: Entries,
    options: dict[str, Any],
    n_folds: int,
    n_components: list[int],
    penalties: list[str | dict[str, float]],
    on_progress: _OnProgress | None = None,
) -> tuple[list[tuple[int, tuple[str, float] | None]], dict[str, Any]]:
    """Return the choices, and their errors by name."""

@final
class IncrementalState:
    """The state of a fit, which does not change: what pickles and files hold."""

    @property
    def column_scale(self) -> list[float] | None:
        """Scales of the columns that the options give."""

@final
class IncrementalFit:
    """A fit that takes rows. A call that raises leaves it as it was."""

    def __new__(cls, options: dict[str, Any], n_features: int) -> IncrementalFit:
        """Begin a fit of rows with `n_features` columns."""
    @staticmethod
    def resume(state: IncrementalState) -> IncrementalFit:
        """Continue from a state."""
    def state(self) -> IncrementalState:
        """Return the state now."""
    @property
    def n_features(self) -> int:
        """Number of columns."""
    @property
    def n_samples_seen(self) -> int:
        """Number of rows so far."""
    @property
    def method(self) -> str:
        """`"scatter"` or `"sketch"`."""
    @property
    def batch_size(self) -> int:
        """Number of rows of one update."""
    def push(
        self,
        x: _Data,
        sample_weight: NDArray[np.float64] | None = None,
        n_threads: int | None = None,
        on_progress: _OnProgress | None = None,
    ) -> None:
        """Add the rows of `x` as one batch."""
    def merge(self, other: IncrementalFit, n_threads: int | None = None) -> None:
        """Add the rows of another fit."""
    def model(self, n_threads: int | None = None) -> tuple[Model, NDArray[np.float64], NDArray[np.float64], list[str]]:
        """Compute the components, the variances of the columns, bounds of the residuals, and notes."""
    def refine(
        self,
        x: _Data,
        sample_weight: NDArray[np.float64] | None = None,
        tol: float | None = None,
        n_threads: int | None = None,
        on_progress: _OnProgress | None = None,
    ) -> Model:
        """Fit `x` by block Krylov iteration from the directions of this fit."""

@final
class KernelModel:
    """Fitted kernel principal components. Its arrays are read-only views of the engine's memory."""

    @property
    def eigenvalues(self) -> NDArray[np.float64]:
        """Eigenvalues of the centred kernel matrix."""
    @property
    def eigenvectors(self) -> NDArray[np.float64]:
        """Shape (n_samples, n_components); no rows from approximate solvers."""
    @property
    def explained_variance_ratio(self) -> NDArray[np.float64]:
        """Share of the sum of all eigenvalues."""
    @property
    def residuals(self) -> NDArray[np.float64]:
        """Residual of each component, relative to the largest eigenvalue."""
    @property
    def gamma(self) -> float | None:
        """Coefficient of the kernel, if it has one."""
    @property
    def rows(self) -> NDArray[np.float64] | _Rows | None:
        """Rows that new rows are compared with: an array, or data, indices and pointers of CSR; may be None."""
    @property
    def frequencies(self) -> NDArray[np.float64] | None:
        """Random frequencies, shape (n_frequencies, n_features), of the solver `fourier`."""
    @property
    def ridge(self) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Scores and coefficients of the kernel ridge regression, if it is the pre-image method."""
    @property
    def has_pre_image(self) -> bool:
        """Whether the model can map scores to rows."""
    @property
    def n_components(self) -> int:
        """Number of components."""
    @property
    def n_features(self) -> int:
        """Number of columns of the data."""
    @property
    def n_samples(self) -> int:
        """Number of fitted rows."""
    @property
    def dtype(self) -> str:
        """Type of the data, `"f32"` or `"f64"`."""
    @property
    def solver(self) -> str:
        """The solver that was used."""
    @property
    def reason(self) -> str:
        """Reason for its choice."""
    @property
    def n_passes(self) -> int:
        """Number of products with the kernel matrix."""
    @property
    def tol(self) -> float:
        """Tolerance for the residuals."""
    @property
    def advice(self) -> str | None:
        """Remedy for components beyond the tolerance; ``None`` if there are none."""
    @property
    def n_converged(self) -> int:
        """Number of components within the tolerance."""
    @property
    def smallest_eigenvalue(self) -> float | None:
        """Smallest eigenvalue, if known."""
    @property
    def approximation(self) -> tuple[int, float | None, float] | None:
        """Number of features, error bound and error estimate of an approximation."""
    def fitted_scores(self, single: bool) -> NDArray[Any]:
        """Scores of the fitted rows, in float32 if `single`."""
    def transform(self, x: _Data, n_threads: int | None = None, on_progress: _OnProgress | None = None) -> NDArray[Any]:
        """Compute scores of rows, in the dtype of `x`."""
    def inverse_transform(
        self, scores: NDArray[_Float], n_threads: int | None = None, on_progress: _OnProgress | None = None
    ) -> NDArray[Any]:
        """Map scores to rows, in the dtype of `scores`."""

def fit_kernel(
    x: _Data,
    options: dict[str, Any],
    sample_weight: NDArray[np.float64] | None = None,
    function: _BlockKernel | None = None,
    keep_zeros: bool = True,
    on_progress: _OnProgress | None = None,
    checkpoint: _Log | None = None,
) -> KernelModel:
    """Fit kernel principal components to `x`; `function` is the kernel named `custom`."""

@final
class NystromMap:
    """A fitted feature map. Its arrays are read-only views of the engine's memory."""

    @property
    def landmarks(self) -> NDArray[np.float64] | _Rows:
        """Landmark rows: an array, or data, indices and pointers of CSR."""
    @property
    def indices(self) -> NDArray[np.int64]:
        """Indices of the landmarks among the fitted rows."""
    @property
    def normalization(self) -> NDArray[np.float64]:
        """Matrix that maps kernel values to features, shape (n_landmarks, n_landmarks)."""
    @property
    def gamma(self) -> float | None:
        """Coefficient of the kernel, if it has one."""
    @property
    def dtype(self) -> str:
        """Type of the data, `"f32"` or `"f64"`."""
    @property
    def n_features(self) -> int:
        """Number of columns of the data."""
    def transform(self, x: _Data, n_threads: int | None = None) -> NDArray[Any]:
        """Compute features of rows, in the dtype of `x`."""

def fit_nystrom(
    x: _Data,
    options: dict[str, Any],
    sample_weight: NDArray[np.float64] | None = None,
    function: _BlockKernel | None = None,
) -> NystromMap:
    """Select landmarks among the rows of `x`; `function` is the kernel named `custom`."""

@final
class CategoricalModel:
    """A fitted MCA or FAMD. A column is its name, and numbers; or codes, -1 without a value, and the names of codes."""

    @property
    def analysis(self) -> str:
        """`"mca"` or `"famd"`."""
    @property
    def variables(self) -> list[tuple[str, list[str] | None, bool]]:
        """Name, categories unless it holds numbers, and whether the last is for missing values, of each column."""
    @property
    def pca(self) -> Model:
        """The PCA of the standardised numbers and the indicators."""
    @property
    def category_names(self) -> list[str]:
        """Names such as `sex=f`."""
    @property
    def feature_names(self) -> list[str]:
        """Names of the columns of the PCA."""
    @property
    def shares(self) -> NDArray[np.float64]:
        """Share of the weight of the rows with each category, shape (n_categories,)."""
    @property
    def has_v_tests(self) -> bool:
        """True if v-tests are defined."""
    def categories(self) -> list[NDArray[np.float64]]:
        """Return coordinates, contributions, squared cosines and v-tests, shape (n_categories, n_components) each."""
    def eta2(self) -> NDArray[np.float64]:
        """Return correlation ratios, shape (n_variables_of_categories, n_components)."""
    def numbers(self) -> list[NDArray[np.float64]]:
        """Return correlations and contributions of numbers, shape (n_numbers, n_components) each."""
    def corrected_eigenvalues(self, correction: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return corrected eigenvalues and their shares."""
    def transform(
        self,
        columns: list[_Column],
        ignore_unknown: bool = False,
        n_threads: int | None = None,
        on_progress: _OnProgress | None = None,
    ) -> NDArray[np.float64]:
        """Return principal coordinates of rows, shape (n_rows, n_components)."""
    def row_contributions(
        self,
        columns: list[_Column],
        sample_weight: NDArray[np.float64] | None = None,
        n_threads: int | None = None,
        on_progress: _OnProgress | None = None,
    ) -> NDArray[np.float64]:
        """Return shares of rows of the fit in the variance of each component, shape (n_rows, n_components)."""
    def row_cos2(
        self,
        columns: list[_Column],
        ignore_unknown: bool = False,
        n_threads: int | None = None,
        on_progress: _OnProgress | None = None,
    ) -> NDArray[np.float64]:
        """Return squared cosines of rows, shape (n_rows, n_components)."""

def fit_categorical(
    columns: list[_Column],
    options: dict[str, Any],
    sample_weight: NDArray[np.float64] | None = None,
    on_progress: _OnProgress | None = None,
) -> CategoricalModel:
    """Fit an MCA or FAMD to the columns of a table."""

def are_many_categories(n_categories: int, n_rows: int) -> bool:
    """Return whether a column has so many categories that it probably holds ids or measurements."""

_AnyModel: TypeAlias = (
    Model
    | IncompleteModel
    | KernelModel
    | CategoricalModel
    | NystromMap
    | IncrementalState
    | Scatter
    | RotatedModel
    | RotatedIncompleteModel
)
_Kind = TypeVar(
    "_Kind",
    Model,
    IncompleteModel,
    KernelModel,
    CategoricalModel,
    NystromMap,
    IncrementalState,
    Scatter,
    RotatedModel,
    RotatedIncompleteModel,
)

def names_in_files() -> dict[str, str]: ...
def end() -> None:
    """Let the functions that run for the engine end, and no other begin, before the interpreter ends."""

def forked() -> None:
    """Forget the functions that ran in other threads before a fork."""

def to_state(model: _AnyModel) -> dict[str, Any]:
    """Return the record of a model, except a kernel function: arrays (views of the model) and texts."""

def from_state(kind: type[_Kind], state: dict[str, Any], function: _BlockKernel | None = None) -> _Kind:
    """Restore a model from its state; `function` is the kernel named `custom`."""

def round_to_single(values: NDArray[np.float64], n_threads: int | None = None) -> NDArray[np.float32] | None:
    """Round a contiguous array of one axis to float32; None if the largest value is outside its range."""

def save(path: str | PathLike[str], model: _AnyModel, extras: Mapping[str, Any]) -> None:
    """Write a model file; `extras` has the form that `load` returns."""

def named_parameters() -> list[str]:
    """Return the parameters that errors name."""

def load(
    kind: type[_Kind], path: str | PathLike[str], function: _BlockKernel | None = None
) -> tuple[_Kind, dict[str, Any], dict[str, Any]]:
    """Read a model file: the model, the other content, and the options of the fit."""

def load_rotated(
    path: str | PathLike[str],
) -> tuple[RotatedModel | RotatedIncompleteModel, dict[str, Any], dict[str, Any]]:
    """Read the file of a rotated model, of complete data or of data with missing values."""

@final
class ClusterFit:
    """A fit of data in parts, which asks for one task after the other."""

    def __new__(
        cls,
        options: dict[str, Any],
        feature_weight: NDArray[np.float64] | None = None,
        checkpoint: _Log | None = None,
    ) -> ClusterFit: ...
    @staticmethod
    def of_entries(
        options: dict[str, Any],
        feature_weight: NDArray[np.float64] | None = None,
        checkpoint: _Log | None = None,
    ) -> ClusterFit:
        """Begin a fit of incomplete rows."""

    def step(
        self, on_progress: _OnProgress | None = None, checkpoint: _Log | None = None
    ) -> tuple[int, bytes] | Model | IncompleteModel:
        """Return the number and the bytes of the next task, or the fitted model."""

    def give(self, partial: _Sums) -> None:
        """Give the result of the present task for all parts."""

    def stop(self) -> None:
        """End the fit."""

@final
class PartTree:
    """Results of parts, merged as they come, in the order of the parts."""

    def __new__(cls) -> PartTree: ...
    def push(self, partial: _Sums) -> None:
        """Add the result for the next part."""

    def finish(self) -> NDArray[np.uint8]:
        """Return the result for all parts."""

def takes_missing_values(task: bytes) -> bool:
    """Return whether the rows of the parts may have missing values."""

def sum_part(
    task: bytes,
    part: int,
    x: _Data,
    sample_weight: NDArray[np.float64] | None = None,
    n_threads: int | None = None,
) -> NDArray[np.uint8]:
    """Compute the result of a task for one part, as bytes."""

def takes_batches(task: bytes, n_features: int) -> bool:
    """Return whether `sum_batches` computes the result of a task for rows of so many columns."""

def sum_batches(
    task: bytes,
    part: int,
    batches: Iterable[tuple[NDArray[_Float], NDArray[np.float64] | None]],
    n_features: int,
    single: bool,
    n_threads: int | None = None,
) -> NDArray[np.uint8]:
    """Compute the result of a task for rows that come once, with their weights: of float32 if `single`."""

def sum_entries(task: bytes, part: int, entries: Entries, n_threads: int | None = None) -> NDArray[np.uint8]:
    """Compute the result of a task for entries that stay in memory between passes."""

def merge_parts(partials: list[_Sums]) -> NDArray[np.uint8]:
    """Merge the results of neighbouring parts, given in their order."""

def diagnose_rows(
    model: Model, x: _Data, n_threads: int | None = None, on_progress: _OnProgress | None = None
) -> tuple[NDArray[_Float], list[NDArray[np.float64]]]: ...
def squared_cosines(scores: NDArray[np.float64], distance2: NDArray[np.float64]) -> NDArray[np.float64]: ...
def share_rows(
    scores: NDArray[np.float64], variances: NDArray[np.float64], weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]: ...
def explain_rows(
    model: Model, x: _Data, n_threads: int | None = None, on_progress: _OnProgress | None = None
) -> list[NDArray[np.float64]]: ...
def diagnose_features(model: Model) -> list[NDArray[np.float64]]: ...
def diagnose_r2(model: Model) -> list[NDArray[np.float64]]: ...
def diagnose_rotated_features(model: RotatedModel) -> list[NDArray[np.float64]]: ...
def diagnose_rotated_incomplete_features(model: RotatedIncompleteModel) -> list[NDArray[np.float64]]: ...
def diagnose_incomplete_rows(
    model: IncompleteModel, entries: Entries, n_threads: int | None = None, on_progress: _OnProgress | None = None
) -> tuple[NDArray[_Float], NDArray[np.float64] | None, list[NDArray[np.float64]], list[NDArray[np.uintp]]]: ...
def explain_incomplete_rows(
    model: IncompleteModel, entries: Entries, n_threads: int | None = None, on_progress: _OnProgress | None = None
) -> list[NDArray[np.float64]]: ...
def diagnose_incomplete_features(model: IncompleteModel) -> list[NDArray[np.float64]]: ...
def diagnose_incomplete_r2(model: IncompleteModel) -> list[NDArray[np.float64]]: ...
def incomplete_t2_limits(
    model: IncompleteModel, t2_degrees: NDArray[np.uintp], level: float, rows: str
) -> NDArray[np.float64]: ...
def incomplete_t2_p_values(
    model: IncompleteModel, t2: NDArray[np.float64], t2_degrees: NDArray[np.uintp], rows: str
) -> NDArray[np.float64]: ...
def incomplete_model_spe_scale(model: IncompleteModel) -> list[float]: ...
def incomplete_spe_scale(
    model: IncompleteModel,
    spe: NDArray[np.float64],
    spe_degrees: NDArray[np.uintp],
    distance2: NDArray[np.float64],
    of_t2: tuple[NDArray[np.float64], NDArray[np.uintp]] | None = None,
    weights: NDArray[np.float64] | None = None,
) -> list[float]: ...
def incomplete_spe_limits(scale: list[float], spe_degrees: NDArray[np.uintp], level: float) -> NDArray[np.float64]: ...
def incomplete_spe_p_values(
    scale: list[float], spe: NDArray[np.float64], spe_degrees: NDArray[np.uintp]
) -> NDArray[np.float64]: ...
def t2_limit(model: Model, level: float, rows: str, n_observations: float | None = None) -> float: ...
def spe_of_rows(
    spe: NDArray[np.float64], distance2: NDArray[np.float64], weights: NDArray[np.float64] | None = None
) -> list[float]: ...
def keep_limits(
    model: Model,
    x: Any,
    distances: list[NDArray[np.float64]],
    weights: NDArray[np.float64] | None = None,
    n_threads: int | None = None,
    on_progress: Any = None,
) -> Model: ...
def keep_incomplete_limits(
    model: IncompleteModel, entries: Entries, n_threads: int | None = None, on_progress: Any = None
) -> IncompleteModel: ...
def new_row_limits(model: Model, n_observations: float | None, level: float, method: str) -> list[float] | None: ...
def spe_limit(distribution: list[float], level: float, method: str) -> float: ...
def correlate(
    scores: NDArray[np.float64],
    variables: NDArray[np.float64],
    weighting: str,
    weights: NDArray[np.float64] | None = None,
) -> list[NDArray[np.float64]]: ...
def compare_categories(
    scores: NDArray[np.float64],
    codes: list[int],
    n_categories: int,
    weighting: str,
    weights: NDArray[np.float64] | None = None,
) -> list[NDArray[np.float64]]: ...
def adjust_p_values(p_values: NDArray[np.float64], how: str) -> NDArray[np.float64]: ...

class _RotationFound(TypedDict):
    """A rotation: arrays and values by name."""

    pattern: NDArray[np.float64]
    structure: NDArray[np.float64]
    rotation: NDArray[np.float64]
    score_rotation: NDArray[np.float64]
    component_correlations: NDArray[np.float64]
    communalities: NDArray[np.float64]
    variances: NDArray[np.float64]
    ratios: NDArray[np.float64]
    criterion: str
    n_iter: int
    converged: bool

@final
class RotatedIncompleteModel:
    """A fitted model of data with missing values whose components are rotated."""

    @property
    def fitted(self) -> IncompleteModel: ...
    def describe(self) -> _RotationFound: ...
    def of_scores(self, scores: NDArray[np.float64]) -> NDArray[np.float64]: ...
    def to_scores(self, scores: NDArray[np.float64]) -> NDArray[np.float64]: ...

@final
class RotatedModel:
    """A fitted model whose components are rotated."""

    @property
    def fitted(self) -> Model: ...
    def describe(self) -> _RotationFound: ...
    def transform(
        self, x: _Data, n_threads: int | None = None, on_progress: _OnProgress | None = None
    ) -> NDArray[_Float]: ...
    def inverse_transform(
        self, scores: _Data, n_threads: int | None = None, on_progress: _OnProgress | None = None
    ) -> NDArray[_Float]: ...

def rotate(
    model: Model | IncompleteModel,
    method: str,
    n_components: int | None = None,
    kaiser: bool | None = None,
    power: float | None = None,
    gamma: float | None = None,
    target: NDArray[np.float64] | None = None,
) -> RotatedModel | RotatedIncompleteModel: ...
def complete(
    x: NDArray[np.float64],
    options: dict[str, Any],
    sample_weight: NDArray[np.float64] | None = None,
    n_threads: int | None = None,
    on_progress: _OnProgress | None = None,
) -> tuple[
    NDArray[np.float64],
    NDArray[np.float64],
    Model,
    float,
    int,
    bool,
    tuple[int, int, int, float, float] | None,
]: ...
def choose_completion(
    x: NDArray[np.float64],
    options: dict[str, Any],
    least: int,
    most: int,
    sample_weight: NDArray[np.float64] | None = None,
    n_threads: int | None = None,
    on_progress: _OnProgress | None = None,
) -> tuple[int, NDArray[np.float64]]: ...
def unmatched_variants(bed: str, names: list[str], flip_strand: bool) -> list[tuple[int, str, str, str | None]]:
    """List the variants of a model that a .bed file lacks: column, name, reason, alleles in the file."""

def write_plink(model: Model, bed: str, prefix: str, n_threads: int | None) -> list[str]:
    """Write the files of PLINK 2 of a model of the genotypes in a .bed file, and return their paths."""

def summarise(
    model: Model | RotatedModel | RotatedIncompleteModel | IncompleteModel | KernelModel,
    feature_names: list[str] | None = None,
) -> str:
    """Return the sentences and the table of components of the page of a model, as JSON."""

def note_of_weights(weighting: str, weights: NDArray[np.float64]) -> str | None:
    """Return the note on weights of this meaning, if there is one."""

def suspect_columns(x: _Data, names: list[str], remedy: str) -> list[str]:
    """Return a hint for each column that is probably no feature; `remedy` is said in each."""

def write_report(
    model: Model | RotatedModel | RotatedIncompleteModel | IncompleteModel | KernelModel,
    path: str,
    about: dict[str, Any],
    rows: _Data | Entries | None = None,
    n_threads: int | None = None,
    on_progress: _OnProgress | None = None,
) -> None: ...
def select_components(model: Model, n_observations: float | None = None) -> list[dict[str, Any]]: ...
def suggest_components(answers: list[tuple[str, int | None, bool]]) -> tuple[int | None, str]: ...
def parallel_analysis(
    x: _Data,
    options: dict[str, Any],
    null: str,
    level: float | None,
    n_draws: int,
    n_observations: float | None,
    seed: int,
    sample_weight: NDArray[np.float64] | None = None,
    feature_weight: NDArray[np.float64] | None = None,
    on_progress: _OnProgress | None = None,
) -> dict[str, Any]: ...
def bootstrap(
    x: _Data,
    options: dict[str, Any],
    n_draws: int,
    groups: list[int] | None,
    level: float,
    alignment: str,
    seed: int,
    keep: bool,
    sample_weight: NDArray[np.float64] | None = None,
    feature_weight: NDArray[np.float64] | None = None,
    on_progress: _OnProgress | None = None,
) -> tuple[list[list[NDArray[np.float64]]], tuple[Model, list[NDArray[np.float64]]] | None]: ...
def jackknife(
    x: _Data,
    options: dict[str, Any],
    n_groups: int | None,
    groups: list[int] | None,
    level: float,
    alignment: str,
    seed: int,
    sample_weight: NDArray[np.float64] | None = None,
    feature_weight: NDArray[np.float64] | None = None,
    on_progress: _OnProgress | None = None,
) -> tuple[list[list[NDArray[np.float64]]], tuple[Model, list[NDArray[np.float64]]] | None]: ...
def scores_of_draws(
    model: Model, loadings: NDArray[np.float64], x: _Data, n_threads: int | None = None
) -> NDArray[np.float64]: ...
def separate_components(
    model: Model, n_observations: float | None = None
) -> tuple[NDArray[np.float64], list[bool], list[tuple[int, int]]]: ...
