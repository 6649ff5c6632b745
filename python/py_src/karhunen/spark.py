"""PCA of Spark DataFrames, as an estimator of `pyspark.ml`, in classic sessions and through Spark Connect.

The passes of a fit run on the executors, where karhunen must be installed: each partition is summed where it lies, and
the sums are merged by a tree.
"""

from __future__ import annotations

import copy
import re
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark import keyword_only
from pyspark.ml import Estimator, Model
from pyspark.ml.linalg import DenseMatrix, DenseVector
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import (
    HasInputCol,
    HasInputCols,
    HasMaxIter,
    HasOutputCol,
    HasSeed,
    HasSolver,
    HasTol,
    HasWeightCol,
)
from pyspark.ml.util import MLReadable, MLWritable

import karhunen
from karhunen._cluster.driver import drive
from karhunen._spark.columns import Columns, find_columns
from karhunen._spark.files import ModelReader, StageReader, StageWriter
from karhunen._spark.passes import Passes
from karhunen._spark.scores import with_scores

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from typing_extensions import Self

__all__ = ["PCA", "PCAModel"]

#: Parameters of karhunen.PCA that have other names here.
_NAMES = {"n_components": "k", "max_iter": "maxIter", "random_state": "seed", "n_threads": "numThreads"}


def _param(name: str, text: str, convert: Any) -> Param[Any]:
    return Param(Params._dummy(), name, text, typeConverter=convert)


class _PCAParams(HasInputCol, HasInputCols, HasOutputCol, HasWeightCol, HasSolver, HasMaxIter, HasTol, HasSeed):
    """Parameters of the estimator and of the model."""

    k = _param("k", "number of principal components", TypeConverters.toInt)
    center = _param("center", "subtract the mean of each column", TypeConverters.toBoolean)
    scale = _param("scale", "divide each column by its standard deviation", TypeConverters.toBoolean)
    weighting = _param(
        "weighting", "meaning of the weights: frequency, importance or population", TypeConverters.toString
    )
    whiten = _param("whiten", "divide scores by their standard deviation", TypeConverters.toBoolean)
    subtractMean = _param(
        "subtractMean",
        "subtract the mean before scores are computed; Spark's own PCA does not",
        TypeConverters.toBoolean,
    )
    numThreads = _param("numThreads", "number of threads of a task", TypeConverters.toInt)
    strict = _param("strict", "raise an error if a component misses the tolerance", TypeConverters.toBoolean)
    persist = _param("persist", "keep the rows in memory and on disk during a fit", TypeConverters.toBoolean)
    checkpoint = _param("checkpoint", "file of the driver that keeps the result of every pass", TypeConverters.toString)
    resume = _param("resume", "continue from the checkpoint", TypeConverters.toBoolean)

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(
            center=True,
            scale=False,
            solver="auto",
            weighting="frequency",
            whiten=False,
            subtractMean=True,
            maxIter=1000,
            seed=0,
            numThreads=1,
            strict=False,
            persist=False,
            resume=False,
        )

    def getK(self) -> int:
        """Return the number of components."""
        return int(self.getOrDefault(self.k))

    def getSubtractMean(self) -> bool:
        """Return whether scores are those of centred rows."""
        return bool(self.getOrDefault(self.subtractMean))

    def setInputCol(self, value: str) -> Self:
        """Set the column of vectors or arrays, in place of `inputCols`."""
        self.clear(self.inputCols)
        return self._set(inputCol=value)

    def setInputCols(self, value: list[str]) -> Self:
        """Set the numeric columns, in place of `inputCol`."""
        self.clear(self.inputCol)
        return self._set(inputCols=value)

    def setOutputCol(self, value: str) -> Self:
        """Set the name of the column of scores."""
        return self._set(outputCol=value)

    def setWhiten(self, value: bool) -> Self:
        """Set whether scores have unit variance."""
        return self._set(whiten=value)

    def setSubtractMean(self, value: bool) -> Self:
        """Set whether scores are those of centred rows; Spark's own PCA does not centre."""
        return self._set(subtractMean=value)

    def setNumThreads(self, value: int) -> Self:
        """Set the number of threads of a task."""
        return self._set(numThreads=value)

    def _columns(self, dataset: DataFrame, weight_col: str | None = None) -> Columns:
        return find_columns(dataset, self._given(self.inputCol), self._given(self.inputCols), weight_col)

    def _given(self, param: Param[Any]) -> Any:
        """Return the value of a parameter; None without one."""
        return self.getOrDefault(param) if self.isDefined(param) else None


class PCA(Estimator["PCAModel"], _PCAParams, MLReadable["PCA"], MLWritable):
    """Principal component analysis of Spark DataFrames.

    The result is that of :class:`karhunen.PCA` for the rows in memory, and its bits depend on the partitions and their
    order alone, not on the executors or repeated tasks. Up to 2,048 features ("covariance") a fit takes one pass over
    the DataFrame, beyond that some ten ("block-krylov").

    Parameters
    ----------
    k : int
        Number of components.
    inputCol : str
        Column of vectors (dense, sparse, or both) or of arrays of numbers. Sparse rows are not densified. Arrays of
        float are summed in double precision, and their default tolerance is that of single precision.
    inputCols : list of str
        Numeric columns, in place of `inputCol`.
    outputCol : str
        Name of the column of scores.
    weightCol : str
        Column of nonnegative weights.
    center, scale, solver, weighting, whiten, tol, maxIter, strict
        As `center`, `scale`, `solver`, `weighting`, `whiten`, `tol`, `max_iter`, `strict` of :class:`karhunen.PCA`;
        `solver` is "auto", "covariance" or "block-krylov".
    seed : int, default=0
        Seed of the starting block of block Krylov iteration.
    subtractMean : bool, default=True
        Compute the scores of centred rows. False gives the scores of `pyspark.ml.feature.PCA`, which centres its
        components and not its scores.
    numThreads : int, default=1
        Number of threads of a task; set `spark.task.cpus` to the same number.
    persist : bool, default=False
        Keep the features in the memory and on the disks of the executors during the fit. Without it every pass computes
        the DataFrame anew.
    checkpoint : str
        File of the driver that keeps the result of every pass, from which `resume` goes on.
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
        center: bool = True,
        scale: bool = False,
        solver: str = "auto",
        weighting: str = "frequency",
        whiten: bool = False,
        tol: float | None = None,
        maxIter: int = 1000,
        seed: int = 0,
        subtractMean: bool = True,
        numThreads: int = 1,
        strict: bool = False,
        persist: bool = False,
        checkpoint: str | None = None,
        resume: bool = False,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(
        self,
        *,
        k: int | None = None,
        inputCol: str | None = None,
        inputCols: list[str] | None = None,
        outputCol: str | None = None,
        weightCol: str | None = None,
        center: bool = True,
        scale: bool = False,
        solver: str = "auto",
        weighting: str = "frequency",
        whiten: bool = False,
        tol: float | None = None,
        maxIter: int = 1000,
        seed: int = 0,
        subtractMean: bool = True,
        numThreads: int = 1,
        strict: bool = False,
        persist: bool = False,
        checkpoint: str | None = None,
        resume: bool = False,
    ) -> PCA:
        """Set parameters; those that are not given keep their values."""
        return self._set(**self._input_kwargs)

    def setK(self, value: int) -> PCA:
        """Set the number of components."""
        return self._set(k=value)

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

    def setTol(self, value: float) -> PCA:
        """Set the tolerance of block Krylov iteration."""
        return self._set(tol=value)

    def setMaxIter(self, value: int) -> PCA:
        """Set the maximum number of passes of block Krylov iteration."""
        return self._set(maxIter=value)

    def setSeed(self, value: int) -> PCA:
        """Set the seed of block Krylov iteration."""
        return self._set(seed=value)

    def setStrict(self, value: bool) -> PCA:
        """Set whether a component that misses the tolerance is an error."""
        return self._set(strict=value)

    def setPersist(self, value: bool) -> PCA:
        """Set whether Spark keeps the features during the fit."""
        return self._set(persist=value)

    def setCheckpoint(self, value: str) -> PCA:
        """Set the file that keeps the result of every pass."""
        return self._set(checkpoint=value)

    def setResume(self, value: bool) -> PCA:
        """Set whether a fit continues from the checkpoint."""
        return self._set(resume=value)

    def write(self) -> StageWriter:
        """Return a writer of the parameters."""
        return StageWriter(self)

    @classmethod
    def read(cls) -> StageReader[PCA]:
        """Return a reader of the parameters."""
        return StageReader(cls)

    def _fit(self, dataset: DataFrame) -> PCAModel:
        columns = self._columns(dataset, self._given(self.weightCol))
        pca = self._in_memory()
        rows = columns.select(dataset)
        persist = self.getOrDefault(self.persist)
        if persist:
            rows = rows.persist()
        level = dataset.storageLevel
        stored = persist or level.useMemory or level.useDisk
        try:
            drive(
                pca,
                Passes(rows, columns, pca.n_threads or 1, stored),
                lambda: columns.features,
                checkpoint=self._given(self.checkpoint),
                resume=self.getOrDefault(self.resume),
            )
        except ValueError as error:
            # A subclass has texts of its own.
            raise ValueError(_renamed(str(error))) if type(error) is ValueError else error from None
        finally:
            if persist:
                rows.unpersist()
        model = PCAModel(pca)
        model._resetUid(self.uid)
        return self._copyValues(model)

    def _in_memory(self) -> karhunen.PCA:
        """Return the estimator of rows in memory."""
        if not self.isDefined(self.k):
            raise ValueError("k is not set; give the number of components")
        # The parameters are checked at the start of the fit.
        same = ("center", "scale", "whiten", "solver", "weighting", "strict")
        return karhunen.PCA(
            tol=self._given(self.tol),
            **{name: self.getOrDefault(param) for name, param in _NAMES.items()},
            **{name: self.getOrDefault(name) for name in same},
        )


class PCAModel(Model, _PCAParams, MLReadable["PCAModel"], MLWritable):
    """Fitted principal components, which :meth:`PCA.fit` returns.

    `transform` adds the scores of the rows as a column of dense vectors, `outputCol`. It is lazy.

    Parameters
    ----------
    pca : karhunen.PCA
        Fitted model.
    """

    def __init__(self, pca: karhunen.PCA | None = None) -> None:
        super().__init__()
        # A model has no components until a reader sets them.
        self._pca = pca

    @property
    def pc(self) -> DenseMatrix:
        """Return the components as a matrix of shape (n_features, k), one column for each."""
        components = self._fitted().components_
        return DenseMatrix(components.shape[1], components.shape[0], components.ravel().tolist())

    @property
    def explainedVariance(self) -> DenseVector:
        """Return the share of the total variance of each component."""
        return DenseVector(self._fitted().explained_variance_ratio_)

    @property
    def mean(self) -> DenseVector:
        """Return the means of the features; zeros without `center`."""
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
            A copy.
        """
        return copy.deepcopy(self._fitted())

    def write(self) -> StageWriter:
        """Return a writer of the parameters and of a model file."""
        return StageWriter(self, self._fitted())

    @classmethod
    def read(cls) -> ModelReader:
        """Return a reader of the parameters and of the model file."""
        return ModelReader(cls)

    def _transform(self, dataset: DataFrame) -> DataFrame:
        name = self.getOutputCol()
        if name in dataset.columns:
            raise ValueError(f"the DataFrame has a column {name!r}; set another outputCol")
        columns = self._columns(dataset)
        n_features = self._fitted().n_features_in_
        if columns.width is not None and columns.width != n_features:
            raise ValueError(f"inputCols names {columns.width} columns; the model was fitted to {n_features}")
        return with_scores(dataset, columns, self._scorer(), name)

    def _scorer(self) -> karhunen.PCA:
        """Return the model that computes the scores of rows without names."""
        pca = self.toKarhunen()
        pca.__dict__.pop("feature_names_in_", None)
        pca.whiten = self.getOrDefault(self.whiten)
        pca.n_threads = self.getOrDefault(self.numThreads)
        if not self.getSubtractMean():
            pca.mean_ = np.zeros_like(pca.mean_)
        return pca

    def _fitted(self) -> karhunen.PCA:
        if self._pca is None:
            raise ValueError("this PCAModel has no components; PCA.fit and PCAModel.load return one that has")
        return self._pca


def _renamed(text: str) -> str:
    """Return the text of an error with the names of the parameters here."""
    return re.sub(rf"\b({'|'.join(_NAMES)})\b", lambda name: _NAMES[name[1]], text)
