//! Scores of new rows without the shrinkage of projections.

use crate::error::{Error, Result};
use crate::exec::{Exec, Run};
use crate::linalg::Matrix;
use crate::linalg::decomp::eigh::eigh;
use crate::linalg::decomp::polar::orthogonal_factor;
use crate::pca::{PcaModel, Transform};
use crate::scalar::Scalar;
use crate::source::Source;

/// Rows of a piece of work.
const PIECE: usize = 16;

impl PcaModel {
    /// Scores of rows that were not fitted, shape (n_rows, n_components), where the fit had many more columns than
    /// rows. Their projections ([`PcaModel::transform`]) are then too near to zero, because components follow the noise
    /// of the fitted rows. Each row is added to the fitted ones, the components are updated, and the new scores of the
    /// fitted rows are rotated and scaled to their old ones; the row moves with them. Two passes over `x`.
    ///
    /// Online augmentation, decomposition and Procrustes: Zhang, Dey & Lee (2020), doi:10.1093/bioinformatics/btaa152,
    /// with as many updated components as there are, as `pca_OADP_proj` of the R package bigutilsr. More components
    /// than are of interest make the update better.
    ///
    /// Values of dense rows may be missing (NaN): a row is then projected by least squares on its observed columns, so that
    /// missing values do not draw it towards zero. Its scores are NaN if the observed columns do not determine them.
    ///
    /// # Errors
    /// As [`PcaModel::transform`], but for NaN in dense rows.
    pub fn transform_oadp<T: Scalar>(&self, x: &dyn Source<T>, run: &Run<'_>) -> Result<Matrix<T>> {
        let k = self.n_components();
        let (mut scores, projections) = match self.transform_with(x, Transform::default(), run) {
            Ok(scores) if k == 0 => return Ok(scores),
            Ok(scores) => {
                let lengths = self.squared_lengths(x, run)?;
                let projection =
                    |i: usize, c: usize| if c < k { scores[(i, c)].to_f64() } else { lengths[i] };
                let projections = Matrix::from_fn(scores.n_rows(), k + 1, projection);
                (scores, projections)
            }
            Err(Error::NonFinite { value, .. }) if value.is_nan() && !x.is_sparse() => {
                let projections = self.observed_projections(x, run)?;
                (Matrix::try_zeros("a matrix of scores", projections.n_rows(), k)?, projections)
            }
            Err(error) => return Err(error),
        };
        Exec::run(run, |exec| {
            exec.phase("shrinkage").fill(scores.as_mut_slice(), PIECE * k, |piece, rows| {
                for (i, row) in rows.chunks_exact_mut(k).enumerate() {
                    let (projection, length) = projections.row(piece * PIECE + i).split_at(k);
                    let moved = moved(projection, length[0], self.singular_values())?;
                    row.iter_mut().zip(moved).for_each(|(score, moved)| *score = T::from_f64(moved));
                }
                Ok(())
            })
        })?;
        Ok(scores)
    }
}

/// The corrected scores of a row with the given projection and squared length, for fitted rows with these singular
/// values; NaN if those are.
///
/// With the fitted rows `U D V'` and the row `l'V' + g e'`, e a unit vector, `Q = [D 0; l' g]` holds all of them in the
/// basis
/// `(V, e)`. `Q Q'` gives the scores `E S` of the fitted rows, `U` times the first k rows of it, and of the new row.
fn moved(projection: &[f64], squared_length: f64, singular_values: &[f64]) -> Result<Vec<f64>> {
    let k = projection.len();
    if squared_length.is_nan() {
        return Ok(vec![f64::NAN; k]);
    }
    // An exact projection can be longer than the row by rounding alone.
    let squared_length = squared_length.max(projection.iter().map(|l| l * l).sum());
    let scale = singular_values[0].max(squared_length.sqrt());
    if scale == 0.0 {
        return Ok(projection.to_vec());
    }
    let d: Vec<f64> = singular_values.iter().map(|d| d / scale).collect();
    let l: Vec<f64> = projection.iter().map(|l| l / scale).collect();
    let products = Matrix::from_fn(k + 1, k + 1, |a, b| match (a < k, b < k) {
        (true, true) if a == b => d[a] * d[a],
        (true, true) => 0.0,
        (true, false) => l[a] * d[a],
        (false, true) => l[b] * d[b],
        (false, false) => squared_length / (scale * scale),
    });
    let updated = eigh(&products)?;
    let scores =
        Matrix::from_fn(k + 1, k, |a, c| updated.vectors[(a, c)] * updated.values[c].max(0.0).sqrt());
    // Procrustes: the rotation and the factor that bring the updated scores of the fitted rows to the old ones, D.
    let cross = Matrix::from_fn(k, k, |c, a| scores[(a, c)] * d[a]);
    let rotation = orthogonal_factor(&cross)?;
    let agreement: f64 = rotation.as_slice().iter().zip(cross.as_slice()).map(|(r, c)| r * c).sum();
    let sum_of_squares: f64 = (0..k).flat_map(|a| scores.row(a)).map(|score| score * score).sum();
    let factor = if sum_of_squares > 0.0 { scale * agreement / sum_of_squares } else { 0.0 };
    Ok((0..k).map(|a| factor * (0..k).map(|c| scores[(k, c)] * rotation[(c, a)]).sum::<f64>()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_within_the_components_that_changes_nothing_stays() {
        // A row of zeros adds nothing, and one that is tiny keeps its projection.
        assert_eq!(moved(&[0.0, 0.0], 0.0, &[3.0, 2.0]).unwrap(), [0.0, 0.0]);
        let found = moved(&[3e-5, -1e-5], 1e-9, &[3.0, 2.0]).unwrap();
        assert!((found[0] - 3e-5).abs() < 1e-12 && (found[1] + 1e-5).abs() < 1e-12, "{found:?}");
        assert_eq!(moved(&[1.0], 2.0, &[0.0]).unwrap().len(), 1);
    }

    #[test]
    fn one_component_equals_the_formula() {
        // k = 1: the updated variance t solves (d^2 - t)(n - t) = d^2 l^2; its eigenvector is along (d l, t - d^2).
        let (d, l, n) = (3.0_f64, 1.0_f64, 4.0_f64);
        let half = (d * d + n) / 2.0;
        let t = half + (half * half - d * d * (n - l * l)).sqrt();
        let (a, b) = (d * l, t - d * d);
        let length = a.hypot(b);
        let (fitted, new) = (a / length * t.sqrt(), b / length * t.sqrt());
        // The factor d / fitted brings the fitted scores back.
        let expected = new * d * fitted / (fitted * fitted);
        assert!((moved(&[l], n, &[d]).unwrap()[0] - expected).abs() < 1e-13);
        assert!(expected > l);
    }
}
