"""PCA of Spark DataFrames, as an estimator of `pyspark.ml`, in classic sessions and through Spark Connect.

The passes of a fit run on the executors, where karhunen must be installed: each partition is summed where it lies, and
the sums are merged by a tree.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from pyspark import keyword_only
from pyspark.ml import Estimator, Model
from pyspark.ml.linalg import DenseMatrix, DenseVector
from pyspark.ml.util import MLReadable, MLWritable

import karhunen
from karhunen._cluster.driver import drive, threads_of_part
from karhunen._spark.batches import small_batches
from karhunen._spark.columns import Columns
from karhunen._spark.files import ModelReader, StageReader, StageWriter
from karhunen._spark.incomplete_pca import IncompletePCA, IncompletePCAModel
from karhunen._spark.params import FitSetters, PCAParams
from karhunen._spark.passes import Passes, sums_of_rows
from karhunen._spark.scores import with_scores
from karhunen._spark.texts import spark_terms

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from karhunen._shared.choices import Weighting

__all__ = ["PCA", "IncompletePCA", "IncompletePCAModel", "PCAModel"]

#: Solvers that sum partitions.
_SOLVERS = ("auto", "covariance", "block-krylov")


class PCA(Estimator["PCAModel"], PCAParams, FitSetters, MLReadable["PCA"], MLWritable):
    """Principal component analysis of Spark DataFrames.

    The result is the same as from :class:`karhunen.PCA` for the rows in memory, up to rounding. Its bits depend on the
    partitions and their order alone, not on the executors or repeated tasks. Up to 2,048 features ("covariance") a fit
    takes one pass over the DataFrame, beyond that some ten ("block-krylov").

    Parameters
    ----------
    k : int
        Number of components.
    inputCol : str
        Column of vectors (dense, sparse, or both) or of arrays of numbers. Sparse rows are not densified. Arrays of
        float are summed in double precision; the model has single precision, also in its default tolerance.
    inputCols : list of str
        Columns of numbers or booleans, instead of `inputCol`. A model takes the same columns in the same order.
    outputCol : str
        Name of the column of scores.
    weightCol : str
        Column of nonnegative weights; "" is none.
    center, scale, solver, weighting, whiten, tol, maxIter, strict
        As `center`, `scale`, `solver`, `weighting`, `whiten`, `tol`, `max_iter`, `strict` of :class:`karhunen.PCA`;
        `solver` is "auto", "covariance" or "block-krylov".
    seed : int, default=0
        Seed of the starting block of block Krylov iteration, of 64 bits and with a sign.
    subtractMean : bool, default=True
        Compute the scores of centred rows. False gives the scores of `pyspark.ml.feature.PCA`, which centres its
        components and not its scores.
    numThreads : int, default=1
        Number of threads of a task; set `spark.task.cpus` to the same number.
    persist : bool, default=False
        Keep the features in the memory and on the disks of the executors during the fit. Without it every pass computes
        the DataFrame again.
    checkpoint : str
        File of the driver that keeps the result of every pass of one fit, from which `resume` continues.
    resume : bool, default=False
        Continue from `checkpoint`, or start if the file does not exist.

    See Also
    --------
    karhunen.dask.PCA : The same for Dask.
    """

    _input_kwargs: dict[str, Any]

    @keyword_only
    def __init__(
        self,
        *,
        k: int | None = None,
        inputCol: str | None = None,
        inputCols: list[str] | None = None,
        outputCol: str | None = None,
        weightCol: str | None = None,
        center: bool | None = None,
        scale: bool | None = None,
        solver: str | None = None,
        weighting: str | None = None,
        whiten: bool | None = None,
        tol: float | None = None,
        maxIter: int | None = None,
        seed: int | None = None,
        subtractMean: bool | None = None,
        numThreads: int | None = None,
        strict: bool | None = None,
        persist: bool | None = None,
        checkpoint: str | None = None,
        resume: bool | None = None,
    ) -> None:
        super().__init__()
        self.setParams(**self._input_kwargs)

    def setParams(self, **params: Any) -> PCA:
        """Set parameters, by the names of the constructor.

        Those that are not given, or are None, keep their values. One of `inputCol` and `inputCols` takes the place of
        the other.

        Raises
        ------
        TypeError
            For a name that is not a parameter, or a value of another type.
        """
        given = {name: value for name, value in params.items() if value is not None}
        for name in given:
            if not self.hasParam(name):
                raise TypeError(f"setParams() got an unexpected keyword argument {name!r}")
        if "inputCol" not in given and "inputCols" in given:
            self.clear(self.inputCol)
        if "inputCols" not in given and "inputCol" in given:
            self.clear(self.inputCols)
        return self._set(**given)

    def setWeightCol(self, value: str) -> PCA:
        """Set the column of weights."""
        return self._set(weightCol=value)

    def setCenter(self, value: bool) -> PCA:
        """Set whether the mean of each column is subtracted."""
        return self._set(center=value)

    def setScale(self, value: bool) -> PCA:
        """Set whether columns are divided by their standard deviations."""
        return self._set(scale=value)

    def setSolver(self, value: str) -> PCA:
        """Set the solver: "auto", "covariance" or "block-krylov"."""
        return self._set(solver=value)

    def setWeighting(self, value: str) -> PCA:
        """Set the meaning of the weights: "frequency", "importance" or "population"."""
        return self._set(weighting=value)

    def setStrict(self, value: bool) -> PCA:
        """Set whether a component that misses the tolerance is an error."""
        return self._set(strict=value)

    def write(self) -> StageWriter:
        """Return a writer of the parameters."""
        return StageWriter(self)

    @classmethod
    def read(cls) -> StageReader[PCA]:
        """Return a reader of the parameters."""
        return StageReader(cls)

    def _fit(self, dataset: DataFrame) -> PCAModel:
        pca, weight_col, checkpoint = (
            self._in_memory(),
            self._given(self.weightCol) or None,
            self._given(self.checkpoint),
        )
        if checkpoint == "":
            raise ValueError("checkpoint = '' is not allowed: name a file of the driver")
        columns = self._columns(dataset, weight_col)
        rows = columns.select(dataset)
        if self.getPersist():
            rows = rows.persist()
        level = dataset.storageLevel
        stored = self.getPersist() or level.useMemory or level.useDisk
        passes = Passes(rows, columns, sums_of_rows(threads_of_part(pca)), stored)
        try:
            with spark_terms(weight_col), small_batches(dataset.sparkSession):
                drive(pca, passes, lambda: columns.features, checkpoint=checkpoint, resume=self.getResume())
        finally:
            if self.getPersist():
                rows.unpersist()
        model = PCAModel(pca)
        model._resetUid(self.uid)
        return self._copyValues(model)

    def _in_memory(self) -> karhunen.PCA:
        """Return the estimator of rows in memory, whose other parameters are checked at the start of the fit."""
        if not self.isDefined(self.k):
            raise ValueError("k is not set; give the number of components")
        if self.getK() < 1:
            raise ValueError(f"k = {self.getK()} is not allowed: a whole number of at least 1 is needed")
        if self.getSolver() not in _SOLVERS:
            names = ", ".join(map(repr, _SOLVERS))
            raise ValueError(f"solver = {self.getSolver()!r} is not known; choose one of {names}")
        return karhunen.PCA(
            self.getK(),
            center=self.getCenter(),
            scale=self.getScale(),
            whiten=self.getWhiten(),
            solver=self.getSolver(),
            weighting=cast("Weighting", self.getWeighting()),
            tol=self._given(self.tol),
            max_iter=self.getMaxIter(),
            strict=self.getStrict(),
            random_state=self._seed_of_engine(),
            n_threads=self.getNumThreads(),
        )


class PCAModel(Model, PCAParams, MLReadable["PCAModel"], MLWritable):
    """Fitted principal components, which :meth:`PCA.fit` returns.

    `transform` adds the scores of the rows as a column of dense vectors of length k, `outputCol`. It is lazy: errors
    about rows come from the action that computes it. It raises a ValueError if the DataFrame has a column `outputCol`,
    or lacks the features, and for columns that Spark does not pass to Python: intervals with months, and structs with
    two fields of one name.

    Parameters
    ----------
    pca : karhunen.PCA
        Fitted model.
    """

    def __init__(self, pca: karhunen.PCA | None = None) -> None:
        super().__init__()
        # A model has no components until a reader sets them.
        self._pca = pca

    def __repr__(self) -> str:
        size = "" if self._pca is None else f", k={self._pca.n_components_}, numFeatures={self.numFeatures}"
        return f"PCAModel: uid={self.uid}{size}"

    @property
    def pc(self) -> DenseMatrix:
        """Return the components as a matrix of shape (n_features, k), one column for each."""
        components = self._fitted().components_
        return DenseMatrix(components.shape[1], components.shape[0], components.ravel().tolist())

    @property
    def explainedVariance(self) -> DenseVector:
        """Return the share of the total variance of each component, of length k."""
        return DenseVector(self._fitted().explained_variance_ratio_)

    @property
    def mean(self) -> DenseVector:
        """Return the means of the features, of length n_features; zeros without `center`."""
        return DenseVector(self._fitted().mean_)

    @property
    def numFeatures(self) -> int:
        """Return the number of features."""
        return self._fitted().n_features_in_

    def toKarhunen(self) -> karhunen.PCA:
        """Return the model for rows in memory: variances, residuals, convergence, files of karhunen.

        Returns
        -------
        karhunen.PCA
            A copy, with the present `whiten`, `numThreads` and `seed` as `whiten`, `n_threads` and `random_state`.
            `subtractMean` is not carried: it centres rows if the fit did.
        """
        pca = copy.deepcopy(self._fitted())
        return pca.set_params(
            whiten=self.getWhiten(), n_threads=self.getNumThreads(), random_state=self._seed_of_engine()
        )

    def write(self) -> StageWriter:
        """Return a writer of the parameters and of a model file."""
        return StageWriter(self, self._fitted())

    @classmethod
    def read(cls) -> ModelReader[PCAModel]:
        """Return a reader of the parameters and of the model file."""
        return ModelReader(cls, karhunen.PCA)

    def _transform(self, dataset: DataFrame) -> DataFrame:
        name = self.getOutputCol()
        if name in dataset.columns:
            raise ValueError(f"the DataFrame has a column {name!r}; set another outputCol")
        columns = self._columns(dataset)
        self._check_names(columns)
        return with_scores(dataset, columns, self._scorer(), name)

    def _check_names(self, columns: Columns) -> None:
        """Compare the columns of `inputCols` with the fitted columns."""
        n_features = self._fitted().n_features_in_
        if columns.width not in (None, n_features):
            raise ValueError(f"inputCols names {columns.width} columns; the model was fitted to {n_features}")
        fitted = getattr(self._fitted(), "feature_names_in_", None)
        if columns.features is None or fitted is None:
            return
        for number, (name, expected) in enumerate(zip(columns.features, fitted.tolist(), strict=True)):
            if name != expected:
                raise ValueError(
                    f"inputCols[{number}] is {name!r}, and the model was fitted to {expected!r} there; give the "
                    "columns of the fit in its order"
                )

    def _scorer(self) -> karhunen.PCA:
        """Return the model that computes the scores of rows without names."""
        pca = self.toKarhunen()
        pca.__dict__.pop("feature_names_in_", None)
        if not self.getSubtractMean():
            pca.mean_ = np.zeros_like(pca.mean_)
        with spark_terms():
            # The engine checks the number of threads, here rather than in every task.
            pca.transform(np.zeros((1, pca.n_features_in_)))
        return pca

    def _fitted(self) -> karhunen.PCA:
        if self._pca is None:
            raise ValueError("this PCAModel has no components; PCA.fit and PCAModel.load return one that has")
        return self._pca
