//! The fit: a PCA of standardised numbers and scaled indicators.

use super::column::{Column, ColumnValues, check_unique, n_rows};
use super::encoding::Encoding;
use super::model::{CategoricalModel, CategoricalParts};
use super::options::{Analysis, CategoricalPca};
use crate::error::{CategoryFault, Error, Result, options};
use crate::exec::Run;
use crate::linalg::SparseMatrix;
use crate::pca::{NComponents, PcaModel};
use crate::weights::{NormalizedWeights, Weighting, Weights};

/// Eigenvalues below this share of the first are rounding errors of zero.
const ROUNDING: f64 = 1e-12;
/// The first eigenvalue counts as this at least: eigenvalues of both analyses are of the order of one.
const LEAST_EIGENVALUE: f64 = 1e-3;

/// As [`CategoricalPca::fit_with`].
pub(super) fn fit(
    options: &CategoricalPca,
    columns: &[Column],
    weights: Option<&[f64]>,
    run: &Run<'_>,
) -> Result<CategoricalModel> {
    options.check()?;
    let n = n_rows(columns)?;
    if n == 0 {
        return Err(Error::Empty { n_samples: n, n_features: columns.len() });
    }
    check_kinds(options.analysis, columns)?;
    let normalized = NormalizedWeights::new(weights, n)?.values;
    let row_shares = normalized.unwrap_or_else(|| vec![1.0 / n as f64; n]);
    let encoding = Encoding::of(columns, &row_shares)?;
    check_unique(encoding.feature_names().iter().map(String::as_str))?;
    let matrix = encoding.matrix(columns)?;
    let n_numbers = encoding.n_numbers();
    let mut shares = vec![0.0; matrix.view().n_cols() - n_numbers];
    for (row_share, (indices, _)) in row_shares.iter().zip(rows(&matrix)) {
        indices[n_numbers..].iter().for_each(|at| shares[*at as usize - n_numbers] += row_share);
    }
    let n_variables = columns.len() as f64;
    let divisor = |share: &f64| match (options.analysis, *share > 0.0) {
        // A category of rows without weight has no variance.
        (_, false) => 1.0,
        (Analysis::Mca, true) => (share * n_variables).sqrt(),
        (Analysis::Famd, true) => share.sqrt(),
    };
    let scale = vec![1.0; n_numbers].into_iter().chain(shares.iter().map(divisor)).collect();
    let n_dimensions = n_dimensions(&encoding, &shares);
    let pca = fit_pca(options, (&matrix, scale), weights, (n_dimensions, &row_shares), run)?;
    let distances = match options.analysis {
        Analysis::Mca => shares.iter().map(|p| if *p > 0.0 { (1.0 - p) / p } else { 0.0 }).collect(),
        Analysis::Famd => distances_of_means(&matrix, (&encoding, &shares), &row_shares, &pca),
    };
    let options = options.clone();
    CategoricalModel::try_from(CategoricalParts {
        options,
        variables: encoding.variables,
        shares,
        distances,
        pca,
    })
}

/// The dimensions of the columns: numbers, and categories of rows with weight less the variables of categories.
fn n_dimensions(encoding: &Encoding, shares: &[f64]) -> usize {
    let of_variable = |ends: &[usize]| {
        shares[ends[0]..ends[1]].iter().filter(|share| **share > 0.0).count().saturating_sub(1)
    };
    encoding.n_numbers() + encoding.starts().windows(2).map(of_variable).sum::<usize>()
}

/// Fits as many components as the options ask for; all are those with variance.
fn fit_pca(
    options: &CategoricalPca,
    (matrix, scale): (&SparseMatrix<f64>, Vec<f64>),
    weights: Option<&[f64]>,
    (n_dimensions, row_shares): (usize, &[f64]),
    run: &Run<'_>,
) -> Result<PcaModel> {
    let n_with_weight = row_shares.iter().filter(|share| **share > 0.0).count();
    let rank = n_dimensions.min(n_with_weight - 1);
    if rank == 0 {
        return Err(Error::Categories(CategoryFault::Alike));
    }
    let wanted = match options.n_components {
        NComponents::Count(k) => NComponents::Count(k.min(rank)),
        NComponents::All => NComponents::Count(rank),
        share => share,
    };
    let weights = Weights { samples: weights, features: None };
    let pca = options.pca(wanted, scale).fit_with(&matrix.view(), &weights, run)?;
    // The matrix is fitted as a population; counts are counts all the same.
    let pca = pca.with_dimensions(n_dimensions);
    let pca = if options.weighting == Weighting::Frequency { pca.with_effective_samples(None) } else { pca };
    let variances = pca.explained_variance();
    let least = ROUNDING * variances.first().map_or(0.0, |first| first.max(LEAST_EIGENVALUE));
    let n_found = variances.iter().take_while(|variance| **variance > least).count();
    match options.n_components {
        _ if n_found == 0 => Err(Error::Categories(CategoryFault::Alike)),
        NComponents::Count(k) if n_found < k => {
            let rule = format!("categories and rows have {n_found} dimensions");
            Err(Error::option(options::N_COMPONENTS, k, rule))
        }
        _ if n_found < variances.len() => pca.leading(n_found),
        _ => Ok(pca),
    }
}

/// Checks that an analysis takes the kinds of the columns.
fn check_kinds(analysis: Analysis, columns: &[Column]) -> Result<()> {
    let numbers = |column: &&Column| matches!(column.values, ColumnValues::Numbers(_));
    let n_numbers = columns.iter().filter(numbers).count();
    let fault = match analysis {
        Analysis::Mca => columns.iter().find(numbers).map(|column| CategoryFault::Kind {
            column: column.name.clone(),
            found: "numbers",
            expected: "categories",
        }),
        Analysis::Famd if n_numbers == 0 => Some(CategoryFault::OneKind {
            kind: "categories",
            instead: "multiple correspondence analysis (MCA)",
        }),
        Analysis::Famd if n_numbers == columns.len() => {
            Some(CategoryFault::OneKind { kind: "numbers", instead: "PCA of scaled columns" })
        }
        Analysis::Famd => None,
    };
    fault.map_or(Ok(()), |fault| Err(Error::Categories(fault)))
}

/// The column indices and values of each row.
pub(super) fn rows(matrix: &SparseMatrix<f64>) -> impl Iterator<Item = (&[u32], &[f64])> {
    let (pointers, indices, values) = matrix.as_csr().unwrap_or((&[], &[], &[]));
    pointers.windows(2).map(|ends| (&indices[ends[0]..ends[1]], &values[ends[0]..ends[1]]))
}

/// Most values of the sums that are held at a time: 8 MiB, which caches hold.
const HELD: usize = 1 << 20;

/// The squared distance of the mean of the rows of each category from the mean of all rows, as the PCA scales the
/// columns; zero for a category of rows without weight. Passes over the rows: one for each variable of categories, more
/// where the product of its categories and the columns exceeds [`HELD`].
fn distances_of_means(
    matrix: &SparseMatrix<f64>,
    (encoding, shares): (&Encoding, &[f64]),
    row_shares: &[f64],
    pca: &PcaModel,
) -> Vec<f64> {
    let (n_numbers, p) = (encoding.n_numbers(), pca.n_features());
    let mut distances = Vec::with_capacity(shares.len());
    let most = (HELD / p).max(1);
    for (variable, ends) in encoding.starts().windows(2).enumerate() {
        for first in (ends[0]..ends[1]).step_by(most) {
            let end = (first + most).min(ends[1]);
            let mut sums = vec![0.0; (end - first) * p];
            for ((indices, values), row_share) in rows(matrix).zip(row_shares) {
                let category = indices[n_numbers + variable] as usize - n_numbers;
                if !(first..end).contains(&category) {
                    continue;
                }
                let sums = &mut sums[(category - first) * p..][..p];
                indices.iter().zip(values).for_each(|(j, value)| sums[*j as usize] += row_share * value);
            }
            for (sums, share) in sums.chunks_exact(p).zip(&shares[first..end]) {
                let deviations = sums.iter().zip(pca.mean()).zip(pca.scale());
                let squares = deviations.map(|((sum, mean), scale)| ((sum / share - mean) / scale).powi(2));
                distances.push(if *share > 0.0 { squares.sum() } else { 0.0 });
            }
        }
    }
    distances
}
