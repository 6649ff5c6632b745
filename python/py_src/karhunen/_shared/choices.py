"""Options with a fixed set of values as types; `typing.get_args` returns the values.

`test_choices.py` compares them with the engine's lists and with the docstrings of the estimators.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

#: Solvers of `PCA` and `TruncatedSVD`.
Route: TypeAlias = Literal["svd", "covariance", "gram", "block-krylov"]
Solver: TypeAlias = Literal["auto", "svd", "covariance", "gram", "block-krylov"]
#: scikit-learn's names of solvers.
SvdSolver: TypeAlias = Literal["auto", "full", "covariance_eigh", "arpack", "randomized"]
Algorithm: TypeAlias = Literal["auto", "svd", "covariance", "gram", "block-krylov", "randomized", "arpack"]
#: Settings of scikit-learn's randomized solver.
Auto: TypeAlias = Literal["auto"]
PowerIterationNormalizer: TypeAlias = Literal["auto", "QR", "LU", "none"]
#: Where products of a `PCA` are computed.
Device: TypeAlias = Literal["cpu", "cuda"]
#: Divisors of the columns of a `PCA`, in addition to flags and numbers.
ColumnScaling: TypeAlias = Literal["std", "pareto", "range", "binomial"]
#: Meanings of a sample weight.
Weighting: TypeAlias = Literal["frequency", "importance", "population"]

#: Limits of the squared prediction error.
SpeLimit: TypeAlias = Literal["box", "jackson-mudholkar"]
#: Alignments of the loadings of resampled data.
Alignment: TypeAlias = Literal["signs", "procrustes"]
#: Corrections of p-values for their number.
Adjust: TypeAlias = Literal["none", "holm", "fdr"]

#: Random data of parallel analysis.
Null: TypeAlias = Literal["permutation", "normal"]

#: What `IncrementalPCA` keeps of the rows.
IncrementalMethod: TypeAlias = Literal["auto", "scatter", "sketch"]

#: Algorithms of `IncompletePCA`.
Method: TypeAlias = Literal[
    "auto",
    "vb-full",
    "vb",
    "vb-fixed",
    "ppca",
    "map",
    "ridge",
    "als",
    "soft",
    "ccd",
    "em",
    "imputation",
    "cg",
    "newton",
    "natural",
    "gradient",
    "online",
]
Mean: TypeAlias = Literal["joint", "fixed", "none"]
#: Noise of the entries of `IncompletePCA`.
Noise: TypeAlias = Literal["shared", "feature"]
OnlineRule: TypeAlias = Literal["diagonal", "rls", "oja"]
#: A penalty on squared loadings and scores, or the rule that selects one.
Regularization: TypeAlias = float | tuple[Literal["weighted"], float] | Literal["path"]
#: Treatments of a (row, column) pair that `Observed` receives more than once.
Duplicates: TypeAlias = Literal["refuse", "average"]
#: Treatment of ids that were not fitted.
Unknown: TypeAlias = Literal["refuse", "nan"]

#: Kernels by name.
Kernel: TypeAlias = Literal[
    "linear", "poly", "rbf", "laplacian", "sigmoid", "cosine", "additive_chi2", "chi2", "precomputed"
]
#: Positive semi-definite kernels, as `Nystroem` requires.
DefiniteKernel: TypeAlias = Literal["linear", "poly", "rbf", "laplacian", "cosine", "chi2"]
#: Rules for the coefficient of a kernel.
Gamma: TypeAlias = Literal["scale", "median"]
#: Solvers of `KernelPCA`.
KernelRoute: TypeAlias = Literal["full", "stored", "tiles", "nystrom", "fourier"]
KernelSolver: TypeAlias = Literal["auto", "full", "stored", "tiles", "nystrom", "fourier"]
EigenSolver: TypeAlias = Literal["auto", "dense", "arpack", "randomized"]
Landmarks: TypeAlias = Literal["uniform", "kmeans++", "leverage"]
PreImage: TypeAlias = Literal["auto", "ridge", "fixed-point"]

#: Options of `plot.biplot`, `plot.convergence`, `plot.loadings` and `plot.bootstrap`.
Scaling: TypeAlias = Literal["form", "covariance"]
Across: TypeAlias = Literal["iteration", "seconds"]
LoadingsKind: TypeAlias = Literal["auto", "bars", "heatmap"]
CrossValidationKind: TypeAlias = Literal["error", "share"]
CloudKind: TypeAlias = Literal["auto", "ellipses", "points", "both"]
