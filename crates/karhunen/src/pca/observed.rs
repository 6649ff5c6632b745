//! Projections of rows with missing values.

use crate::error::{Error, Result};
use crate::exec::{Exec, Run};
use crate::linalg::Matrix;
use crate::linalg::decomp::eigh::eigh;
use crate::operator::blocks;
use crate::pca::lengths::mapped_at_once;
use crate::pca::{PcaModel, Transform};
use crate::scalar::Scalar;
use crate::source::Source;

/// Least share of the length of any direction of the components that lies in the observed columns: below it rounding errors
/// of the normal equations are more than half of the digits.
const LEAST: f64 = 1e-8;

impl PcaModel {
    /// As [`PcaModel::transform_with`], for dense rows of which values may be missing (NaN), such as new samples without some
    /// of the columns: by least squares on the observed columns, so that missing values do not draw scores towards zero, as
    /// means in their place do. Scores are NaN where the observed columns do not determine them. Time for a row: `k^2` for
    /// each missing value and `k^3`.
    ///
    /// # Errors
    /// As [`PcaModel::transform_with`], but for NaN.
    pub fn transform_observed<T: Scalar>(
        &self,
        x: &dyn Source<T>,
        how: Transform,
        run: &Run<'_>,
    ) -> Result<Matrix<T>> {
        self.check_columns("data to transform", x.shape().1, self.n_features())?;
        let (projections, factors) = (self.observed_projections(x, run)?, self.score_factors(how));
        let (n, k) = (x.shape().0, self.n_components());
        Ok(Matrix::from_fn(n, k, |i, c| T::from_f64(projections[(i, c)] * factors[c])))
    }

    /// Projections of rows of which values may be missing (NaN), and their squared lengths, shape (n_rows, n_components + 1).
    ///
    /// With the standardised row x, the components V as columns and the observed columns O, the projection is the one
    /// of least squares, $l = (V_O^\top V_O)^{-1} V_O^\top x_O$. The squared length adds the residuals, as many for
    /// each degree of freedom in the missing columns as in the observed ones:
    /// $|l|^2 + |x_O - V_O l|^2 (p - k) / (|O| - k)$. Both are NaN where the observed columns do not determine them.
    ///
    /// # Errors
    /// [`Error::NonFinite`] for infinite values; any error `x` raises while read.
    pub(super) fn observed_projections<T: Scalar>(
        &self,
        x: &dyn Source<T>,
        run: &Run<'_>,
    ) -> Result<Matrix<f64>> {
        let ((n, p), width) = (x.shape(), self.n_components() + 1);
        let height = mapped_at_once(p);
        let mut found = Matrix::try_zeros("projections", n, width)?;
        Exec::run(run, |exec| {
            let exec = exec.phase("scores");
            x.visit(&mut |first, block| {
                let out = &mut found.as_mut_slice()[first * width..(first + block.n_rows()) * width];
                exec.fill(out, height * width, |piece, out| {
                    let rows = piece * height..piece * height + out.len() / width;
                    let mut lines = vec![0.0; rows.len() * p];
                    blocks::mapped_rows(&block, self.map(), None, rows.clone(), &mut lines)?;
                    for ((row, line), out) in
                        rows.zip(lines.chunks_exact_mut(p)).zip(out.chunks_exact_mut(width))
                    {
                        if let Some(column) = line.iter().position(|value| value.is_infinite()) {
                            return Err(Error::NonFinite { row: first + row, column, value: line[column] });
                        }
                        self.project_observed(line, out)?;
                    }
                    Ok(())
                })
            })
        })?;
        Ok(found)
    }

    /// Writes the projection of a mapped row and its squared length. Missing values of the row become zero.
    fn project_observed(&self, line: &mut [f64], out: &mut [f64]) -> Result<()> {
        let (v, k) = (self.components(), self.n_components());
        let missing: Vec<usize> = (0..line.len()).filter(|j| line[*j].is_nan()).collect();
        missing.iter().for_each(|j| line[*j] = 0.0);
        // The components are orthonormal: over all columns their products are one, from which the missing ones are taken.
        let mut products = Matrix::from_fn(k, k, |a, b| f64::from(u8::from(a == b)));
        for j in &missing {
            for a in 0..k {
                for b in 0..k {
                    products[(a, b)] -= v[(a, *j)] * v[(b, *j)];
                }
            }
        }
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let along: Vec<f64> = (0..k).map(|c| dot(v.row(c), line)).collect();
        // Columns without variance say nothing.
        let n_columns = self.map().factor.iter().filter(|factor| **factor > 0.0).count();
        let n_missing = missing.iter().filter(|j| self.map().factor[**j] > 0.0).count();
        let eigen = eigh(&products)?;
        let least = eigen.values.last().copied().unwrap_or(1.0);
        let undetermined = n_missing > 0 && (n_columns <= n_missing + k || least < LEAST);
        if undetermined {
            out.fill(f64::NAN);
            return Ok(());
        }
        let (projection, length) = out.split_at_mut(k);
        for (e, value) in eigen.values.iter().enumerate() {
            let share = (0..k).map(|c| eigen.vectors[(c, e)] * along[c]).sum::<f64>() / value;
            projection.iter_mut().enumerate().for_each(|(c, l)| *l += eigen.vectors[(c, e)] * share);
        }
        let residual = (dot(line, line) - dot(&along, projection)).max(0.0);
        let of_all = match n_missing {
            0 => 1.0,
            missing => (n_columns - k) as f64 / (n_columns - missing - k) as f64,
        };
        length[0] = dot(projection, projection) + residual * of_all;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Dense;
    use crate::linalg::normals::gaussian;
    use crate::pca::Pca;
    use crate::random::Purpose;
    use crate::weights::Weights;

    #[test]
    fn rows_along_the_components_lose_nothing_by_missing_values() {
        let (n, p, k) = (40, 30, 3);
        let x = gaussian(n, p, Purpose::Probes.of(1));
        let model =
            Pca { scale: true.into(), ..Pca::new(k) }.fit(&Dense::from(&x), &Weights::default()).unwrap();
        let along = model.inverse_transform(&gaussian(6, k, Purpose::Probes.of(2))).unwrap();
        let complete = model.transform_oadp(&Dense::from(&along), &Run::default()).unwrap();
        let mut missing = along.clone();
        // The last row keeps two columns, too few for three components, and the one before four.
        for i in 0..6 {
            let first_missing = [30, 25, 15, 8, 4, 2][i];
            (first_missing..p).for_each(|j| missing[(i, j)] = f64::NAN);
        }
        let found = model.transform_oadp(&Dense::from(&missing), &Run::default()).unwrap();
        let largest = crate::scalar::largest(complete.as_slice().iter().map(|z| z.abs()));
        for i in 0..5 {
            for c in 0..k {
                let apart = (found[(i, c)] - complete[(i, c)]).abs();
                assert!(apart < 1e-9 * largest, "{i} {c}: {} {}", found[(i, c)], complete[(i, c)]);
            }
        }
        assert!(found.row(5).iter().all(|score| score.is_nan()));
        missing[(0, 3)] = f64::INFINITY;
        let refused = model.transform_oadp(&Dense::from(&missing), &Run::default()).unwrap_err();
        assert!(matches!(refused, Error::NonFinite { row: 0, column: 3, .. }), "{refused}");
    }
}
