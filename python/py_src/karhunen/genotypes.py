"""Genotypes in the files of PLINK: variants that do not match, projections of new samples, results for PLINK."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

from sklearn.utils.validation import check_is_fitted

from karhunen import _core
from karhunen._diagnostics.model import engine_model
from karhunen._inputs.bed import Bed
from karhunen._inputs.files import to_rows
from karhunen._shared.arrays import FloatArray

__all__ = ["Bed", "Unmatched", "project", "unmatched", "write_plink"]

Bed.__module__ = __name__


class Unmatched(NamedTuple):
    """A variant of a fit that a file lacks.

    Attributes
    ----------
    column : int
        Number of the column of the fit.
    name : str
        Its name: id, counted allele and other allele, such as ``rs4970383_A(/C)``.
    reason : str
        "absent", "other alleles", "ambiguous strand" or "repeated".
    alleles_found : str or None
        Alleles in the file, if it has the id.
    """

    column: int
    name: str
    reason: str
    alleles_found: str | None


def unmatched(pca: Any, bed: str | os.PathLike[str]) -> list[Unmatched]:
    """List the variants of a fit that a .bed file lacks.

    Parameters
    ----------
    pca : PCA or IncompletePCA
        Fitted to genotypes.
    bed : str, path or Bed
        Genotypes of other samples; a :class:`Bed` says whether strands are flipped.

    Returns
    -------
    list of Unmatched
        In the order of the columns.

    Raises
    ------
    ValueError
        If the columns of the fit are not variants, or if the .bim file is damaged.
    """
    check_is_fitted(pca)
    names = getattr(pca, "feature_names_in_", None)
    if names is None:
        raise ValueError("the columns of the fit have no names, so variants cannot be matched; fit a .bed file")
    flip_strand = isinstance(bed, Bed) and bed.flip_strand
    found = _core.unmatched_variants(os.fspath(bed), [str(name) for name in names], flip_strand)
    return [Unmatched(*one) for one in found]


def project(pca: Any, X: Any) -> FloatArray:
    """Compute the scores of samples that were not fitted, without the shrinkage of projections.

    With many more variants than samples, ``pca.transform`` gives new samples scores that are too near to zero, because
    components follow the noise of the fitted samples. Here each new sample is added to the fitted ones, the components
    are updated, and the updated scores of the fitted samples are rotated and scaled to their old ones; the new sample
    moves with them. Do not pass fitted samples. More components than are of interest make the correction better.

    Missing genotypes (NaN), and variants of the fit that a :class:`Bed` may lack, do not draw scores towards zero: a
    sample is projected by least squares on its observed variants.

    Parameters
    ----------
    pca : PCA
        Fitted to complete data; `whiten` has no effect.
    X : array-like, sparse matrix, dataframe, path or Bed
        New samples.

    Returns
    -------
    ndarray of shape (n_samples, n_components)
        Scores; NaN where the observed variants do not determine them.

    Notes
    -----
    Online augmentation, decomposition and Procrustes: Zhang, Dey and Lee (2020), doi:10.1093/bioinformatics/btaa152.
    The function ``pca_OADP_proj`` of the R package bigutilsr, which bigsnpr uses, gives the same scores.
    """
    model = engine_model(pca)
    return model.transform_oadp(to_rows(pca, X, reset=False, missing=True), n_threads=pca.n_threads)


def write_plink(pca: Any, bed: str | os.PathLike[str], prefix: str | os.PathLike[str]) -> list[Path]:
    """Write the results of a fit in the files of PLINK 2: .eigenvec, .eigenval, .eigenvec.allele and .afreq.

    Parameters
    ----------
    pca : PCA
        Fitted to `bed` with ``scale="binomial"``.
    bed : str or path
        The genotypes that were fitted.
    prefix : str or path
        The files are `prefix` with the extensions.

    Returns
    -------
    list of Path
        The files. Existing ones are replaced.

    Raises
    ------
    ValueError
        If the fit is of other data, or not standardised as PLINK standardises.
    """
    model = engine_model(pca)
    if not (isinstance(pca.scale, str) and pca.scale == "binomial" and pca.center is True):
        raise ValueError("the files of PLINK hold results of standardised genotypes; fit with scale='binomial'")
    written = _core.write_plink(model, os.fspath(bed), os.fspath(prefix), pca.n_threads)
    return [Path(path) for path in written]
