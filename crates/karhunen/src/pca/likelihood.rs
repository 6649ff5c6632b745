//! The model as a Gaussian density: probabilistic PCA (Tipping & Bishop 1999, doi:10.1111/1467-9868.00196).

use crate::error::{Error, Result};
use crate::exec::Run;
use crate::linalg::Matrix;
use crate::linalg::decomp::eigh;
use crate::linalg::dense::small::t_multiply;
use crate::pca::{PcaModel, Transform};
use crate::scalar::{Scalar, compiled};
use crate::source::Source;

impl PcaModel {
    /// The covariance of the features under the model, in their own units, shape (n_features, n_features):
    /// `W' (L - s I) W + s I` with the variances `L` and the noise variance `s`, without scaling.
    ///
    /// # Errors
    /// [`Error::Degenerate`] if a feature weight is zero.
    pub fn covariance(&self) -> Result<Matrix> {
        let factor = self.positive_factors()?;
        let noise = self.noise_variance();
        let weights: Vec<f64> = self.explained_variance().iter().map(|v| v - noise).collect();
        Ok(self.spread(&weights, noise, |j| 1.0 / factor[j]))
    }

    /// The inverse of [`PcaModel::covariance`], by the matrix inversion lemma: no matrix is inverted.
    ///
    /// # Errors
    /// [`Error::Degenerate`] where the covariance is singular: a variance of zero, or no noise.
    pub fn precision(&self) -> Result<Matrix> {
        let factor = self.positive_factors()?;
        let noise_precision = self.noise_precision()?;
        let weights: Vec<f64> = self.explained_variance().iter().map(|v| 1.0 / v - noise_precision).collect();
        Ok(self.spread(&weights, noise_precision, |j| factor[j]))
    }

    /// The log-likelihood of each row under the model, shape (n_rows). One pass over `x`, and one over its mapped
    /// values.
    ///
    /// If a kept variance or the noise is zero, the covariance is singular. The value is then the log-density
    /// within the span of the components with variance, by the pseudo-inverse and the pseudo-determinant, and
    /// minus infinity for rows outside that span, up to rounding.
    ///
    /// # Errors
    /// As [`PcaModel::transform`]; [`Error::Degenerate`] if a feature weight is zero.
    pub fn score_samples<T: Scalar>(&self, x: &dyn Source<T>) -> Result<Vec<f64>> {
        self.score_samples_with(x, &Run::default())
    }

    /// As [`PcaModel::score_samples`], with threads and observer of `run`.
    ///
    /// # Errors
    /// As [`PcaModel::score_samples`], and [`Error::Stopped`] if the observer cancels.
    pub fn score_samples_with<T: Scalar>(&self, x: &dyn Source<T>, run: &Run<'_>) -> Result<Vec<f64>> {
        let score = compiled!(T, PcaModel::log_likelihoods::<T>
            => fn(&PcaModel, &dyn Source<T>, &Run<'_>) -> Result<Vec<f64>>);
        score(self, x, run)
    }

    fn log_likelihoods<T: Scalar>(&self, x: &dyn Source<T>, run: &Run<'_>) -> Result<Vec<f64>> {
        let factor = self.positive_factors()?;
        let (p, k, noise) = (self.n_features(), self.n_components(), self.noise_variance());
        // Variances are in descending order.
        let variances = self.explained_variance();
        let variances = &variances[..variances.iter().take_while(|&&v| v > 0.0).count()];
        let singular = variances.len() < k || (k < p && noise <= 0.0);
        let (rank, noise_precision) =
            if singular { (variances.len(), 0.0) } else { (p, if k < p { 1.0 / noise } else { 0.0 }) };
        let mut log_determinant: f64 = variances.iter().map(|v| v.ln()).sum();
        if singular {
            log_determinant += self.log_volume(variances.len())?;
        } else {
            log_determinant += (p - k) as f64 * if k < p { noise.ln() } else { 0.0 };
            log_determinant -= 2.0 * factor.iter().map(|f| f.ln()).sum::<f64>();
        }
        let constant = -0.5 * (rank as f64 * std::f64::consts::TAU.ln() + log_determinant);
        let relative = 4.0 * T::EPSILON + 16.0 * f64::EPSILON * p as f64;
        let rounded_mean: f64 =
            self.mean().iter().zip(factor).map(|(m, f)| (16.0 * f64::EPSILON * m * f).powi(2)).sum();
        let scores = self.transform_with(x, Transform::default(), run)?;
        let lengths = self.squared_lengths(x, run)?;
        Ok(lengths
            .iter()
            .enumerate()
            .map(|(i, length)| {
                let (mut inside, mut kept) = (0.0, 0.0);
                for (z, variance) in scores.row(i).iter().zip(variances) {
                    let square = z.to_f64() * z.to_f64();
                    inside += square / variance;
                    kept += square;
                }
                let rest = (length - kept).max(0.0);
                if singular && rest > relative * (length + self.total_variance()) + rounded_mean {
                    return f64::NEG_INFINITY;
                }
                constant - 0.5 * (inside + rest * noise_precision)
            })
            .collect())
    }

    /// Logarithm of the determinant of `W G^-2 W'`, with the first `rank` components `W` and the factors `G`: the
    /// squared volume, in the units of the features, of the unit cube along these components.
    fn log_volume(&self, rank: usize) -> Result<f64> {
        let factor = self.map().factor;
        if rank == 0 || factor.iter().all(|&f| f == 1.0) {
            return Ok(0.0);
        }
        let w = self.components();
        let product = |a: usize, b: usize| {
            w.row(a).iter().zip(w.row(b)).zip(factor).map(|((x, y), f)| x * y / (f * f)).sum()
        };
        Ok(eigh::eigh(&Matrix::from_fn(rank, rank, product))?.values.iter().map(|v| v.ln()).sum())
    }

    /// `G (W' diag(weights) W + rest I) G` with `G = diag(outer)`.
    fn spread(&self, weights: &[f64], rest: f64, outer: impl Fn(usize) -> f64) -> Matrix {
        let w = self.components();
        let weighted = Matrix::from_fn(w.n_rows(), w.n_cols(), |c, j| weights[c] * w[(c, j)]);
        let mut spread = t_multiply(w, &weighted);
        for j in 0..w.n_cols() {
            spread[(j, j)] += rest;
            for i in 0..=j {
                spread[(i, j)] *= outer(i) * outer(j);
            }
        }
        spread.mirror_upper();
        spread
    }

    fn positive_factors(&self) -> Result<&[f64]> {
        let factor = self.map().factor;
        match factor.iter().position(|&f| f == 0.0) {
            Some(column) => Err(Error::Degenerate {
                what: "feature weight",
                index: column,
                advice: "give every feature a positive weight".into(),
            }),
            None => Ok(factor),
        }
    }

    /// `1 / noise_variance`, or zero if all variance is explained.
    fn noise_precision(&self) -> Result<f64> {
        if let Some(index) = self.explained_variance().iter().position(|&v| v <= 0.0) {
            let advice = "keep fewer components than the rank of the data".into();
            return Err(Error::Degenerate { what: "explained variance of component", index, advice });
        }
        if self.n_components() == self.n_features() {
            return Ok(0.0);
        }
        if self.noise_variance() <= 0.0 {
            let advice = "keep fewer components, so that the discarded ones measure the noise".into();
            return Err(Error::Degenerate {
                what: "noise variance after component",
                index: self.n_components(),
                advice,
            });
        }
        Ok(1.0 / self.noise_variance())
    }
}
