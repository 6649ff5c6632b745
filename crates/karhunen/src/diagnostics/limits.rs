//! Control limits of T² and of the squared prediction error.

use super::distributions::{
    beta_quantile, beta_upper, chi2_quantile, f_quantile, f_upper, normal_lower, normal_quantile,
    t_lower_quantile, t_upper,
};
use crate::choice::{Choice, Named, plain_names};
use crate::error::{Error, OptionValue, Result, options};
use crate::incomplete::{ROUNDING, is_rounding};
use crate::pca::PcaModel;
use crate::selection::check_given;
use crate::weights::{NormalizedWeights, Weighting};

/// Deviations beyond which levels are one to rounding.
const MOST_DEVIATIONS: f64 = 8.0;

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
        Named::new(Self::Fitted, "fitted", "Rows of the fit: T² by the beta distribution, errors of the fit"),
        Named::new(Self::New, "new", "New rows: T² by the F distribution, errors of rows left out"),
    ];
}

plain_names!(Rows);

/// The limit that T² of normal rows exceeds with probability `1 - level`.
///
/// New rows: `k (n^2 - 1) / (n (n - k))` times the quantile of F with k and n - k degrees of freedom. Fitted rows:
/// `(n - 1)^2 / n` times the quantile of the beta distribution with shapes k / 2 and (n - k - 1) / 2. Tracy, Young & Mason
/// (1992), doi:10.1080/00224065.1992.12015232. `n` is the number of observations of the fit ([`PcaModel::n_observations`]), `k`
/// the number of components with variance. Variances of a population have the divisor n instead of n - 1, and T² and its
/// limit are larger by `n / (n - 1)`.
///
/// The level is exact for all components of normal rows. Variances along the leading components of few rows in many
/// dimensions are estimated too large, and fewer rows than `1 - level` exceed the limit, unless it is multiplied by
/// [`LeftOut::t2_factor`](super::LeftOut::t2_factor), which needs the rows of the fit. Rows are taken for independent: more
/// than that share of the rows of a series exceed it ([`t2_limit_by`]).
///
/// # Errors
/// [`Error::Option`] for a level outside (0, 1); [`Error::Degenerate`] unless there are more observations than components
/// and one.
pub fn t2_limit(model: &PcaModel, level: f64, rows: Rows) -> Result<f64> {
    t2_limit_by(model, model.n_observations(), level, rows)
}

/// As [`t2_limit`], of a fit of rows that depend on one another, such as a series, and are worth `n` independent ones.
///
/// # Errors
/// As [`t2_limit`], and [`Error::Option`] for less than two observations.
pub fn t2_limit_by(model: &PcaModel, n: f64, level: f64, rows: Rows) -> Result<f64> {
    check_given(n)?;
    let k = model.explained_variance().iter().filter(|v| **v > 0.0).count() as f64;
    let limit = t2_limit_of(k, n, level, rows)?;
    let divided = model.divisor() / model.n_observations();
    Ok(if k == 0.0 { limit } else { limit * divided * n / (n - 1.0) })
}

/// As [`t2_limit`], of `k` components of a fit of `n` observations.
pub(super) fn t2_limit_of(k: f64, n: f64, level: f64, rows: Rows) -> Result<f64> {
    check_level(level)?;
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

/// The distribution of the squared prediction error of normal rows, whose cumulants follow from the variances `l` that a
/// model discards: cumulant `r` is `2^(r-1) (r-1)! sum l^r`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpeDistribution {
    /// `sum l`: the mean of the error. Zero if nothing is discarded.
    pub mean: f64,
    /// `sum l^2` over the squared mean.
    pub second: f64,
    /// `sum l^3` over the cubed mean.
    pub third: f64,
    /// Number of observations from whose errors the cumulants are estimated for others; infinite if they are known, or the
    /// rows are the same.
    pub n_observations: f64,
}

impl SpeDistribution {
    /// From all discarded variances, with the divisor of the weighting. New rows exceed the limit more often than they should
    /// unless the fit has many times more rows than columns: its plane has minimised these variances.
    pub fn of_variances(discarded: &[f64]) -> Self {
        let mean: f64 = discarded.iter().sum();
        let power = |r: i32| discarded.iter().map(|l| (l / mean).powi(r)).sum();
        if mean > 0.0 {
            Self { mean, second: power(2), third: power(3), n_observations: f64::INFINITY }
        } else {
            Self::NOTHING
        }
    }

    /// From the squared prediction errors of fitted rows and their squared distances to the mean, for the same rows. The third
    /// cumulant comes from the first two, as of a multiple of chi-squared (Nomikos & MacGregor 1995,
    /// doi:10.1080/00401706.1995.10485888). Errors within rounding of the distances count as zero.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there are as many distances as errors; [`Error::WeightLength`], [`Error::WeightValue`] and
    /// [`Error::WeightsAllZero`] as a fit.
    pub fn of_rows(spe: &[f64], distance2: &[f64], weights: Option<&[f64]>) -> Result<Self> {
        let (what, axis, found, expected) = ("the squared distances", "rows", distance2.len(), spe.len());
        if found != expected {
            return Err(Error::Shape { what, axis, found, expected });
        }
        let NormalizedWeights { values, totals } = NormalizedWeights::new(weights, spe.len())?;
        let weight = |i: usize| values.as_ref().map_or(1.0 / totals.sum, |v| v[i]);
        let mean_of = |f: &dyn Fn(usize) -> f64| (0..spe.len()).map(|i| weight(i) * f(i)).sum::<f64>();
        let (mean, distance) = (mean_of(&|i| spe[i]), mean_of(&|i| distance2[i]));
        // A model of all variance leaves rounding errors, which normal rows exceed as often as not.
        if is_rounding(mean, distance) {
            return Ok(Self::NOTHING);
        }
        let second = mean_of(&|i| (spe[i] / mean - 1.0).powi(2)) / 2.0;
        // Equal errors, as of a factorial design, differ by rounding.
        let second = second.max(ROUNDING * (distance / mean).powi(2));
        Ok(Self { mean, second, third: second * second, n_observations: f64::INFINITY })
    }

    /// From the squared prediction errors that rows have under fits without them ([`left_out`](super::left_out())) and their
    /// squared distances to the mean, for new rows. Weights are the weights of the fit, with their meaning.
    ///
    /// # Errors
    /// As [`SpeDistribution::of_rows`].
    pub fn of_left_out(
        errors: &[f64],
        distance2: &[f64],
        (weights, weighting): (Option<&[f64]>, Weighting),
    ) -> Result<Self> {
        let of_rows = Self::of_rows(errors, distance2, weights)?;
        let n = NormalizedWeights::new(weights, errors.len())?.totals.n_observations(weighting);
        if of_rows.mean == 0.0 || n <= 1.0 {
            return Ok(Self::NOTHING);
        }
        let second = of_rows.second * n / (n - 1.0);
        Ok(Self { second, third: second * second, n_observations: n, ..of_rows })
    }

    /// Nothing is discarded.
    const NOTHING: Self = Self { mean: 0.0, second: 0.0, third: 0.0, n_observations: f64::INFINITY };

    /// The limit that the squared prediction error of normal rows exceeds with probability `1 - level`. Infinite if nothing
    /// is discarded: all errors are rounding then.
    ///
    /// If mean and variance are estimated for other rows, the limit is taken at a larger level. The deviate of the
    /// level is the deviate of t times `sqrt(1 + 1 / n)`, as in a prediction interval of normal values, and t has as
    /// many degrees of freedom as the variance of n multiples of chi-squared: `(n - 1) / (1 + 6 second)`, by their
    /// fourth moment.
    ///
    /// # Errors
    /// [`Error::Option`] for a level outside (0, 1).
    pub fn limit(&self, level: f64, method: SpeLimit) -> Result<f64> {
        check_level(level)?;
        let Self { mean, second, third, n_observations } = *self;
        if mean == 0.0 {
            return Ok(f64::INFINITY);
        }
        if second == 0.0 {
            return Ok(mean);
        }
        Ok(match method {
            SpeLimit::Box => {
                mean * second * chi2_quantile(1.0 / second, level_of(level, second, n_observations))
            }
            SpeLimit::JacksonMudholkar => {
                let h = 1.0 - 2.0 * third / (3.0 * second * second);
                let root = deviate(level, second, n_observations) * (2.0 * second).sqrt() * h.abs();
                // For negative powers large errors have small powers.
                let root = if h < 0.0 { -root } else { root };
                let base = 1.0 + root + second * h * (h - 1.0);
                mean * base.max(0.0).powf(1.0 / h)
            }
        })
    }
}

/// The number of standard deviations within which a normal variable lies with probability `level`, if mean and variance
/// come from `n` values whose variance over twice the squared mean is `second`.
fn deviate(level: f64, second: f64, n: f64) -> f64 {
    if n.is_infinite() {
        return normal_quantile(level);
    }
    let deviate = t_lower_quantile(degrees_of(second, n), level) * (1.0 + 1.0 / n).sqrt();
    deviate.clamp(-MOST_DEVIATIONS, MOST_DEVIATIONS)
}

/// Degrees of freedom of a variance of `n` multiples of chi-squared.
fn degrees_of(second: f64, n: f64) -> f64 {
    (n - 1.0) / (1.0 + 6.0 * second)
}

/// The inverse of [`level_of`], of upper tails.
pub(super) fn tail_of(tail: f64, second: f64, n: f64) -> f64 {
    if n.is_infinite() {
        return tail;
    }
    t_upper(-normal_quantile(tail) / (1.0 + 1.0 / n).sqrt(), degrees_of(second, n))
}

/// The level at which known mean and variance have the deviate of estimated ones.
pub(super) fn level_of(level: f64, second: f64, n: f64) -> f64 {
    if n.is_infinite() { level } else { normal_lower(deviate(level, second, n)) }
}

/// Probability that T² of a normal row, of `k` components and a fit of `n` observations, exceeds `t2`; NaN where it has no
/// distribution.
pub(super) fn t2_tail(k: f64, n: f64, t2: f64, rows: Rows) -> f64 {
    if k == 0.0 || n <= k + 1.0 {
        return f64::NAN;
    }
    match rows {
        Rows::New => f_upper(t2 * n * (n - k) / (k * (n * n - 1.0)), k, n - k),
        Rows::Fitted => beta_upper(t2 * n / (n - 1.0).powi(2), k / 2.0, (n - k - 1.0) / 2.0),
    }
}

pub(super) fn check_level(level: f64) -> Result<()> {
    if level > 0.0 && level < 1.0 {
        return Ok(());
    }
    Err(Error::option(
        options::LEVEL,
        OptionValue::from(level),
        "a probability between 0 and 1, such as 0.95",
    ))
}
