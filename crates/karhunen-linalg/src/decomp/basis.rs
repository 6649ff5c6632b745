//! A growing set of orthonormal columns, and orthogonalization against it.

use std::sync::{Mutex, PoisonError};

use crate::Matrix;
use crate::dense::panel::{Panel, add_product, add_t_product};
use crate::error::Result;
use crate::exec::{Accumulate, Exec};

/// Orthonormal columns `V`, shape (dim, len), stored as rows of `capacity` values, so that a panel of rows is
/// contiguous. Sums over rows add fixed panels in order: the bits do not depend on the number of threads.
#[derive(Clone, Debug)]
pub struct Basis {
    data: Vec<f64>,
    dim: usize,
    capacity: usize,
    len: usize,
}

impl Basis {
    /// An empty basis with memory for `capacity` columns.
    pub fn new(dim: usize, capacity: usize) -> Self {
        Self { data: vec![0.0; dim * capacity], dim, capacity, len: 0 }
    }

    /// Number of columns.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Largest number of columns.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Appends the columns of `q`, which must be orthonormal and orthogonal to the basis.
    pub fn append(&mut self, q: &Matrix, exec: &Exec<'_>) -> Result<()> {
        let (len, capacity, width) = (self.len, self.capacity, q.n_cols());
        assert!(len + width <= capacity, "a basis of capacity {capacity} has no room for {len} + {width}");
        let rows = panel_rows(capacity);
        exec.fill(&mut self.data, rows * capacity, |piece, panel| {
            for (k, row) in panel.chunks_mut(capacity).enumerate() {
                row[len..len + width].copy_from_slice(q.row(piece * rows + k));
            }
            Ok(())
        })?;
        self.len += width;
        Ok(())
    }

    /// Enlarges the memory to `capacity` columns.
    pub fn grow(&mut self, capacity: usize) {
        let mut data = vec![0.0; self.dim * capacity];
        for i in 0..self.dim {
            data[i * capacity..][..self.len].copy_from_slice(&self.data[i * self.capacity..][..self.len]);
        }
        self.data = data;
        self.capacity = capacity;
    }

    /// Returns the columns, shape (dim, len).
    pub fn columns(&self) -> Matrix {
        Matrix::from_fn(self.dim, self.len, |i, j| self.data[i * self.capacity + j])
    }

    /// `V S`, shape (dim, l), for `s` of shape (len, l).
    pub fn combine(&self, s: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        let mut out = Matrix::zeros(self.dim, s.n_cols());
        let rows = panel_rows(self.len + s.n_cols());
        exec.fill(out.as_mut_slice(), rows * s.n_cols(), |piece, panel| {
            add_product(1.0, self.panel(piece * rows, self.len), s.as_slice(), s.n_cols(), panel);
            Ok(())
        })?;
        Ok(out)
    }

    /// Replaces the columns by `V S`, for `s` of shape (len, l) with orthonormal columns.
    pub fn rotate(&mut self, s: &Matrix, exec: &Exec<'_>) -> Result<()> {
        let (len, capacity, width) = (self.len, self.capacity, s.n_cols());
        let rows = panel_rows(len + width);
        exec.fill(&mut self.data, rows * capacity, |_, panel| {
            let mut rotated = vec![0.0; panel.len() / capacity * width];
            let old = Panel { data: panel, stride: capacity, n_cols: len };
            add_product(1.0, old, s.as_slice(), width, &mut rotated);
            for (row, rotated) in panel.chunks_mut(capacity).zip(rotated.chunks(width)) {
                row[..width].copy_from_slice(rotated);
            }
            Ok(())
        })?;
        self.len = width;
        Ok(())
    }

    /// `V' W`, shape (len, l).
    pub fn project(&self, w: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        let l = w.n_cols();
        let rows = panel_rows(self.len + l);
        exec.fold(
            self.dim.div_ceil(rows),
            || Matrix::zeros(self.len, l),
            |piece, sum| {
                let end = ((piece + 1) * rows).min(self.dim);
                let w = &w.as_slice()[piece * rows * l..end * l];
                add_t_product(self.panel(piece * rows, self.len), w, l, sum.as_mut_slice());
                Ok(())
            },
        )
    }

    /// `W -= V_r C`, then returns `V' W`, in one pass over `V`. `V_r` are the last columns, as many as `c` has
    /// rows; `c` has l columns.
    pub fn subtract_then_project(&self, c: &Matrix, w: &mut Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        let l = w.n_cols();
        let first = self.len - c.n_rows();
        let zero = || Matrix::zeros(self.len, l);
        sweep(w, panel_rows(self.len + l), exec, zero, |row, w, sum: &mut Matrix| {
            let v = self.panel(row, self.len);
            let last = Panel { data: &v.data[first..], stride: v.stride, n_cols: c.n_rows() };
            add_product(-1.0, last, c.as_slice(), l, w);
            add_t_product(v, w, l, sum.as_mut_slice());
        })
    }

    /// `W -= V C`, then returns `W' W`, in one pass over `V`. `c` has shape (len, l).
    pub fn subtract_then_gram(&self, c: &Matrix, w: &mut Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        let l = w.n_cols();
        let zero = || Matrix::zeros(l, l);
        sweep(w, panel_rows(self.len + l), exec, zero, |row, w, sum: &mut Matrix| {
            add_product(-1.0, self.panel(row, self.len), c.as_slice(), l, w);
            add_t_product(Panel { data: w, stride: l, n_cols: l }, w, l, sum.as_mut_slice());
        })
    }

    /// `W -= V (V' W)`, twice, then returns `W' W`.
    pub fn project_out(&self, w: &mut Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        let first = self.project(w, exec)?;
        let second = self.subtract_then_project(&first, w, exec)?;
        self.subtract_then_gram(&second, w, exec)
    }

    fn panel(&self, row: usize, n_cols: usize) -> Panel<'_> {
        Panel { data: &self.data[row * self.capacity..], stride: self.capacity, n_cols }
    }
}

/// `A' B` for tall matrices of shapes (n, m) and (n, l).
pub fn tall_t_product(a: &Matrix, b: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
    let (n, m) = a.shape();
    let l = b.n_cols();
    let rows = panel_rows(m + l);
    exec.fold(
        n.div_ceil(rows),
        || Matrix::zeros(m, l),
        |piece, sum| {
            let (start, end) = (piece * rows, ((piece + 1) * rows).min(n));
            let a = Panel { data: &a.as_slice()[start * m..end * m], stride: m, n_cols: m };
            add_t_product(a, &b.as_slice()[start * l..end * l], l, sum.as_mut_slice());
            Ok(())
        },
    )
}

/// `C += A S` for tall `a` and `c`, of shapes (n, m) and (n, l).
pub fn add_tall_product(a: &Matrix, s: &Matrix, c: &mut Matrix, exec: &Exec<'_>) -> Result<()> {
    let (m, l) = s.shape();
    let rows = panel_rows(m + l);
    exec.fill(c.as_mut_slice(), rows * l, |piece, panel| {
        let a = Panel { data: &a.as_slice()[piece * rows * m..], stride: m, n_cols: m };
        add_product(1.0, a, s.as_slice(), l, panel);
        Ok(())
    })
}

/// `W <- W S` for square `s`, then returns `W' W`.
pub fn multiply_then_gram(w: &mut Matrix, s: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
    let l = w.n_cols();
    let zero = || Matrix::zeros(l, l);
    sweep(w, panel_rows(2 * l), exec, zero, |_, w, sum: &mut Matrix| {
        let old = w.to_vec();
        w.fill(0.0);
        add_product(1.0, Panel { data: &old, stride: l, n_cols: l }, s.as_slice(), l, w);
        add_t_product(Panel { data: w, stride: l, n_cols: l }, w, l, sum.as_mut_slice());
    })
}

/// Updates `w` panel by panel and sums a result; `work` receives the first row of each panel.
fn sweep<A: Accumulate>(
    w: &mut Matrix,
    rows: usize,
    exec: &Exec<'_>,
    zero: impl Fn() -> A + Sync,
    work: impl Fn(usize, &mut [f64], &mut A) + Sync,
) -> Result<A> {
    let values = rows * w.n_cols().max(1);
    let panels: Vec<_> = w.as_mut_slice().chunks_mut(values).map(Mutex::new).collect();
    exec.fold(panels.len(), zero, |piece, sum| {
        let mut panel = panels[piece].lock().unwrap_or_else(PoisonError::into_inner);
        work(piece * rows, &mut panel, sum);
        Ok(())
    })
}

/// Number of rows of a panel whose rows of `width` values fit the first-level cache; a function of the shape
/// alone.
fn panel_rows(width: usize) -> usize {
    ((1 << 16) / width.max(1)).clamp(64, 2048) / 8 * 8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dense::small::{multiply, t_multiply};
    use crate::exec::Run;
    use crate::testing::test_matrices::gaussian;
    use crate::testing::test_matrices::{identity_error, max_difference, orthonormal};

    fn filled(dim: usize, len: usize, capacity: usize) -> (Basis, Matrix) {
        let exec = Exec::sequential();
        let v = orthonormal(dim, len, 1);
        let mut basis = Basis::new(dim, capacity);
        basis.append(&v.columns(0..len / 2), &exec).unwrap();
        basis.append(&v.columns(len / 2..len), &exec).unwrap();
        (basis, v)
    }

    #[test]
    fn products_with_the_basis_agree_with_their_definition() {
        let exec = Exec::sequential();
        for (dim, len, l) in [(1, 1, 1), (90, 20, 8), (5000, 30, 13)] {
            let (mut basis, v) = filled(dim, len, len + 3);
            let w = gaussian(dim, l, 2, 0);
            let c = basis.project(&w, &exec).unwrap();
            assert!(max_difference(&c, &t_multiply(&v, &w)) < 1e-11);
            assert!(max_difference(&tall_t_product(&v, &w, &exec).unwrap(), &c) < 1e-11);
            let mut sum = w.clone();
            add_tall_product(&v, &c, &mut sum, &exec).unwrap();
            let product = multiply(&v, &c);
            let expected = Matrix::from_fn(dim, l, |i, j| w[(i, j)] + product[(i, j)]);
            assert!(max_difference(&sum, &expected) < 1e-10);

            let mut left = w.clone();
            let gram = basis.project_out(&mut left, &exec).unwrap();
            assert!(basis.project(&left, &exec).unwrap().as_slice().iter().all(|x| x.abs() < 1e-13));
            assert!(max_difference(&gram, &t_multiply(&left, &left)) < 1e-9);

            let last = c.rows(len / 3..len);
            let mut left = w.clone();
            let rest = basis.subtract_then_project(&last, &mut left, &exec).unwrap();
            let product = multiply(&v.columns(len / 3..len), &last);
            let expected = Matrix::from_fn(dim, l, |i, j| w[(i, j)] - product[(i, j)]);
            assert!(max_difference(&left, &expected) < 1e-10);
            assert!(max_difference(&rest, &t_multiply(&v, &left)) < 1e-10);

            basis.grow(len + 9);
            let s = orthonormal(len, len.div_ceil(2), 3);
            let combined = basis.combine(&s, &exec).unwrap();
            assert!(max_difference(&combined, &multiply(&v, &s)) < 1e-13);
            basis.rotate(&s, &exec).unwrap();
            assert_eq!((basis.len(), basis.capacity()), (s.n_cols(), len + 9));
            let all = Matrix::from_fn(s.n_cols(), s.n_cols(), |i, j| f64::from(u8::from(i == j)));
            assert_eq!(basis.combine(&all, &exec).unwrap(), combined);
        }
    }

    #[test]
    fn same_bits_for_every_number_of_threads() {
        let (basis, _) = filled(3000, 40, 44);
        let w = gaussian(3000, 8, 5, 0);
        let run = |threads| {
            Exec::run(&Run::threads(threads), |exec| {
                let mut left = w.clone();
                let gram = basis.project_out(&mut left, exec)?;
                let square = multiply_then_gram(&mut left, &gram, exec)?;
                Ok((left, gram, square))
            })
            .unwrap()
        };
        let one = run(1);
        assert_eq!(one, run(2));
        assert_eq!(one, run(3));
        assert!(identity_error(&one.0) > 0.0);
    }
}
