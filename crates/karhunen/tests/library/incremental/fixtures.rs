//! Batches of rows in several layouts, and comparisons of models.

use karhunen::incremental::{IncrementalFit, IncrementalModel, IncrementalPca};
use karhunen::source::Block;
use karhunen::{Dense, Matrix, PcaModel, Result, Run, Scalar, Sparse};
use karhunen_testkit::{
    Rows, SparseArrays, Tolerance, assert_close, assert_components, column_major, row_major,
};

/// Storage of a batch.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Layout {
    RowMajor,
    ColumnMajor,
    Csr,
    Csc,
}

pub(crate) const LAYOUTS: [Layout; 4] = [Layout::RowMajor, Layout::ColumnMajor, Layout::Csr, Layout::Csc];

/// Pushes one batch.
pub(crate) fn push<T: Scalar>(
    fit: &mut IncrementalFit,
    rows: &[Vec<f64>],
    weights: Option<&[f64]>,
    layout: Layout,
    run: &Run<'_>,
) -> Result<()> {
    let (n, p) = (rows.len(), rows.first().map_or(0, Vec::len));
    let convert = |values: &[f64]| -> Vec<T> { values.iter().map(|&value| T::from_f64(value)).collect() };
    match layout {
        Layout::RowMajor => {
            let values = convert(&row_major(rows));
            fit.push(&Block::Dense(Dense::row_major(&values, n, p)?), weights, run)
        }
        Layout::ColumnMajor => {
            let values = convert(&column_major(rows));
            fit.push(&Block::Dense(Dense::column_major(&values, n, p)?), weights, run)
        }
        Layout::Csr => {
            let a = SparseArrays::of_rows(rows);
            let values = convert(&a.values);
            let indices: Vec<u32> = a.indices.iter().map(|&index| index as u32).collect();
            fit.push(&Block::Sparse(Sparse::csr(n, p, &a.indptr, &indices, &values)?), weights, run)
        }
        Layout::Csc => {
            let a = SparseArrays::of_rows(rows).by_columns();
            let values = convert(&a.values);
            fit.push(&Block::Sparse(Sparse::csc(n, p, &a.indptr, &a.indices, &values)?), weights, run)
        }
    }
}

/// Pushes all rows in batches of `size` rows.
pub(crate) fn fitted(
    pca: &IncrementalPca,
    rows: &[Vec<f64>],
    weights: Option<&[f64]>,
    size: usize,
    layout: Layout,
) -> IncrementalFit {
    let mut fit = pca.start(rows[0].len()).unwrap();
    for start in (0..rows.len()).step_by(size) {
        let end = rows.len().min(start + size);
        let weights = weights.map(|w| &w[start..end]);
        push::<f64>(&mut fit, &rows[start..end], weights, layout, &Run::threads(1)).unwrap();
    }
    fit
}

pub(crate) fn model(fit: &IncrementalFit) -> IncrementalModel {
    fit.model(&Run::threads(1)).unwrap()
}

/// The components as rows.
pub(crate) fn components(components: &Matrix) -> Rows {
    (0..components.n_rows()).map(|i| components.row(i).to_vec()).collect()
}

/// Compares all numbers of two models; `error` is relative to the largest variance.
pub(crate) fn assert_same(found: &PcaModel, expected: &PcaModel, error: f64) {
    let of = |norm: f64| Tolerance { multiple: 1.0, epsilon: error, norm };
    let variances = expected.explained_variance();
    let size = variances[0];
    let magnitude = |values: &[f64]| karhunen_testkit::largest(values.iter().copied()).max(1.0);
    assert_close("variance", found.explained_variance(), variances, of(size));
    assert_close("ratio", found.explained_variance_ratio(), expected.explained_variance_ratio(), of(1.0));
    let singular = expected.singular_values();
    assert_close("singular", found.singular_values(), singular, of(10.0 * singular[0]));
    assert_close("mean", found.mean(), expected.mean(), of(magnitude(expected.mean())));
    assert_close("scale", found.scale(), expected.scale(), of(magnitude(expected.scale())));
    let noise = |model: &PcaModel| [model.noise_variance(), model.total_variance()];
    let total = expected.total_variance();
    assert_close("noise", &noise(found), &noise(expected), of(total));
    assert_close(
        "weights",
        &[found.sum_of_weights()],
        &[expected.sum_of_weights()],
        of(expected.sum_of_weights()),
    );
    assert_components(
        "components",
        &components(found.components()),
        &components(expected.components()),
        variances,
        of(size),
    );
    assert_eq!(found.n_samples(), expected.n_samples());
}
