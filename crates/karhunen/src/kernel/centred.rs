//! The kernel matrix, centred in feature space and weighted: `V^(1/2) (K - 1 a' - a 1' + (v'a) 1 1') V^(1/2)`,
//! `a = K v`, never formed.

use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Result};
use crate::exec::Exec;
use crate::kernel::gram::Gram;
use crate::linalg::Matrix;
use crate::linalg::tiles::exp::Exp;
use crate::operator::SymOp;
use crate::scalar::largest_magnitude;

/// The means of the kernel matrix.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Means {
    /// `a = K v`, one for each row.
    pub(super) of_rows: Vec<f64>,
    /// `v'a`.
    pub(super) of_all: f64,
}

impl Means {
    /// Zero for a sum or an eigenvalue within the rounding of centring, otherwise `value`. `epsilon` is the relative
    /// rounding of kernel values.
    pub(super) fn without_rounding(&self, value: f64, shares: &[f64], epsilon: f64) -> f64 {
        /// Number of rounding errors: of a kernel value, a mean and a difference.
        const ROUNDINGS: f64 = 4.0;
        if value.abs() <= ROUNDINGS * epsilon * self.size(shares) { 0.0 } else { value }
    }

    /// `||K sqrt(v)||`, at most the largest eigenvalue before centring.
    pub(super) fn size(&self, shares: &[f64]) -> f64 {
        // The squares of large kernel values are beyond f64.
        let unit = largest_magnitude(&self.of_rows);
        if unit == 0.0 {
            return 0.0;
        }
        unit * self.of_rows.iter().zip(shares).map(|(a, v)| (a / unit).powi(2) * v).sum::<f64>().sqrt()
    }
}

/// The weighted, centred kernel matrix. Its eigenvalues times the sum of the weights are the eigenvalues of the matrix
/// of repeated rows.
pub(super) struct Centred<'a, E> {
    gram: &'a Gram<'a, E>,
    shares: &'a [f64],
    centers: bool,
    roots: Vec<f64>,
    /// Computed with the first product; zeros without centring.
    means: Mutex<Option<Means>>,
}

impl<'a, E: Exp> Centred<'a, E> {
    /// `shares`, one for each row, sum to one. The matrix is weighted and not centred unless `centers`.
    pub(super) fn new(gram: &'a Gram<'a, E>, (shares, centers): (&'a [f64], bool)) -> Self {
        let none = (!centers).then(|| Means { of_rows: vec![0.0; shares.len()], of_all: 0.0 });
        let roots = shares.iter().map(|v| v.sqrt()).collect();
        Self { gram, shares, centers, roots, means: Mutex::new(none) }
    }

    /// The means, from one product unless they are known.
    ///
    /// # Errors
    /// Errors of the product; [`Error::KernelValue`] if the means are not finite.
    pub(super) fn means(&self, exec: &Exec<'_>) -> Result<Means> {
        if let Some(means) = self.known() {
            return Ok(means);
        }
        self.apply(&Matrix::zeros(self.shares.len(), 1), exec)?;
        self.known().ok_or(Error::KernelValue { row: 0 })
    }

    /// The part of the columns of `q` along `v^(1/2)` that centring removes.
    fn along(&self, q: &Matrix) -> Vec<f64> {
        if self.centers { along(q, &self.roots) } else { vec![0.0; q.n_cols()] }
    }

    fn known(&self) -> Option<Means> {
        self.means.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Splits the last column, `K v`, off a product, and stores the means.
    fn store_means(&self, product: Matrix) -> Result<(Matrix, Means)> {
        let l = product.n_cols() - 1;
        let of_rows: Vec<f64> = (0..product.n_rows()).map(|i| product[(i, l)]).collect();
        if let Some(row) = of_rows.iter().position(|a| !a.is_finite()) {
            return Err(Error::KernelValue { row });
        }
        let of_all = of_rows.iter().zip(self.shares).map(|(a, v)| a * v).sum();
        let means = Means { of_rows, of_all };
        *self.means.lock().unwrap_or_else(PoisonError::into_inner) = Some(means.clone());
        Ok((product.columns(0..l), means))
    }
}

impl<E: Exp> SymOp for Centred<'_, E> {
    fn dim(&self) -> usize {
        self.shares.len()
    }

    /// Argument and product are projected orthogonally to `v^(1/2)`, the known eigenvector of eigenvalue zero;
    /// otherwise rounding errors of the means would appear as an eigenvalue.
    fn apply(&self, q: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        let (n, l) = q.shape();
        let along = self.along(q);
        let known = self.known();
        let extra = usize::from(known.is_none());
        let w = Matrix::from_fn(n, l + extra, |i, c| {
            if c < l { (q[(i, c)] - along[c] * self.roots[i]) * self.roots[i] } else { self.shares[i] }
        });
        let product = self.gram.multiply(&w, exec)?;
        let (mut y, means) = match known {
            Some(means) => (product, means),
            None => self.store_means(product)?,
        };
        let (mut with_means, mut sums) = (vec![0.0; l], vec![0.0; l]);
        for (i, a) in means.of_rows.iter().enumerate() {
            for ((with_mean, sum), w) in with_means.iter_mut().zip(&mut sums).zip(w.row(i)) {
                *with_mean += a * w;
                *sum += w;
            }
        }
        for (i, (a, root)) in means.of_rows.iter().zip(&self.roots).enumerate() {
            for ((y, with_mean), sum) in y.row_mut(i).iter_mut().zip(&with_means).zip(&sums) {
                *y = (*y - with_mean - (a - means.of_all) * sum) * root;
            }
        }
        let along = self.along(&y);
        for (i, root) in self.roots.iter().enumerate() {
            y.row_mut(i).iter_mut().zip(&along).for_each(|(y, along)| *y -= along * root);
        }
        Ok(y)
    }
}

/// The products of the columns of `q` with `roots`.
fn along(q: &Matrix, roots: &[f64]) -> Vec<f64> {
    let mut along = vec![0.0; q.n_cols()];
    for (i, root) in roots.iter().enumerate() {
        along.iter_mut().zip(q.row(i)).for_each(|(sum, q)| *sum += q * root);
    }
    along
}

/// The weighted, centred kernel matrix, formed, shape (n, n), and the means.
pub(super) fn centred_matrix<E: Exp>(
    gram: &Gram<'_, E>,
    (shares, centers): (&[f64], bool),
    exec: &Exec<'_>,
) -> Result<(Matrix, Means)> {
    let n = shares.len();
    let means = Centred::new(gram, (shares, centers)).means(exec)?;
    let roots: Vec<f64> = shares.iter().map(|v| v.sqrt()).collect();
    let mut matrix = Matrix::try_zeros("the kernel matrix", n, n)?;
    let w = crate::linalg::tiles::pairs::width::<E>();
    gram.visit(|rows, columns, tile| {
        for i in rows.start..rows.end.min(n) {
            let r = i - rows.start;
            let line = &mut matrix.row_mut(i)[columns.start..columns.end.min(n)];
            for (c, to) in line.iter_mut().enumerate() {
                *to = tile[(c / w * rows.len() + r) * w + c % w].to_f64();
            }
        }
    })?;
    for i in 0..n {
        let a = means.of_rows[i] - means.of_all;
        let line = matrix.row_mut(i);
        for j in i..n {
            line[j] = (line[j] - a - means.of_rows[j]) * roots[i] * roots[j];
        }
    }
    matrix.mirror_upper();
    if centers {
        centre_again(&mut matrix, &roots);
    }
    Ok((matrix, means))
}

/// Centres a centred matrix once more, to remove the rounding errors of its means.
fn centre_again(matrix: &mut Matrix, roots: &[f64]) {
    let means = along(matrix, roots);
    let of_all: f64 = means.iter().zip(roots).map(|(a, root)| a * root).sum();
    for (i, root) in roots.iter().enumerate() {
        let mean = means[i];
        for (j, value) in matrix.row_mut(i).iter_mut().enumerate() {
            // Both triangles sum the products in the same order, so that the matrix stays symmetric.
            *value -= (mean * roots[j] + means[j] * root) - of_all * (root * roots[j]);
        }
    }
}
