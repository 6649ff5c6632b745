//! A first block for block Krylov iteration, from the pass that sums the moments: the scatter matrix times a random block.

use crate::error::Result;
use crate::exec::Exec;
use crate::linalg::decomp::orthonormal::orthonormalize;
use crate::linalg::normals::gaussian;
use crate::linalg::{ColumnMap, Matrix};
use crate::moments::Moments;
use crate::operator::blocks;
use crate::random::Purpose;
use crate::scalar::Scalar;
use crate::source::Source;

/// Number of the stream of the random block; iteration uses small numbers.
const STREAM: u64 = 1 << 33;

/// `S Omega`, shape (p, width), with the scatter matrix `S` of some rows and a random block `Omega`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FirstBlock {
    pub(crate) seed: u64,
    pub(crate) product: Matrix,
}

impl FirstBlock {
    /// The product of no rows. No more vectors are multiplied than there are columns.
    pub(crate) fn empty(p: usize, width: usize, seed: u64) -> Self {
        Self { seed, product: Matrix::zeros(p, width.min(p)) }
    }

    /// The product of the rows of `x`, which have these moments.
    pub(super) fn of<T: Scalar>(
        x: &dyn Source<T>,
        weights: Option<&[f64]>,
        moments: &Moments,
        (width, seed): (usize, u64),
        exec: &Exec<'_>,
    ) -> Result<Self> {
        let p = moments.mean.len();
        let mut block = Self::empty(p, width, seed);
        if moments.weight > 0.0 {
            let map =
                ColumnMap { shift: &moments.mean, remainder: moments.remainder(), factor: &vec![1.0; p] };
            let product = blocks::normal(x, map, weights, &block.random(), exec)?;
            // Any block is a start: zeros take the place of a product beyond f64.
            if product.as_slice().iter().all(|value| value.is_finite()) {
                block.product = product;
            }
        }
        Ok(block)
    }

    fn random(&self) -> Matrix {
        let (p, width) = (self.product.n_rows(), self.product.n_cols());
        gaussian(p, width, Purpose::KrylovStart.of(self.seed).number(STREAM))
    }

    /// Adds the product of other rows; `mine` and `others` are the moments of both. As
    /// [`Scatter::merge`](crate::moments::Scatter::merge), times the random block.
    pub(super) fn add(&mut self, other: &Self, mine: &Moments, others: &Moments) {
        let pairs = self.product.as_mut_slice().iter_mut().zip(other.product.as_slice());
        pairs.for_each(|(sum, product)| *sum += product);
        let (delta, between) = mine.between(others);
        if between > 0.0 {
            self.add_outer(&delta, between);
        }
    }

    /// Adds `factor v (v' Omega)`.
    fn add_outer(&mut self, v: &[f64], factor: f64) {
        let random = self.random();
        let mut along = vec![0.0; random.n_cols()];
        for (j, v) in v.iter().enumerate() {
            along.iter_mut().zip(random.row(j)).for_each(|(sum, value)| *sum += v * value);
        }
        for (j, v) in v.iter().enumerate() {
            let row = self.product.row_mut(j).iter_mut().zip(&along);
            row.for_each(|(sum, along)| *sum += factor * v * along);
        }
    }

    /// Orthonormal columns near the leading right singular vectors of the rows less `shift`, times `factor`; `None` if the product is beyond f64.
    ///
    /// # Errors
    /// [`crate::Error::Stopped`].
    pub(crate) fn basis(
        mut self,
        moments: &Moments,
        shift: &[f64],
        factor: &[f64],
        exec: &Exec<'_>,
    ) -> Result<Option<Matrix>> {
        let offset: Vec<f64> = moments.mean.iter().zip(shift).map(|(mean, shift)| mean - shift).collect();
        if offset.iter().any(|offset| *offset != 0.0) {
            self.add_outer(&offset, moments.weight);
        }
        for (j, factor) in factor.iter().enumerate() {
            self.product.row_mut(j).iter_mut().for_each(|value| *value *= factor);
        }
        if self.product.as_slice().iter().any(|value| !value.is_finite()) {
            return Ok(None);
        }
        Ok(Some(orthonormalize(self.product, self.seed, exec)?.q))
    }
}
