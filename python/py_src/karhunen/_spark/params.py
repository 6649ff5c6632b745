"""Parameters of the estimators and models for Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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

from karhunen._spark.columns import Columns, find_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from typing_extensions import Self


def param(name: str, text: str, convert: Any) -> Param[Any]:
    """Return a parameter of a class."""
    return Param(Params._dummy(), name, text, typeConverter=convert)


class SharedParams(Params):
    """Parameters of all estimators and models."""

    numThreads = param("numThreads", "number of threads of a task (> 0)", TypeConverters.toInt)

    def getNumThreads(self) -> int:
        """Return the number of threads of a task."""
        return int(self.getOrDefault(self.numThreads))

    def setNumThreads(self, value: int) -> Self:
        """Set the number of threads of a task."""
        return self._set(numThreads=value)

    def _given(self, param: Param[Any]) -> Any:
        """Return the value of a parameter; None without one."""
        return self.getOrDefault(param) if self.isDefined(param) else None


class FitParams(HasMaxIter, HasTol, HasSeed):
    """Parameters of all estimators."""

    k = param("k", "number of components (> 0)", TypeConverters.toInt)
    persist = param("persist", "keep the rows in memory and on disk during a fit", TypeConverters.toBoolean)
    checkpoint = param(
        "checkpoint", "file of the driver that keeps the result of every pass of one fit", TypeConverters.toString
    )
    resume = param("resume", "continue from the checkpoint", TypeConverters.toBoolean)

    def getK(self) -> int:
        """Return the number of components."""
        return int(self.getOrDefault(self.k))

    def getPersist(self) -> bool:
        """Return whether Spark keeps the rows during the fit."""
        return bool(self.getOrDefault(self.persist))

    def getCheckpoint(self) -> str:
        """Return the file that keeps the result of every pass."""
        return str(self.getOrDefault(self.checkpoint))

    def getResume(self) -> bool:
        """Return whether a fit continues from the checkpoint."""
        return bool(self.getOrDefault(self.resume))

    def _seed_of_engine(self) -> int:
        """Return the seed, which is signed in Spark, as the engine takes it."""
        seed = self.getSeed()
        if not -(2**63) <= seed < 2**63:
            raise ValueError(f"seed = {seed} is not allowed: a whole number of 64 bits is needed")
        return seed % 2**64


class FitSetters(FitParams):
    """Setters of all estimators."""

    def setK(self, value: int) -> Self:
        """Set the number of components."""
        return self._set(k=value)

    def setTol(self, value: float) -> Self:
        """Set the tolerance of the iteration."""
        return self._set(tol=value)

    def setMaxIter(self, value: int) -> Self:
        """Set the maximum number of passes of the iteration."""
        return self._set(maxIter=value)

    def setSeed(self, value: int) -> Self:
        """Set the seed of the iteration."""
        return self._set(seed=value)

    def setPersist(self, value: bool) -> Self:
        """Set whether Spark keeps the rows during the fit."""
        return self._set(persist=value)

    def setCheckpoint(self, value: str) -> Self:
        """Set the file that keeps the result of every pass."""
        return self._set(checkpoint=value)

    def setResume(self, value: bool) -> Self:
        """Set whether a fit continues from the checkpoint."""
        return self._set(resume=value)


class PCAParams(SharedParams, FitParams, HasInputCol, HasInputCols, HasOutputCol, HasWeightCol, HasSolver):
    """Parameters of the estimator and of the model: their texts, defaults, and getters; setters of the model."""

    inputCol = param("inputCol", "column of vectors or of arrays of numbers", TypeConverters.toString)
    inputCols = param("inputCols", "numeric columns, instead of inputCol", TypeConverters.toListString)
    outputCol = param("outputCol", "name of the column of scores", TypeConverters.toString)
    weightCol = param(
        "weightCol",
        "column of nonnegative weights; without one, or if it is empty, every row has the weight 1",
        TypeConverters.toString,
    )
    center = param("center", "subtract the mean of each column", TypeConverters.toBoolean)
    scale = param("scale", "divide each column by its standard deviation", TypeConverters.toBoolean)
    solver = param("solver", "auto, covariance or block-krylov", TypeConverters.toString)
    weighting = param(
        "weighting", "meaning of the weights: frequency, importance or population", TypeConverters.toString
    )
    whiten = param("whiten", "divide scores by their standard deviation", TypeConverters.toBoolean)
    subtractMean = param(
        "subtractMean",
        "subtract the mean before scores are computed; Spark's own PCA does not",
        TypeConverters.toBoolean,
    )
    tol = param(
        "tol",
        "largest residual of a component, relative to the largest variance (between 0 and 1); if it is not set, it "
        "depends on the precision of the column",
        TypeConverters.toFloat,
    )
    maxIter = param("maxIter", "maximum number of passes of block Krylov iteration (> 0)", TypeConverters.toInt)
    seed = param("seed", "seed of the starting block of block Krylov iteration (64 bits)", TypeConverters.toInt)
    strict = param("strict", "raise an error if a component misses the tolerance", TypeConverters.toBoolean)

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

    def getCenter(self) -> bool:
        """Return whether the mean of each column is subtracted."""
        return bool(self.getOrDefault(self.center))

    def getScale(self) -> bool:
        """Return whether columns are divided by their standard deviations."""
        return bool(self.getOrDefault(self.scale))

    def getWeighting(self) -> str:
        """Return the meaning of the weights."""
        return str(self.getOrDefault(self.weighting))

    def getWhiten(self) -> bool:
        """Return whether scores have unit variance."""
        return bool(self.getOrDefault(self.whiten))

    def getSubtractMean(self) -> bool:
        """Return whether scores are of centred rows."""
        return bool(self.getOrDefault(self.subtractMean))

    def getStrict(self) -> bool:
        """Return whether a component that misses the tolerance is an error."""
        return bool(self.getOrDefault(self.strict))

    def setInputCol(self, value: str) -> Self:
        """Set the column of vectors or arrays, instead of `inputCols`."""
        self.clear(self.inputCols)
        return self._set(inputCol=value)

    def setInputCols(self, value: list[str]) -> Self:
        """Set the numeric columns, instead of `inputCol`."""
        self.clear(self.inputCol)
        return self._set(inputCols=value)

    def setOutputCol(self, value: str) -> Self:
        """Set the name of the column of scores."""
        return self._set(outputCol=value)

    def setWhiten(self, value: bool) -> Self:
        """Set whether scores have unit variance."""
        return self._set(whiten=value)

    def setSubtractMean(self, value: bool) -> Self:
        """Set whether scores are of centred rows; Spark's own PCA does not centre."""
        return self._set(subtractMean=value)

    def _columns(self, dataset: DataFrame, weight_col: str | None = None) -> Columns:
        """Find the columns of the features in a DataFrame."""
        return find_columns(dataset, self._given(self.inputCol), self._given(self.inputCols), weight_col)
