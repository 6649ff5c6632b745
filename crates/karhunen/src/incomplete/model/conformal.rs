//! Intervals from the errors of entries that a fit has held out (`docs/missing-values-variational.md`).

use statrs::function::erf::erf_inv;

use crate::error::{Error, Result, options};
use crate::exec::Run;
use crate::incomplete::data::Observed;
use crate::incomplete::model::IncompleteModel;
use crate::scalar::Scalar;

/// Errors of the entries that a fit has held out, relative to the standard deviations of new observations, absolute and
/// ascending.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conformal<'a> {
    errors: &'a [f64],
}

impl Conformal<'_> {
    /// Number of entries held out.
    pub fn n_entries(&self) -> usize {
        self.errors.len()
    }

    /// The share of them within so many standard deviations of their predictions.
    pub fn coverage(&self, factor: f64) -> f64 {
        self.errors.partition_point(|error| *error <= factor) as f64 / self.errors.len() as f64
    }

    /// The number of standard deviations on both sides of a prediction within which a new observation lies with probability
    /// `level` or more: the `ceil((n + 1) level)`-th smallest error of n (Lei et al. 2018, theorem 2.2). It holds for an entry
    /// that is missing completely at random, as the entries held out are, over the choice of both; not for each row or column.
    ///
    /// # Errors
    /// [`Error::Option`] for a level outside (0, 1), and one above n / (n + 1), which n errors cannot give.
    pub fn factor(&self, level: f64) -> Result<f64> {
        check_level(level)?;
        let n = self.errors.len();
        // Rounding up by rounding error would take one entry too many.
        let rank = ((n + 1) as f64 * level * (1.0 - f64::EPSILON)).ceil() as usize;
        self.errors.get(rank.max(1) - 1).copied().ok_or_else(|| {
            // Rounded down.
            let most = (1e4 * n as f64 / (n + 1) as f64).floor() / 1e4;
            let rule = format!("errors of {n} entries held out give intervals up to the level {most}");
            Error::option(options::LEVEL, level, rule)
        })
    }
}

fn check_level(level: f64) -> Result<()> {
    if level > 0.0 && level < 1.0 {
        return Ok(());
    }
    Err(Error::option(options::LEVEL, level, "a level lies between 0 and 1, both excluded"))
}

impl IncompleteModel {
    /// The errors of the entries that the fit has held out, with `conformal`.
    pub fn conformal(&self) -> Option<Conformal<'_>> {
        self.parts().conformal_errors.as_deref().map(|errors| Conformal { errors })
    }

    /// The number of standard deviations of a new observation on both sides of its prediction that make an interval of a level:
    /// [`Conformal::factor`] of a fit with `conformal`, otherwise the quantile of the normal distribution.
    ///
    /// # Errors
    /// As [`Conformal::factor`].
    pub fn interval_factor(&self, level: f64) -> Result<f64> {
        match self.conformal() {
            Some(conformal) => conformal.factor(level),
            None => check_level(level).map(|()| normal_factor(level)),
        }
    }

    /// The model with the errors of entries that it was not fitted to.
    ///
    /// # Errors
    /// [`Error::Option`] for a model without noise; errors of predictions.
    pub(crate) fn with_errors_of<T: Scalar>(self, held_out: &Observed<T>, run: &Run<'_>) -> Result<Self> {
        let (mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for row in 0..held_out.n_samples() {
            let (of_row, of_values) = held_out.row(row);
            rows.resize(rows.len() + of_row.len(), row as u32);
            columns.extend_from_slice(of_row);
            values.extend(of_values.iter().map(|value| value.to_f64()));
        }
        let found = self.predict_pairs(&rows, &columns, Some(true), run)?;
        let mut errors: Vec<f64> =
            (0..values.len()).map(|e| (values[e] - found[(e, 0)]).abs() / found[(e, 1)]).collect();
        errors.sort_by(f64::total_cmp);
        if !errors.iter().all(|error| error.is_finite()) {
            let rule = "the model has no noise, so that errors cannot be related to it";
            return Err(Error::option(options::CONFORMAL, self.parts().options.conformal, rule));
        }
        Ok(self.with_columns(|parts| parts.conformal_errors = Some(errors)))
    }
}

/// The number of standard deviations on both sides of the mean of a normal variable that it lies within with probability `level`.
fn normal_factor(level: f64) -> f64 {
    std::f64::consts::SQRT_2 * erf_inv(level)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_order_statistics() {
        let errors: Vec<f64> = (1..=19).map(f64::from).collect();
        let conformal = Conformal { errors: &errors };
        // 20 * 0.95 = 19, 20 * 0.5 = 10.
        assert_eq!(
            [0.01, 0.5, 0.51, 0.95].map(|level| conformal.factor(level).unwrap()),
            [1.0, 10.0, 11.0, 19.0]
        );
        assert_eq!([0.5, 9.0, 20.0].map(|factor| conformal.coverage(factor)), [0.0, 9.0 / 19.0, 1.0]);
        for level in [0.951, 0.0, 1.0, f64::NAN] {
            assert!(conformal.factor(level).is_err(), "{level}");
        }
    }

    #[test]
    fn normal_factors_match_the_tables() {
        for (level, expected) in
            [(0.5, 0.674_489_750_196), (0.95, 1.959_963_984_54), (0.999, 3.290_526_731_49)]
        {
            assert!((normal_factor(level) - expected).abs() < 1e-9, "{level}");
        }
    }
}
