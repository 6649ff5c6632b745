"""Estimators and models in folders of any file system that Spark reaches: metadata as JSON, and a model file.

The folders have Spark's own form, so that pipelines save and load their stages.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from pyspark.ml.param import Params
from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReader, MLWriter

import karhunen

if TYPE_CHECKING:
    from karhunen.spark import PCA, PCAModel

Stage = TypeVar("Stage", "PCA", "PCAModel")

#: Most bytes of a model file in one row.
_ROW_BYTES = 16 * 2**20


class StageWriter(MLWriter):
    """Writes an estimator, or a model.

    Parameters
    ----------
    instance : Params
        Estimator or model.
    pca : karhunen.PCA or None
        The fitted model.
    """

    def __init__(self, instance: Params, pca: karhunen.PCA | None = None) -> None:
        super().__init__()
        self._instance = instance
        self._pca = pca

    def save(self, path: str) -> None:
        """Write to a folder, which must not exist unless `overwrite` was called."""
        spark = self.sparkSession
        mode = "overwrite" if self.shouldOverwrite else "error"
        # Spark's own writer cannot overwrite through Connect.
        metadata = DefaultParamsWriter._get_metadata_to_save(self._instance, spark)
        spark.createDataFrame([(metadata,)], "value string").coalesce(1).write.mode(mode).text(f"{path}/metadata")
        if self._pca is not None:
            content = _model_file(self._pca)
            rows = [
                (seq, bytearray(content[begin : begin + _ROW_BYTES]))
                for seq, begin in enumerate(range(0, len(content), _ROW_BYTES))
            ]
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


class ModelReader(StageReader["PCAModel"]):
    """Reads a model."""

    def load(self, path: str) -> PCAModel:
        """Read from a folder."""
        model = super().load(path)
        rows = self.sparkSession.read.parquet(f"{path}/model").collect()
        pieces = sorted((row["seq"], bytes(row["data"])) for row in rows)
        model._pca = _model_of(b"".join(piece for _, piece in pieces))
        return model


def _model_file(pca: karhunen.PCA) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "pca.model")
        pca.save(path)
        return path.read_bytes()


def _model_of(content: bytes) -> karhunen.PCA:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "pca.model")
        path.write_bytes(content)
        return karhunen.PCA.load(path)
