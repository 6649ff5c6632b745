//! First and second moments of the scores of all samples under their posteriors.

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::factors::Factor;
use crate::incomplete::passes::moments::Expected;
use crate::linalg::Matrix;
use crate::linalg::simd::Lane;

/// `sum_i E s_i` and `sum_i E s_i s_i'`.
#[derive(Debug)]
pub(crate) struct ScoreMoments {
    pub(crate) n: f64,
    pub(crate) first: Vec<f64>,
    pub(crate) second: Matrix,
}

impl ScoreMoments {
    pub(crate) fn of<T: Lane>(table: &Factor<T>, c: usize, exec: &Exec<'_>) -> Result<Self> {
        let layout = Expected::new::<T>(c);
        let sums = table.sum_rows(layout.width, exec, |_, row, sums| {
            sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x.to_f64());
        })?;
        let second = Matrix::from_fn(c, c, |k, l| sums[layout.at(k.max(l), k.min(l))]);
        Ok(Self { n: table.total(), first: sums[..c].to_vec(), second })
    }

    /// `sum_i E (s_i - m)(s_i - m)'`.
    pub(crate) fn about(&self, m: &[f64]) -> Matrix {
        let c = self.first.len();
        Matrix::from_fn(c, c, |k, l| {
            self.second[(k, l)] - self.first[k] * m[l] - m[k] * self.first[l] + self.n * m[k] * m[l]
        })
    }
}
