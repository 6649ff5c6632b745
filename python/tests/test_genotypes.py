"""Genotypes: PLINK's results, matching of variants, projections without shrinkage."""

import json
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
from karhunen import PCA, IncompletePCA
from karhunen.genotypes import Bed, project, unmatched, write_plink
from numpy.testing import assert_allclose

ROOT = next(p for p in Path(__file__).resolve().parents if (p / "examples/genotypes").exists())
PEOPLE, NEW = (ROOT / "examples/genotypes" / name for name in ("people.bed", "new.bed"))
K = 6


def plink():
    return json.loads((ROOT / "golden/plink_people.json").read_text())


def table(bed, missing):
    """Decode a .bed file plainly, shape (n_samples, n_variants)."""
    n = len(bed.with_suffix(".fam").read_text().splitlines())
    packed = np.frombuffer(bed.read_bytes()[3:], dtype=np.uint8).reshape(-1, -(-n // 4))
    codes = (packed[:, :, None] >> np.array([0, 2, 4, 6])) & 3
    copies = np.array([2.0, np.nan, 1.0, 0.0])[codes.reshape(len(packed), -1)[:, :n].T]
    if not missing:
        copies = np.where(np.isnan(copies), np.nanmean(copies, axis=0), copies)
    return copies


@pytest.fixture(scope="module")
def pca():
    return PCA(K, scale="binomial", tol=1e-10).fit(PEOPLE)


def test_fit_equals_plink(pca):
    eigenval = np.array(plink()["eigenval"])
    assert_allclose(pca.singular_values_**2 / pca.n_features_in_, eigenval, rtol=5e-6)
    vectors = np.array(plink()["eigenvec"])
    scores = pca.transform(PEOPLE) / pca.singular_values_
    assert_allclose(scores * np.sign((scores * vectors).sum(axis=0)), vectors, atol=5e-6)
    assert pca.feature_names_in_[0] == "rs1000_G(/A)"


def test_the_file_equals_the_table(pca):
    x = table(PEOPLE, missing=False)
    of_table = PCA(K, scale="binomial", tol=1e-10).fit(x)
    assert_allclose(of_table.explained_variance_, pca.explained_variance_, rtol=1e-6)
    frequency = x.mean(axis=0) / 2
    assert_allclose(of_table.scale_, np.sqrt(2 * frequency * (1 - frequency)), rtol=1e-12)
    observed = IncompletePCA(2, random_state=0).fit(PEOPLE)
    of_missing = IncompletePCA(2, random_state=0).fit(table(PEOPLE, missing=True).astype(np.float32))
    assert_allclose(observed.explained_variance_, of_missing.explained_variance_, rtol=1e-6)


def test_new_samples_are_matched(pca):
    with pytest.raises(ValueError, match=r"of the 1200 variants of the model are not matched in .*new.bim: 25 absent"):
        pca.transform(NEW)
    with pytest.warns(UserWarning, match="64 of the 1200 variants of the model are not matched"):
        scores = pca.transform(Bed(NEW, allow_unmatched=True))
    expected = np.array(plink()["scores_of_new"])
    signs = np.sign((scores * expected).sum(axis=0))
    assert_allclose(scores * signs, expected, atol=1e-4 * np.abs(expected).max())
    reasons = [one.reason for one in unmatched(pca, NEW)]
    assert (reasons.count("absent"), reasons.count("other alleles")) == (25, 39)
    flipped = [one.reason for one in unmatched(pca, Bed(NEW, flip_strand=True))]
    assert set(flipped) == {"absent", "ambiguous strand"}


def oadp(projection, squared_length, d):
    """Zhang, Dey and Lee (2020), as bigutilsr computes it: by the Gram matrix of the augmented scores."""
    k = len(d)
    q = np.vstack([np.diag(d), projection])
    q = np.hstack([q, np.append(np.zeros(k), np.sqrt(squared_length - projection @ projection))[:, None]])
    u, s, _ = np.linalg.svd(q)
    scores = (u * s)[:, :k]
    left, values, right = np.linalg.svd(scores[:k].T @ np.diag(d))
    return values.sum() / (scores[:k] ** 2).sum() * scores[k] @ left @ right


def test_projections_without_shrinkage_equal_the_formula():
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1, 2], 20)
    centers = rng.normal(size=(3, 2000)) * 0.25
    x, new = (centers[group] + rng.normal(size=(60, 2000)) for _ in range(2))
    pca = PCA(5).fit(x)
    projections, corrected = pca.transform(new), project(pca, new)
    lengths = ((new - pca.mean_) ** 2).sum(axis=1)
    expected = [oadp(*row, pca.singular_values_) for row in zip(projections, lengths, strict=True)]
    assert_allclose(corrected, expected, rtol=1e-9, atol=1e-9 * np.abs(corrected).max())
    size = [np.linalg.norm(scores[:, :2], axis=1).mean() for scores in (pca.transform(x), projections, corrected)]
    assert size[1] < 0.75 * size[0]
    assert abs(size[2] / size[0] - 1) < 0.1
    assert_allclose(project(pca, new.astype(np.float32)), corrected, rtol=1e-4, atol=1e-3)


def test_projections_of_observed_values_are_not_shrunk():
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1, 2], 20)
    centers = rng.normal(size=(3, 2000)) * 0.25
    x, new = (centers[group] + rng.normal(size=(60, 2000)) for _ in range(2))
    pca = PCA(5).fit(x)
    complete = project(pca, new)
    new[rng.random(new.shape) < 0.3] = np.nan
    expected = []
    for row in new - pca.mean_:
        seen = ~np.isnan(row)
        v = pca.components_[:, seen].T
        fitted, (residual,), *_ = np.linalg.lstsq(v, row[seen], rcond=None)
        length = fitted @ fitted + residual * (2000 - 5) / (seen.sum() - 5)
        expected.append(oadp(fitted, length, pca.singular_values_))
    corrected = project(pca, new)
    assert_allclose(corrected, expected, rtol=1e-8, atol=1e-9 * np.abs(corrected).max())
    means = [np.array([scores[group == g, :2].mean(axis=0) for g in range(3)]) for scores in (complete, corrected)]
    assert abs((means[0] * means[1]).sum() / (means[0] ** 2).sum() - 1) < 0.05
    with pytest.raises(ValueError, match="row 0, column 0 is NaN"):
        pca.transform(new)


def test_variants_that_a_file_lacks_do_not_shrink_projections(pca):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = project(pca, Bed(NEW, allow_unmatched=True))
    with pytest.warns(UserWarning, match="take their means"):
        shrunk = pca.transform(Bed(NEW, allow_unmatched=True))
    assert np.isfinite(found).all()
    assert np.linalg.norm(found) > np.linalg.norm(shrunk)


def test_tables_of_plink_are_written_and_refusals(pca, tmp_path):
    written = write_plink(pca, PEOPLE, tmp_path / "out")
    assert [path.name for path in written] == ["out.eigenvec", "out.eigenval", "out.eigenvec.allele", "out.afreq"]
    assert written[0].read_text().startswith("#FID\tIID\tPC1\t")
    assert_allclose([float(line) for line in written[1].read_text().split()], plink()["eigenval"], rtol=5e-6)
    with pytest.raises(ValueError, match="scale='binomial'"):
        write_plink(PCA(2).fit(PEOPLE), PEOPLE, tmp_path / "out")
    with pytest.raises(ValueError, match="the model 90 and 1200"):
        write_plink(pca, NEW, tmp_path / "out")
    shutil.copy(PEOPLE, tmp_path / "alone.bed")
    with pytest.raises(OSError, match=r"alone\.bim"):
        PCA(2).fit(tmp_path / "alone.bed")
    with pytest.raises(ValueError, match="binomial scales need counts from 0 to 2"):
        PCA(2, scale="binomial").fit(np.arange(12.0).reshape(4, 3))
    with pytest.raises(ValueError, match="have no names"):
        unmatched(PCA(2).fit(np.arange(12.0).reshape(4, 3) ** 2), NEW)
