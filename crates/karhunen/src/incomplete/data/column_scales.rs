//! Scales and weights of columns: entries in the units of a fit are `x_ij sqrt(c_j) / d_j`.

use std::borrow::Cow;
use std::sync::Arc;

use crate::error::{Error, Result, options};
use crate::exec::{Exec, Run};
use crate::incomplete::data::{ENTRIES, Observed};
use crate::scalar::{Scalar, largest};
use crate::scaling::{Scales, Scaling, is_count};
use crate::weights::check_feature_weights;

/// Number of columns per piece of work.
const COLUMNS: usize = 16;

/// Numbers `d` that divide the columns, and weights `c` of their squared residuals.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ColumnScales {
    /// Divisor of each column, positive; `None` if columns keep their units.
    pub scale: Option<Vec<f64>>,
    /// Weight of each column, positive; `None` if all are one.
    pub weights: Option<Vec<f64>>,
}

impl ColumnScales {
    /// Scales of a fit: by `scaling` from the observed entries of each column, and the feature weights of the entries.
    /// Deviations are about the mean, or about zero unless `centred`; their divisor is the number of entries less one. A
    /// column that is constant or has one entry keeps its units, except by given numbers.
    ///
    /// # Errors
    /// [`Error::Shape`] and [`Error::ColumnValue`] for given numbers, and for a binomial scale of a mean that no counts out
    /// of two have; [`Error::NoCount`] for its entries; [`Error::Overflow`] for a scale beyond `f64`; [`Error::Stopped`].
    pub(crate) fn of<T: Scalar>(
        data: &Observed<T>,
        scaling: &Scaling,
        centred: bool,
        run: &Run<'_>,
    ) -> Result<Self> {
        let weights = data.feature_weights.as_deref().map(<[f64]>::to_vec);
        let p = data.n_features();
        scaling.check(p)?;
        match scaling {
            Scaling::None => return Ok(Self { scale: None, weights }),
            Scaling::Given(values) => return Ok(Self { scale: Some(values.clone()), weights }),
            Scaling::Binomial => check_counts(data)?,
            Scaling::Deviation | Scaling::Pareto | Scaling::Range => {}
        }
        let spreads = Spread::of_columns(data, centred, run)?;
        let ranges = spreads.iter().map(|spread| spread.range).collect::<Vec<_>>();
        let rule = Scales::new(scaling, 1.0, Some(&ranges));
        Self::by_rule(rule, weights, spreads.iter().map(|spread| (spread.deviation, spread.mean)))
    }

    /// Standard deviations of the entries of each column, zero for a column that is constant or has one entry.
    pub(crate) fn deviations<T: Scalar>(
        data: &Observed<T>,
        centred: bool,
        run: &Run<'_>,
    ) -> Result<Vec<f64>> {
        Ok(Spread::of_columns(data, centred, run)?.iter().map(|spread| spread.deviation).collect())
    }

    /// Scales by a rule from the deviation and the mean of each column.
    ///
    /// # Errors
    /// As [`ColumnScales::of`].
    pub(crate) fn by_rule(
        rule: Scales<'_>,
        weights: Option<Vec<f64>>,
        columns: impl Iterator<Item = (f64, f64)>,
    ) -> Result<Self> {
        let scales = columns.enumerate().map(|(j, (deviation, mean))| {
            let scale = rule.of_column(j, deviation, mean)?;
            if scale.is_finite() { Ok(scale) } else { Err(Error::Overflow { statistic: "scale", column: j }) }
        });
        Ok(Self { scale: Some(scales.collect::<Result<_>>()?), weights })
    }

    /// Returns true if entries are in the units of the fit as they are.
    pub(crate) fn are_one(&self) -> bool {
        self.scale.is_none() && self.weights.is_none()
    }

    /// `sqrt(c_j) / d_j`.
    pub(crate) fn factor(&self, column: usize) -> f64 {
        let of = |values: &Option<Vec<f64>>| values.as_ref().map_or(1.0, |values| values[column]);
        of(&self.weights).sqrt() / of(&self.scale)
    }

    /// The factors of all columns.
    pub(crate) fn factors(&self, n_features: usize) -> Vec<f64> {
        (0..n_features).map(|column| self.factor(column)).collect()
    }

    /// Multiplies a value of each column by its factor.
    pub(crate) fn apply(&self, values: &mut [f64]) {
        values.iter_mut().enumerate().for_each(|(column, value)| *value *= self.factor(column));
    }

    /// Entries in the units of the fit; those given if they are that already.
    ///
    /// # Errors
    /// [`Error::Shape`] for another number of columns; [`Error::Stopped`].
    pub(crate) fn of_entries<'a, T: Scalar>(
        &self,
        data: &'a Observed<T>,
        n_features: usize,
        run: &Run<'_>,
    ) -> Result<Cow<'a, Observed<T>>> {
        let found = data.n_features();
        if found != n_features {
            return Err(Error::Shape { what: "the data", axis: "columns", found, expected: n_features });
        }
        if self.are_one() {
            return Ok(Cow::Borrowed(data));
        }
        let factors = self.factors(n_features);
        Exec::run(run, |exec| data.multiplied(&factors, &exec.phase(ENTRIES)).map(Cow::Owned))
    }
}

/// Refuses weights of columns that are not positive, or not one for each of `n_features`.
pub(crate) fn check_positive_weights(weights: &[f64], n_features: usize) -> Result<()> {
    check_feature_weights(Some(weights), n_features)?;
    match weights.iter().position(|c| *c == 0.0) {
        Some(column) => Err(Error::option(
            options::FEATURE_WEIGHTS,
            0.0,
            format!("the weight of column {column} is zero, so the fit says nothing of it; leave it out"),
        )),
        None => Ok(()),
    }
}

impl<T: Scalar> Observed<T> {
    /// Sets a weight for each column, shape (n_features,), which multiplies its squared residuals: in the fit, entries of
    /// column j are multiplied by `sqrt(c_j)`, as entries of complete data are by
    /// [`Weights::features`](crate::Weights).
    ///
    /// # Errors
    /// [`Error::WeightLength`]; [`Error::WeightValue`] for a weight that is negative or not finite; [`Error::Option`] for
    /// zero.
    pub fn with_feature_weights(self, weights: &[f64]) -> Result<Self> {
        check_positive_weights(weights, self.n_features())?;
        Ok(Self { feature_weights: Some(weights.into()), ..self })
    }

    /// The entries of each column times its factor, without weights of columns.
    pub(crate) fn multiplied(&self, factors: &[f64], exec: &Exec<'_>) -> Result<Self> {
        Ok(Self {
            rows: self.rows.multiplied(|_, column| factors[column], &exec.part(0.0, 0.5))?,
            columns: self.columns.multiplied(|column, _| factors[column], &exec.part(0.5, 1.0))?,
            multiplicity: self.multiplicity.clone(),
            feature_weights: None,
        })
    }

    /// The weights of the columns, if set.
    pub fn feature_weights(&self) -> Option<&[f64]> {
        self.feature_weights.as_deref()
    }

    /// Copies multiplicities and feature weights of entries of the same rows and columns.
    pub(crate) fn with_weights_of(self, other: &Self) -> Self {
        let feature_weights = other.feature_weights.clone();
        Self { feature_weights, ..self.with_multiplicity(other.multiplicity.as_ref().map(Arc::clone)) }
    }
}

/// Statistics of a column, of which each rule takes one as the divisor.
#[derive(Clone, Copy, Debug, Default)]
struct Spread {
    /// Standard deviation of the entries, zero if they are constant or there is one.
    deviation: f64,
    mean: f64,
    /// The largest less the smallest entry.
    range: f64,
}

/// Refuses entries that are not counts out of two.
///
/// # Errors
/// [`Error::NoCount`] for the first one, in the order of rows.
fn check_counts<T: Scalar>(data: &Observed<T>) -> Result<()> {
    for row in 0..data.n_samples() {
        let line = data.rows.line(row);
        if let Some(e) = line.values.iter().position(|value| !is_count(value.to_f64())) {
            let (column, value) = (line.indices[e] as usize, line.values[e].to_f64());
            return Err(Error::NoCount { row, column, value });
        }
    }
    Ok(())
}

impl Spread {
    fn of_columns<T: Scalar>(data: &Observed<T>, centred: bool, run: &Run<'_>) -> Result<Vec<Self>> {
        let mut spreads = vec![Self::default(); data.n_features()];
        Exec::run(run, |exec| {
            exec.phase("scales").fill(&mut spreads, COLUMNS, |piece, out| {
                for (at, out) in out.iter_mut().enumerate() {
                    *out = Self::of(data, piece * COLUMNS + at, centred);
                }
                Ok(())
            })
        })?;
        Ok(spreads)
    }

    /// Of the entries with weight, deviations about the mean, or about zero unless `centred`.
    fn of<T: Scalar>(data: &Observed<T>, column: usize, centred: bool) -> Self {
        let line = data.columns.line(column);
        let weight = |e: usize| line.weights.map_or(1.0, |w| w[e].to_f64());
        let entries: Vec<usize> = (0..line.values.len()).filter(|e| weight(*e) > 0.0).collect();
        let Some(first) = entries.first() else { return Self::default() };
        // About the first entry: a constant column has deviations of exactly zero.
        let first = line.values[*first].to_f64();
        let origin = if centred { first } else { 0.0 };
        let away = |e: &usize| line.values[*e].to_f64() - origin;
        let size = largest(entries.iter().map(|e| away(e).abs()));
        if size == 0.0 {
            return Self { mean: origin, ..Self::default() };
        }
        let total: f64 = entries.iter().map(|e| weight(*e)).sum();
        let mean_of = |of: &dyn Fn(f64) -> f64| {
            entries.iter().map(|e| weight(*e) * of(away(e) / size)).sum::<f64>() / total
        };
        let mean = mean_of(&|x| x);
        let about = if centred { mean } else { 0.0 };
        let count = data.total_in_column(column);
        let deviation = if count > 1.0 {
            size * (mean_of(&|x| (x - about).powi(2)) * count / (count - 1.0)).sqrt()
        } else {
            0.0
        };
        let value = |e: &usize| line.values[*e].to_f64();
        let range = largest(entries.iter().map(|e| value(e) - first))
            + largest(entries.iter().map(|e| first - value(e)));
        Self { deviation, mean: origin + size * mean, range }
    }
}
