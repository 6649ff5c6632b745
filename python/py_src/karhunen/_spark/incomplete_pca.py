"""PCA of entries in Spark DataFrames, and the predictions of others."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark import keyword_only
from pyspark.ml import Estimator, Model
from pyspark.ml.param import TypeConverters
from pyspark.ml.param.shared import HasPredictionCol
from pyspark.ml.util import MLReadable, MLWritable
from pyspark.sql import SparkSession, functions
from pyspark.sql.types import IntegralType

import karhunen
from karhunen._cluster.driver import drive, threads_of_part
from karhunen._shared.checkpoints import to_pass_log
from karhunen._spark.columns import numbered, type_of, types_of
from karhunen._spark.entries import EntryColumns, check_label, names_of, scores_of_rows
from karhunen._spark.files import ModelReader, StageReader, StageWriter
from karhunen._spark.one_task import fit_in_one_task
from karhunen._spark.packed_entries import PackedColumns, packed, sums_of_entries
from karhunen._spark.params import FitSetters, SharedParams, param
from karhunen._spark.passes import Passes
from karhunen._spark.texts import spark_terms

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType
    from typing_extensions import Self


#: Most entries of a fit in one task, if no number of partitions is asked for: 0.6 GB of memory with labels that are
#: integers, 1.6 GB with labels of 36 characters.
ENTRIES_OF_TASK = 10_000_000
#: Entries of a partition of larger fits. A pass takes a task some tenths of a second, and as long for its start and its
#: sums, of megabytes.
ENTRIES_OF_PART = 5_000_000
#: Warning where Spark does not keep the packed entries.
_REPEATED = "every iteration computes the DataFrame again and shuffles it; set persist=True"


class _EntryParams(SharedParams, HasPredictionCol):
    """Parameters of the estimator and of the model."""

    rowCol = param("rowCol", "column with the labels of rows: integers or strings", TypeConverters.toString)
    columnCol = param("columnCol", "column with the labels of columns: integers or strings", TypeConverters.toString)
    valueCol = param("valueCol", "column with the values", TypeConverters.toString)
    numPartitions = param(
        "numPartitions",
        "number of partitions of rows; if it is not set, one up to 10 million entries of a fit, else one for every 5",
        TypeConverters.toInt,
    )

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(rowCol="row", columnCol="column", valueCol="value", numThreads=1)

    def setRowCol(self, value: str) -> Self:
        """Set the column with the labels of rows."""
        return self._set(rowCol=value)

    def setColumnCol(self, value: str) -> Self:
        """Set the column with the labels of columns."""
        return self._set(columnCol=value)

    def setValueCol(self, value: str) -> Self:
        """Set the column with the values."""
        return self._set(valueCol=value)

    def setPredictionCol(self, value: str) -> Self:
        """Set the column of predictions."""
        return self._set(predictionCol=value)

    def setNumPartitions(self, value: int) -> Self:
        """Set the number of partitions of rows."""
        return self._set(numPartitions=value)

    def getRowCol(self) -> str:
        """Return the column with the labels of rows."""
        return str(self.getOrDefault(self.rowCol))

    def getColumnCol(self) -> str:
        """Return the column with the labels of columns."""
        return str(self.getOrDefault(self.columnCol))

    def getValueCol(self) -> str:
        """Return the column with the values."""
        return str(self.getOrDefault(self.valueCol))

    def _entry_columns(self, dataset: DataFrame) -> EntryColumns:
        return EntryColumns.find(dataset, self.getRowCol(), self.getColumnCol(), self.getValueCol())

    def _n_parts(self) -> int | None:
        given: int | None = self._given(self.numPartitions)
        if given is not None and given < 1:
            raise ValueError(f"numPartitions = {given} is not allowed: at least one is needed")
        return given


class IncompletePCA(
    Estimator["IncompletePCAModel"],
    _EntryParams,
    FitSetters,
    MLReadable["IncompletePCA"],
    MLWritable,
):
    """Principal component analysis of entries in a Spark DataFrame: one row for each (row, column, value).

    For ratings and other tables of which few entries are known. The model is the same as in
    :class:`karhunen.IncompletePCA`: ``value = mean of the column + scores of the row . loadings of the column``. A
    shuffle brings the entries of each row together. Up to 10 million entries are fitted by one task; of more, each
    iteration is one pass, in which each partition returns 4 p (k + 2) (k + 3) bytes for p columns, by "vb-full" 8 p
    (k^2 + 3 k + 3). The iterations are the same as with the entries in memory and ``n_starts=1``, up to rounding, and
    their bits depend on the number of partitions alone. There is one start, so nothing shows whether a fit ends at a
    wrong optimum: compare ``toKarhunen().convergence_.cost`` of fits with several values of `seed`. Predictions far
    outside the data are not searched for.

    Parameters
    ----------
    k : int
        Number of components.
    rowCol, columnCol, valueCol : str, default="row", "column", "value"
        Columns of the DataFrame with the labels of rows and of columns (integers or strings) and the values. Each pair
        of labels occurs once. NaN is missing.
    predictionCol : str, default="prediction"
        Column that the model adds.
    method : {"als", "em", "vb-full"}, default="als"
        Alternating least squares with or without a penalty, or variational Bayes, which learns the variance of the
        noise and leaves out components that the entries do not support.
    regParam : float
        Penalty on squared scores and loadings, of "als". If it is not set, the standard deviation of the values.
    weightedReg : bool, default=False
        Multiply the penalty by the number of entries of each row and column, as :class:`pyspark.ml.recommendation.ALS`
        does.
    mean : {"joint", "fixed", "none"}, default="joint"
        Mean of each column, as of :class:`karhunen.IncompletePCA`.
    scale : bool, default=False
        Divide each column by the standard deviation of its values.
    tol, maxIter : float, int, default=1e-6, 1000
        The fit stops when the relative decrease of the cost in an iteration is below `tol`.
    seed : int, default=0
        Seed of the random start.
    numPartitions : int
        Number of partitions of rows. If it is not set, one for a fit to up to 10 million entries, else one for every 5
        million, and Spark's own number for the scores of the model. The whole fit to one partition is one task, which
        reads the entries once, unless it keeps a `checkpoint`. On top of Spark's own memory it takes 60 bytes for each
        entry if the labels of rows are integers, and 160 if they have 36 characters.
    numThreads : int, default=1
        Number of threads of a task; set `spark.task.cpus` to the same number.
    persist : bool, default=False
        Keep the packed entries of several partitions in the memory and on the disks of the executors during the fit.
        Without it every iteration computes the DataFrame again and shuffles it.
    checkpoint : str
        File of the driver that keeps the result of every pass, from which `resume` continues; one for each fit.
    resume : bool, default=False
        Continue from `checkpoint`, or start if the file does not exist.

    See Also
    --------
    karhunen.dask.IncompletePCA : Rows with missing values on Dask.
    """

    __module__ = "karhunen.spark"
    _input_kwargs: dict[str, Any]

    method = param(
        "method",
        'alternating least squares, "als" with a penalty, "em" without; or variational Bayes, "vb-full"',
        TypeConverters.toString,
    )
    regParam = param("regParam", "penalty on squared scores and loadings", TypeConverters.toFloat)
    weightedReg = param(
        "weightedReg", "multiply the penalty by the number of entries of each row and column", TypeConverters.toBoolean
    )
    mean = param("mean", 'mean of each column: "joint", "fixed" or "none"', TypeConverters.toString)

    scale = param("scale", "divide each column by the standard deviation of its values", TypeConverters.toBoolean)

    @keyword_only
    def __init__(
        self,
        *,
        k: int | None = None,
        rowCol: str | None = None,
        columnCol: str | None = None,
        valueCol: str | None = None,
        predictionCol: str | None = None,
        method: str | None = None,
        regParam: float | None = None,
        weightedReg: bool | None = None,
        mean: str | None = None,
        scale: bool | None = None,
        tol: float | None = None,
        maxIter: int | None = None,
        seed: int | None = None,
        numPartitions: int | None = None,
        numThreads: int | None = None,
        persist: bool | None = None,
        checkpoint: str | None = None,
        resume: bool | None = None,
    ) -> None:
        super().__init__()
        self._setDefault(
            method="als",
            weightedReg=False,
            mean="joint",
            scale=False,
            tol=1e-6,
            maxIter=1000,
            seed=0,
            persist=False,
            resume=False,
        )
        self._set(**self._input_kwargs)

    def setParams(self, **params: Any) -> Self:
        """Set parameters of the constructor; others keep their values."""
        for name in params:
            if not self.hasParam(name):
                raise TypeError(f"IncompletePCA has no parameter {name}")
        return self._set(**params)

    def setMethod(self, value: str) -> Self:
        """Set the method: "als", "em" or "vb-full"."""
        return self._set(method=value)

    def setRegParam(self, value: float) -> Self:
        """Set the penalty on squared scores and loadings."""
        return self._set(regParam=value)

    def setWeightedReg(self, value: bool) -> Self:
        """Set whether the penalty is multiplied by the number of entries of each row and column."""
        return self._set(weightedReg=value)

    def setMean(self, value: str) -> Self:
        """Set the mean of each column: "joint", "fixed" or "none"."""
        return self._set(mean=value)

    def setScale(self, value: bool) -> Self:
        """Set whether each column is divided by the standard deviation of its values."""
        return self._set(scale=value)

    def write(self) -> StageWriter:
        """Return a writer of the parameters."""
        return StageWriter(self)

    @classmethod
    def read(cls) -> StageReader[IncompletePCA]:
        """Return a reader of the parameters."""
        return StageReader(cls)

    def _fit(self, dataset: DataFrame) -> IncompletePCAModel:
        pca = self._in_memory()
        columns = self._entry_columns(dataset)
        n_parts, checkpoint = self._n_parts(), self._given(self.checkpoint)
        # Refuses `resume` without a file before the DataFrame is read.
        to_pass_log(checkpoint, self.getOrDefault(self.resume))
        labels, n_entries = columns.labels(dataset)
        if n_parts is None:
            n_parts = 1 if n_entries <= ENTRIES_OF_TASK else -(-n_entries // ENTRIES_OF_PART)
        entries = columns.of_rows(dataset, labels, n_parts)
        with spark_terms():
            if n_parts == 1 and checkpoint is None:
                pca = fit_in_one_task(entries, columns, labels, pca)
            else:
                self._fit_in_passes(packed(entries, columns, labels), columns, labels, pca)
        if not hasattr(pca, "feature_names_in_"):
            pca.column_ids_ = np.asarray(labels.to_pylist())
        model = IncompletePCAModel(pca, dataset)
        model._resetUid(self.uid)
        return self._copyValues(model)

    def _fit_in_passes(
        self, rows: DataFrame, columns: EntryColumns, labels: pa.Array, pca: karhunen.IncompletePCA
    ) -> None:
        """Fit the estimator by passes over packed partitions."""
        persist = self.getOrDefault(self.persist)
        if persist:
            rows = rows.persist()
        form, work = PackedColumns(columns.dtype, len(labels)), sums_of_entries(threads_of_part(pca))
        try:
            drive(
                pca,
                Passes(rows, form, work, persist, _REPEATED),
                lambda: names_of(labels),
                checkpoint=self._given(self.checkpoint),
                resume=self.getOrDefault(self.resume),
            )
        finally:
            if persist:
                rows.unpersist()

    def _in_memory(self) -> karhunen.IncompletePCA:
        """Return the estimator of entries in memory."""
        if not self.isDefined(self.k):
            raise ValueError("k is not set; give the number of components")
        if self.getK() < 1:
            raise ValueError(f"k = {self.getK()} is not allowed: at least one component is needed")
        get = self.getOrDefault
        method, penalty = get(self.method), self._given(self.regParam)
        if method not in ("als", "em", "vb-full"):
            raise ValueError(f"method = {method!r} is not allowed: choose 'als', 'em' or 'vb-full'")
        if penalty is not None and method != "als":
            raise ValueError(f"method = {method!r} has no penalty; clear regParam, or set method = 'als'")
        if penalty is not None and not 0 < penalty < np.inf:
            raise ValueError(f"regParam = {penalty} is not allowed: a penalty is positive; method = 'em' has none")
        if get(self.weightedReg):
            if penalty is None:
                raise ValueError("weightedReg = True needs a penalty: set regParam")
            penalty = ("weighted", penalty)
        return karhunen.IncompletePCA(
            get(self.k),
            method=method,
            regularization=penalty,
            mean=get(self.mean),
            scale=get(self.scale),
            tol=get(self.tol),
            max_iter=get(self.maxIter),
            n_starts=1,
            random_state=self._seed_of_engine(),
            n_threads=get(self.numThreads),
        )


class IncompletePCAModel(Model, _EntryParams, MLReadable["IncompletePCAModel"], MLWritable):
    """Fitted principal components of entries, which :meth:`IncompletePCA.fit` returns.

    `transform` adds the predictions of the pairs of a row and a column in `rowCol` and `columnCol`. The scores of a row
    are computed from its entries in the fit, or from the entries that :meth:`setEntries` sets. They are not in the
    model file. A row without entries has the scores of an empty row; a column that was not fitted, and a label that is
    null, have no prediction (null).

    Parameters
    ----------
    pca : karhunen.IncompletePCA
        Fitted model; the labels of the columns are its `column_ids_`, or its `feature_names_in_` if they are strings.
    entries : DataFrame or None
        The entries that scores are computed from.
    """

    __module__ = "karhunen.spark"

    def __init__(self, pca: karhunen.IncompletePCA | None = None, entries: DataFrame | None = None) -> None:
        super().__init__()
        # A model has no components until a reader sets them.
        self._pca = pca
        self._entries = entries

    def setEntries(self, entries: DataFrame) -> Self:
        """Set the DataFrame whose entries the scores of rows are computed from.

        Parameters
        ----------
        entries : DataFrame
            Entries as of the fit, in the columns `rowCol`, `columnCol` and `valueCol`. Columns that were not fitted are
            left out.
        """
        columns = self._entry_columns(entries)
        types = types_of(entries)
        if self._pca is not None:
            self._check_labels("columnCol", columns.column, types)
        if self._entries is not None:
            row = types_of(self._entries).get(columns.row, [])
            if row and check_label("rowCol", columns.row, row[0]) != self._is_integer("rowCol", columns.row, types):
                raise ValueError(f"rowCol = {columns.row!r} was of another type in the fit; cast its labels")
        self._entries = entries
        return self

    def rowScores(self) -> DataFrame:
        """Return the scores of the rows, lazily.

        Returns
        -------
        DataFrame
            Each label of a row in the column `rowCol`, and its scores as an array of k doubles in the column "scores".
        """
        if self.getRowCol() == "scores":
            raise ValueError("rowCol = 'scores' is the name of the column of scores; set another rowCol")
        return self._row_scores().withColumnRenamed("i", self.getRowCol())

    def columnLoadings(self) -> DataFrame:
        """Return the columns: label in `columnCol`, loadings as an array of k doubles, and mean."""
        if self.getColumnCol() in ("loadings", "mean"):
            raise ValueError(
                f"columnCol = {self.getColumnCol()!r} is the name of another column; set another columnCol"
            )
        return self._column_loadings().withColumnRenamed("j", self.getColumnCol())

    def _row_scores(self) -> DataFrame:
        pca = self._fitted()
        if self._entries is None:
            raise ValueError("this model has no entries to compute scores from; set them with setEntries")
        columns = self._entry_columns(self._entries)
        return scores_of_rows(self._entries, columns, self._labels(), _by_number(pca), self._n_parts())

    def _column_loadings(self) -> DataFrame:
        pca, labels = self._fitted(), self._labels()
        kind = "long" if pa.types.is_integer(labels.type) else "string"
        values = zip(labels.to_pylist(), pca.components_.T.tolist(), pca.mean_.tolist(), strict=True)
        return _session().createDataFrame(list(values), f"j {kind}, loadings array<double>, mean double")

    def toKarhunen(self) -> karhunen.IncompletePCA:
        """Return the model for rows in memory; its `column_ids_` or `feature_names_in_` are the labels of the columns.

        Returns
        -------
        karhunen.IncompletePCA
            A copy.
        """
        return copy.deepcopy(self._fitted())

    def write(self) -> StageWriter:
        """Return a writer of the parameters and of a model file, without entries."""
        return StageWriter(self, self._fitted())

    @classmethod
    def read(cls) -> ModelReader[IncompletePCAModel]:
        """Return a reader of the parameters and of the model file."""
        return ModelReader(cls, karhunen.IncompletePCA)

    def __repr__(self) -> str:
        pca = self._pca
        of = "" if pca is None else f", k={len(pca.components_)}, numColumns={pca.components_.shape[1]}"
        return f"IncompletePCAModel: uid={self.uid}{of}"

    def _transform(self, dataset: DataFrame) -> DataFrame:
        name = self.getPredictionCol()
        if name in dataset.columns:
            raise ValueError(f"the DataFrame has a column {name!r}; set another predictionCol")
        row, column, types = self.getRowCol(), self.getColumnCol(), types_of(dataset)
        self._check_labels("columnCol", column, types)
        scores = self._row_scores()
        if self._is_integer("rowCol", row, types) != isinstance(scores.schema["i"].dataType, IntegralType):
            raise ValueError(f"rowCol = {row!r} was of another type in the fit; cast its labels")
        # Names of their own, because the DataFrame may have any names.
        plain = numbered(dataset)
        i, j = (plain[f"c{dataset.columns.index(needed)}"] for needed in (row, column))
        loadings = functions.broadcast(self._column_loadings())
        joined = plain.join(scores, i == scores["i"], "left").join(loadings, j == loadings["j"], "left")
        # The scores of rows without entries.
        none = functions.array(*(functions.lit(value) for value in self._scores_without_entries()))
        products = functions.zip_with(functions.coalesce("scores", none), "loadings", lambda x, y: x * y)
        prediction = functions.aggregate(products, functions.col("mean"), lambda total, x: total + x)
        prediction = functions.when(i.isNotNull(), prediction)
        return joined.select(*plain.columns, prediction.alias("prediction")).toDF(*dataset.columns, name)

    def _check_labels(self, option: str, name: str, types: dict[str, list[DataType]]) -> None:
        """Refuse labels of columns of another type than in the fit."""
        if self._is_integer(option, name, types) != pa.types.is_integer(self._labels().type):
            raise ValueError(f"{option} = {name!r} was of another type in the fit; cast its labels")

    def _is_integer(self, option: str, name: str, types: dict[str, list[DataType]]) -> bool:
        return check_label(option, name, type_of(types, option, name))

    def _scores_without_entries(self) -> list[float]:
        pca = _by_number(self._fitted())
        scores = np.asarray(pca.transform(np.full((1, pca.components_.shape[1]), np.nan)))
        return [float(value) for value in scores[0]]

    def _labels(self) -> pa.Array:
        """Return the labels of the columns, in their order."""
        pca = self._fitted()
        return pa.array((pca.feature_names_in_ if pca.column_ids_ is None else pca.column_ids_).tolist())

    def _fitted(self) -> karhunen.IncompletePCA:
        if self._pca is None:
            raise ValueError(
                "this IncompletePCAModel has no components; IncompletePCA.fit and IncompletePCAModel.load return one "
                "that has"
            )
        return self._pca


def _session() -> SparkSession:
    found = SparkSession.getActiveSession()
    return SparkSession.builder.getOrCreate() if found is None else found


def _by_number(pca: karhunen.IncompletePCA) -> karhunen.IncompletePCA:
    """Return the model that computes the scores of rows by the numbers of their columns."""
    scorer = copy.deepcopy(pca)
    scorer.column_ids_ = None
    scorer.__dict__.pop("feature_names_in_", None)
    scorer.n_threads = 1
    return scorer
