//! Sums of rows of which only the covariance matrix is known.

use crate::error::{Error, Result, options};
use crate::linalg::Matrix;
use crate::linalg::decomp::cholesky::cholesky;
use crate::linalg::decomp::eigh::eigh;
use crate::moments::{Moments, Scatter, sparse_sums};
use crate::scalar::Scalar;
use crate::source::{Block, Source};

/// Largest difference of mirrored entries, relative to the deviations of both columns: as in rounded tables.
const ASYMMETRY: f64 = 1e-6;
/// Smallest eigenvalue below zero that counts as zero, relative to the trace.
const NEGATIVE: f64 = 1e-8;
/// Smallest eigenvalue above zero, relative to the trace: rounded tables have others.
const RANK: f64 = 1e-4;

impl Scatter {
    /// The sums of `n_samples` rows whose covariance matrix, shape (n_features, n_features), and means are known: a published
    /// matrix can be fitted, and merged with others. The divisor of the covariances is `n_samples - 1`. A matrix of
    /// correlations describes standardized rows.
    ///
    /// ```
    /// use karhunen::moments::Scatter;
    /// use karhunen::{Dense, Pca};
    /// let correlations = Dense::row_major(&[1.0, 0.5, 0.5, 1.0], 2, 2)?;
    /// let model = Pca::new(2).fit_scatter(&Scatter::of_covariance(&correlations, &[0.0; 2], 50)?, None)?;
    /// assert!((model.explained_variance()[0] - 1.5).abs() < 1e-12);
    /// # Ok::<(), karhunen::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Empty`]; [`Error::Shape`] unless the matrix is square and there is a mean for each column;
    /// [`Error::NonFinite`]; [`Error::NotSymmetric`]; [`Error::NotCovariance`] for a variance or an eigenvalue below zero;
    /// [`Error::Option`] for fewer than two rows; [`Error::Memory`]; errors of reading.
    pub fn of_covariance<T: Scalar>(
        covariance: &dyn Source<T>,
        mean: &[f64],
        n_samples: usize,
    ) -> Result<Self> {
        let (found, p) = covariance.shape();
        if p == 0 {
            return Err(Error::Empty { n_samples: found, n_features: p });
        }
        for (what, axis, found) in [("a covariance matrix", "rows", found), ("means", "values", mean.len())] {
            if found != p {
                return Err(Error::Shape { what, axis, found, expected: p });
            }
        }
        if n_samples < 2 {
            return Err(Error::option(
                options::N_SAMPLES,
                n_samples,
                "a covariance matrix comes from two rows or more",
            ));
        }
        Self::ask(p)?;
        let covariance = read(covariance)?;
        check_values(&covariance)?;
        let divisor = (n_samples - 1) as f64;
        let matrix = Matrix::from_fn(p, p, |i, j| 0.5 * (covariance[(i, j)] + covariance[(j, i)]) * divisor);
        let sum_of_squares: Vec<f64> = (0..p).map(|j| matrix[(j, j)]).collect();
        if let Some(column) = sum_of_squares.iter().position(|sum| !sum.is_finite()) {
            return Err(Error::Overflow { statistic: "variance", column });
        }
        check_positive(&matrix, divisor)?;
        check_rank(&matrix, n_samples)?;
        // Published means are rounded.
        let (mean, mean_rest) = (mean.to_vec(), Vec::new());
        let moments = Moments { mean, mean_rest, sum_of_squares, ..Moments::of_weights(None, n_samples) };
        Self { moments, matrix }.finished()
    }
}

fn read<T: Scalar>(covariance: &dyn Source<T>) -> Result<Matrix> {
    let (n, p) = covariance.shape();
    let mut matrix = Matrix::zeros(n, p);
    covariance.visit(&mut |first, block| {
        let out = &mut matrix.as_mut_slice()[first * p..(first + block.n_rows()) * p];
        match block {
            Block::Dense(x) => {
                out.iter_mut().enumerate().for_each(|(e, value)| *value = x.get(e / p, e % p).to_f64());
                Ok(())
            }
            Block::Sparse(x) => sparse_sums::densify(&x, 0..x.n_rows(), out),
        }
    })?;
    Ok(matrix)
}

/// Refuses values that are not finite, negative variances and asymmetry.
fn check_values(covariance: &Matrix) -> Result<()> {
    let p = covariance.n_rows();
    for row in 0..p {
        if let Some(column) = covariance.row(row).iter().position(|value| !value.is_finite()) {
            return Err(Error::NonFinite { row, column, value: covariance[(row, column)] });
        }
        let variance = covariance[(row, row)];
        if variance < 0.0 {
            return Err(Error::NotCovariance { column: Some(row), value: variance });
        }
    }
    for row in 0..p {
        for column in 0..row {
            let (value, mirrored) = (covariance[(row, column)], covariance[(column, row)]);
            let size = (covariance[(row, row)] * covariance[(column, column)]).sqrt();
            if (value - mirrored).abs() > ASYMMETRY * size {
                let matrix = "the covariance matrix";
                return Err(Error::NotSymmetric { matrix, row, column, value, mirrored });
            }
        }
    }
    // No correlation is above one; such values may overflow in what follows.
    for row in 0..p {
        for column in 0..row {
            let size = (covariance[(row, row)] * covariance[(column, column)]).sqrt();
            let value = covariance[(row, column)].abs();
            if value > (1.0 + ASYMMETRY) * size {
                return Err(Error::NotCovariance { column: None, value: size - value });
            }
        }
    }
    Ok(())
}

/// Refuses more eigenvalues above zero than so many rows have about their mean.
fn check_rank(matrix: &Matrix, n_samples: usize) -> Result<()> {
    let p = matrix.n_rows();
    if n_samples > p {
        return Ok(());
    }
    let trace: f64 = (0..p).map(|j| matrix[(j, j)]).sum();
    let rank = eigh(matrix)?.values.iter().filter(|value| **value > RANK * trace).count();
    if rank < n_samples {
        return Ok(());
    }
    let rule =
        "the covariance matrix of n rows has at most n - 1 eigenvalues above zero, and this one has more";
    Err(Error::option(options::N_SAMPLES, n_samples, rule))
}

/// Refuses an eigenvalue below zero; `divisor` divides the eigenvalues of `matrix`.
fn check_positive(matrix: &Matrix, divisor: f64) -> Result<()> {
    let p = matrix.n_rows();
    let trace: f64 = (0..p).map(|j| matrix[(j, j)]).sum();
    let lifted = Matrix::from_fn(p, p, |i, j| matrix[(i, j)] + if i == j { NEGATIVE * trace } else { 0.0 });
    if trace == 0.0 || cholesky(&lifted).is_some() {
        return Ok(());
    }
    let smallest = eigh(matrix)?.values.last().copied().unwrap_or(0.0) / divisor;
    Err(Error::NotCovariance { column: None, value: smallest })
}
