"""Pickles name public classes only, and pickles of earlier versions still load."""

import pickle
import pickletools
import subprocess
import sys

import karhunen
import numpy as np
import pickled
import pytest


@pytest.fixture(scope="module")
def fitted():
    """Fit every estimator."""
    return pickled.fitted()


def test_pickles_name_public_classes(fitted):
    globals_ = {what for op, what, _ in pickletools.genops(pickle.dumps(fitted, protocol=3)) if op.name == "GLOBAL"}
    ours = {what for what in globals_ if what.startswith("karhunen")}
    assert {"karhunen PCA", "karhunen IncompleteConvergence", "karhunen Run"} <= ours
    for what in ours:
        package, name = what.split(" ")
        assert package == "karhunen"
        assert name in karhunen.__all__ or name in (
            "FarPredictions",
            "FeatureErrors",
            "Identifiability",
            "Overfit",
            "Run",
            "StartAgreement",
        )


def test_pickles_of_earlier_versions_load(fitted):
    kept = pickle.loads(pickled.FILE.read_bytes())
    assert set(kept) == set(fitted)
    x, with_missing = pickled.data(), pickled.with_missing()
    for name, now in fitted.items():
        then = kept[name]
        assert type(then) is type(now)
        if name == "cross_validation":
            assert then.best_params == now.best_params
            assert then.errors.shape == now.errors.shape
            continue
        incomplete = name in ("incomplete_pca", "streamed", "far_predictions")
        rows = with_missing if incomplete else x
        # Fits to incomplete data start elsewhere today, and converge to the same model.
        tolerance = 1e-3 if incomplete else 1e-6
        if name == "far_predictions":
            assert then.transform(rows).shape == now.transform(rows).shape
        else:
            np.testing.assert_allclose(then.transform(rows), now.transform(rows), rtol=tolerance, atol=tolerance)
        assert then.get_params() == now.get_params()
        if name != "nystroem":
            assert type(then.convergence_) is type(now.convergence_)
            assert then.n_iter_ == now.n_iter_ or (incomplete and then.n_iter_ > 0)
    assert type(kept["incomplete_pca"].convergence_.runs[1]) is karhunen.Run
    assert kept["far_predictions"].convergence_.far_predictions.count == 2
    assert kept["streamed"].partial_fit(with_missing).n_samples_seen_ == 24


def test_a_pickle_is_the_first_that_a_program_reads():
    code = f"import pickle; print(sorted(pickle.load(open({str(pickled.FILE)!r}, 'rb'))))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "truncated_svd" in done.stdout
