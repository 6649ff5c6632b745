"""scikit-learn's own checks of estimators, all of them."""

import pytest
from karhunen import PCA, TruncatedSVD
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

ESTIMATORS = [
    PCA(),
    PCA(2, scale=True, whiten=True),
    PCA(2, solver="gram"),
    PCA(2, solver="covariance"),
    PCA(2, solver="block-krylov"),
    PCA(0.9, weighting="population"),
    TruncatedSVD(),
]


def not_expected_of(estimator: BaseEstimator) -> dict[str, str]:
    """Name the checks that cannot hold: 15 rows have no 27 components, however often they are repeated."""
    if getattr(estimator, "n_components", 1) is not None:
        return {}
    reason = "all components of repeated rows are more than there are rows; those without variance are arbitrary"
    return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}


@pytest.mark.filterwarnings("ignore:Failing to pass check:sklearn.exceptions.EstimatorCheckFailedWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=not_expected_of)
def test_check(estimator, check):
    check(estimator)
