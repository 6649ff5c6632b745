"""Progress bars, by tqdm."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress(verbose: bool, estimator: str) -> Iterator[Callable[[str, float], None] | None]:
    """Lend a function that draws ``(phase, fraction)`` as a bar, or None unless `verbose`."""
    if not verbose:
        yield None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise ImportError("verbose=True draws with tqdm, which is not installed: pip install tqdm") from error
    with tqdm(total=1.0, desc=estimator, bar_format="{desc}: {percentage:3.0f}%|{bar}| {elapsed}") as bar:

        def draw(phase: str, fraction: float) -> None:
            bar.set_description_str(f"{estimator} ({phase})", refresh=False)
            bar.n = fraction
            bar.refresh()

        yield draw
        bar.set_description_str(estimator, refresh=False)
        bar.n = 1.0
        bar.refresh()
