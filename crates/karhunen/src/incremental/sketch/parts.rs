//! Rows that a sketch takes in: of a block, or of another sketch.

use crate::error::Result;
use crate::exec::Exec;
use crate::linalg::decomp::basis::{add_tall_product, tall_t_product};
use crate::linalg::dense::small::multiply;
use crate::linalg::{ColumnMap, Matrix};
use crate::operator::blocks;
use crate::source::{Block, Source};

/// A matrix `C`, shape (r, p), known by its products.
pub(super) trait SketchRows {
    /// `r`.
    fn n_rows(&self) -> usize;
    /// `C Q`, shape (r, l), for `q` of shape (p, l).
    fn apply(&self, q: &Matrix, exec: &Exec<'_>) -> Result<Matrix>;
    /// `C' U`, shape (p, l), for `u` of shape (r, l).
    fn apply_t(&self, u: &Matrix, exec: &Exec<'_>) -> Result<Matrix>;
    /// `C C'`, shape (r, r).
    fn gram(&self, exec: &Exec<'_>) -> Result<Matrix>;
    /// `C' C`, shape (p, p).
    fn scatter(&self, exec: &Exec<'_>) -> Result<Matrix>;
    /// Size of the rounding errors of these products beyond the errors of their own size.
    fn rounding(&self) -> f64;
}

/// `W^(1/2) (X - 1 shift') F`: weighted rows of a block, about a shift and scaled. Never formed.
pub(super) struct BlockRows<'a> {
    block: &'a Block<'a, f64>,
    map: ColumnMap<'a>,
    weights: Option<&'a [f64]>,
    roots: Option<Vec<f64>>,
}

impl<'a> BlockRows<'a> {
    pub(super) fn new(block: &'a Block<'a, f64>, map: ColumnMap<'a>, weights: Option<&'a [f64]>) -> Self {
        let roots = weights.map(|weights| weights.iter().map(|w| w.sqrt()).collect());
        Self { block, map, weights, roots }
    }

    fn source(&self) -> &dyn Source<f64> {
        match self.block {
            Block::Dense(x) => x,
            Block::Sparse(x) => x,
        }
    }

    /// Multiplies the rows by the square roots of the weights.
    fn weigh(&self, rows: &mut Matrix) {
        for (i, root) in self.roots.iter().flatten().enumerate() {
            rows.row_mut(i).iter_mut().for_each(|value| *value *= root);
        }
    }
}

impl SketchRows for BlockRows<'_> {
    fn n_rows(&self) -> usize {
        self.block.n_rows()
    }

    fn apply(&self, q: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        let mut out = Matrix::zeros(self.n_rows(), q.n_cols());
        blocks::project(self.block, self.map, q, exec, out.as_mut_slice())?;
        self.weigh(&mut out);
        Ok(out)
    }

    fn apply_t(&self, u: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        let mut u = u.clone();
        self.weigh(&mut u);
        blocks::apply_t(self.source(), self.map, &u, exec)
    }

    fn gram(&self, exec: &Exec<'_>) -> Result<Matrix> {
        blocks::gram(self.block, self.map, self.roots.as_deref(), exec)
    }

    fn scatter(&self, exec: &Exec<'_>) -> Result<Matrix> {
        blocks::scatter(self.source(), self.map, self.weights, exec)
    }

    /// Sparse rows are centred after they are multiplied.
    fn rounding(&self) -> f64 {
        let Block::Sparse(x) = self.block else { return 0.0 };
        let weight = self.weights.map_or(x.n_rows() as f64, |weights| weights.iter().sum());
        let square = |(shift, factor): (&f64, &f64)| (shift * factor).powi(2);
        f64::EPSILON * weight * self.map.shift.iter().zip(self.map.factor).map(square).sum::<f64>()
    }
}

/// `diag(squares)^(1/2) V'`: orthonormal directions with their sums of squares.
#[derive(Clone, Copy)]
pub(super) struct Directions<'a> {
    /// `V`, shape (p, m).
    pub(super) vectors: &'a Matrix,
    pub(super) squares: &'a [f64],
}

impl Directions<'_> {
    /// Multiplies row `i` by the square root of the sum of squares along direction `i`.
    pub(super) fn weigh(&self, rows: &mut Matrix) {
        for (i, square) in self.squares.iter().enumerate() {
            let root = square.sqrt();
            rows.row_mut(i).iter_mut().for_each(|value| *value *= root);
        }
    }
}

impl SketchRows for Directions<'_> {
    fn n_rows(&self) -> usize {
        self.squares.len()
    }

    fn apply(&self, q: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        let mut out = tall_t_product(self.vectors, q, exec)?;
        self.weigh(&mut out);
        Ok(out)
    }

    fn apply_t(&self, u: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        let mut u = u.clone();
        self.weigh(&mut u);
        let mut out = Matrix::zeros(self.vectors.n_rows(), u.n_cols());
        add_tall_product(self.vectors, &u, &mut out, exec)?;
        Ok(out)
    }

    fn gram(&self, _: &Exec<'_>) -> Result<Matrix> {
        let m = self.squares.len();
        Ok(Matrix::from_fn(m, m, |i, j| if i == j { self.squares[i] } else { 0.0 }))
    }

    fn scatter(&self, _: &Exec<'_>) -> Result<Matrix> {
        let mut rows = self.vectors.transposed();
        for (i, square) in self.squares.iter().enumerate() {
            rows.row_mut(i).iter_mut().for_each(|value| *value *= square);
        }
        Ok(multiply(self.vectors, &rows))
    }

    fn rounding(&self) -> f64 {
        0.0
    }
}
