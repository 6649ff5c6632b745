//! Meanings of sample weights, and the divisor of each.

use crate::choice::{Choice, Named, plain_names};
use crate::error::{Error, OptionValue, Phrase, Result, Weighed, options};
use crate::scalar;

/// The meaning of a sample weight, which decides the divisor of every reported variance.
///
/// With unit weights, [`Weighting::Frequency`] and [`Weighting::Importance`] both give n - 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weighting {
    /// Row i was seen `w_i` times: the result equals PCA of the repeated rows. Divisor `s - 1`, `s` the sum of
    /// weights; `s` must be at least 2, so weights normalised to sum to one are refused.
    #[default]
    Frequency,
    /// Relative importance or inverse variance: a constant factor changes nothing. The population variance is
    /// divided by `1 - sum(v^2)`, `v = w / s`.
    Importance,
    /// The weighted rows are the whole population: divisor `s`.
    Population,
}

impl Choice for Weighting {
    const TABLE: &'static [Named<Self>] = &[
        Named::new(Self::Frequency, "frequency", "Times each row was seen; divisor: their sum - 1"),
        Named::new(Self::Importance, "importance", "Relative importance; a constant factor changes nothing"),
        Named::new(
            Self::Population,
            "population",
            "The weighted rows are the whole population; divisor: the sum",
        ),
    ];
}

plain_names!(Weighting);

impl Weighting {
    /// A note about weights that are to count observations and are not whole numbers, such as weights of a survey: standard
    /// errors, limits, tests and rules then go by their sum, and under another meaning by the effective number
    /// $(\sum w)^2 / \sum w^2$ (Kish 1965). `None` for whole numbers to six digits, however large: a table of cells has such
    /// counts. `None` also for other meanings, and for weights that a fit refuses.
    ///
    /// ```
    /// use karhunen::Weighting;
    /// let note = Weighting::Frequency.note(&[512.5, 820.0, 91.3]).unwrap().to_string();
    /// assert!(note.contains("count as 1424 observations") && note.contains("weighting = importance"));
    /// assert_eq!(Weighting::Frequency.note(&[670.0, 4.0, 13.0]), None);
    /// assert_eq!(Weighting::Importance.note(&[512.5, 820.0, 91.3]), None);
    /// ```
    pub fn note(self, weights: &[f64]) -> Option<Phrase> {
        let is_whole = |w: &f64| (w - w.round()).abs() <= ROUNDING_OF_SUM * w.max(1.0);
        if self != Self::Frequency || weights.iter().all(is_whole) {
            return None;
        }
        let totals = NormalizedWeights::new(Some(weights), weights.len()).ok()?.totals;
        let shown = |x: f64| if x < 100.0 { format!("{x:.1}") } else { format!("{x:.0}") };
        let found = format!(
            "the weights are not whole numbers, and count as {} observations ({} rows); weights of a survey and other relative \
             weights need ",
            shown(totals.sum),
            totals.n_samples
        );
        let effective = format!(", and count as {}", shown(totals.effective()));
        Some(Phrase::new(found).setting(options::WEIGHTING, OptionValue::name("importance")).text(effective))
    }
}

/// Weights of a fit. By default every row and column has weight one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Weights<'a> {
    /// One finite weight >= 0 for each row.
    pub samples: Option<&'a [f64]>,
    /// One finite weight >= 0 for each column: standardized column j is multiplied by its square root.
    pub features: Option<&'a [f64]>,
}

impl<'a> Weights<'a> {
    /// Weights of the rows alone.
    pub fn of_samples(samples: &'a [f64]) -> Self {
        Self { samples: Some(samples), features: None }
    }
}

/// Least sum of frequency weights: the divisor `s - 1` of fewer than two observations would be mostly rounding.
const FEWEST_OBSERVATIONS: f64 = 2.0;
/// Relative rounding error allowed in the sum of weights, which may have been stored in single precision.
const ROUNDING_OF_SUM: f64 = 1e-6;

/// Sums over the weights of all rows; the divisors follow from them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Totals {
    /// Number of rows.
    pub(crate) n_samples: usize,
    /// `s`; infinite if it is beyond the range of f64.
    pub(crate) sum: f64,
    /// `s^(1/2)`, finite even where `s` is not.
    pub(crate) root_sum: f64,
    /// `sum(v^2)` with `v = w / s`, the inverse of the effective number of rows.
    pub(crate) sum_of_squares: f64,
    /// `1 - sum(v^2)`, accurate to all digits if the rows are known.
    pub(crate) rest_of_squares: f64,
    /// The row of the largest weight, if the rows are known.
    pub(crate) heaviest: Option<usize>,
    /// True if all weights are integers.
    pub(crate) whole: bool,
}

/// Checked sample weights: their totals and the normalised weights `v = w / s`.
#[derive(Clone, Debug)]
pub(crate) struct NormalizedWeights {
    /// `v`, or `None` if all weights are equal.
    pub(crate) values: Option<Vec<f64>>,
    pub(crate) totals: Totals,
}

impl NormalizedWeights {
    /// Checks the weights of `n` rows.
    pub(crate) fn new(weights: Option<&[f64]>, n: usize) -> Result<Self> {
        let Some(weights) = weights else {
            let sum = n as f64;
            let totals = Totals {
                n_samples: n,
                sum,
                root_sum: sum.sqrt(),
                sum_of_squares: 1.0 / sum,
                rest_of_squares: (sum - 1.0) / sum,
                heaviest: Some(0),
                whole: true,
            };
            return Ok(Self { values: None, totals });
        };
        let largest = largest(Weighed::Samples, weights, n)?;
        // Divided by the largest weight first, so that extreme weights neither overflow nor vanish in the sum.
        let relative_sum: f64 = weights.iter().map(|w| w / largest).sum();
        let values: Vec<f64> = weights.iter().map(|w| w / largest / relative_sum).collect();
        let sum: f64 = weights.iter().sum();
        let sum_of_squares = values.iter().map(|v| v * v).sum();
        let heaviest = weights.iter().position(|&w| w == largest);
        let rest_of_squares = importance_divisor(&values, 1.0);
        let whole = weights.iter().all(|w| w.fract() == 0.0);
        let root_sum = largest.sqrt() * relative_sum.sqrt();
        let totals = Totals { n_samples: n, sum, root_sum, sum_of_squares, rest_of_squares, heaviest, whole };
        Ok(Self { values: Some(values), totals })
    }
}

impl Totals {
    /// `f`, the ratio of the reported to the population variance, for each meaning of weights: `docs/moments.md`.
    pub(crate) fn correction(&self, weighting: Weighting) -> Result<f64> {
        let too_small = !counts_several(self.sum);
        match weighting {
            Weighting::Population => Ok(1.0),
            // No weights, or a single weight of one.
            _ if self.n_samples == 1 && self.sum == 1.0 => Err(Error::OneSample),
            Weighting::Frequency if too_small => Err(Error::FrequencyTooSmall { sum: self.sum }),
            Weighting::Frequency if self.sum.is_infinite() => Ok(1.0),
            Weighting::Frequency => Ok(self.sum / (self.sum - 1.0)),
            Weighting::Importance => {
                // Below it the rounding error of the heaviest row exceeds the other rows.
                const LEAST: f64 = 1e-20;
                if self.rest_of_squares <= LEAST {
                    return Err(Error::ImportanceSingle { row: self.heaviest });
                }
                Ok(1.0 / self.rest_of_squares)
            }
        }
    }

    /// The largest number of components: of the repeated rows if the weights count repetitions.
    pub(crate) fn all_components(&self, weighting: Weighting, (n, p): (usize, usize)) -> usize {
        if weighting == Weighting::Frequency && self.whole {
            // A conversion beyond the range of the integer saturates.
            return p.min(self.sum as usize);
        }
        n.min(p)
    }

    /// The number of observations that the weights represent: their sum if they count rows, and otherwise the effective
    /// number `s^2 / sum(w^2)` (Kish 1965), because a mean under weights is as uncertain as one of so many rows.
    pub(crate) fn n_observations(&self, weighting: Weighting) -> f64 {
        match weighting {
            Weighting::Frequency => self.sum,
            Weighting::Importance | Weighting::Population => self.effective(),
        }
    }

    /// The effective number of rows, `s^2 / sum(w^2)`.
    pub(crate) fn effective(&self) -> f64 {
        1.0 / self.sum_of_squares
    }

    /// The ratio of a singular value of the data to the population deviation along its component. Frequency and population
    /// weights multiply squares, so that it is the root of their sum.
    pub(crate) fn root_observations(&self, weighting: Weighting) -> f64 {
        match weighting {
            Weighting::Population | Weighting::Frequency => self.root_sum,
            Weighting::Importance => self.effective().sqrt(),
        }
    }
}

/// The divisor `s - sum(w^2) / s` of importance weights whose sum is `s`, as the sum of `w_i w_k / s` over pairs of different
/// rows: the difference would lose small weights next to a large one.
pub(crate) fn importance_divisor(weights: &[f64], s: f64) -> f64 {
    let (mut earlier, mut pairs) = (0.0, 0.0);
    for &weight in weights {
        pairs += weight * (earlier / s);
        earlier += weight;
    }
    if pairs > 0.0 { 2.0 * pairs } else { 0.0 }
}

/// Tests that frequency weights with this sum represent at least two observations.
pub(crate) fn counts_several(sum: f64) -> bool {
    sum >= FEWEST_OBSERVATIONS * (1.0 - ROUNDING_OF_SUM)
}

/// Checks the weights of `n` rows. All may be zero, because the rows may be a part of the data.
pub(crate) fn check_weights(weights: Option<&[f64]>, n: usize) -> Result<()> {
    weights.map_or(Ok(()), |weights| check(Weighed::Samples, weights, n))
}

/// Checks feature weights, one for each of `p` columns.
pub(crate) fn check_feature_weights(weights: Option<&[f64]>, p: usize) -> Result<()> {
    weights.map_or(Ok(()), |weights| largest(Weighed::Features, weights, p).map(|_| ()))
}

/// Checks length and values.
fn check(of: Weighed, weights: &[f64], expected: usize) -> Result<()> {
    if weights.len() != expected {
        return Err(Error::WeightLength { of, found: weights.len(), expected });
    }
    match weights.iter().position(|w| !w.is_finite() || *w < 0.0) {
        Some(index) => Err(Error::WeightValue { of, index, value: weights[index] }),
        None => Ok(()),
    }
}

/// Checks length and values; returns the largest weight, which is positive.
fn largest(of: Weighed, weights: &[f64], expected: usize) -> Result<f64> {
    check(of, weights, expected)?;
    match scalar::largest(weights.iter().copied()) {
        0.0 => Err(Error::WeightsAllZero { of, n: weights.len() }),
        largest => Ok(largest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divisors_of_the_three_meanings() {
        let checked = NormalizedWeights::new(Some(&[1.0, 2.0, 1.0]), 3).unwrap();
        assert_eq!(checked.totals.sum, 4.0);
        assert_eq!(checked.totals.correction(Weighting::Population).unwrap(), 1.0);
        assert_eq!(checked.totals.correction(Weighting::Frequency).unwrap(), 4.0 / 3.0);
        assert_eq!(checked.totals.correction(Weighting::Importance).unwrap(), 1.0 / (1.0 - 0.375));
        let unit = NormalizedWeights::new(None, 5).unwrap();
        assert_eq!(unit.totals.correction(Weighting::Frequency).unwrap(), 1.25);
        assert!((unit.totals.correction(Weighting::Importance).unwrap() - 1.25).abs() < 1e-15);
    }

    #[test]
    fn divisors_are_accurate_with_one_dominant_importance_weight() {
        for heaviest in [1e3, 1e10, 1e16, 1e19] {
            let weights = [1.0, 2.0, heaviest, 1.0];
            let checked = NormalizedWeights::new(Some(&weights), 4).unwrap();
            // `s^2 / (s^2 - sum(w^2))`, multiplied out.
            let sum = heaviest + 4.0;
            let expected = sum / (8.0 * heaviest / sum + 10.0 / sum);
            let found = checked.totals.correction(Weighting::Importance).unwrap();
            assert!((found / expected - 1.0).abs() < 1e-14, "{heaviest}: {found} {expected}");
        }
    }

    #[test]
    fn normalised_frequency_weights_are_refused_at_every_rounding() {
        let correction = |weights: &[f64]| {
            NormalizedWeights::new(Some(weights), weights.len())
                .unwrap()
                .totals
                .correction(Weighting::Frequency)
        };
        // Decimals kept: 17 and fewer.
        for n in 3..200 {
            for digits in [17, 7, 4, 3, 2] {
                let unit = 10.0_f64.powi(digits);
                let raw: Vec<f64> = (0..n).map(|i| 1.0 + (i * i % 17) as f64).collect();
                let sum: f64 = raw.iter().sum();
                let weights: Vec<f64> = raw.iter().map(|w| (w / sum * unit).round() / unit).collect();
                let total: f64 = weights.iter().sum();
                assert!((0.5..1.9).contains(&total), "{n} weights to {digits} digits sum to {total}");
                assert!(matches!(correction(&weights), Err(Error::FrequencyTooSmall { .. })), "{n} {digits}");
            }
        }
        assert!(correction(&[0.9, 0.9]).is_err());
        assert!((correction(&[2.0 / 3.0; 3]).unwrap() - 2.0).abs() < 1e-15);
        let single = f64::from(2.0_f32 / 3.0);
        assert!((correction(&[single; 3]).unwrap() - 2.0).abs() < 1e-6);
        assert_eq!(correction(&[1.0, 1.0]).unwrap(), 2.0);
    }

    #[test]
    fn extreme_weights_keep_their_normalised_values() {
        let checked = NormalizedWeights::new(Some(&[1e308, 1e308, 1e-300, 0.0]), 4).unwrap();
        assert_eq!(checked.totals.sum, f64::INFINITY);
        assert_eq!(checked.values.as_deref(), Some(&[0.5, 0.5, 0.0, 0.0][..]));
        assert_eq!(checked.totals.correction(Weighting::Frequency).unwrap(), 1.0);
    }

    #[test]
    fn errors_name_the_invalid_weight() {
        let message = |weights: &[f64]| NormalizedWeights::new(Some(weights), 3).unwrap_err().to_string();
        assert_eq!(
            message(&[1.0, -2.0, 1.0]),
            "sample weights: entry 1 is -2; a weight must be finite and not negative"
        );
        assert_eq!(
            message(&[1.0, 1.0, f64::NAN]),
            "sample weights: entry 2 is NaN; a weight must be finite and not negative"
        );
        assert_eq!(
            message(&[0.0; 3]),
            "sample weights: all 3 entries are zero; at least one must be positive"
        );
        assert_eq!(message(&[1.0; 4]), "there are 4 sample weights for 3 rows; give one weight for each row");
        let lonely = NormalizedWeights::new(Some(&[0.0, 1.0, 0.0]), 3).unwrap();
        assert!(matches!(
            lonely.totals.correction(Weighting::Frequency),
            Err(Error::FrequencyTooSmall { sum: 1.0 })
        ));
        for weighting in [Weighting::Frequency, Weighting::Importance] {
            let one = NormalizedWeights::new(None, 1).unwrap().totals;
            assert!(matches!(one.correction(weighting), Err(Error::OneSample)), "{weighting:?}");
        }
        assert!(matches!(
            lonely.totals.correction(Weighting::Importance),
            Err(Error::ImportanceSingle { row: Some(1) })
        ));
    }
}
