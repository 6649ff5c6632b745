//! The SVD route: reduces `B` (or `B'` if that is taller) to a triangle by Householder reflections, and takes the
//! singular value decomposition of the triangle. The condition number is not squared.

use crate::error::Result;
use crate::exec::Exec;
use crate::linalg::Matrix;
use crate::linalg::decomp::svd;
use crate::linalg::dense::residual::relative_residuals;
use crate::linalg::dense::small;
use crate::operator::{Products, Side};
use crate::solver::image::image;
use crate::solver::leading::Pairs;
use crate::solver::route::Route;
use crate::solver::spectrum::{Spectrum, Wanted, count};

/// Makes one pass over the data if there are more rows than columns, otherwise two.
pub(crate) fn solve(op: &dyn Products, wanted: Wanted, exec: &Exec<'_>) -> Result<Spectrum> {
    let (n, p) = op.shape();
    let side = if n >= p { Side::Columns } else { Side::Rows };
    let triangle = op.triangle(side, &exec.phase("reduction"))?.finish();
    exec.phase("singular values").report(0.0)?;
    // B = Q R gives B'B = R'R, and B' = Q R gives B B' = R'R: the right singular vectors of R, either way.
    let svd = svd::svd(&triangle)?;
    let squares: Vec<f64> = svd.s.iter().map(|s| s * s).collect();
    let k = count(&squares, wanted).unwrap_or(squares.len());
    let values = squares[..k].to_vec();
    let vectors = svd.v.columns(0..k);
    let product = small::t_multiply(&triangle, &small::multiply(&triangle, &vectors));
    let residuals = match side {
        Side::Columns => relative_residuals(&product, &vectors, &values),
        Side::Rows => residuals_of_images(product, &vectors, &values),
    };
    let others = Some(squares[k..].to_vec());
    let pairs = Pairs { values, vectors, residuals, n_products: 0, others };
    match side {
        Side::Columns => pairs.into_spectrum(&exec.phase("components")),
        Side::Rows => image(op, pairs, Route::Svd, 0, &exec.phase("components")),
    }
}

/// Bounds `||S w - lambda w|| / lambda_1` of the components `w`, the orthonormalised images `B'q` of the vectors `q`, given
/// `product = R'R Q`. Orthonormalising removes from an image what it has of those before it. The rest of
/// `R'R q - lambda q` is a combination of vectors whose images are no longer than that of `q`, so it does not grow.
fn residuals_of_images(mut product: Matrix, vectors: &Matrix, values: &[f64]) -> Vec<f64> {
    let along = small::t_multiply(vectors, &product);
    let before =
        Matrix::from_fn(along.n_rows(), along.n_cols(), |i, j| if i < j { along[(i, j)] } else { 0.0 });
    let removed = small::multiply(vectors, &before);
    product.as_mut_slice().iter_mut().zip(removed.as_slice()).for_each(|(x, removed)| *x -= removed);
    relative_residuals(&product, vectors, values)
}
