"""Messages about arguments use Python's names and values."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from karhunen import IncompletePCA, Observed, cross_validate_entries
from karhunen._incomplete.options import engine_options
from sklearn.exceptions import ConvergenceWarning

NOT_ALLOWED = [
    ({"refit": True}, "refit = True is not allowed: without early_stopping all entries were fitted"),
    ({"method": "online", "online_rule": "oja", "alpha": 0.5}, "alpha = 0.5 is not allowed: only the methods newton"),
    ({"online_rule": "oja"}, "online_rule = 'oja' is not allowed: only the method online has this rule"),
    (
        {"regularization": ("weighted", -1.0)},
        r"regularization = \('weighted', -1.0\) is not allowed: a penalty must be",
    ),
    ({"regularization": 2, "method": "em"}, "regularization = 2 is not allowed: the methods em, imputation and online"),
    ({"regularization": "path"}, "regularization = 'path' is not allowed: .* held-out error: give early_stopping$"),
    ({"regularization": 0, "method": "als"}, "regularization = 0 is not allowed: the methods als, ridge and soft need"),
    ({"mean_prior": (-1, None)}, r"mean_prior = \(-1, None\) is not allowed: the number of pseudo-observations"),
    (
        {"mean_prior": (1, np.inf)},
        r"mean_prior = \(1, inf\) is not allowed: the value of pseudo-observations is finite",
    ),
    ({"mean_prior": 3.0, "mean": "none"}, "mean_prior = 3.0 is not allowed: without a mean"),
    ({"early_stopping": 1.0}, "early_stopping = 1.0 is not allowed: the held-out share lies between 0 and 1"),
    ({"step": -0.5}, "step = -0.5 is not allowed: a first learning rate is positive"),
    ({"tol": 1.0}, "tol = 1.0 is not allowed: a tolerance lies between 0 and 1"),
    ({"method": "soft", "regularization": ("weighted", 2)}, r"regularization = \('weighted', 2\) is not allowed"),
]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"start": (np.full((1, 3), np.nan), np.ones((6, 1)))}, "^start: components hold nan; they must be finite$"),
        ({"entry_weight": sp.csr_array(np.ones((6, 3)))}, "entry_weight is a sparse matrix, but X is not"),
        ({"entry_weight": np.ma.masked_equal(np.eye(6, 3), 0)}, "^entry_weight holds masked values; give a number for"),
        ({"checkpoint": "."}, "checkpoint: . is a folder; give a file"),
        (
            {"checkpoint": "c", "checkpoint_every": np.nan},
            "checkpoint_every = nan is not allowed: give a finite number",
        ),
    ],
)
def test_what_comes_with_the_data_is_told_by_name(arguments, message):
    x = np.random.default_rng(0).normal(size=(6, 3))
    with pytest.raises((ValueError, IsADirectoryError), match=message):
        IncompletePCA(1).fit(x, **arguments)


def test_masked_triples_are_missing():
    observed = Observed([0, 1, 2], [0, 1, 0], np.ma.masked_equal([1, 2, 3], 2), shape=(3, 2))
    assert observed.n_observed == 2
    with pytest.raises(ValueError, match=r"^weight holds masked values"):
        Observed([0, 1, 2], [0, 1, 0], [1, 2, 3], weight=np.ma.masked_equal([1, 2, 3], 2))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.array(["2020-01-01", "NaT", "2021-01-01"], dtype="M8[D]"), "rows: entry 1 is NaT, which is not an id"),
        (pd.array(["a", None, "b"], dtype="string"), "rows: entry 1 is (<NA>|nan), which is not an id"),
        ([1.0, 2.0, np.nan], "rows: entry 2 is NaN, which is not an id"),
        (pa.array(["a", None, "b"]), "rows: entry 1 is None, which is not an id"),
    ],
)
def test_ids_that_are_missing(rows, message):
    with pytest.raises(ValueError, match=message):
        Observed(rows, [1, 2, 3], [1.0, 2.0, 3.0])


def test_columns_of_arrow():
    observed = Observed(pa.array(["a", "b", "a"]), pa.array([1, 2, 3]), pa.array([1.0, None, 3.0]))
    assert (observed.shape, observed.n_observed) == ((2, 3), 2)


@pytest.mark.parametrize("shape", [3, (2, 2, 2), "ab", int])
def test_shapes_that_are_none(shape):
    with pytest.raises(ValueError, match=r"shape = .* is not allowed: give"):
        Observed([0, 1], [0, 1], [1.0, 2.0], shape=shape)


def test_ids_that_files_cannot_hold(tmp_path):
    ids = Observed(np.array([2**63, 2**63 + 1], np.uint64), [0, 1], [1.0, 2.0])
    with pytest.warns(ConvergenceWarning, match="2 parts that share neither rows nor columns"):
        pca = IncompletePCA(1, method="em").fit(ids)
    with pytest.raises(ValueError, match="the row id 9223372036854775809 is larger than those that model files"):
        pca.save(tmp_path / "m")


def test_places_outside_are_told_as_they_were_asked_for():
    pca = IncompletePCA(1, method="em").fit(np.outer([1.0, 2.0, 3.0], [1.0, 2.0]))
    for wanted in (np.array([2**64 - 1], dtype=np.uint64), [-1]):
        with pytest.raises(ValueError, match=rf"rows: {int(wanted[0])} is outside 0\.\.2"):
            pca.predict(wanted, [0])


def test_one_iteration_has_no_fall_of_the_cost():
    x = np.random.default_rng(0).normal(size=(30, 5))
    with pytest.warns(ConvergenceWarning, match=r"after 1 iteration \(RMSE [0-9.]+, tol 1.0e-06\)"):
        IncompletePCA(1, time_limit=0).fit(x)


@pytest.mark.parametrize(("arguments", "message"), NOT_ALLOWED)
def test_arguments_are_told_as_they_were_given(arguments, message):
    x = np.random.default_rng(0).normal(size=(12, 5))
    with pytest.raises(ValueError, match=f"^{message}"):
        IncompletePCA(2, **arguments).fit(x)


def test_cross_validation_shows_what_it_was_given():
    x = np.random.default_rng(0).normal(size=(12, 5))
    with pytest.raises(ValueError, match=r"^n_folds = 1 is not allowed: at least two folds are needed"):
        cross_validate_entries(IncompletePCA(1), x, n_folds=1)
    with pytest.raises(
        ValueError, match=r"^regularization = \[1, \('weighted', -2\)\] is not allowed: a penalty must be"
    ):
        cross_validate_entries(IncompletePCA(1), x, regularization=[1, ("weighted", -2)])
    with pytest.raises(ValueError, match=r"^refit = True is not allowed: without early_stopping"):
        cross_validate_entries(IncompletePCA(1, refit=True), x)


def test_sample_weights_of_online_learning_are_refused_by_name():
    x = np.random.default_rng(0).normal(size=(12, 5))
    with pytest.raises(
        ValueError, match=r"^method = 'online' is not allowed: rows that are learned one after the other"
    ):
        IncompletePCA(1, method="online").fit(x, sample_weight=np.ones(12))


def test_early_stopping_sets_aside_what_the_command_line_does():
    for flag in (True, np.True_):
        assert engine_options(IncompletePCA(early_stopping=flag))["early_stopping"] is True
    # 2% of large tables, fifty entries of smaller ones.
    for n, share in ((40, 0.125), (400, 0.02)):
        x = np.random.default_rng(0).normal(size=(n, 10))
        usual, given = (IncompletePCA(2, method="em", early_stopping=held_out).fit(x) for held_out in (True, share))
        assert usual.convergence_.held_out_rmse is not None
        np.testing.assert_array_equal(usual.components_, given.components_)


def test_a_share_that_sets_nothing_aside_is_refused():
    x = np.arange(12.0).reshape(4, 3)
    words = (
        "early_stopping = 0.02 holds out none of the 12 observed entries: .* less than half an entry; ask for at least"
    )
    for options in ({}, {"refit": True}, {"method": "ridge", "regularization": "path"}):
        with pytest.raises(ValueError, match=words):
            IncompletePCA(1, early_stopping=0.02, **options).fit(x)
    entries = Observed([0, 1, 2], [0, 1, 2], [1.0, 2.0, 3.0], shape=(3, 3))
    with pytest.raises(ValueError, match=r"share = 0\.5 holds out none of the 3 observed entries: each is alone"):
        entries.split(0.5)


def test_a_split_then_early_stopping_with_one_seed_sets_two_shares_aside():
    x = np.random.default_rng(0).normal(size=(60, 20))
    i, j = np.indices(x.shape).reshape(2, -1)
    train, test = Observed(i, j, x.ravel()).split(0.1)
    assert (train.n_observed, test.n_observed) == (1080, 120)
    assert train.split(0.1)[1].n_observed == 108
    path = IncompletePCA(3, method="ridge", regularization="path", early_stopping=0.1).fit(train)
    assert all(run.held_out_rmse is not None for run in path.convergence_.runs)


@pytest.mark.parametrize("n_folds", [1201, 2**32, 2**63 - 1])
def test_more_folds_than_entries_are_refused(n_folds):
    x = np.random.default_rng(0).normal(size=(60, 20))
    with pytest.raises(ValueError, match=f"n_folds = {n_folds} is more than the 1200 entries that can be held out"):
        cross_validate_entries(IncompletePCA(), x, n_folds=n_folds)


def test_time_limits_are_finite():
    for limit in (-1, np.nan, np.inf):
        with pytest.raises(ValueError, match=f"time_limit = {limit} is not allowed: give a finite number of seconds"):
            engine_options(IncompletePCA(time_limit=limit))
