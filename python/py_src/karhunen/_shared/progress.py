"""Progress bars, by tqdm."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

#: Numbers of an iteration: its index, RMSE, held-out RMSE, elapsed seconds, remaining seconds.
Numbers: TypeAlias = tuple[int, float, float | None, float, float | None]


@contextmanager
def progress(verbose: bool, estimator: str) -> Iterator[Callable[..., None] | None]:
    """Provide a function that draws ``(phase, fraction)`` and iteration numbers as a bar; None unless `verbose`."""
    if not verbose:
        yield None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise ImportError("verbose=True draws with tqdm, which is not installed: pip install tqdm") from error
    with tqdm(total=1.0, desc=estimator, bar_format="{desc}: {percentage:3.0f}%|{bar}| {elapsed}{postfix}") as bar:

        def draw(phase: str, fraction: float, numbers: Numbers | None = None) -> None:
            bar.set_description_str(f"{estimator} ({phase})", refresh=False)
            if numbers is not None:
                fraction = max(bar.n, share_done(fraction, numbers))
                bar.set_postfix_str(in_words(numbers), refresh=False)
            bar.n = fraction
            bar.refresh()

        yield draw
        bar.set_description_str(estimator, refresh=False)
        bar.n = 1.0
        bar.refresh()


def share_done(fraction: float, numbers: Numbers) -> float:
    """Return the elapsed share of the predicted time, or `fraction` without a prediction."""
    *_, elapsed, remaining = numbers
    return fraction if remaining is None else elapsed / max(elapsed + remaining, 1e-9)


def in_words(numbers: Numbers) -> str:
    """Describe the state of an iterative fit.

    Examples
    --------
    >>> in_words((12, 0.85321, 0.9, 30.0, 75.0))
    '1:15 left, iteration 12, RMSE 0.8532, held out 0.9000'
    """
    iteration, rmse, held_out, _, remaining = numbers
    minutes, seconds = divmod(round(remaining or 0), 60)
    words = [] if remaining is None else [f"{minutes}:{seconds:02} left"]
    words += [f"iteration {iteration}", f"RMSE {rmse:.4f}"]
    return ", ".join(words if held_out is None else [*words, f"held out {held_out:.4f}"])
