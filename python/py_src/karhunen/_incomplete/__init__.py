"""Components of data with missing values."""

from karhunen._incomplete.convergence import (
    FarPredictions,
    Identifiability,
    IncompleteConvergence,
    Overfit,
    Run,
    StartAgreement,
)
from karhunen._incomplete.cross_validation import EntryCrossValidation, FeatureErrors, cross_validate_entries
from karhunen._incomplete.incomplete_pca import IncompletePCA
from karhunen._incomplete.observed import Observed

__all__ = [
    "EntryCrossValidation",
    "FarPredictions",
    "FeatureErrors",
    "Identifiability",
    "IncompleteConvergence",
    "IncompletePCA",
    "Observed",
    "Overfit",
    "Run",
    "StartAgreement",
    "cross_validate_entries",
]
