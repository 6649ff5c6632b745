//! Errors of all choices, and the choices that they suggest.

use crate::incomplete::cross_validation::squares::{ColumnSums, Sums};
use crate::incomplete::cross_validation::{Candidate, apply};
use crate::incomplete::data::ColumnScales;
use crate::incomplete::options::{IncompletePca, Regularization};

/// Result of cross-validation for one choice of options.
///
/// Each entry that a fold holds out is predicted once, by the fit to the other entries. Errors are in the units of the
/// data; with `scale`, in standard deviations of the observed entries of each column. Squares are multiplied by the weights
/// of the entries, rows and features. Q² is `1 - PRESS / SS`, with the sum of squared errors of the held-out entries (the
/// predicted residual sum of squares) and their sum of squares about the means of all entries (about zero without a mean): 1
/// for exact predictions, and below zero for those that are worse than the means. R² is the same share of all entries, as
/// fitted to all of them. Folds are of entries, and not of rows: the scores of a row that is held out would need its
/// values (Bro, Kjeldahl, Smilde & Kiers 2008, doi:10.1007/s00216-007-1790-1).
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CrossValidated {
    /// The number of components.
    pub n_components: usize,
    /// The penalty; `None` for the default of the method.
    pub regularization: Option<Regularization>,
    /// Root mean squared error of each held-out fold.
    pub errors: Vec<f64>,
    /// Mean of `errors`.
    pub mean: f64,
    /// Standard error of `mean`: standard deviation of the errors over the square root of their number.
    pub standard_error: f64,
    /// Sum of the squared errors of all held-out entries (PRESS).
    pub press: f64,
    /// Mean squared error of prediction: `press` over the sum of the weights of the held-out entries.
    pub msep: f64,
    /// Standard error of `msep` over folds, as of a ratio of two sums (Cochran 1977, Sampling Techniques, section 2.11).
    pub msep_standard_error: f64,
    /// Share of the squares of held-out entries that is predicted. NaN if all features are constant.
    pub q2: f64,
    /// Share of the squares of all entries that the fit to all of them reproduces. NaN if all features are constant.
    pub r2: f64,
    /// Number of fits, to the other entries of each fold and to all entries, whose starts ended apart: their errors may be of a
    /// wrong optimum.
    #[cfg_attr(feature = "serde", serde(default))]
    pub n_apart: usize,
    /// Errors of each feature.
    pub features: FeatureErrors,
}

/// Errors of prediction of each feature, shape (n_features,) each, in its units: squares are in squared units of the data,
/// and neither scales nor weights of features enter. NaN for a feature whose entries no fold holds out.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FeatureErrors {
    /// Sum of squared errors of the held-out entries.
    pub press: Vec<f64>,
    /// Mean squared error of the held-out entries.
    pub msep: Vec<f64>,
    /// Standard error of `msep` over folds.
    pub msep_standard_error: Vec<f64>,
    /// Share of the squares of held-out entries that is predicted. NaN for a constant feature.
    pub q2: Vec<f64>,
    /// Share of the squares of all entries that the fit to all of them reproduces. NaN for a constant feature.
    pub r2: Vec<f64>,
}

impl CrossValidated {
    /// The errors of a choice, from its squared errors in the parts of `sums`, in the units of `scales`.
    pub(super) fn new(
        (n_components, regularization): Candidate,
        sums: &Sums,
        squares: &[&[f64]],
        scales: &ColumnScales,
    ) -> Self {
        let (folds, all) = sums.split();
        let (of_folds, of_all) = (&squares[..folds.len()], squares[folds.len()]);
        let totals: Vec<(f64, f64)> =
            folds.iter().zip(of_folds).map(|(fold, squares)| (squares.iter().sum(), fold.weight())).collect();
        let errors: Vec<f64> = totals.iter().map(|(squares, weight)| (squares / weight).sqrt()).collect();
        let n = errors.len() as f64;
        let mean = errors.iter().sum::<f64>() / n;
        let squares: f64 = errors.iter().map(|error| (error - mean).powi(2)).sum();
        let standard_error = (squares / (n - 1.0) / n).sqrt();
        let Ratio { sum: press, mean: msep, standard_error: msep_standard_error } = Ratio::of(&totals);
        let spread: f64 = folds.iter().flat_map(|fold| &fold.spread).sum();
        Self {
            n_components,
            regularization,
            errors,
            mean,
            standard_error,
            press,
            msep,
            msep_standard_error,
            q2: share(press, spread),
            r2: share(of_all.iter().sum(), all.spread.iter().sum()),
            n_apart: 0,
            features: FeatureErrors::new((folds, of_folds), (all, of_all), scales),
        }
    }

    /// Root mean squared error of prediction.
    pub fn rmse(&self) -> f64 {
        self.msep.sqrt()
    }

    /// Standard error of [`CrossValidated::rmse`], to first order: the standard error of `msep` over twice the root.
    pub fn rmse_standard_error(&self) -> f64 {
        if self.msep == 0.0 { 0.0 } else { self.msep_standard_error / (2.0 * self.rmse()) }
    }

    /// `pca` with these options.
    #[must_use]
    pub fn options(&self, pca: &IncompletePca) -> IncompletePca {
        apply(pca, (self.n_components, self.regularization))
    }

    /// Fewer components are simpler, then larger penalties.
    fn complexity(&self) -> (usize, f64) {
        let shrinkage = match self.regularization {
            Some(Regularization::Ridge(lambda) | Regularization::Weighted(lambda)) => lambda,
            _ => 0.0,
        };
        (self.n_components, -shrinkage)
    }
}

impl FeatureErrors {
    /// Of the squared errors of folds, and of all entries as fitted to all.
    fn new(
        (folds, of_folds): (&[ColumnSums], &[&[f64]]),
        (all, of_all): (&ColumnSums, &[f64]),
        scales: &ColumnScales,
    ) -> Self {
        let p = of_all.len();
        let mut places = vec![0_usize; folds.len()];
        let mut found = Self {
            press: Vec::with_capacity(p),
            msep: Vec::with_capacity(p),
            msep_standard_error: Vec::with_capacity(p),
            q2: Vec::with_capacity(p),
            r2: Vec::with_capacity(p),
        };
        let mut parts = Vec::with_capacity(places.len());
        for (j, of_all) in of_all.iter().enumerate() {
            parts.clear();
            let mut spread = 0.0;
            // The columns of each fold ascend.
            for ((fold, squares), at) in folds.iter().zip(of_folds).zip(&mut places) {
                let here = fold.columns.get(*at) == Some(&(j as u32));
                parts.push(if here { (squares[*at], fold.weights[*at]) } else { (0.0, 0.0) });
                spread += if here { fold.spread[*at] } else { 0.0 };
                *at += usize::from(here);
            }
            let unit = scales.factor(j).powi(2);
            let Ratio { sum, mean, standard_error } = Ratio::of(&parts);
            found.press.push(if mean.is_nan() { f64::NAN } else { sum / unit });
            found.msep.push(mean / unit);
            found.msep_standard_error.push(standard_error / unit);
            found.q2.push(share(sum, spread));
            found.r2.push(share(*of_all, all.spread[j]));
        }
        found
    }
}

/// `1 - squares / spread`; NaN for no spread.
fn share(squares: f64, spread: f64) -> f64 {
    if spread > 0.0 { 1.0 - squares / spread } else { f64::NAN }
}

/// A ratio of sums over folds.
struct Ratio {
    sum: f64,
    mean: f64,
    standard_error: f64,
}

impl Ratio {
    /// Of squares and weights of each fold: the sum of the squares, its ratio to the sum of the weights, and the
    /// standard error of the ratio. A mean without weight is NaN.
    fn of(folds: &[(f64, f64)]) -> Self {
        let n = folds.len() as f64;
        let (sum, weight) = folds.iter().fold((0.0, 0.0), |total, fold| (total.0 + fold.0, total.1 + fold.1));
        let mean = sum / weight;
        let squares: f64 = folds.iter().map(|(squares, w)| ((squares - mean * w) / weight).powi(2)).sum();
        Self { sum, mean, standard_error: (squares * n / (n - 1.0)).sqrt() }
    }
}

/// The errors of all choices, in the order of the grid: components first, penalties within.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct CrossValidationTable {
    /// Never empty.
    choices: Vec<CrossValidated>,
    without_components: CrossValidated,
}

impl CrossValidationTable {
    pub(super) fn new(choices: Vec<CrossValidated>, without_components: CrossValidated) -> Self {
        Self { choices, without_components }
    }

    /// Every choice.
    pub fn choices(&self) -> &[CrossValidated] {
        &self.choices
    }

    /// The errors of no component: held-out entries are predicted by the weighted means of the other entries of their columns,
    /// or by zero without a mean.
    pub fn without_components(&self) -> &CrossValidated {
        &self.without_components
    }

    /// The choice with the lowest mean squared error, hence the highest Q², or [`CrossValidationTable::without_components`] if
    /// none is better; NaN is the worst error.
    pub fn best(&self) -> &CrossValidated {
        let is_better = |other: &CrossValidated, best: &CrossValidated| {
            other.msep < best.msep || best.msep.is_nan() && !other.msep.is_nan()
        };
        let means = &self.without_components;
        self.choices.iter().fold(means, |best, other| if is_better(other, best) { other } else { best })
    }

    /// The simplest choice whose mean squared error is within one standard error of the lowest: no components, the fewest
    /// components, then the largest penalty.
    pub fn simplest(&self) -> &CrossValidated {
        let best = self.best();
        let bound = best.msep + best.msep_standard_error;
        let all = self.choices.iter().chain([&self.without_components]);
        all.filter(|choice| choice.msep <= bound).fold(best, |simplest, other| {
            let ((c, shrinkage), (other_c, other_shrinkage)) = (simplest.complexity(), other.complexity());
            if (other_c, other_shrinkage) < (c, shrinkage) { other } else { simplest }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_that_is_not_a_number_is_the_worst() {
        let choice = |c, msep| CrossValidated {
            n_components: c,
            regularization: None,
            errors: vec![msep, msep],
            mean: msep,
            standard_error: 0.0,
            press: msep,
            msep,
            msep_standard_error: 0.0,
            q2: f64::NAN,
            r2: f64::NAN,
            n_apart: 0,
            features: FeatureErrors {
                press: Vec::new(),
                msep: Vec::new(),
                msep_standard_error: Vec::new(),
                q2: Vec::new(),
                r2: Vec::new(),
            },
        };
        for errors in [[f64::NAN, 2.0, 1.0], [1.0, f64::NAN, 2.0], [f64::NAN, f64::INFINITY, 1.0]] {
            let choices = errors.iter().enumerate().map(|(c, msep)| choice(c, *msep)).collect();
            let table = CrossValidationTable::new(choices, choice(0, 9.0));
            assert_eq!((table.best().msep, table.simplest().msep), (1.0, 1.0), "{errors:?}");
        }
        // Means that predict as well as the best are the simplest, and the best if nothing is better.
        let error = |c, msep, msep_standard_error| CrossValidated { msep_standard_error, ..choice(c, msep) };
        for (errors, best, simplest) in [([2.0, 1.0], 2, 1), ([2.0, 3.5], 1, 0), ([4.0, 5.0], 0, 0)] {
            let choices = errors.iter().enumerate().map(|(c, msep)| error(c + 1, *msep, 1.5)).collect();
            let table = CrossValidationTable::new(choices, error(0, 3.0, 1.5));
            assert_eq!(
                (table.best().n_components, table.simplest().n_components),
                (best, simplest),
                "{errors:?}"
            );
        }
    }

    #[test]
    fn the_standard_error_of_equal_folds_follows_from_their_means() {
        let folds = [(2.0, 4.0), (6.0, 4.0), (4.0, 4.0)];
        let Ratio { sum, mean, standard_error } = Ratio::of(&folds);
        assert_eq!((sum, mean), (12.0, 1.0));
        // Means 0.5, 1.5 and 1: standard deviation 0.5.
        assert!((standard_error - 0.5 / 3f64.sqrt()).abs() < 1e-15);
        assert!(Ratio::of(&[(0.0, 0.0), (0.0, 0.0)]).mean.is_nan());
    }
}
