//! Data, and comparisons of fits.

use karhunen::kernel::{Gamma, Kernel, KernelRoute};
use karhunen::{Dense, KernelModel, KernelPca, Matrix, Weights};
use karhunen_testkit::{Rows, SplitMix64, largest_difference};

/// The exact routes.
pub(crate) const EXACT: [KernelRoute; 3] = [KernelRoute::Full, KernelRoute::Stored, KernelRoute::Tiles];

pub(crate) fn rbf(gamma: f64) -> Kernel {
    Kernel::Rbf { gamma: Gamma::Value(gamma) }
}

/// Gaussian rows whose columns have the standard deviations 1, 1/2, 1/3, ..., and a mean of one.
pub(crate) fn cloud(n: usize, p: usize, seed: u64) -> Rows {
    let mut rows = SplitMix64::new(seed).normals(n, p);
    rows.iter_mut().for_each(|row| {
        row.iter_mut().enumerate().for_each(|(j, x)| *x = 1.0 + *x / (j + 1) as f64);
    });
    rows
}

pub(crate) fn fit(pca: &KernelPca, rows: &Rows, weights: Option<&[f64]>) -> KernelModel {
    let values = rows.concat();
    let x = Dense::row_major(&values, rows.len(), rows[0].len()).unwrap();
    pca.fit(&x, &Weights { samples: weights, features: None }).unwrap()
}

/// The sum of all positive eigenvalues, which the route knows.
pub(crate) fn total(model: &KernelModel) -> f64 {
    model.parts().total.unwrap()
}

pub(crate) fn scores(model: &KernelModel, rows: &Rows) -> Matrix {
    let values = rows.concat();
    model.transform(&Dense::row_major(&values, rows.len(), rows[0].len()).unwrap()).unwrap()
}

/// Compares eigenvalues and scores with expected ones, relative to the largest.
#[track_caller]
pub(crate) fn assert_same(
    what: &str,
    found: &KernelModel,
    expected: &KernelModel,
    rows: &Rows,
    tolerance: f64,
) {
    let scale = expected.eigenvalues()[0];
    let values = largest_difference(found.eigenvalues(), expected.eigenvalues());
    assert!(values <= tolerance * scale, "{what}: eigenvalues differ by {values:e} of {scale:e}");
    let apart = largest_difference(scores(found, rows).as_slice(), scores(expected, rows).as_slice());
    assert!(
        apart <= tolerance.sqrt().min(100.0 * tolerance) * scale.sqrt(),
        "{what}: scores differ by {apart:e}"
    );
}
