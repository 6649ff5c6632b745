//! Distances of rows with missing values within the plane of the components and to it, and the scale of the latter.

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::data::Observed;
use crate::incomplete::model::IncompleteModel;
use crate::incomplete::model::plane::{Plane, Row};
use crate::scalar::Scalar;
use crate::weights::NormalizedWeights;

/// Rows per piece of work.
const ROWS: usize = 64;
/// Numbers for each row.
const WIDTH: usize = 5;
/// Squared errors below this share of the squared distances are rounding.
pub(crate) const ROUNDING: f64 = 1e-24;

/// True for squared errors within rounding of squared distances.
pub(crate) fn is_rounding(spe: f64, distance2: f64) -> bool {
    spe.is_nan() || spe <= ROUNDING * distance2
}

/// Distances of rows, one value for each.
#[derive(Clone, Debug)]
pub(crate) struct RowDistances {
    pub(crate) t2: Vec<f64>,
    pub(crate) t2_degrees: Vec<usize>,
    /// Squared prediction errors.
    pub(crate) spe: Vec<f64>,
    pub(crate) spe_degrees: Vec<usize>,
    /// Squared distances to the mean.
    pub(crate) distance2: Vec<f64>,
}

impl RowDistances {
    /// The distances of rows in the units of the fit.
    pub(crate) fn of<T: Scalar>(
        model: &IncompleteModel,
        rows: &Observed<T>,
        exec: &Exec<'_>,
    ) -> Result<Self> {
        let plane = Plane::of(model);
        let mut found = vec![0.0; rows.n_samples() * WIDTH];
        exec.fill(&mut found, ROWS * WIDTH, |piece, out| {
            let mut row = Row::new(&plane);
            for (at, out) in out.chunks_exact_mut(WIDTH).enumerate() {
                let index = piece * ROWS + at;
                row.set(rows, index);
                row.solve(index)?;
                // Adding zero removes the negative zero of an empty sum.
                out.copy_from_slice(&[
                    row.t2(),
                    row.rank as f64,
                    row.residuals().map(|(_, weight, left)| weight * left * left).sum::<f64>() + 0.0,
                    (row.entries.len() - row.rank) as f64,
                    row.entries.iter().map(|(_, weight, away)| weight * away * away).sum::<f64>() + 0.0,
                ]);
            }
            Ok(())
        })?;
        let column = |at: usize| found.iter().skip(at).step_by(WIDTH);
        let numbers = |at: usize| column(at).copied().collect();
        let counts = |at: usize| column(at).map(|count| *count as usize).collect();
        Ok(Self {
            t2: numbers(0),
            t2_degrees: counts(1),
            spe: numbers(2),
            spe_degrees: counts(3),
            distance2: numbers(4),
        })
    }
}

/// The scale of the squared prediction errors of normal rows: an error with `d` degrees of freedom is
/// `variance * dispersion` times chi-squared with `d / dispersion` degrees. For complete rows it is the approximation of Box
/// (1954), doi:10.1214/aoms/1177728786.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpeScale {
    /// Mean of the squared error for each degree of freedom. Zero if errors are rounding.
    pub variance: f64,
    /// Variance of the errors over the variance of normal noise with one variance for all features.
    pub dispersion: f64,
    /// Number of observations from whose errors both are estimated for others; infinite if they are known, or the rows are
    /// the same.
    pub n_observations: f64,
}

impl SpeScale {
    /// Errors are rounding.
    pub(crate) const NOTHING: Self = Self { variance: 0.0, dispersion: 1.0, n_observations: f64::INFINITY };

    /// The scale of errors of rows, with weights. Rows without degrees of freedom do not count.
    pub(crate) fn of_errors(
        spe: &[f64],
        (degrees, distance2): (&[usize], &[f64]),
        weights: Option<&[f64]>,
    ) -> Result<Self> {
        let NormalizedWeights { values, totals } = NormalizedWeights::new(weights, spe.len())?;
        let weight = |i: usize| values.as_ref().map_or(1.0 / totals.sum, |v| v[i]);
        let counted: Vec<usize> = (0..spe.len()).filter(|i| degrees[*i] > 0).collect();
        let sum = |f: &dyn Fn(usize) -> f64| counted.iter().map(|i| weight(*i) * f(*i)).sum::<f64>();
        let variance = sum(&|i| spe[i]) / sum(&|i| degrees[i] as f64);
        if variance.is_nan() || is_rounding(sum(&|i| spe[i]), sum(&|i| distance2[i])) {
            return Ok(Self::NOTHING);
        }
        let excess = |i: usize| {
            let d = degrees[i] as f64;
            d * (spe[i] / (d * variance) - 1.0).powi(2)
        };
        Ok(Self { variance, dispersion: sum(&excess) / (2.0 * sum(&|_| 1.0)), ..Self::NOTHING })
    }

    /// The scale of new rows by the rows of the fit, whose features have `entries` entries on average: of errors over
    /// `(1 - h)^2`, with the share `h` of a row in the means and loadings of a feature, `(1 + T²)` over these entries. T² is in
    /// units of its mean for each degree of freedom, which is one unless a prior has made the variances smaller. For complete
    /// rows `h` is the leverage, and the errors are near the errors of rows left out if the variances of the components
    /// are far above the noise. Weights are multiplicities, of which one is left out.
    pub(crate) fn left_out(
        entries: f64,
        [t2, spe, distance2]: [&[f64]; 3],
        [t2_degrees, degrees]: [&[usize]; 2],
        weights: Option<&[f64]>,
    ) -> Result<Self> {
        let weight = |i: usize| weights.map_or(1.0, |weights| weights[i]);
        let sum = |of: &dyn Fn(usize) -> f64| (0..t2.len()).map(|i| weight(i) * of(i)).sum::<f64>();
        let unit = sum(&|i| t2[i]) / sum(&|i| t2_degrees[i] as f64);
        let unit = if unit > 0.0 && unit.is_finite() { unit } else { 1.0 };
        let error = |i: usize| {
            let h = ((1.0 + t2[i] / unit) / entries).min(1.0);
            (spe[i] / (1.0 - h).powi(2)).min(distance2[i] / (1.0 - 1.0 / entries).powi(2))
        };
        let errors: Vec<f64> = (0..spe.len()).map(error).collect();
        Self::of_rows_left_out(&errors, (degrees, distance2), weights)
    }

    /// The scale of new rows by errors of rows left out.
    pub(crate) fn of_rows_left_out(
        errors: &[f64],
        (degrees, distance2): (&[usize], &[f64]),
        weights: Option<&[f64]>,
    ) -> Result<Self> {
        let of_rows = Self::of_errors(errors, (degrees, distance2), weights)?;
        // Rows without degrees of freedom have no error.
        let of_row = |i: usize| if degrees[i] > 0 { weights.map_or(1.0, |w| w[i]) } else { 0.0 };
        let n = (0..errors.len()).map(of_row).sum::<f64>();
        if of_rows.variance == 0.0 || n <= 1.0 {
            return Ok(Self::NOTHING);
        }
        Ok(Self { dispersion: of_rows.dispersion * n / (n - 1.0), n_observations: n, ..of_rows })
    }
}

impl IncompleteModel {
    /// Mean number of entries of a feature, of rows with their multiplicities.
    pub(crate) fn entries_of_feature(&self) -> f64 {
        self.row_totals().entries / self.n_features() as f64
    }

    /// The model with the scale of the errors of new rows, from the rows of the fit, in its units.
    pub(crate) fn with_spe_scale<T: Scalar>(self, rows: &Observed<T>, exec: &Exec<'_>) -> Result<Self> {
        let found = RowDistances::of(&self, rows, exec)?;
        let distances = [&found.t2[..], &found.spe, &found.distance2];
        let scale = SpeScale::left_out(
            self.entries_of_feature(),
            distances,
            [&found.t2_degrees, &found.spe_degrees],
            rows.sample_weights(),
        )?;
        Ok(self.keeping(None, scale))
    }

    /// The model with a factor of the limit for T² of new rows, and the scale of their errors.
    pub(crate) fn keeping(self, t2_factor: Option<f64>, scale: SpeScale) -> Self {
        let is_known = [scale.variance, scale.dispersion].iter().all(|x| *x > 0.0 && x.is_finite());
        self.with_columns(|parts| {
            parts.t2_factor = t2_factor;
            parts.spe_scale = is_known.then_some(scale);
        })
    }
}
