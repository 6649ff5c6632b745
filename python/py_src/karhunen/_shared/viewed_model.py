"""A model of the engine behind scikit-learn's fitted attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from karhunen import _core

if TYPE_CHECKING:
    from sklearn.utils import Tags
    from typing_extensions import Self


class ViewedModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What estimators share once they are fitted.

    The arrays among the fitted attributes are read-only views of the engine's memory, or read-only copies in the type
    of the data. An attribute that is assigned (rotated components, another mean) is what later calls work with.
    """

    n_threads: int | None
    verbose: bool
    #: Fitted attributes that show the engine's memory, and what they are called there.
    _views: Mapping[str, str]
    #: The engine's model as plain values, and back.
    _to_state: Callable[[Any], dict[str, Any]] = staticmethod(_core.to_state)
    _from_state: Callable[[dict[str, Any]], Any] = staticmethod(_core.from_state)

    @property
    def _n_features_out(self) -> int:
        """Tell `get_feature_names_out` how many there are."""
        return self.components_.shape[0]

    def _adopt(self, model: Any) -> Self:
        """Show a model's arrays as fitted attributes."""
        self._model = model
        self._shown = {name: self._show(model, getattr(model, inner)) for name, inner in self._views.items()}
        for name, value in self._shown.items():
            setattr(self, name, value)
        return self

    def _show(self, model: Any, value: Any) -> Any:
        """Give one of a model's values as a fitted attribute."""
        return value

    def _model_now(self) -> Any:
        """Give the engine's model, made anew if an attribute was assigned since."""
        assigned = {
            inner: getattr(self, name)
            for name, inner in self._views.items()
            if getattr(self, name) is not self._shown[name]
        }
        if assigned:
            state = self._to_state(self._model)
            for inner, value in assigned.items():
                state[inner] = np.ascontiguousarray(value, dtype=np.float64) if np.ndim(value) else float(value)
            self._adopt(self._from_state(state))
        return self._model

    def __getstate__(self) -> dict[str, Any]:
        """Give what a pickle keeps: the model as plain values."""
        state = dict(super().__getstate__())
        if "_model" in state:
            state["_state"] = self._to_state(self._model_now())
            for name in ("_model", "_shown", *self._views):
                del state[name]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take what a pickle kept."""
        state = dict(state)
        values = state.pop("_state", None)
        super().__setstate__(state)
        if values is not None:
            self._adopt(self._from_state(values))

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn what is accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
