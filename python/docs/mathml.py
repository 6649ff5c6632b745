"""Formulas as MathML, which browsers draw themselves: pages load no program from elsewhere."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math import latex2mathml
from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def inline(writer: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    writer.body.append(latex2mathml.tex2mathml(node.astext()))
    raise nodes.SkipNode


def block(writer: Any, node: nodes.math_block) -> None:
    """Write a formula on a line of its own."""
    writer.body.append(f'<div class="math">{latex2mathml.tex2mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode
