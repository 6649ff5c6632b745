//! Means of the features from their observed entries.

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::data::Observed;
use crate::scalar::Scalar;

/// Sums over the entries of each feature.
#[derive(Clone, Debug)]
pub(crate) struct ColumnSums {
    /// `sum w`; the number of entries without weights.
    pub(crate) weight: Vec<f64>,
    /// `sum w x`.
    pub(crate) value: Vec<f64>,
}

impl ColumnSums {
    pub(crate) fn of<T: Scalar>(data: &Observed<T>, exec: &Exec<'_>) -> Result<Self> {
        let mut sums = vec![[0.0; 2]; data.n_features()];
        exec.fill(&mut sums, 64, |piece, out| {
            for (at, out) in out.iter_mut().enumerate() {
                let line = data.columns().line(piece * 64 + at);
                // About the first entry, so that the mean of equal entries is theirs to the last place.
                let origin = line.values.first().map_or(0.0, |x| x.to_f64());
                for (e, value) in line.values.iter().enumerate() {
                    let weight = line.weights.map_or(1.0, |w| w[e].to_f64());
                    out[0] += weight;
                    out[1] += weight * (value.to_f64() - origin);
                }
                out[1] += out[0] * origin;
            }
            Ok(())
        })?;
        Ok(Self { weight: sums.iter().map(|s| s[0]).collect(), value: sums.iter().map(|s| s[1]).collect() })
    }

    /// The mean of all entries.
    pub(crate) fn grand_mean(&self) -> f64 {
        self.value.iter().sum::<f64>() / self.weight.iter().sum::<f64>()
    }

    /// `mu_j = (sum w x + kappa m0) / (sum w + kappa)`, or `m0` for a feature without entries.
    pub(crate) fn means(&self, kappa: f64, prior: f64) -> Vec<f64> {
        let pairs = self.weight.iter().zip(&self.value);
        pairs.map(|(w, x)| if w + kappa > 0.0 { (x + kappa * prior) / (w + kappa) } else { prior }).collect()
    }
}

/// Mean squares about given means, over all entries, and the feature with the largest sum of squares.
pub(crate) fn deviations_about<T: Scalar>(
    data: &Observed<T>,
    mean: &[f64],
    exec: &Exec<'_>,
) -> Result<Deviations> {
    let mut squares = vec![[0.0; 2]; data.n_features()];
    exec.fill(&mut squares, 64, |piece, out| {
        for (at, out) in out.iter_mut().enumerate() {
            let line = data.columns().line(piece * 64 + at);
            for (e, value) in line.values.iter().enumerate() {
                let weight = line.weights.map_or(1.0, |w| w[e].to_f64());
                let away = value.to_f64() - mean[line.line];
                out[0] += weight;
                out[1] += weight * away * away;
            }
        }
        Ok(())
    })?;
    let weight: f64 = squares.iter().map(|s| s[0]).sum();
    let total: f64 = squares.iter().map(|s| s[1]).sum();
    let widest = (0..squares.len()).max_by(|i, j| squares[*i][1].total_cmp(&squares[*j][1])).unwrap_or(0);
    Ok(Deviations { mean_square: total / weight, widest })
}

/// Deviations of the entries from their means.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deviations {
    /// Mean squared deviation of an entry.
    pub(crate) mean_square: f64,
    /// The feature with the largest sum of squares.
    pub(crate) widest: usize,
}
