//! Components without variance. Any orthonormal rows orthogonal to the others would do; these depend only on the
//! span of the others, so they are equal for every route, and for weights as for repeated rows.

use crate::error::Result;
use crate::exec::Exec;
use crate::linalg::Matrix;
use crate::solver::spectrum::Spectrum;

impl Spectrum {
    /// Truncates or extends to `k` pairs: those with values above `level`, the rounding level, and pairs of
    /// variance zero. The latter are unit vectors orthogonalized against the former, the first coordinates first;
    /// coordinates almost in the span are skipped. Costs 4 k p multiply-adds for each.
    ///
    /// # Errors
    /// [`crate::Error::Stopped`].
    pub(crate) fn complete(&mut self, k: usize, level: f64, exec: &Exec<'_>) -> Result<()> {
        let rank = self.values.iter().take_while(|&&value| value > level).count().min(k);
        let p = self.components.n_cols();
        let dropped = self.values.split_off(rank);
        if let Some(others) = &mut self.others {
            others.splice(0..0, dropped);
            // Pairs of variance zero take the place of values at the level of rounding.
            others.drain(..others.len().min(k - rank));
        }
        self.values.resize(k, 0.0);
        self.residuals.truncate(rank);
        self.residuals.resize(k, 0.0);
        if rank == k && self.components.n_rows() == k {
            return Ok(());
        }
        let mut rows = std::mem::replace(&mut self.components, Matrix::zeros(0, p)).into_vec();
        rows.truncate(rank * p);
        rows.reserve_exact((k - rank) * p);
        // Squared norm of each unit vector orthogonal to the rows; the sum is p - rank.
        let mut left = vec![1.0; p];
        for row in rows.chunks_exact(p) {
            subtract_squares(&mut left, row);
        }
        for found in rank..k {
            exec.report((found - rank) as f64 / (k - rank) as f64)?;
            let enough = 0.25 * (p - found) as f64 / p as f64;
            let Some(first) = left.iter().position(|&left| left >= enough) else { break };
            let row = orthogonal_to(&rows, first, p);
            subtract_squares(&mut left, &row);
            rows.extend(row);
        }
        self.components = Matrix::from_vec(k, p, rows)?;
        Ok(())
    }
}

fn subtract_squares(left: &mut [f64], row: &[f64]) {
    left.iter_mut().zip(row).for_each(|(left, x)| *left -= x * x);
}

/// The unit vector of coordinate `first`, orthogonalized against the orthonormal `rows` and normalized.
fn orthogonal_to(rows: &[f64], first: usize, p: usize) -> Vec<f64> {
    let mut row = vec![0.0; p];
    row[first] = 1.0;
    // The second pass removes the rounding errors of the first.
    for _ in 0..2 {
        for other in rows.chunks_exact(p) {
            let along: f64 = row.iter().zip(other).map(|(x, o)| x * o).sum();
            row.iter_mut().zip(other).for_each(|(x, o)| *x -= along * o);
        }
    }
    let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
    row.iter_mut().for_each(|x| *x /= norm);
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unit_vectors_complete_a_spectrum_of_low_rank() {
        let components = Matrix::from_vec(2, 4, vec![0.6, 0.8, 0.0, 0.0, 0.1, 0.2, 0.3, 0.9]).unwrap();
        let mut spectrum = Spectrum {
            values: vec![2.0, 1e-17],
            components,
            residuals: vec![1e-9, 0.5],
            others: Some(vec![1e-18, 0.0]),
        };
        spectrum.complete(4, 1e-16, &Exec::sequential()).unwrap();
        assert_eq!(
            (spectrum.values, spectrum.residuals),
            (vec![2.0, 0.0, 0.0, 0.0], vec![1e-9, 0.0, 0.0, 0.0])
        );
        let expected =
            [[0.6, 0.8, 0.0, 0.0], [0.8, -0.6, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];
        for (found, expected) in spectrum.components.as_slice().iter().zip(expected.as_flattened()) {
            assert!((found - expected).abs() < 1e-15, "{found} for {expected}");
        }
    }

    #[test]
    fn a_complete_spectrum_is_unchanged() {
        let components = Matrix::from_vec(1, 2, vec![0.6, 0.8]).unwrap();
        let mut spectrum = Spectrum {
            values: vec![2.0],
            components: components.clone(),
            residuals: vec![0.1],
            others: None,
        };
        spectrum.complete(1, 1e-16, &Exec::sequential()).unwrap();
        assert_eq!((spectrum.components, spectrum.residuals), (components, vec![0.1]));
    }
}
