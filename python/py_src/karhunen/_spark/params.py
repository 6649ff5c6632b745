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


def _param(name: str, text: str, convert: Any) -> Param[Any]:
    return Param(Params._dummy(), name, text, typeConverter=convert)


class PCAParams(HasInputCol, HasInputCols, HasOutputCol, HasWeightCol, HasSolver, HasMaxIter, HasTol, HasSeed):
    """Parameters of the estimator and of the model: their texts, defaults, and getters; setters of the model."""

    k = _param("k", "number of principal components (> 0)", TypeConverters.toInt)
    inputCol = _param("inputCol", "column of vectors or of arrays of numbers", TypeConverters.toString)
    inputCols = _param("inputCols", "numeric columns, in place of inputCol", TypeConverters.toListString)
    outputCol = _param("outputCol", "name of the column of scores", TypeConverters.toString)
    weightCol = _param(
        "weightCol",
        "column of nonnegative weights; without one, or if it is empty, every row has the weight 1",
        TypeConverters.toString,
    )
    center = _param("center", "subtract the mean of each column", TypeConverters.toBoolean)
    scale = _param("scale", "divide each column by its standard deviation", TypeConverters.toBoolean)
    solver = _param("solver", "auto, covariance or block-krylov", TypeConverters.toString)
    weighting = _param(
        "weighting", "meaning of the weights: frequency, importance or population", TypeConverters.toString
    )
    whiten = _param("whiten", "divide scores by their standard deviation", TypeConverters.toBoolean)
    subtractMean = _param(
        "subtractMean",
        "subtract the mean before scores are computed; Spark's own PCA does not",
        TypeConverters.toBoolean,
    )
    tol = _param(
        "tol",
        "largest residual of a component, relative to the largest variance (between 0 and 1); if it is not set, it "
        "depends on the precision of the column",
        TypeConverters.toFloat,
    )
    maxIter = _param("maxIter", "maximum number of passes of block Krylov iteration (> 0)", TypeConverters.toInt)
    seed = _param("seed", "seed of the starting block of block Krylov iteration (64 bits)", TypeConverters.toInt)
    numThreads = _param("numThreads", "number of threads of a task (> 0)", TypeConverters.toInt)
    strict = _param("strict", "raise an error if a component misses the tolerance", TypeConverters.toBoolean)
    persist = _param("persist", "keep the rows in memory and on disk during a fit", TypeConverters.toBoolean)
    checkpoint = _param(
        "checkpoint", "file of the driver that keeps the result of every pass of one fit", TypeConverters.toString
    )
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
        """Return whether scores are those of centred rows."""
        return bool(self.getOrDefault(self.subtractMean))

    def getNumThreads(self) -> int:
        """Return the number of threads of a task."""
        return int(self.getOrDefault(self.numThreads))

    def getStrict(self) -> bool:
        """Return whether a component that misses the tolerance is an error."""
        return bool(self.getOrDefault(self.strict))

    def getPersist(self) -> bool:
        """Return whether Spark keeps the features during the fit."""
        return bool(self.getOrDefault(self.persist))

    def getCheckpoint(self) -> str:
        """Return the file that keeps the result of every pass."""
        return str(self.getOrDefault(self.checkpoint))

    def getResume(self) -> bool:
        """Return whether a fit continues from the checkpoint."""
        return bool(self.getOrDefault(self.resume))

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
        """Find the columns of the features in a DataFrame."""
        return find_columns(dataset, self._given(self.inputCol), self._given(self.inputCols), weight_col)

    def _seed_of_engine(self) -> int:
        """Return the seed, which is signed in Spark, as the engine takes it."""
        seed = self.getSeed()
        if not -(2**63) <= seed < 2**63:
            raise ValueError(f"seed = {seed} is not allowed: a whole number of 64 bits is needed")
        return seed % 2**64

    def _given(self, param: Param[Any]) -> Any:
        """Return the value of a parameter; None without one."""
        return self.getOrDefault(param) if self.isDefined(param) else None
