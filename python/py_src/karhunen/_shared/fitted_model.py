"""Base classes of fitted estimators: the engine's model behind scikit-learn's attributes."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from types import FunctionType, MappingProxyType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from karhunen import _core
from karhunen._shared.arrays import FloatArray
from karhunen._shared.earlier_pickles import arguments_missing_in, record_of
from karhunen._shared.errors import name_column
from karhunen._shared.options import stored_arguments
from karhunen._shared.progress import progress

if TYPE_CHECKING:
    import os

    from sklearn.utils import Tags
    from typing_extensions import Self


_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def leaves_unchanged(
    method: Callable[Concatenate[Any, _Arguments], _Result],
) -> Callable[Concatenate[Any, _Arguments], _Result]:
    """Decorate a method that fits: a call that raises, or is interrupted, leaves the estimator as it was."""

    @wraps(method)
    def call(self: Any, *arguments: _Arguments.args, **options: _Arguments.kwargs) -> _Result:
        before = dict(vars(self))
        try:
            return method(self, *arguments, **options)
        except BaseException:
            vars(self).update(before)
            for name in vars(self).keys() - before.keys():
                del vars(self)[name]
            raise

    return call


class FittedModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base class of all estimators: pickles, files, calls of the engine, fits that raise."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Let `fit` and `fit_transform` of every estimator leave it unchanged if they raise."""
        super().__init_subclass__(**options)
        for name in ("fit", "fit_transform"):
            method = vars(cls).get(name)
            if isinstance(method, FunctionType):
                setattr(cls, name, leaves_unchanged(method))

    n_threads: int | None
    verbose: bool
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    #: The engine's model.
    _model: Any
    #: Class of the engine's models.
    _kind: type[Any]
    #: Convert the engine's options that have another form or name in files to the estimator's arguments.
    _arguments: Callable[[dict[str, Any]], dict[str, Any]]
    #: How the fitted file was read, as in model files, and the sum of each row to which its counts were normalised.
    _columns_of_file: Mapping[str, Any] = MappingProxyType({})

    def _adopt(self, model: Any) -> Self:
        """Become fitted with a model of the engine."""
        self._model = model
        return self

    def _adopt_fit(self, model: Any) -> Self:
        """Become fitted with a new model, fitted to data without columns other than the features."""
        self.__dict__.pop("_columns_of_file", None)
        return self._adopt(model)

    def _keep_columns_of_file(self, rows: Any) -> None:
        """Remember how the rows of a file were prepared, for the files of later calls."""
        if not isinstance(rows, _core.FileTable):
            return
        if rows.of_file is not None:
            self._columns_of_file = {**self._columns_of_file, "of_file": rows.of_file}
        if rows.log1p is not None:
            self._columns_of_file = {**self._columns_of_file, "log1p": rows.log1p}

    def _adopt_file(self, model: Any, extras: Mapping[str, Any]) -> Self:
        """Become fitted with the content of a model file."""
        if extras["feature_names"] is not None:
            self.feature_names_in_ = np.asarray(extras["feature_names"], dtype=object)
        self._columns_of_file = {name: extras[name] for name in ("of_file", "log1p") if name in extras}
        return self._adopt(model)

    def _model_now(self) -> Any:
        """Return the engine's model."""
        return self._model

    def _model_to_keep(self) -> Any:
        """Return what pickles hold of the engine."""
        return self._model_now()

    def _model_of_file(self) -> Any:
        """Return what a file holds of the engine."""
        return self._model_to_keep()

    @classmethod
    def _check_file(cls, path: str | os.PathLike[str], model: Any) -> None:
        """Refuse a model of the right kind that another estimator made."""

    @contextmanager
    def _naming_columns(self) -> Iterator[None]:
        """Add column names to errors of the engine."""
        try:
            yield
        except ValueError as error:
            raise name_column(error, getattr(self, "feature_names_in_", None)) from error.__cause__

    @contextmanager
    def _call(self) -> Iterator[Callable[..., None] | None]:
        """Provide a progress bar for a call of the engine, and add column names to its errors."""
        with self._naming_columns(), progress(self.verbose, type(self).__name__) as draw:
            yield draw

    def _outcome(self) -> str:
        """Return the outcome of the fit in a few words."""
        return "fitted"

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Return the call that makes the estimator and, if it is fitted, the outcome."""
        call = super().__repr__(N_CHAR_MAX)
        return f"{call} {self._outcome()}" if self.__sklearn_is_fitted__() else call

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file that :meth:`load` and the command line ``karhunen`` read.

        Parameters
        ----------
        path : path-like
            File to write, in safetensors format whatever its extension. It holds the options of the fit, but not those
            of later calls (`whiten`, `n_threads`, `verbose`), and no kernel function.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        OSError
            If the file cannot be written.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> from karhunen import PCA
        >>> path = pathlib.Path(tempfile.mkdtemp(), "line.model")
        >>> PCA(n_components=1).fit([[0.0, 0.0], [1.0, 1.0]]).save(path)
        >>> PCA.load(path).mean_
        array([0.5, 0.5])
        """
        check_is_fitted(self)
        _core.save(path, self._model_of_file(), self._extras())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that :meth:`save` or the command line wrote.

        Parameters
        ----------
        path : path-like
            File to read.

        Returns
        -------
        estimator
            Fitted estimator, with the options of the fit.

        Raises
        ------
        OSError, ValueError
            If the file cannot be read or holds another kind of model.
        """
        model, extras, options = _core.load(cls._kind, path)
        cls._check_file(path, model)
        return cls(**cls._stored(options))._adopt_file(model, extras)

    @classmethod
    def _stored(cls, options: dict[str, Any]) -> dict[str, Any]:
        """Convert the engine's options, as files hold them, to the estimator's arguments."""
        return {**stored_arguments(cls, options), **cls._arguments(options)}

    def _extras(self) -> dict[str, Any]:
        """Return the content of a file besides the model."""
        names = getattr(self, "feature_names_in_", None)
        return {"feature_names": None if names is None else names.tolist(), **self._columns_of_file}

    def _function(self) -> Callable[..., Any] | None:
        """Return the user-defined kernel function, if the model has one."""
        return None

    def _with_parts(self, parts: Mapping[str, Any], without: Container[str] = ()) -> Any:
        """Return the engine's model with other numbers and arrays, by their names in records."""
        changed = {name: np.asarray(value, dtype=np.float64) for name, value in parts.items()}
        kept = {name: value for name, value in _core.to_state(self._model).items() if name not in without}
        return self._from_state({**kept, **changed})

    def _from_state(self, state: dict[str, Any]) -> Any:
        """Return the engine's model of a record."""
        return _core.from_state(self._kind, state, self._function())

    def _not_pickled(self) -> tuple[str, ...]:
        """List attributes that are derived from the model."""
        return ()

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether there is a model."""
        return "_model" in vars(self)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickling, with the model as plain values."""
        state = dict(super().__getstate__())
        if self.__sklearn_is_fitted__():
            state["_state"] = _core.to_state(self._model_to_keep())
            for name in ("_model", *self._not_pickled()):
                state.pop(name, None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the state of a pickle."""
        state = dict(state)
        values = state.pop("_state", None)
        super().__setstate__({**arguments_missing_in(state, type(self)), **state})
        if values is not None:
            self._adopt(self._from_state(record_of(values)))

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's tags: sparse input is accepted, the dtype preserved."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class ViewedModel(FittedModel):
    """Base class of fitted models whose attributes can be assigned.

    Fitted arrays are read-only views of the engine's memory, or read-only copies in the dtype of the data. Later calls
    use an assigned attribute, such as rotated components or another mean.
    """

    components_: FloatArray
    #: Values of the engine's model that become fitted attributes, with an underscore appended.
    _views: tuple[str, ...]

    @property
    def _n_features_out(self) -> int:
        """Return the number of output features for `get_feature_names_out`."""
        return self.components_.shape[0]

    def _adopt(self, model: Any) -> Self:
        """Set fitted attributes to views of the model's arrays."""
        shown = {name: self._show(model, getattr(model, name)) for name in self._views}
        # In one step, for threads that read.
        self.__dict__.update(
            {f"{name}_": value for name, value in shown.items()},
            _shown=shown,
            n_features_in_=len(model.mean),
            _model=model,
        )
        return self

    def _show(self, model: Any, value: Any) -> Any:
        """Convert a value of the model to a fitted attribute."""
        return value

    def _model_now(self) -> Any:
        """Return the engine's model, rebuilt if an attribute was assigned."""
        # As it is now, whatever another thread fits meanwhile.
        now = dict(self.__dict__)
        shown = now["_shown"]
        assigned = {name: now[f"{name}_"] for name in self._views if now[f"{name}_"] is not shown[name]}
        if not assigned:
            return now["_model"]
        # Limits for new rows are of the numbers of the fit.
        self._adopt(self._with_parts(assigned, without=("new_rows", "t2_factor", "spe_scale")))
        return self._model

    def _not_pickled(self) -> tuple[str, ...]:
        return ("_shown", *(f"{name}_" for name in self._views))


def feature_names(pca: Any) -> list[str]:
    """Return the names of the columns, or x0, x1, … as scikit-learn names them."""
    names = getattr(pca, "feature_names_in_", None)
    if names is None:
        names = getattr(pca, "column_ids_", None)
    return [f"x{j}" for j in range(pca.n_features_in_)] if names is None else [str(name) for name in names]
