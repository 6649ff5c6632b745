"""Components of data with missing values."""

from karhunen._incomplete.convergence import FarPredictions, IncompleteConvergence, Overfit, Run
from karhunen._incomplete.cross_validation import EntryCrossValidation, cross_validate_entries
from karhunen._incomplete.incomplete_pca import IncompletePCA
from karhunen._incomplete.observed import Observed

__all__ = [
    "EntryCrossValidation",
    "FarPredictions",
    "IncompleteConvergence",
    "IncompletePCA",
    "Observed",
    "Overfit",
    "Run",
    "cross_validate_entries",
]
