//! Scatter matrices as triangles: half the memory, for parts that are merged and sent.

use crate::error::Result;
use crate::exec::{Exec, Resumable, State};
use crate::linalg::Matrix;
use crate::moments::scatter::add_products;
use crate::moments::{Moments, Scatter};
use crate::scalar::Scalar;
use crate::source::{Source, Stream};

/// A [`Scatter`] of which only the upper triangle is held.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PackedScatter {
    pub(crate) moments: Moments,
    /// Row by row from the diagonal on, [`n_packed`] values.
    pub(crate) triangle: Vec<f64>,
}

impl PackedScatter {
    /// The scatter of no rows.
    pub(crate) fn empty(p: usize) -> Self {
        Self { moments: Moments::empty(p), triangle: vec![0.0; n_packed(p)] }
    }

    /// As [`Scatter::within`].
    ///
    /// # Errors
    /// As [`Scatter::of`].
    pub(crate) fn of<T: Scalar>(x: &dyn Source<T>, weights: Option<&[f64]>, exec: &Exec<'_>) -> Result<Self> {
        Scatter::upper_of_source(x, weights, exec).map(Self::from)
    }

    /// As [`Scatter::of_stream_within`].
    ///
    /// # Errors
    /// As [`Scatter::of_stream`].
    pub(crate) fn of_stream<T: Scalar>(stream: &mut dyn Stream<T>, exec: &Exec<'_>) -> Result<Self> {
        Scatter::upper_of_stream(stream, exec).map(Self::from)
    }

    /// Adds the rows summed in `other`, of as many columns.
    ///
    /// # Errors
    /// As [`Moments::merge`].
    pub(crate) fn merge(&mut self, other: &Self) -> Result<()> {
        let (delta, between) = self.moments.between(&other.moments);
        self.moments.merge(&other.moments)?;
        let (mut sums, mut products) = (&mut self.triangle[..], &other.triangle[..]);
        for i in 0..delta.len() {
            let (row, rest) = sums.split_at_mut(delta.len() - i);
            let (others, others_rest) = products.split_at(delta.len() - i);
            add_products(row, others, &delta[i..], between);
            (sums, products) = (rest, others_rest);
        }
        Ok(())
    }

    /// Both triangles.
    ///
    /// # Errors
    /// [`crate::Error::Memory`].
    pub(crate) fn unpacked(self) -> Result<Scatter> {
        let Self { moments, triangle } = self;
        let p = moments.mean.len();
        Scatter::ask(p)?;
        let mut matrix = Matrix::zeros(p, p);
        let mut rest = &triangle[..];
        for i in 0..p {
            let (row, others) = rest.split_at(p - i);
            matrix.row_mut(i)[i..].copy_from_slice(row);
            rest = others;
        }
        matrix.mirror_upper();
        Ok(Scatter { moments, matrix })
    }
}

impl From<Scatter> for PackedScatter {
    fn from(scatter: Scatter) -> Self {
        let Scatter { moments, matrix } = scatter;
        let p = matrix.n_rows();
        // In the memory of the matrix, whose end is given back.
        let mut triangle = matrix.into_vec();
        let mut end = 0;
        for i in 0..p {
            triangle.copy_within(i * p + i..(i + 1) * p, end);
            end += p - i;
        }
        triangle.truncate(end);
        triangle.shrink_to_fit();
        Self { moments, triangle }
    }
}

/// The log holds the same values as for a [`Scatter`].
impl Resumable for PackedScatter {
    fn exchange(&mut self, state: &mut State) -> Result<()> {
        self.moments.exchange(state)?;
        state.slice(&mut self.triangle)
    }
}

/// Number of values of a triangle of `p` rows.
pub(crate) fn n_packed(p: usize) -> usize {
    p.checked_add(1).and_then(|q| p.checked_mul(q)).map_or(usize::MAX, |twice| twice / 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::Run;
    use crate::linalg::Dense;

    #[test]
    fn triangles_merge_as_matrices_do() {
        let values: Vec<f64> = (0..60).map(|e| f64::from((e * 17) % 23) - 4.0 * f64::from(e % 5)).collect();
        let of = |rows: std::ops::Range<usize>| {
            let x = Dense::row_major(&values[5 * rows.start..5 * rows.end], rows.len(), 5).unwrap();
            Scatter::of(&x, None, &Run::threads(1)).unwrap()
        };
        let (mut whole, second, none) = (of(0..5), of(5..12), Scatter::empty(5));
        let mut packed = PackedScatter::from(whole.clone());
        for other in [second, none] {
            whole.merge(&other).unwrap();
            packed.merge(&other.into()).unwrap();
            assert_eq!(packed.clone().unpacked().unwrap(), whole);
        }
    }
}
