//! Eigenpairs of a symmetric matrix by its tridiagonal form, `A = Q T Q'`: all of them, or the leading ones.
//!
//! Householder reflections reduce the matrix. All eigenpairs of `T` come from faer; a few cost less by bisection, which
//! counts the negative pivots of `T - x` (Demmel, Dhillon & Ren 1995, ETNA 3), and by inverse iteration (Peters & Wilkinson
//! 1979, doi:10.1137/1021052). All run on the calling thread, because the bits of faer's decompositions depend on the
//! number of threads.

use std::ops::Range;

use faer::diag::{Diag, DiagRef};
use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::linalg::evd::tridiag::{tridiag_in_place, tridiag_in_place_scratch};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd_scratch, tridiagonal_self_adjoint_evd};
use faer::linalg::householder::{
    apply_block_householder_sequence_on_the_left_in_place_scratch,
    apply_block_householder_sequence_on_the_left_in_place_with_conj,
};
use faer::linalg::qr::no_pivoting::factor::recommended_block_size;
use faer::prelude::default;
use faer::{Conj, Mat, MatMut, Par};
use pulp::{Simd, WithSimd};

use crate::Matrix;
use crate::dense::small::{binade, fewer_components, to_faer};
use crate::error::{Error, Result};
use crate::memory;
use crate::normals::gaussian;
use crate::random::Purpose;
use crate::scalar::{largest, largest_magnitude};
use crate::simd::dispatch;

/// Number of eigenvalues that bisection finds at a time.
pub const LANES: usize = 32;
/// Bisections: they leave an interval of a rounding error of the bound.
const BISECTIONS: usize = 54;
/// Solutions with the shifted matrix for each eigenvector: one amplifies it by the reciprocal of a rounding error.
const SOLUTIONS: usize = 2;
/// `A = vectors diag(values) vectors'`.
#[derive(Clone, Debug)]
pub struct Eigh {
    /// The eigenvalues, descending.
    pub values: Vec<f64>,
    /// Column `j` belongs to `values[j]`; shape (dim, dim), orthogonal.
    pub vectors: Matrix,
}

/// A symmetric matrix `A = Q T Q'`, divided by a power of two.
pub struct Tridiagonal {
    /// The vectors of the reflections, below the first subdiagonal.
    reflectors: Mat<f64>,
    /// Their triangular factors, block by block.
    factors: Mat<f64>,
    /// The diagonal of `T`.
    diagonal: Vec<f64>,
    /// The entries below it; the last one is zero.
    below: Vec<f64>,
    /// The power of two.
    unit: f64,
    /// A bound of the eigenvalues of `T` (Gershgorin).
    bound: f64,
}

/// Memory estimate in bytes of a reduction and all eigenvectors, excluding the matrix.
pub fn need(dim: usize) -> f64 {
    let matrix = 8.0 * (dim as f64).powi(2);
    need_of_reduction(dim) + matrix + (scratch_of_all(dim).unaligned_bytes_required() as f64).max(matrix)
}

/// Memory estimate in bytes of a reduction, excluding the matrix.
fn need_of_reduction(dim: usize) -> f64 {
    let block = recommended_block_size::<f64>(dim, dim);
    8.0 * dim as f64 * (dim + block + 8) as f64
}

/// faer names the memory of a whole decomposition alone.
fn scratch_of_all(dim: usize) -> StackReq {
    self_adjoint_evd_scratch::<f64>(dim, ComputeEigenvectors::Yes, Par::Seq, default())
}

fn ask(dim: usize, bytes: f64) -> Result<()> {
    memory::ask(&format!("the eigendecomposition of a {dim} x {dim} matrix"), bytes, fewer_components)
}

fn failed(dim: usize) -> Error {
    Error::Decomposition { decomposition: "eigendecomposition", n_rows: dim, n_cols: dim }
}

impl Tridiagonal {
    /// Reduces a symmetric matrix, whose lower triangle alone is read. Returns `None` for less than two rows, and for
    /// zeros.
    ///
    /// # Errors
    /// [`Error::Memory`]; [`Error::Decomposition`] if an entry is not finite.
    pub fn of(a: &Matrix) -> Result<Option<Self>> {
        let dim = a.n_rows();
        assert_eq!(dim, a.n_cols(), "a symmetric matrix is square");
        let unit = match binade(a.as_slice()) {
            Some(unit) if unit.is_nan() => return Err(failed(dim)),
            Some(unit) if dim > 1 => unit,
            _ => return Ok(None),
        };
        ask(dim, need_of_reduction(dim))?;
        let mut reflectors = to_faer(a, unit);
        let mut factors = Mat::zeros(recommended_block_size::<f64>(dim, dim), dim - 1);
        let mut scratch = MemBuffer::new(tridiag_in_place_scratch::<f64>(dim, Par::Seq, default()));
        let scratch = MemStack::new(&mut scratch);
        tridiag_in_place(reflectors.as_mut(), factors.as_mut(), Par::Seq, scratch, default());
        let diagonal: Vec<f64> = (0..dim).map(|i| reflectors[(i, i)]).collect();
        let entry = |i: usize| if i + 1 < dim { reflectors[(i + 1, i)] } else { 0.0 };
        let below: Vec<f64> = (0..dim).map(entry).collect();
        let radius = |i: usize| below[i].abs() + if i > 0 { below[i - 1].abs() } else { 0.0 };
        let bound = largest((0..dim).map(|i| diagonal[i].abs() + radius(i)));
        Ok(Some(Self { reflectors, factors, diagonal, below, unit, bound }))
    }

    /// All eigenvalues, descending, and their orthonormal eigenvectors as columns.
    ///
    /// # Errors
    /// [`Error::Memory`]; [`Error::Decomposition`] if the iteration fails.
    pub fn all(&self) -> Result<Eigh> {
        let dim = self.dim();
        ask(dim, need(dim) - need_of_reduction(dim))?;
        let (mut values, mut vectors) = (Diag::zeros(dim), Mat::zeros(dim, dim));
        let mut scratch = MemBuffer::new(scratch_of_all(dim));
        tridiagonal_self_adjoint_evd(
            DiagRef::from_slice(&self.diagonal),
            DiagRef::from_slice(&self.below),
            values.as_mut(),
            Some(vectors.as_mut()),
            Par::Seq,
            MemStack::new(&mut scratch),
            default(),
        )
        .map_err(|_| failed(dim))?;
        drop(scratch);
        self.map_back(vectors.as_mut());
        // faer sorts in ascending order.
        let values = (0..dim).rev().map(|j| values[j] * self.unit).collect();
        let vectors = Matrix::from_fn(dim, dim, |i, j| vectors[(i, dim - 1 - j)]);
        Ok(Eigh { values, vectors })
    }

    /// Replaces the columns `v` by `Q v`.
    fn map_back(&self, mut vectors: MatMut<'_, f64>) {
        let dim = self.dim();
        let scratch = apply_block_householder_sequence_on_the_left_in_place_scratch::<f64>(
            dim - 1,
            self.factors.nrows(),
            vectors.ncols(),
        );
        apply_block_householder_sequence_on_the_left_in_place_with_conj(
            self.reflectors.submatrix(1, 0, dim - 1, dim - 1),
            self.factors.as_ref(),
            Conj::No,
            vectors.as_mut().subrows_mut(1, dim - 1),
            Par::Seq,
            MemStack::new(&mut MemBuffer::new(scratch)),
        );
    }

    /// Number of rows.
    pub fn dim(&self) -> usize {
        self.diagonal.len()
    }

    /// The eigenvalues of the ranks `ranks`, at most [`LANES`], where rank 0 is the largest. Descending. Errors
    /// are rounding errors of the one largest in magnitude.
    pub fn values(&self, ranks: Range<usize>) -> Vec<f64> {
        let squares: Vec<f64> = self.below.iter().map(|e| (e * e).max(f64::MIN_POSITIVE)).collect();
        let (mut low, mut high) = ([-self.bound; LANES], [self.bound; LANES]);
        for _ in 0..BISECTIONS {
            let mut points = [0.0; LANES];
            for lane in 0..LANES {
                points[lane] = 0.5 * (low[lane] + high[lane]);
            }
            let below = dispatch(CountBelow { diagonal: &self.diagonal, squares: &squares, points: &points });
            for lane in 0..LANES {
                // At least `rank + 1` eigenvalues lie above the point.
                if self.dim() - below[lane] as usize > ranks.start + lane {
                    low[lane] = points[lane];
                } else {
                    high[lane] = points[lane];
                }
            }
        }
        (0..ranks.len()).map(|lane| 0.5 * (low[lane] + high[lane]) * self.unit).collect()
    }

    /// Eigenvectors of `A` as columns of length one, shape (dim, k), for its `k` leading eigenvalues, descending. The product
    /// of two of them is a rounding error divided by the relative difference of their eigenvalues: orthonormalizing them
    /// changes residuals by rounding errors, unless the vectors of equal eigenvalues are nearly dependent. Entries are not
    /// finite if solutions overflow.
    pub fn vectors(&self, values: &[f64]) -> Matrix {
        let (dim, k) = (self.dim(), values.len());
        let mut vectors = vec![0.0; dim * k];
        // Each vector starts at a window of its own of one random sequence.
        let random = gaussian(1, dim + k, Purpose::InverseIteration.of(0));
        let mut shifted = Shifted::new(dim);
        for (j, (vector, value)) in vectors.chunks_exact_mut(dim).zip(values).enumerate() {
            vector.copy_from_slice(&random.as_slice()[j..j + dim]);
            shifted.factorize(&self.diagonal, &self.below, value / self.unit, f64::EPSILON * self.bound);
            for _ in 0..SOLUTIONS {
                shifted.solve(vector);
                scale_to_one(vector);
            }
        }
        let mut vectors = MatMut::from_column_major_slice_mut(&mut vectors, dim, k);
        self.map_back(vectors.as_mut());
        Matrix::from_fn(dim, k, |i, j| vectors[(i, j)])
    }
}

/// Counts the eigenvalues of a tridiagonal matrix below each of some points: the negative pivots of its factorization.
struct CountBelow<'a> {
    diagonal: &'a [f64],
    /// Squares of the entries below the diagonal, none of them zero, so that no pivot is NaN.
    squares: &'a [f64],
    points: &'a [f64; LANES],
}

impl WithSimd for CountBelow<'_> {
    type Output = [u64; LANES];

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> [u64; LANES] {
        let (mut pivots, mut counts) = ([f64::INFINITY; LANES], [0; LANES]);
        let mut square = 0.0;
        for (diagonal, next) in self.diagonal.iter().zip(self.squares) {
            for lane in 0..LANES {
                pivots[lane] = diagonal - self.points[lane] - square / pivots[lane];
                // A pivot of zero is positive, and makes the next one negative.
                counts[lane] += pivots[lane].to_bits() >> 63;
            }
            square = *next;
        }
        counts
    }
}

/// `T - x = P L U`, with rows exchanged for the larger pivot: `U` has two diagonals above its own.
struct Shifted {
    /// Reciprocals of the pivots.
    reciprocals: Vec<f64>,
    upper: Vec<[f64; 2]>,
    multipliers: Vec<f64>,
    exchanged: Vec<bool>,
}

impl Shifted {
    fn new(dim: usize) -> Self {
        Self {
            reciprocals: vec![0.0; dim],
            upper: vec![[0.0; 2]; dim],
            multipliers: vec![0.0; dim],
            exchanged: vec![false; dim],
        }
    }

    /// Factorizes `T - x`; pivots are at least `least`.
    fn factorize(&mut self, diagonal: &[f64], below: &[f64], x: f64, least: f64) {
        // The row that is eliminated next: its pivot and the entry right of it.
        let (mut pivot, mut right) = (diagonal[0] - x, below[0]);
        for i in 0..diagonal.len() {
            let next = diagonal.get(i + 1).map_or(0.0, |d| d - x);
            let next_right = below.get(i + 1).copied().unwrap_or(0.0);
            let exchanged = pivot.abs() < below[i].abs();
            let (larger, upper, rest) = if exchanged {
                (below[i], [next, next_right], (pivot, right))
            } else {
                (pivot, [right, 0.0], (below[i], next))
            };
            let larger = if larger.abs() < least { least.copysign(larger) } else { larger };
            let multiplier = rest.0 / larger;
            self.reciprocals[i] = 1.0 / larger;
            self.upper[i] = upper;
            self.multipliers[i] = multiplier;
            self.exchanged[i] = exchanged;
            (pivot, right) =
                (rest.1 - multiplier * upper[0], if exchanged { -multiplier * upper[1] } else { next_right });
        }
    }

    /// Replaces `b` by the solution of `(T - x) y = b`, up to a factor.
    fn solve(&self, b: &mut [f64]) {
        let n = b.len();
        for i in 0..n - 1 {
            if self.exchanged[i] {
                b.swap(i, i + 1);
            }
            b[i + 1] -= self.multipliers[i] * b[i];
        }
        let (mut one, mut two) = (0.0, 0.0);
        for i in (0..n).rev() {
            let [first, second] = self.upper[i];
            let value = (b[i] - first * one - second * two) * self.reciprocals[i];
            b[i] = value;
            (one, two) = (value, one);
        }
    }
}

/// Scales `vector` to length one. Its squares may overflow.
fn scale_to_one(vector: &mut [f64]) {
    let largest = largest_magnitude(vector);
    let norm = largest * vector.iter().map(|x| (x / largest).powi(2)).sum::<f64>().sqrt();
    vector.iter_mut().for_each(|x| *x /= norm);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decomp::orthonormal::polish;
    use crate::dense::residual::relative_residuals;
    use crate::dense::small::multiply;
    use crate::exec::Exec;
    use crate::testing::test_matrices::{identity_error, max_difference, with_eigenvalues};

    fn values(matrix: &Tridiagonal, k: usize) -> Vec<f64> {
        (0..k).step_by(LANES).flat_map(|rank| matrix.values(rank..k.min(rank + LANES))).collect()
    }

    /// Checks the `k` leading pairs of a matrix with the eigenvalues `expected`, descending, the largest of them positive.
    fn check(a: &Matrix, expected: &[f64], k: usize, what: &str) {
        let reduced = Tridiagonal::of(a).unwrap().unwrap();
        let found = values(&reduced, k);
        for (rank, (value, expected)) in found.iter().zip(expected).enumerate() {
            let error = (value - expected).abs() / found[0];
            assert!(error <= 1e-14, "{what}: value {rank} is {value:e}, off by {error:e}");
        }
        assert!(found.windows(2).all(|w| w[0] >= w[1]), "{what}: descending");
        let vectors = reduced.vectors(&found);
        let vectors = polish(vectors, 0, &Exec::sequential()).unwrap();
        assert!(identity_error(&vectors) <= 1e-13, "{what}: {:e}", identity_error(&vectors));
        let residuals = relative_residuals(&multiply(a, &vectors), &vectors, &found);
        assert!(residuals.iter().all(|&r| r <= 1e-13), "{what}: {residuals:?}");
    }

    #[test]
    fn leading_pairs_have_the_eigenvalues_at_every_scale() {
        for dim in [2, 3, 17, 90] {
            for (decay, what) in [(0.0, "equal"), (0.5, "slow"), (2.0, "fast"), (12.0, "graded")] {
                let expected: Vec<f64> = (0..dim).map(|i| ((i + 1) as f64).powf(-decay)).collect();
                let a = with_eigenvalues(&expected, 3);
                for scale in [1.0, 1e200, 1e-200] {
                    let at_scale = Matrix::from_fn(dim, dim, |i, j| a[(i, j)] * scale);
                    let expected: Vec<f64> = expected.iter().map(|v| v * scale).collect();
                    for k in [1, dim.div_ceil(2), dim] {
                        check(&at_scale, &expected, k, &format!("{what}, {k} of {dim}, {scale:e}"));
                    }
                }
            }
        }
    }

    #[test]
    fn eigenvalues_that_are_equal_or_close_have_orthogonal_eigenvectors() {
        let cases: [(&str, Vec<f64>); 5] = [
            ("identity", vec![1.0; 60]),
            ("factors and noise", [vec![9.0, 9.0, 4.0], vec![1.0; 57]].concat()),
            ("a rank", [vec![3.0, 2.0, 2.0, 1.0], vec![0.0; 56]].concat()),
            ("neighbours of each distance", (0..60).map(|i| 2.0 - 1e-15 * 1.8f64.powi(i)).collect()),
            ("negative ones", (0..60).map(|i| 1.0 - f64::from(i / 4) * 0.2).collect()),
        ];
        for (what, expected) in cases {
            check(&with_eigenvalues(&expected, 5), &expected, 40, what);
            // Already diagonal: every entry off the diagonal is zero.
            let diagonal = Matrix::from_fn(60, 60, |i, j| if i == j { expected[59 - i] } else { 0.0 });
            check(&diagonal, &expected, 40, &format!("{what}, diagonal"));
        }
    }

    /// Pairs of eigenvalues that agree to 15 digits though no entry below the diagonal is small (Wilkinson 1965).
    #[test]
    fn the_matrix_of_wilkinson_has_pairs_of_orthogonal_eigenvectors() {
        let entry = |i: usize, j: usize| match i.abs_diff(j) {
            0 => i.abs_diff(20) as f64,
            1 => 1.0,
            _ => 0.0,
        };
        let a = Matrix::from_fn(41, 41, entry);
        check(&a, &Tridiagonal::of(&a).unwrap().unwrap().all().unwrap().values, 41, "W41+");
    }

    #[test]
    fn some_and_all_pairs_agree() {
        let expected: Vec<f64> = (0..70).map(|i| 1.0 / f64::from(i + 1)).collect();
        let reduced = Tridiagonal::of(&with_eigenvalues(&expected, 9)).unwrap().unwrap();
        let (all, few) = (reduced.all().unwrap(), values(&reduced, 20));
        let vectors = reduced.vectors(&few);
        for j in 0..20 {
            assert!((all.values[j] - few[j]).abs() < 1e-14);
            let sign = (0..70).map(|i| all.vectors[(i, j)] * vectors[(i, j)]).sum::<f64>().signum();
            let (all, few) = (all.vectors.columns(j..j + 1), vectors.columns(j..j + 1));
            let few = Matrix::from_fn(70, 1, |i, _| sign * few[(i, 0)]);
            assert!(max_difference(&all, &few) < 1e-11, "{j}");
        }
    }

    #[test]
    fn zeros_and_single_rows_have_no_reduction_and_other_values_are_refused() {
        assert!(Tridiagonal::of(&Matrix::zeros(3, 3)).unwrap().is_none());
        assert!(Tridiagonal::of(&Matrix::from_fn(1, 1, |_, _| 2.0)).unwrap().is_none());
        let error = Tridiagonal::of(&Matrix::from_fn(2, 2, |_, _| f64::INFINITY)).err().unwrap();
        assert!(error.to_string().starts_with("the eigendecomposition of a 2 x 2 matrix"));
    }
}
