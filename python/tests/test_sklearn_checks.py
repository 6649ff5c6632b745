"""scikit-learn's own checks of estimators, all of them."""

from karhunen import PCA, IncompletePCA, TruncatedSVD
from sklearn.utils.estimator_checks import parametrize_with_checks

ESTIMATORS = [
    PCA(),
    PCA(2, scale=True, whiten=True),
    PCA(2, solver="gram"),
    PCA(2, solver="covariance"),
    PCA(2, solver="block-krylov"),
    PCA(0.9, weighting="population"),
    TruncatedSVD(),
    IncompletePCA(),
    IncompletePCA(method="ppca"),
    IncompletePCA(method="ridge"),
    IncompletePCA(method="vb"),
]


@parametrize_with_checks(ESTIMATORS)
def test_check(estimator, check):
    check(estimator)
