"""Estimators and models in folders of any file system that Spark reaches: metadata as JSON, and a model file.

The folders have Spark's own form, so that pipelines save and load their stages.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from pyspark.ml.param import Params
from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReader, MLWriter
from pyspark.sql.utils import is_remote

import karhunen
from karhunen._spark import pieces

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


Stage = TypeVar("Stage", bound=Params)

#: A fitted model.
Fitted = karhunen.PCA | karhunen.IncompletePCA


class StageWriter(MLWriter):
    """Writes an estimator, or a model.

    Parameters
    ----------
    instance : Params
        Estimator or model.
    pca : karhunen.PCA or karhunen.IncompletePCA or None
        The fitted model.
    """

    def __init__(self, instance: Params, pca: Fitted | None = None) -> None:
        super().__init__()
        self._instance = instance
        self._pca = pca

    def save(self, path: str) -> None:
        """Write to a folder.

        Parameters
        ----------
        path : str
            Folder. After `overwrite`, one that exists is removed with all it holds; through Spark Connect only files
            that are written are replaced.

        Raises
        ------
        FileExistsError
            If the folder exists and `overwrite` was not called. Through Spark Connect, Spark raises an
            AnalysisException if the folder holds an estimator or a model.
        """
        spark = self.sparkSession
        content = None if self._pca is None else _model_file(self._pca)
        if not is_remote():
            _make_room(spark, path, self.shouldOverwrite)
        mode = "overwrite" if self.shouldOverwrite else "error"
        # Spark's own writer cannot overwrite through Connect.
        metadata = DefaultParamsWriter._get_metadata_to_save(self._instance, spark)
        spark.createDataFrame([(metadata,)], "value string").coalesce(1).write.mode(mode).text(f"{path}/metadata")
        if content is not None:
            rows = [(number, bytearray(piece)) for number, piece in pieces.split(content)]
            frame = spark.createDataFrame(rows, "seq int, data binary")
            frame.coalesce(1).write.mode(mode).parquet(f"{path}/model")


class StageReader(MLReader[Stage], Generic[Stage]):
    """Reads an estimator, or the parameters of a model.

    Parameters
    ----------
    kind : type
        Its class.
    """

    def __init__(self, kind: type[Stage]) -> None:
        super().__init__()
        self._kind: type[Stage] = kind

    def load(self, path: str) -> Stage:
        """Read from a folder."""
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        name = f"{self._kind.__module__}.{self._kind.__name__}"
        if metadata["class"] != name:
            raise ValueError(f"{path} holds a {metadata['class']}, not a {name}")
        instance = self._kind()
        instance._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(instance, metadata)
        return instance


class ModelReader(StageReader[Stage]):
    """Reads a model.

    Parameters
    ----------
    kind : type
        Its class.
    fitted : type
        Class of the fitted model in memory.
    """

    def __init__(self, kind: type[Stage], fitted: type[Fitted]) -> None:
        super().__init__(kind)
        self._fitted = fitted

    def load(self, path: str) -> Stage:
        """Read from a folder."""
        model = super().load(path)
        rows = self.sparkSession.read.parquet(f"{path}/model").collect()
        content = pieces.join((row["seq"], bytes(row["data"])) for row in rows)
        cast(Any, model)._pca = _model_of(content, self._fitted)
        return model


def _make_room(spark: SparkSession, path: str, overwrite: bool) -> None:
    """Remove a folder that exists, or refuse it, by the file system of Spark."""
    folder = spark._jvm.org.apache.hadoop.fs.Path(path)
    files = folder.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())
    if not files.exists(folder):
        return
    if not overwrite:
        raise FileExistsError(f"{path} already exists; write().overwrite().save(path) replaces it")
    files.delete(folder, True)


def _model_file(pca: Fitted) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "pca.model")
        pca.save(path)
        return path.read_bytes()


def _model_of(content: bytes, fitted: type[Fitted]) -> Fitted:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "pca.model")
        path.write_bytes(content)
        return fitted.load(path)
