//! Control limits of T² and of the squared prediction error.

use super::distributions::{beta_quantile, chi2_quantile, f_quantile, normal_quantile};
use super::samples::check_weights;
use crate::choice::{Choice, Named, plain_names};
use crate::error::{Error, OptionValue, Result, options};
use crate::pca::PcaModel;

/// The rows that a limit is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rows {
    /// Rows of the fit, whose scores and variances depend on one another.
    Fitted,
    /// New rows.
    #[default]
    New,
}

impl Choice for Rows {
    const TABLE: &'static [Named<Self>] = &[
        Named::new(Self::Fitted, "fitted", "Rows of the fit: limits by the beta distribution"),
        Named::new(Self::New, "new", "New rows: limits by the F distribution"),
    ];
}

plain_names!(Rows);

/// The limit that T² of normal rows exceeds with probability `1 - level`.
///
/// New rows: `k (n^2 - 1) / (n (n - k))` times the quantile of F with k and n - k degrees of freedom. Fitted rows:
/// `(n - 1)^2 / n` times the quantile of the beta distribution with shapes k / 2 and (n - k - 1) / 2. Tracy, Young & Mason
/// (1992), doi:10.1080/00224065.1992.12015232. `n` is the number of observations of the fit, `k` the number of components
/// with variance.
///
/// The level is exact for all components of normal rows. Variances along the leading components of few rows in many
/// dimensions are estimated too large, and fewer rows than `1 - level` exceed the limit.
///
/// # Errors
/// [`Error::Option`] for a level outside (0, 1); [`Error::Degenerate`] unless there are more observations than components
/// and one.
pub fn t2_limit(model: &PcaModel, level: f64, rows: Rows) -> Result<f64> {
    check_level(level)?;
    let k = model.explained_variance().iter().filter(|v| **v > 0.0).count() as f64;
    let n = model.n_observations();
    if k == 0.0 {
        return Ok(0.0);
    }
    if n <= k + 1.0 {
        let advice =
            "a limit of T² needs more observations than components and one; keep fewer components".into();
        return Err(Error::Degenerate {
            what: "number of degrees of freedom after component",
            index: k as usize,
            advice,
        });
    }
    Ok(match rows {
        Rows::New => k * (n * n - 1.0) / (n * (n - k)) * f_quantile(k, n - k, level),
        Rows::Fitted => (n - 1.0).powi(2) / n * beta_quantile(k / 2.0, (n - k - 1.0) / 2.0, level),
    })
}

/// An approximation of the distribution of the squared prediction error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SpeLimit {
    /// A multiple of chi-squared with the same mean and variance (Box 1954, doi:10.1214/aoms/1177728786).
    #[default]
    Box,
    /// A power of the error is nearly normal (Jackson & Mudholkar 1979, doi:10.1080/00401706.1979.10489779).
    JacksonMudholkar,
}

impl Choice for SpeLimit {
    const TABLE: &'static [Named<Self>] = &[
        Named::new(Self::Box, "box", "A multiple of chi-squared with the same mean and variance"),
        Named::new(Self::JacksonMudholkar, "jackson-mudholkar", "A power of the error is nearly normal"),
    ];
}

plain_names!(SpeLimit);

/// Sums of powers of the variances that a model discards, from which limits of the squared prediction error follow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpeDistribution {
    /// `sum l`, `sum l^2` and `sum l^3` of the discarded variances `l`.
    pub theta: [f64; 3],
}

impl SpeDistribution {
    /// From all discarded variances, with the divisor of the weighting.
    pub fn of_variances(discarded: &[f64]) -> Self {
        let power = |r: i32| discarded.iter().map(|l| l.powi(r)).sum();
        Self { theta: [power(1), power(2), power(3)] }
    }

    /// From the squared prediction errors of fitted rows, where only a part of the spectrum is known: cumulant `r` of the
    /// error of normal rows is `2^(r-1) (r-1)! theta_r`; the third comes from the first two, as of a multiple of
    /// chi-squared (Nomikos & MacGregor 1995, doi:10.1080/00401706.1995.10485888).
    ///
    /// # Errors
    /// [`Error::WeightLength`] unless there is one weight for each value.
    pub fn of_rows(spe: &[f64], weights: Option<&[f64]>) -> Result<Self> {
        check_weights(weights, spe.len())?;
        let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
        let total: f64 = (0..spe.len()).map(weight).sum();
        let mean = spe.iter().enumerate().map(|(i, q)| weight(i) * q).sum::<f64>() / total;
        let variance =
            spe.iter().enumerate().map(|(i, q)| weight(i) * (q - mean).powi(2)).sum::<f64>() / total;
        let second = variance / 2.0;
        let third = if mean > 0.0 { second * second / mean } else { 0.0 };
        Ok(Self { theta: [mean, second, third] })
    }

    /// The limit that the squared prediction error of normal rows exceeds with probability `1 - level`. Zero if nothing is
    /// discarded.
    ///
    /// # Errors
    /// [`Error::Option`] for a level outside (0, 1).
    pub fn limit(&self, level: f64, method: SpeLimit) -> Result<f64> {
        check_level(level)?;
        let [first, second, third] = self.theta;
        if first.is_nan() || first <= 0.0 {
            return Ok(0.0);
        }
        if second <= 0.0 {
            return Ok(first);
        }
        Ok(match method {
            SpeLimit::Box => second / first * chi2_quantile(first * first / second, level),
            SpeLimit::JacksonMudholkar => {
                let h = 1.0 - 2.0 * first * third / (3.0 * second * second);
                let z = normal_quantile(level);
                let root = z * (2.0 * second).sqrt() * h.abs() / first;
                // For negative powers large errors have small powers.
                let root = if h < 0.0 { -root } else { root };
                let base = 1.0 + root + second * h * (h - 1.0) / (first * first);
                first * base.max(0.0).powf(1.0 / h)
            }
        })
    }
}

fn check_level(level: f64) -> Result<()> {
    if level > 0.0 && level < 1.0 {
        return Ok(());
    }
    Err(Error::option(
        options::LEVEL,
        OptionValue::from(level),
        "a probability between 0 and 1, such as 0.95",
    ))
}
