"""What a fitted model is, in sentences and a table, for terminals and notebooks."""

from __future__ import annotations

import json
import math
import shutil
import textwrap
from contextlib import suppress
from html import escape
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from karhunen import _core

#: Widths of text that is still easy to read.
NARROWEST, WIDEST = 50, 100


class Summary:
    """A fitted model in sentences and a table of its components: the same as in its report.

    Printed it is text, in a notebook HTML.

    Attributes
    ----------
    fitted : list of str
        Sentences about the data and the fit.
    exactness : list of str
        Sentences about the accuracy.
    choice : list of str
        Sentences about the number of components.
    components : list of dict
        The leading components, 100 at most: name, variance, ratio, cumulative and residual, rounded as texts, and a
        sentence about the features that each of the first ten goes with.
    n_components : int
        Number of components.
    """

    def __init__(self, model: Any, feature_names: Any = None) -> None:
        names = None if feature_names is None else [str(name) for name in feature_names]
        content: dict[str, Any] = json.loads(_core.summarise(model, names))
        self.fitted: list[str] = content["fitted"]
        self.exactness: list[str] = content["exactness"]
        self.choice: list[str] = content["choice"]
        self.components: list[dict[str, str | None]] = content["components"]
        self.n_components: int = content["n_components"]

    def __repr__(self) -> str:
        """Return the summary as text, as wide as the terminal."""
        width = min(max(shutil.get_terminal_size().columns, NARROWEST), WIDEST)
        header, rows = self._table()
        # Names are on the left, numbers on the right.
        widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
        lines = [" ".join(self.fitted), ""]
        for row in [header, *rows]:
            cells = [cell.rjust(widths[column]) if column else cell.ljust(widths[0]) for column, cell in enumerate(row)]
            lines.append("  ".join(cells).rstrip())
        lines.extend(self._more())
        for title, sentences in self._paragraphs():
            lines.extend(["", title, *sentences])
        wrapped = [line if line in lines[2 : 3 + len(rows)] else textwrap.fill(line, width) for line in lines]
        return "\n".join(wrapped)

    def _repr_html_(self) -> str:
        """Return the summary as HTML."""
        header, rows = self._table()
        head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in header)
        body = "".join(
            "<tr>"
            + f'<th scope="row">{escape(row[0])}</th>'
            + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:])
            + "</tr>"
            for row in rows
        )
        parts = [
            f"<p>{escape(' '.join(self.fitted))}</p>",
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>",
            *(f"<p>{escape(line)}</p>" for line in self._more()),
        ]
        for title, sentences in self._paragraphs():
            items = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
            parts.append(f"<p>{escape(title)}</p><ul>{items}</ul>")
        return f'<div class="karhunen-summary">{"".join(parts)}</div>'

    def to_frame(self) -> Any:
        """Return the table of the components as a pandas.DataFrame of texts, indexed by their names."""
        header, rows = self._table()
        cells = np.array([row[1:] for row in rows], dtype=object).reshape(len(rows), len(header) - 1)
        return import_module("pandas").DataFrame(cells, index=[row[0] for row in rows], columns=header[1:])

    def _table(self) -> tuple[list[str], list[list[str]]]:
        """Return the header and the rows of the table; the residual is left out where the route has none."""
        columns = ["name", "variance", "ratio", "cumulative", "residual"]
        if all(row["residual"] is None for row in self.components):
            columns.remove("residual")
        rows = [[str(row[column] or "") for column in columns] for row in self.components]
        return ["", *columns[1:]], rows

    def _more(self) -> list[str]:
        """Say how many components the table leaves out."""
        left = self.n_components - len(self.components)
        return [f"and {left} more"] if left > 0 else []

    def _paragraphs(self) -> list[tuple[str, list[str]]]:
        """Return the titles and sentences below the table."""
        sentences = [row["sentence"] for row in self.components if row["sentence"]]
        parts = [("Components", sentences), ("How many", self.choice), ("Accuracy", self.exactness)]
        return [(title, [str(line) for line in lines]) for title, lines in parts if lines]


class Summarised:
    """Mixin of fitted models with components: their summary in terminals and notebooks."""

    def summary(self) -> Summary:
        """Describe the fitted model: sentences and a table of the components.

        Returns
        -------
        Summary
            Text if printed, HTML in a notebook; the same sentences and numbers as of :meth:`report`.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.

        Examples
        --------
        >>> from karhunen import PCA
        >>> from sklearn.datasets import load_wine
        >>> summary = PCA(2, scale=True).fit(load_wine(as_frame=True).data).summary()
        >>> summary.fitted[3]
        '2 components were kept; together they explain 55.4% of the total variance, 13.000.'
        >>> summary.to_frame()[["variance", "ratio", "cumulative"]]
            variance  ratio cumulative
        PC1    4.706  36.2%      36.2%
        PC2    2.497  19.2%      55.4%
        """
        check_is_fitted(self)
        return Summary(self._model_now(), self._names_of_features())  # type: ignore[attr-defined]

    def _names_of_features(self) -> Any:
        """Return the names of the features, if there are any."""
        return getattr(self, "feature_names_in_", None)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        """Return what notebooks show: scikit-learn's diagram and, of a fitted model, its summary."""
        bundle: dict[str, Any] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle and self.__sklearn_is_fitted__():  # type: ignore[attr-defined]
            with suppress(NotFittedError):
                bundle["text/html"] += self.summary()._repr_html_()
        return bundle


def outcome(shape: tuple[int, int], n_components: int, share: float | None = None) -> str:
    """Return the outcome of a fit in a few words."""
    n, p = shape
    kept = "1 component" if n_components == 1 else f"{n_components} components"
    of_variance = "" if share is None or math.isnan(share) else f", {100.0 * share:.1f}% of the variance"
    return f"fitted to {n:,} x {p:,}: {kept}{of_variance}"
