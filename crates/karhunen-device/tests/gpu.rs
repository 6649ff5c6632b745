//! Products and fits on a GPU, compared with the host. Without a GPU the tests say why they are skipped.
#![allow(clippy::print_stderr, clippy::unwrap_used)]

use karhunen::exec::Exec;
use karhunen::pca::{Centring, Route, Scaling};
use karhunen::source::{Block, RowBlocks};
use karhunen::{
    Dense, Error, LinOp, Matrix, NComponents, Pca, Run, Scalar, Side, Source, Sparse, Standard, Weighting,
    Weights,
};
use karhunen_device::{Device, DeviceMatrix};
use karhunen_testkit::{
    Rows, SparseArrays, Tolerance, assert_close, assert_components, column_major, gaussian, integer_weights,
    largest, row_major, uniform_weights,
};

/// The GPU, or the reason why there is none.
fn device() -> Option<Device> {
    match Device::open(&[]) {
        Ok(device) => Some(device),
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}

/// The rows on the host, with the default products of [`LinOp`].
struct OnHost(Rows);

impl LinOp for OnHost {
    fn shape(&self) -> (usize, usize) {
        (self.0.len(), self.0[0].len())
    }
    fn apply(&self, v: &Matrix, _: &Exec<'_>) -> karhunen::Result<Matrix> {
        let entry = |i: usize, c: usize| self.0[i].iter().enumerate().map(|(j, x)| x * v[(j, c)]).sum();
        Ok(Matrix::from_fn(self.0.len(), v.n_cols(), entry))
    }
    fn apply_t(&self, u: &Matrix, _: &Exec<'_>) -> karhunen::Result<Matrix> {
        let entry = |j: usize, c: usize| self.0.iter().enumerate().map(|(i, row)| row[j] * u[(i, c)]).sum();
        Ok(Matrix::from_fn(self.0[0].len(), u.n_cols(), entry))
    }
}

/// How rows are stored.
#[derive(Clone, Copy, Debug)]
enum Layout {
    RowMajor,
    ColumnMajor,
    Csr,
    Csc,
    DenseBlocks,
    MixedBlocks,
}

const LAYOUTS: [Layout; 6] = [
    Layout::RowMajor,
    Layout::ColumnMajor,
    Layout::Csr,
    Layout::Csc,
    Layout::DenseBlocks,
    Layout::MixedBlocks,
];

fn of_type<T: Scalar>(values: &[f64]) -> Vec<T> {
    values.iter().map(|value| T::from_f64(*value)).collect()
}

fn with<T: Scalar, R>(layout: Layout, rows: &[Vec<f64>], f: impl FnOnce(&dyn Source<T>) -> R) -> R {
    let (n, p) = (rows.len(), rows[0].len());
    let (top, bottom) = rows.split_at(n / 3);
    match layout {
        Layout::RowMajor => f(&Dense::row_major(&of_type::<T>(&row_major(rows)), n, p).unwrap()),
        Layout::ColumnMajor => f(&Dense::column_major(&of_type::<T>(&column_major(rows)), n, p).unwrap()),
        Layout::Csr => {
            let a = SparseArrays::of_rows(rows);
            f(&Sparse::csr(n, p, &a.indptr, &a.indices, &of_type::<T>(&a.values)).unwrap())
        }
        Layout::Csc => {
            let a = SparseArrays::of_rows(rows).by_columns();
            f(&Sparse::csc(n, p, &a.indptr, &a.indices, &of_type::<T>(&a.values)).unwrap())
        }
        Layout::DenseBlocks => {
            let (above, below) = (of_type::<T>(&row_major(top)), of_type::<T>(&column_major(bottom)));
            f(&RowBlocks::new(vec![
                Block::Dense(Dense::row_major(&above, top.len(), p).unwrap()),
                Block::Dense(Dense::column_major(&below, bottom.len(), p).unwrap()),
            ])
            .unwrap())
        }
        Layout::MixedBlocks => {
            let (above, a) = (of_type::<T>(&row_major(top)), SparseArrays::of_rows(bottom));
            let values = of_type::<T>(&a.values);
            f(&RowBlocks::new(vec![
                Block::Dense(Dense::row_major(&above, top.len(), p).unwrap()),
                Block::Sparse(Sparse::csr(bottom.len(), p, &a.indptr, &a.indices, &values).unwrap()),
            ])
            .unwrap())
        }
    }
}

/// Normal values about means up to 3, of falling deviations, two thirds of them zero, one column constant,
/// one row zero.
fn rows(n: usize, p: usize, seed: u64) -> Rows {
    let mut rows = gaussian(n, p, seed);
    for (i, row) in rows.iter_mut().enumerate() {
        for (j, x) in row.iter_mut().enumerate() {
            let is_zero = (i * 7 + j * 3 + (i * j) % 5) % 3 != 0 || i == n / 2;
            // Numbers of f32, so that both types have the same values.
            *x = if is_zero { 0.0 } else { f64::from((*x / (1.0 + 0.3 * j as f64) + (j % 4) as f64) as f32) };
        }
        row[p / 2] = 1.5;
    }
    rows
}

/// Sums of `n` products in another order, each exact to `epsilon`.
fn rounding(n: usize, size: f64) -> Tolerance {
    Tolerance { multiple: 4.0 * n as f64, epsilon: f64::EPSILON, norm: size }
}

fn assert_near(name: &str, found: &Matrix, expected: &Matrix, n: usize) {
    assert_eq!(found.shape(), expected.shape(), "{name}");
    let size = largest(expected.as_slice().iter().copied());
    assert_close(name, found.as_slice(), expected.as_slice(), rounding(n, size));
}

fn check_products<T: Scalar>(name: &str, found: &DeviceMatrix, rows: &Rows, shares: Option<&[f64]>) {
    let host = OnHost(rows.clone());
    let ((n, p), exec) = (host.shape(), &Exec::sequential());
    let name = format!("{name}, {}, weighted {}", T::NAME, shares.is_some());
    assert_eq!((found.shape(), found.profile().dtype), ((n, p), T::NAME));
    let center: Vec<f64> = (0..p).map(|j| (j % 5) as f64 - 1.5).collect();
    let factor: Vec<f64> = (0..p).map(|j| 1.0 / (1.0 + (j % 3) as f64)).collect();
    let by = Standard { center: &center, factor: &factor, shares };
    let (q, u) = (matrix(p, 5, 3), matrix(n, 5, 4));
    let size = n.max(p);
    let near = |what: &str, found: karhunen::Result<Matrix>, expected: karhunen::Result<Matrix>| {
        assert_near(&format!("{name}, {what}"), &found.unwrap(), &expected.unwrap(), size);
    };
    near("apply", found.apply(&q, exec), host.apply(&q, exec));
    near("apply_t", found.apply_t(&u, exec), host.apply_t(&u, exec));
    near("standard_t", found.standard_t(by, &u, exec), host.standard_t(by, &u, exec));
    near("normal", found.normal(by, &q, exec), host.normal(by, &q, exec));
    near("normal_t", found.normal_t(by, &u, exec), host.normal_t(by, &u, exec));
    let units = |dim| Matrix::from_fn(dim, dim, |i, j| f64::from(u8::from(i == j)));
    if let Some(square) = found.square(by, Side::Columns, exec).unwrap() {
        near("B'B", Ok(square), host.normal(by, &units(p), exec));
    }
    if let Some(square) = found.square(by, Side::Rows, exec).unwrap() {
        near("B B'", Ok(square), host.normal_t(by, &units(n), exec));
    }
    let (a, b) = match shares {
        None => (found.moments(exec).unwrap(), host.moments(exec).unwrap()),
        Some(v) => (found.weighted_moments(v, exec).unwrap(), host.weighted_moments(v, exec).unwrap()),
    };
    assert_close(&name, &[a.weight, a.weight_squared], &[b.weight, b.weight_squared], rounding(n, b.weight));
    assert_close(&name, &a.mean, &b.mean, rounding(n, largest(b.mean.iter().copied())));
    let squares = largest(b.sum_of_squares.iter().copied());
    assert_close(&name, &a.sum_of_squares, &b.sum_of_squares, rounding(n, squares));
    // The deviation is far below the rounding of the mean, below which a fit takes a column for constant.
    assert!(a.sum_of_squares[p / 2] < 1e-40, "{name}: the constant column, {:e}", a.sum_of_squares[p / 2]);
}

fn matrix(n: usize, p: usize, seed: u64) -> Matrix {
    Matrix::from_vec(n, p, gaussian(n, p, seed).concat()).unwrap()
}

#[test]
fn products_match_the_host() {
    let Some(device) = device() else { return };
    for (n, p) in [(211, 37), (37, 211), (64, 64), (3, 1), (1, 7)] {
        let rows = rows(n, p, 1);
        let weights = uniform_weights(n, 2);
        let sum: f64 = weights.iter().sum();
        let shares: Vec<f64> = weights.iter().map(|w| w / sum).collect();
        for layout in LAYOUTS {
            if n < 3 && matches!(layout, Layout::DenseBlocks | Layout::MixedBlocks) {
                continue;
            }
            let name = format!("{n} x {p}, {layout:?}");
            let single = with::<f32, _>(layout, &rows, |x| device.copy(x)).unwrap();
            let double = with::<f64, _>(layout, &rows, |x| device.copy(x)).unwrap();
            for shares in [None, Some(&shares[..])] {
                check_products::<f32>(&name, &single, &rows, shares);
                check_products::<f64>(&name, &double, &rows, shares);
            }
        }
    }
}

/// Every kind of fit compared with the most accurate route of the host.
#[test]
fn fits_match_the_host() {
    let Some(device) = device() else { return };
    for (n, p) in [(300, 60), (60, 300)] {
        let rows = rows(n, p, 5);
        let samples: Vec<f64> = integer_weights(n, 3, 6).into_iter().map(f64::from).collect();
        let features = uniform_weights(p, 7);
        let scales: Vec<f64> = (0..p).map(|j| 0.5 + (j % 4) as f64).collect();
        for layout in LAYOUTS {
            for solver in [None, Some(Route::Covariance), Some(Route::Gram), Some(Route::BlockKrylov)] {
                for (center, scale, weighting) in [
                    (Centring::Mean, Scaling::None, Weighting::Frequency),
                    (Centring::Mean, Scaling::Deviation, Weighting::Importance),
                    (Centring::None, Scaling::None, Weighting::Population),
                    (Centring::Given(vec![0.25; p]), Scaling::Given(scales.clone()), Weighting::Frequency),
                ] {
                    for (samples, features) in
                        [(None, None), (Some(&samples[..]), None), (Some(&samples[..]), Some(&features[..]))]
                    {
                        let pca = Pca {
                            n_components: NComponents::Count(4),
                            center: center.clone(),
                            scale: scale.clone(),
                            weighting,
                            solver,
                            tol: Some(1e-11),
                            ..Pca::default()
                        };
                        let weights = Weights { samples, features };
                        let name = format!("{n} x {p}, {layout:?}, {solver:?}, {scale:?}, {weighting:?}");
                        check_fit::<f32>(&device, &name, &pca, (layout, &rows), &weights);
                        check_fit::<f64>(&device, &name, &pca, (layout, &rows), &weights);
                    }
                }
            }
        }
    }
}

fn check_fit<T: Scalar>(
    device: &Device,
    name: &str,
    pca: &Pca,
    (layout, rows): (Layout, &Rows),
    weights: &Weights<'_>,
) {
    let found = with::<T, _>(layout, rows, |x| {
        pca.fit_operator_weighted(&device.copy(x).unwrap(), weights, &Run::default()).unwrap()
    });
    let by_svd = Pca { solver: Some(Route::Svd), ..pca.clone() };
    let expected = with::<f64, _>(Layout::RowMajor, rows, |x| by_svd.fit(x, weights)).unwrap();
    let variance = expected.explained_variance();
    // The tolerance of the iteration, and of products of a few hundred terms.
    let within = |size: f64| Tolerance { multiple: 1.0, epsilon: 1e-10, norm: size };
    assert_close(name, found.explained_variance(), variance, within(variance[0]));
    assert_close(
        name,
        &[found.total_variance()],
        &[expected.total_variance()],
        within(expected.total_variance()),
    );
    assert_close(name, found.mean(), expected.mean(), within(10.0));
    assert_close(name, found.scale(), expected.scale(), within(10.0));
    let components = |model: &karhunen::PcaModel| -> Rows {
        (0..model.n_components()).map(|k| model.components().row(k).to_vec()).collect()
    };
    let loose = Tolerance { multiple: 1.0, epsilon: 1e-8, norm: variance[0] };
    assert_components(name, &components(&found), &components(&expected), variance, loose);
    assert_eq!(found.parts().dtype, T::NAME, "{name}");
    let convergence = found.convergence();
    assert!(convergence.converged() && convergence.reason.contains("in f64"), "{name}: {convergence:?}");
}

/// More values than a panel, so that products go panel by panel, and columns far from zero.
#[test]
fn several_panels_of_columns_far_from_zero() {
    let Some(device) = device() else { return };
    for (n, p) in [(70_000, 600), (600, 70_000)] {
        let (few, seed) = (gaussian(n, 3, 8), gaussian(3, p, 9));
        let value = |i: usize, j: usize| {
            let factors = (0..3).map(|k| few[i][k] * seed[k][j] * 0.5f64.powi(k as i32)).sum::<f64>();
            (4096.0 + factors + 0.01 * ((i * 31 + j * 17) % 101) as f64) as f32
        };
        let values: Vec<f32> = (0..n * p).map(|at| value(at / p, at % p)).collect();
        let x = Dense::row_major(&values, n, p).unwrap();
        let matrix = device.copy(&x).unwrap();
        let expected = Pca { solver: Some(Route::Covariance).filter(|_| n > p), ..Pca::new(3) };
        let expected = expected.fit(&x, &Weights::default()).unwrap();
        for solver in [None, Some(Route::BlockKrylov)] {
            let pca = Pca { solver, tol: Some(1e-9), ..Pca::new(3) };
            let found = pca.fit_operator(&matrix, None).unwrap();
            let variance = expected.explained_variance();
            let within = Tolerance { multiple: 1.0, epsilon: 1e-6, norm: variance[0] };
            let name = format!("{n} x {p}, {solver:?}");
            assert_close(&name, found.explained_variance(), variance, within);
            assert!(found.convergence().converged(), "{name}: {:?}", found.convergence());
            let again = pca.fit_operator(&matrix, None).unwrap();
            assert_eq!(found.components(), again.components(), "{name}: the same bits");
        }
    }
}

#[test]
fn sparse_products_have_the_same_bits_every_time() {
    let Some(device) = device() else { return };
    let rows = rows(900, 400, 11);
    let matrix = with::<f64, _>(Layout::Csr, &rows, |x| device.copy(x)).unwrap();
    let pca = Pca { solver: Some(Route::BlockKrylov), ..Pca::new(5) };
    let one = pca.fit_operator(&matrix, None).unwrap();
    let two = pca.fit_operator(&matrix, None).unwrap();
    assert_eq!(one.components(), two.components());
}

#[test]
fn values_that_are_not_numbers_are_named() {
    let Some(device) = device() else { return };
    let mut rows = rows(40, 6, 12);
    rows[31][0] = f64::INFINITY;
    rows[17][4] = f64::NAN;
    rows[17][5] = f64::NAN;
    for layout in LAYOUTS {
        let error = with::<f32, _>(layout, &rows, |x| {
            device.copy(x).and_then(|matrix| Pca::new(2).fit_operator(&matrix, None))
        });
        let error = error.unwrap_err();
        // Compressed columns are read column by column.
        let place = if matches!(layout, Layout::Csc) { (31, 0) } else { (17, 4) };
        assert!(
            matches!(error, Error::NonFinite { row, column, .. } if (row, column) == place),
            "{layout:?}: {error:?}"
        );
    }
}

/// A table of this shape that is never read.
struct Huge(usize, usize);

impl Source<f32> for Huge {
    fn shape(&self) -> (usize, usize) {
        (self.0, self.1)
    }
    fn n_stored(&self) -> usize {
        self.0 * self.1
    }
    fn is_sparse(&self) -> bool {
        false
    }
    fn visit(
        &self,
        _: &mut dyn FnMut(usize, Block<'_, f32>) -> karhunen::Result<()>,
    ) -> karhunen::Result<()> {
        panic!("a table beyond the memory of the device was read");
    }
}

#[test]
fn a_table_beyond_the_memory_is_refused_before_it_is_read() {
    let Some(device) = device() else { return };
    let error = device.copy(&Huge(1 << 24, 1 << 20)).unwrap_err();
    assert_eq!(error.kind(), karhunen::ErrorKind::Memory);
    assert!(error.to_string().contains("of the memory of the device"), "{error}");
}
