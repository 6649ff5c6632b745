"""A fit that raises or is interrupted, at any line, leaves the estimator as it was."""

import pickle
import sys

import numpy as np
import pandas as pd
import pytest
from karhunen import PCA, IncompletePCA, IncrementalPCA, KernelPCA, Nystroem, TruncatedSVD
from karhunen.categorical import MCA

RNG = np.random.default_rng(0)
FIRST = pd.DataFrame(RNG.normal(size=(30, 3)) * [1, 10, 100], columns=list("abc"))
OTHER = FIRST[list("cba")]
#: Every how many lines a call is interrupted.
STEP = 3


class Injected(BaseException):
    """An interrupt."""


def lines_of(call):
    """Count the lines of the package that a call executes."""
    return run_until(call, np.inf)


def run_until(call, n):
    """Raise at line `n` of the package that a call executes; return the number of lines if it ends before."""
    count = 0

    def trace(frame, event, _):
        nonlocal count
        if "karhunen" not in frame.f_code.co_filename:
            return None
        if event == "line":
            count += 1
            if count == n:
                raise Injected
        return trace

    sys.settrace(trace)
    try:
        call()
    except Injected:
        return None
    finally:
        sys.settrace(None)
    return count


def assert_unchanged(estimator, call, most=np.inf):
    before = dict(vars(estimator))
    line = 1
    while line < most and run_until(call, line) is None:
        now = vars(estimator)
        assert now.keys() == before.keys(), line
        assert all(now[name] is before[name] for name in before), line
        line += STEP
    assert line > 10 * STEP


@pytest.mark.parametrize(
    "estimator",
    [PCA(2), TruncatedSVD(2), IncrementalPCA(2), IncompletePCA(2, n_starts=1), KernelPCA(2), Nystroem(n_components=4)],
    ids=lambda estimator: type(estimator).__name__,
)
def test_an_interrupted_fit_changes_nothing(estimator):
    estimator.fit(FIRST)
    assert_unchanged(estimator, lambda: estimator.fit(OTHER))
    assert list(estimator.feature_names_in_) == list("cba")


def test_interrupted_rows_of_missing_values_are_not_learned():
    pca = IncompletePCA(1, method="online").partial_fit(FIRST)
    assert_unchanged(pca, lambda: pca.partial_fit(FIRST))
    unfitted = IncompletePCA(1, method="online")
    bad = FIRST.replace(FIRST.iloc[3, 1], np.inf)
    with pytest.raises(ValueError, match="inf"):
        unfitted.partial_fit(bad)
    assert not hasattr(unfitted, "feature_names_in_")


def test_rows_that_wait_for_others_are_added_in_place():
    pca = IncrementalPCA(2).fit(FIRST)
    fit = pca._fit
    pca.partial_fit(FIRST[:3])
    assert pca._fit is fit
    assert pca.n_samples_seen_ == 33


def test_an_interrupted_fit_of_categories_changes_nothing():
    table = FIRST.round(-1).astype(str)
    mca = MCA(2).fit(table)
    assert_unchanged(mca, lambda: mca.fit(table[list("cba")]))


def test_interrupted_batches_are_not_added():
    pca, other = IncrementalPCA(2).fit(FIRST), IncrementalPCA(2).fit(FIRST)
    many = pd.concat([FIRST] * (pca.batch_size_ // len(FIRST) + 1))
    for call, more in ((lambda pca: pca.partial_fit(many), len(many)), (lambda pca: pca.merge(other), len(FIRST))):
        fit, n = pca._fit, pca.n_samples_seen_
        # Once the rows are in, the lock of the estimator is left.
        same = pickle.loads(pickle.dumps(pca))
        most = lines_of(lambda call=call, same=same: call(same)) - 2
        assert_unchanged(pca, lambda call=call, pca=pca: call(pca), most)
        assert (fit.n_samples_seen, pca._fit.n_samples_seen) == (n, n)
        call(pca)
        assert (fit.n_samples_seen, pca._fit.n_samples_seen) == (n, n + more)
    expected = PCA(2).fit(np.tile(FIRST, (2 + len(many) // len(FIRST), 1)))
    np.testing.assert_allclose(pca.explained_variance_, expected.explained_variance_, rtol=1e-12)


def test_a_fit_that_raises_keeps_the_names_of_the_columns():
    bad = OTHER.copy()
    bad.iloc[5, 0] = np.nan
    pca = IncrementalPCA(3).partial_fit(FIRST)
    with pytest.raises(ValueError, match="NaN"):
        pca.fit(bad)
    assert list(pca.feature_names_in_) == list("abc")
    with pytest.raises(ValueError, match="feature names"):
        pca.partial_fit(OTHER)
    unfitted = IncrementalPCA(3)
    with pytest.raises(ValueError, match="NaN"):
        unfitted.partial_fit(bad)
    assert not hasattr(unfitted, "feature_names_in_")
