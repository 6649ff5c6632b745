//! Test matrices: sparse matrices of all structures with their dense form.

use karhunen_linalg::error::Result;
use karhunen_linalg::exec::{Exec, Run};
use karhunen_linalg::{ColumnMap, Major, Matrix, Scalar, SparseMatrix};

/// A small deterministic generator; quality does not matter.
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Uniform on [0, 1): splitmix64.
    pub(crate) fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(crate) fn vector(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| 2.0 * self.uniform() - 0.7).collect()
    }

    pub(crate) fn matrix(&mut self, n_rows: usize, n_cols: usize) -> Matrix {
        Matrix::from_fn(n_rows, n_cols, |_, _| 2.0 * self.uniform() - 1.0)
    }
}

/// A matrix, its column map and its row weights.
pub(crate) struct Case {
    pub name: &'static str,
    /// The values; zeros are not stored.
    pub dense: Matrix,
    pub shift: Vec<f64>,
    pub factor: Vec<f64>,
    pub weights: Vec<f64>,
}

impl Case {
    /// Entry (i, j) is stored with probability `density(i, j)`.
    pub(crate) fn new(name: &'static str, n: usize, p: usize, density: impl Fn(usize, usize) -> f64) -> Self {
        let mut numbers = Numbers::new(n as u64 * 1000 + p as u64);
        let dense = Matrix::from_fn(n, p, |i, j| {
            // Values that f32 represents exactly, so that both element types give the same matrix.
            let value = (numbers.uniform() * 256.0).round() / 32.0 - 3.0;
            if numbers.uniform() < density(i, j) { value } else { 0.0 }
        });
        let shift = numbers.vector(p);
        let factor = numbers.vector(p).iter().map(|f| f.abs() + 0.1).collect();
        let weights = (0..n).map(|i| if i % 7 == 3 { 0.0 } else { numbers.uniform() + 0.1 }).collect();
        Self { name, dense, shift, factor, weights }
    }

    /// The map of the columns.
    pub(crate) fn map(&self) -> ColumnMap<'_> {
        ColumnMap { shift: &self.shift, remainder: &[], factor: &self.factor }
    }

    /// The centred and scaled matrix, dense.
    pub(crate) fn mapped(&self) -> Matrix {
        let (n, p) = self.dense.shape();
        Matrix::from_fn(n, p, |i, j| (self.dense[(i, j)] - self.shift[j]) * self.factor[j])
    }

    /// Sums of absolute values, to which rounding errors of implicit centring are relative.
    pub(crate) fn size(&self) -> Matrix {
        let (n, p) = self.dense.shape();
        Matrix::from_fn(n, p, |i, j| (self.dense[(i, j)].abs() + self.shift[j].abs()) * self.factor[j])
    }

    /// The matrix compressed by rows or by columns.
    pub(crate) fn sparse<T: Scalar>(&self, major: Major) -> SparseMatrix<T> {
        let (pointers, indices, values) = self.compressed(major);
        let (n, p) = self.dense.shape();
        let values: Vec<T> = values.iter().map(|&value| T::from_f64(value)).collect();
        SparseMatrix::canonical(major, n, p, &pointers, &indices, &values).unwrap()
    }

    /// Pointers, indices and values.
    pub(crate) fn compressed(&self, major: Major) -> (Vec<usize>, Vec<u64>, Vec<f64>) {
        let transposed = self.dense.transposed();
        let lines = if major == Major::Rows { &self.dense } else { &transposed };
        let (mut pointers, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for i in 0..lines.n_rows() {
            for (j, &value) in lines.row(i).iter().enumerate() {
                if value != 0.0 {
                    indices.push(j as u64);
                    values.push(value);
                }
            }
            pointers.push(values.len());
        }
        (pointers, indices, values)
    }
}

/// Tall, wide, with empty and full lines, with columns of Zipf frequencies, and the smallest shapes.
pub(crate) fn cases() -> Vec<Case> {
    vec![
        Case::new("tall", 1500, 20, |_, _| 0.3),
        Case::new("wide", 25, 1400, |_, _| 0.2),
        Case::new("long lines", 6, 2500, |_, _| 0.9),
        Case::new("long columns", 5000, 3, |_, _| 0.9),
        Case::new("empty lines", 200, 60, |i, j| if i % 3 == 0 || j % 5 == 1 { 0.0 } else { 0.2 }),
        Case::new("full lines", 90, 110, |i, j| if i % 9 == 4 || j == 7 { 1.0 } else { 0.05 }),
        Case::new("Zipf", 400, 300, |_, j| 1.0 / (1.0 + j as f64)),
        Case::new("scattered", 300, 500, |_, _| 0.002),
        Case::new("no entries", 30, 40, |_, _| 0.0),
        Case::new("one column", 50, 1, |_, _| 0.5),
        Case::new("one row", 1, 50, |_, _| 0.5),
        Case::new("one value", 1, 1, |_, _| 1.0),
    ]
}

/// `A B`, from the definition.
pub(crate) fn product(a: &Matrix, b: &Matrix) -> Matrix {
    assert_eq!(a.n_cols(), b.n_rows());
    let mut out = Matrix::zeros(a.n_rows(), b.n_cols());
    for i in 0..a.n_rows() {
        for (k, &factor) in a.row(i).iter().enumerate() {
            for (sum, value) in out.row_mut(i).iter_mut().zip(b.row(k)) {
                *sum += factor * value;
            }
        }
    }
    out
}

/// The rows of `a` multiplied by `weights`.
pub(crate) fn weighted(a: &Matrix, weights: Option<&[f64]>) -> Matrix {
    Matrix::from_fn(a.n_rows(), a.n_cols(), |i, j| a[(i, j)] * weights.map_or(1.0, |w| w[i]))
}

/// Checks that `found` equals `expected` to `tolerance` times the largest entry of `scale`, the same product of
/// absolute values: the bound of rounding errors of sums.
pub(crate) fn assert_near(name: &str, found: &[f64], expected: &[f64], scale: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{name}");
    let bound = tolerance * karhunen_testkit::largest(scale.iter().copied());
    for (i, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= bound, "{name}: entry {i} is {a}, expected {b} within {bound:e}");
    }
}

/// The absolute values of the entries.
pub(crate) fn absolute(a: &Matrix) -> Matrix {
    Matrix::from_fn(a.n_rows(), a.n_cols(), |i, j| a[(i, j)].abs())
}

/// The result of `f`, after a check that one, two and three threads give the same bits.
pub(crate) fn for_all_threads(name: &str, f: impl Fn(&Exec<'_>) -> Result<Vec<f64>> + Sync) -> Vec<f64> {
    let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    let one = f(&Exec::sequential()).unwrap();
    for n_threads in [2, 3] {
        let more = Exec::run(&Run::threads(n_threads), |exec| f(exec)).unwrap();
        assert!(bits(&one) == bits(&more), "{name}: other bits with {n_threads} threads");
    }
    one
}
