//! The triangular QR factor of a tall matrix that arrives in panels of rows.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::qr::no_pivoting::factor::{qr_in_place, qr_in_place_scratch, recommended_block_size};
use faer::prelude::default;
use faer::{Mat, Par};

use crate::Matrix;
use crate::decomp::narrow_qr;
use crate::error::Result;
use crate::exec::Accumulate;

/// Number of columns up to which rows are reduced in lanes first.
const NARROW: usize = 64;
/// Number of values of the rows of narrow matrices that are stacked: so many that the triangles of the lanes cost
/// little in comparison, and few enough for the second cache.
const NARROW_VALUES: usize = 1 << 16;
/// Multiple of the number of columns from which a number of rows is reduced in lanes.
const WORTH_REDUCING: usize = 4;

/// Number of rows of `n_cols` values that are stacked, if these are few.
pub fn narrow_rows(n_cols: usize) -> Option<usize> {
    (n_cols <= NARROW).then(|| NARROW_VALUES / n_cols.max(1))
}

/// The upper triangle `R` with `R'R = A'A` of the rows pushed so far, by Householder QR of `R` stacked on new rows
/// (Demmel, Grigori, Hoemmen & Langou 2012, doi:10.1137/080731992, sequential TSQR). The condition number is not
/// squared. Cost: about 3 n m^2 multiply-adds for n rows of m values; memory: at most 5 m^2 + 256 m values, or
/// [`NARROW_VALUES`] more than a triangle.
#[derive(Clone, Debug)]
pub struct Triangle {
    n_cols: usize,
    /// Row-major: the last `R`, then the rows pushed since.
    rows: Vec<f64>,
    /// Number of rows that triggers a factorization.
    capacity: usize,
}

impl Triangle {
    /// The triangle of no rows of `n_cols` values.
    pub fn new(n_cols: usize) -> Self {
        Self { n_cols, rows: Vec::new(), capacity: Self::capacity(n_cols) }
    }

    /// Number of rows that are stacked before they are reduced.
    fn capacity(n_cols: usize) -> usize {
        if let Some(n_rows) = narrow_rows(n_cols) {
            return n_cols + n_rows;
        }
        // With 4 m rows on the triangle a fifth of the work is wasted; wide triangles stack fewer rows to save
        // memory.
        n_cols + (4 * n_cols).min((1 << 22) / n_cols.max(1)).max(n_cols).max(256)
    }

    /// Adds consecutive rows.
    pub fn push(&mut self, rows: &[f64]) {
        if self.n_cols == 0 {
            return;
        }
        assert_eq!(rows.len() % self.n_cols, 0, "whole rows of {} values", self.n_cols);
        let mut rest = rows;
        while !rest.is_empty() {
            let room = self.capacity * self.n_cols - self.rows.len();
            let (now, later) = rest.split_at(room.min(rest.len()));
            self.rows.extend_from_slice(now);
            rest = later;
            if self.rows.len() == self.capacity * self.n_cols {
                self.factorize();
            }
        }
    }

    /// Adds `n` consecutive rows, which `fill` writes, row-major.
    ///
    /// # Errors
    /// As returned by `fill`.
    pub fn push_with(&mut self, n: usize, fill: impl FnOnce(&mut [f64]) -> Result<()>) -> Result<()> {
        let (held, added) = (self.rows.len(), n * self.n_cols);
        if held + added < self.capacity * self.n_cols {
            self.rows.resize(held + added, 0.0);
            return fill(&mut self.rows[held..]);
        }
        let mut rows = vec![0.0; added];
        fill(&mut rows)?;
        self.push(&rows);
        Ok(())
    }

    /// Multiplies all rows by a factor.
    pub fn scale(&mut self, factor: f64) {
        self.rows.iter_mut().for_each(|value| *value *= factor);
    }

    /// Reduces the rows so far to a triangle if they are narrow, so that the thread that merges need not.
    pub fn reduce_narrow(&mut self) {
        if self.n_cols <= NARROW {
            self.factorize();
        }
    }

    /// `R`, upper triangular, shape (n_cols, n_cols). The signs of its rows are arbitrary.
    pub fn finish(mut self) -> Matrix {
        let m = self.n_cols;
        self.factorize();
        self.rows.resize(m * m, 0.0);
        Matrix::from_fn(m, m, |i, j| self.rows[i * m + j])
    }

    fn factorize(&mut self) {
        let m = self.n_cols;
        if m == 0 || self.rows.is_empty() {
            return;
        }
        let in_lanes = m <= NARROW && self.rows.len() >= WORTH_REDUCING * m * m;
        if in_lanes && narrow_qr::reduce(&mut self.rows, m) {
            return;
        }
        let n = self.rows.len() / m;
        let mut stacked = Mat::from_fn(n, m, |i, j| self.rows[i * m + j]);
        let size = n.min(m);
        let block = recommended_block_size::<f64>(n, m);
        let mut coefficients = Mat::zeros(block, size);
        let scratch = qr_in_place_scratch::<f64>(n, m, block, Par::Seq, default());
        qr_in_place(
            stacked.as_mut(),
            coefficients.as_mut(),
            Par::Seq,
            MemStack::new(&mut MemBuffer::new(scratch)),
            default(),
        );
        self.rows.clear();
        for i in 0..size {
            self.rows.extend((0..m).map(|j| if j < i { 0.0 } else { stacked[(i, j)] }));
        }
    }
}

/// Memory estimate in bytes of the triangle of `m` columns of `n` rows with `n_threads` threads: stacked rows,
/// faer's copy of them, the panel that they come from, and the triangle that sums the others.
pub fn need(m: usize, n: usize, n_threads: usize) -> f64 {
    let stacked = Triangle::capacity(m);
    let reductions = n_threads.min(n.div_ceil(stacked)).max(1);
    8.0 * (stacked * m) as f64 * (3 * reductions + 1) as f64
}

impl Accumulate for Triangle {
    fn reset(&mut self) {
        self.rows.clear();
    }
    fn merge(&mut self, other: &Self) {
        self.push(&other.rows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decomp::svd::svd;
    use crate::dense::small::t_multiply;
    use crate::exec::{Exec, Run};
    use crate::testing::test_matrices::{max_difference, with_singular_values};

    fn triangle(a: &Matrix, piece_rows: usize, exec: &Exec<'_>) -> Matrix {
        let width = a.n_cols();
        let pieces: Vec<_> = a.as_slice().chunks(piece_rows * width).collect();
        let work = |piece: usize, sum: &mut Triangle| {
            sum.push(pieces[piece]);
            Ok(())
        };
        exec.fold(pieces.len(), || Triangle::new(width), work).unwrap().finish()
    }

    #[test]
    fn keeps_singular_values_that_a_gram_matrix_loses() {
        let planted: Vec<f64> = (0..30).map(|j| 10f64.powf(-12.0 * f64::from(j) / 29.0)).collect();
        let a = with_singular_values(3000, &planted, 1);
        let r = triangle(&a, 170, &Exec::sequential());
        assert!((0..30).all(|i| (0..i).all(|j| r[(i, j)] == 0.0)));
        for (f, p) in svd(&r).unwrap().s.iter().zip(&planted) {
            assert!((f - p).abs() < 1e-14, "{f:e} {p:e}");
        }
        let squared = svd(&t_multiply(&a, &a)).unwrap().s;
        assert!((squared[29].sqrt() - planted[29]).abs() > 1e-10, "the test matrix is too easy");
    }

    #[test]
    fn the_number_of_threads_does_not_change_the_triangle() {
        let a = with_singular_values(50_000, &[3.0, 2.0, 1.0, 1e-9, 0.0], 2);
        let one = triangle(&a, 300, &Exec::sequential());
        for threads in [2, 3] {
            let several = Exec::run(&Run::threads(threads), |exec| Ok(triangle(&a, 300, exec))).unwrap();
            assert_eq!(one, several);
        }
    }

    #[test]
    fn the_gram_matrix_is_preserved_for_every_shape() {
        for (n, m) in
            [(1, 1), (1, 4), (4, 4), (5, 3), (1000, 7), (2000, 64), (2000, 65), (2, 300), (900, 290)]
        {
            for scale in [1.0, 1e-160, 1e150] {
                let mut a = crate::testing::test_matrices::gaussian(n, m, 9, 0);
                let r_one = triangle(&a, n, &Exec::sequential());
                let error = max_difference(&t_multiply(&r_one, &r_one), &t_multiply(&a, &a));
                assert!(error < 1e-13 * n as f64, "{n} {m} {error:e}");
                a.as_mut_slice().iter_mut().for_each(|x| *x *= scale);
                let mut r = triangle(&a, n, &Exec::sequential());
                r.as_mut_slice().iter_mut().for_each(|x| *x /= scale);
                assert!(max_difference(&t_multiply(&r, &r), &t_multiply(&r_one, &r_one)) < 1e-12 * n as f64);
            }
        }
        assert_eq!(Triangle::new(3).finish(), Matrix::zeros(3, 3));
        assert_eq!(Triangle::new(0).finish(), Matrix::zeros(0, 0));
    }
}
