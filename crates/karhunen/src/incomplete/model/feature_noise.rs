//! The noise of each feature, from the residuals of its entries (`docs/missing-values-variational.md`).

use crate::error::Result;
use crate::exec::{Accumulate, Exec};
use crate::incomplete::data::Observed;
use crate::incomplete::factors::covariances::products;
use crate::incomplete::model::IncompleteModel;
use crate::incomplete::model::new_rows::{Equations, ModelLoadings};
use crate::incomplete::options::MeanMode;
use crate::linalg::Matrix;
use crate::scalar::Scalar;

/// Sums per feature.
pub(crate) const SUMS: usize = 6;
/// Fewest rows per piece of work.
const ROWS: usize = 64;
/// Largest logarithm that counts for the spread of the noise: a constant feature says nothing of the others.
const MOST: f64 = 10.0;

/// Sums over the entries of each feature, shape (n_features, 6), each entry times the multiplicity of its row: one, its
/// weight times its squared residual, its leverage on loadings and mean, and `h (1 - h)`, `(1 - h)^2` and `(1 - h)^4` of
/// its leverage `h` on the scores of its row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NoiseSums(pub(crate) Matrix);

impl NoiseSums {
    pub(crate) fn empty(p: usize) -> Self {
        Self(Matrix::zeros(p, SUMS))
    }

    /// The sums over rows in the units of the fit, with the scores that they have given the model.
    pub(crate) fn of<T: Scalar>(
        model: &IncompleteModel,
        rows: &Observed<T>,
        exec: &Exec<'_>,
    ) -> Result<Self> {
        let ((n, p), exec) = (rows.shape(), exec.phase("error bars").part(1.0, 1.0));
        let loadings = ModelLoadings::new(model, rows, &exec)?;
        // A piece holds about as many entries as there are features, whose sums it clears.
        let at_a_time = ROWS.max(n * p / rows.n_observed().max(1));
        exec.fold(
            n.div_ceil(at_a_time),
            || Self::empty(p),
            |piece, sums| {
                let (mut equations, c) = (Equations::new(&loadings), model.n_scores());
                let mut inverse = vec![0.0; c * (c + 1) / 2];
                for row in piece * at_a_time..((piece + 1) * at_a_time).min(n) {
                    equations.set(&loadings, rows.rows(), row);
                    if equations.own_inverse_into(&mut inverse) {
                        equations.solve()?;
                        sums.add(model, &loadings, (rows, row), (equations.solution(), &inverse));
                    }
                }
                Ok(())
            },
        )
    }

    /// Adds a row of these scores, with the inverse of its normal equations.
    fn add<T: Scalar>(
        &mut self,
        model: &IncompleteModel,
        loadings: &ModelLoadings<'_>,
        (rows, row): (&Observed<T>, usize),
        (scores, inverse): (&[f64], &[f64]),
    ) {
        let line = rows.rows().line(row);
        let inverse = square(inverse, scores.len());
        let products = products(&scores[..model.n_components()]);
        let covariances = model.parts().loading_covariances.as_ref();
        let multiplicity = rows.multiplicity().map_or(1.0, |multiplicity| multiplicity[row]);
        for (e, (feature, value)) in line.indices.iter().zip(line.values).enumerate() {
            let j = *feature as usize;
            let weight = line.weights.map_or(1.0, |w| w[e].to_f64());
            let (v, mean) = loadings.of(j);
            let fit: f64 = v.iter().zip(scores).map(|(v, s)| v * s).sum();
            let residual = value.to_f64() - mean - fit;
            let left = 1.0 - (weight * quadratic(&inverse, v)).clamp(0.0, 1.0);
            let of_loadings = covariances.map_or(0.0, |found| found.along(j, &products));
            let of_column = (of_loadings + model.variance_of_mean(j)) / model.noise_variance();
            let of_column = (weight * of_column).clamp(0.0, 1.0);
            let terms = [
                1.0,
                weight * residual * residual,
                of_column,
                (1.0 - left) * left,
                left * left,
                left.powi(4),
            ];
            let sums = self.0.row_mut(j);
            sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += multiplicity * term);
        }
    }
}

/// All values of a symmetric matrix of `c` rows, from its packed lower triangle.
fn square(packed: &[f64], c: usize) -> Vec<f64> {
    let at = |k: usize, l: usize| packed[k * (k + 1) / 2 + l];
    (0..c * c).map(|at_all| (at_all / c, at_all % c)).map(|(k, l)| at(k.max(l), k.min(l))).collect()
}

/// `v' M v` of a square matrix. The sums of the rows do not wait for one another.
fn quadratic(matrix: &[f64], v: &[f64]) -> f64 {
    let of_row = |row: &[f64]| row.iter().zip(v).map(|(m, v)| m * v).sum::<f64>();
    matrix.chunks_exact(v.len()).zip(v).map(|(row, v)| v * of_row(row)).sum()
}

impl Accumulate for NoiseSums {
    fn reset(&mut self) {
        self.0.as_mut_slice().fill(0.0);
    }

    fn merge(&mut self, other: &Self) {
        self.0.as_mut_slice().iter_mut().zip(other.0.as_slice()).for_each(|(sum, x)| *sum += x);
    }
}

/// The error of one entry of a feature that its row does not know, squared, relative to the noise of all features.
struct Own {
    /// Its logarithm, without bias for normal noise.
    log: f64,
    /// The sampling variance of the logarithm.
    variance: f64,
    /// The share of the scores, relative to the noise of all.
    of_scores: f64,
}

impl Own {
    /// `None` for a feature with less than one degree of freedom. `parameters` is the number that loadings and mean
    /// take, for methods without penalties.
    fn of(sums: &[f64], noise: f64, parameters: Option<f64>) -> Option<Self> {
        let [n, squares, of_column, shared, left, fourth] = *sums else { return None };
        let free = 1.0 - parameters.map_or(of_column, |parameters| parameters.min(n)) / n;
        let degrees = free * left * left / fourth;
        if degrees.is_nan() || degrees < 1.0 {
            return None;
        }
        let of_scores = shared / left;
        let ratio = squares / (free * left * noise) / (1.0 + of_scores);
        if !ratio.is_finite() {
            return None;
        }
        let bias = 1.0 / degrees + 1.0 / (3.0 * degrees * degrees);
        Some(Self {
            log: ratio.max(f64::MIN_POSITIVE).ln() + bias,
            variance: 2.0 / degrees + 2.0 / (degrees * degrees),
            of_scores,
        })
    }

    /// The noise of the feature relative to the noise of all, if logarithms vary by `spread` between features.
    fn noise(&self, spread: f64) -> f64 {
        let (size, error) = (self.log.abs(), self.variance.sqrt());
        let kept = (spread / (spread + self.variance) * size).max(size - error);
        let ratio = kept.copysign(self.log).exp();
        // A ratio below its standard error cannot be distinguished from zero.
        (ratio + self.of_scores * (ratio - 1.0)).max((ratio * (1.0 + self.of_scores) * error).min(1.0))
    }
}

impl IncompleteModel {
    /// The model with the noise of each feature, from `sums` over the entries that it was fitted to. A fit without error bars
    /// or without noise is returned as it is.
    pub(crate) fn with_noise_of_features(
        self,
        sums: impl FnOnce(&Self) -> Result<NoiseSums>,
    ) -> Result<Self> {
        let noise = self.noise_variance();
        if !(self.parts().options.error_bars && noise > 0.0) {
            return Ok(self);
        }
        let NoiseSums(sums) = sums(&self)?;
        let means = usize::from(self.parts().options.mean != MeanMode::None);
        let parameters = (self.n_components() + means) as f64;
        let parameters = self.is_flat().then_some(parameters);
        let own: Vec<Option<Own>> =
            (0..sums.n_rows()).map(|j| Own::of(sums.row(j), noise, parameters)).collect();
        let known = || own.iter().flatten();
        let excess: f64 = known().map(|own| own.log.abs().min(MOST).powi(2) - own.variance).sum();
        let spread = (excess / known().count().max(1) as f64).max(0.0);
        let of_feature = |own: &Option<Own>| noise * own.as_ref().map_or(1.0, |own| own.noise(spread));
        Ok(self
            .with_columns(|parts| parts.feature_noise_variance = Some(own.iter().map(of_feature).collect())))
    }
}
