//! Covariances of point estimates under a normal prior (`docs/missing-values-variational.md`).

use crate::linalg::Matrix;
use crate::linalg::decomp::cholesky::Upper;
use crate::linalg::simd::Lane;

/// Precision of the prior of the rows of a factor, times the noise variance.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Precision {
    /// Shape (c, c).
    pub(crate) matrix: Matrix,
    /// True if the matrix is multiplied by the sum of the weights of the entries of a row.
    pub(crate) per_entry: bool,
}

impl Precision {
    /// That of scores with these variances, the offset of a row last: `diag(noise / variances)`.
    pub(crate) fn of_population(noise: f64, variances: &[f64], of_offsets: Option<f64>) -> Self {
        let variances: Vec<f64> = variances.iter().copied().chain(of_offsets).collect();
        let c = variances.len();
        let of = |k: usize| noise / variances[k].max(f64::MIN_POSITIVE);
        Self { matrix: Matrix::from_fn(c, c, |k, l| if k == l { of(k) } else { 0.0 }), per_entry: false }
    }
}

/// Writes `(G + P)^-1` of one row, the lower triangle packed by rows, and returns `tr G (G + P)^-1`. `weight` belongs
/// to the entries of the row; the values of `inactive` components are left as they are.
pub(crate) fn inverse_in<T: Lane>(
    mut g: Upper<'_>,
    weight: f64,
    (precision, inactive): (&Precision, &[bool]),
    row: &mut [T],
) -> f64 {
    let (c, stride) = (g.m, g.stride);
    let is_inactive = |k: usize| inactive.get(k).is_some_and(|inactive| *inactive);
    let (others, active): (Vec<usize>, Vec<usize>) = (0..c).partition(|k| is_inactive(*k));
    let factor = if precision.per_entry { weight.max(1.0) } else { 1.0 };
    for k in 0..c {
        for l in k..c {
            g.values[k * stride + l] += factor * precision.matrix[(k, l)];
        }
        // Keeps the matrix positive definite to rounding.
        g.values[k * stride + k] *= 1.0 + 1e-9;
    }
    others.iter().for_each(|k| g.isolate(*k, 1.0));
    let inverse = invert(&mut g);
    let mut trace = active.len() as f64;
    for (at, k) in active.iter().enumerate() {
        for l in &active[..=at] {
            row[k * (k + 1) / 2 + l] = T::from_f64(inverse[(*k, *l)]);
        }
        let terms = active.iter().map(|l| factor * precision.matrix[(*k, *l)] * inverse[(*l, *k)]);
        trace -= terms.sum::<f64>();
    }
    trace
}

/// The inverse, or zero if the matrix is still singular.
fn invert(g: &mut Upper<'_>) -> Matrix {
    let m = g.m;
    let mut inverse = Matrix::zeros(m, m);
    if g.factorize() {
        let mut column = vec![0.0; m];
        for k in 0..m {
            column.fill(0.0);
            column[k] = 1.0;
            g.solve(&mut column);
            (0..m).for_each(|l| inverse[(l, k)] = column[l]);
        }
    }
    inverse
}
