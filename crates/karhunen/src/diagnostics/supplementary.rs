//! Variables that took no part in the fit: correlations of numbers, barycentres and tests of categories.

use std::cmp::Ordering;

use super::distributions::{f_upper, normal_two_sided, t_two_sided};
use super::samples::at_most_one;
use crate::error::{Error, Result};
use crate::exec::{Exec, Run};
use crate::linalg::Matrix;
use crate::scalar::{largest, largest_magnitude};
use crate::weights::{NormalizedWeights, Weighting};

/// Rounding errors of a mean, in units of the largest value, within which all deviations of a constant lie.
const CONSTANT: f64 = 16.0 * f64::EPSILON;

/// Correlations of numeric variables with scores.
#[derive(Clone, Debug, PartialEq)]
pub struct Correlations {
    /// Shape (n_variables, n_components); NaN for a constant variable.
    pub correlations: Matrix,
    /// Probability of a correlation at least as large among independent normal variables: Student's t with n - 2 degrees
    /// of freedom, shape (n_variables, n_components).
    pub p_values: Matrix,
    /// Number of observations of each variable, shape (n_variables,).
    pub n_observed: Vec<f64>,
}

/// Returns weighted correlations of the columns of `variables`, shape (n_rows, n_variables), with the columns of
/// `scores`, shape (n_rows, n_components). A NaN of a variable leaves out the row for that variable.
///
/// Tests count as many observations as the weights mean: their sum for frequency weights, the effective number
/// `(sum w)^2 / sum w^2` for importance and population weights.
///
/// # Errors
/// [`Error::Shape`] unless both have the same number of rows; errors of the weights of a fit; [`Error::NonFinite`] for
/// an infinite value; [`Error::Stopped`] if the observer cancels.
pub fn correlations(
    scores: &Matrix,
    variables: &Matrix,
    (weights, weighting): (Option<&[f64]>, Weighting),
    run: &Run<'_>,
) -> Result<Correlations> {
    let ((n, k), q) = (scores.shape(), variables.n_cols());
    check_rows(n, variables.n_rows(), "the supplementary variables")?;
    let rows = Observations::new(weights, weighting, n)?;
    if let Some(at) = variables.as_slice().iter().position(|x| x.is_infinite()) {
        return Err(Error::NonFinite { row: at / q, column: at % q, value: variables.as_slice()[at] });
    }
    let of_scores = |present: &[usize]| -> Vec<Option<Vec<f64>>> {
        (0..k).map(|c| rows.standardized(present, |i| scores[(i, c)])).collect()
    };
    let all: Vec<usize> = rows.counting().collect();
    let scores_of_all = of_scores(&all);
    // Of each variable: its number of observations, then correlations and p-values by component.
    let width = 2 * k + 1;
    let mut found = vec![0.0; q * width];
    Exec::run(run, |exec| {
        exec.phase("correlations").fill(&mut found, width, |j, out| {
            let present: Vec<usize> = all.iter().copied().filter(|i| !variables[(*i, j)].is_nan()).collect();
            let of_present = if present.len() < all.len() { Some(of_scores(&present)) } else { None };
            let scores = of_present.as_ref().unwrap_or(&scores_of_all);
            let variable = rows.standardized(&present, |i| variables[(i, j)]);
            let n_observed = rows.number(&present);
            out[0] = n_observed;
            for (c, score) in scores.iter().enumerate() {
                let r = match (&variable, score) {
                    (Some(x), Some(y)) => rows.product(&present, x, y).clamp(-1.0, 1.0),
                    _ => f64::NAN,
                };
                let degrees = n_observed - 2.0;
                out[1 + c] = r;
                out[1 + k + c] = if degrees > 0.0 {
                    t_two_sided(r * (degrees / (1.0 - r * r)).sqrt(), degrees)
                } else {
                    f64::NAN
                };
            }
            Ok(())
        })
    })?;
    Ok(Correlations {
        correlations: Matrix::from_fn(q, k, |j, c| found[j * width + 1 + c]),
        p_values: Matrix::from_fn(q, k, |j, c| found[j * width + 1 + k + c]),
        n_observed: (0..q).map(|j| found[j * width]).collect(),
    })
}

/// Rows and what their weights count as.
struct Observations<'a> {
    weights: Option<&'a [f64]>,
    normalized: NormalizedWeights,
    weighting: Weighting,
}

impl<'a> Observations<'a> {
    fn new(weights: Option<&'a [f64]>, weighting: Weighting, n: usize) -> Result<Self> {
        let normalized = NormalizedWeights::new(weights, n)?;
        normalized.totals.correction(weighting)?;
        Ok(Self { weights, normalized, weighting })
    }

    /// `w / sum w` of a row.
    fn share(&self, row: usize) -> f64 {
        self.normalized.values.as_ref().map_or(1.0 / self.normalized.totals.sum, |v| v[row])
    }

    /// The rows of positive weight.
    fn counting(&self) -> impl Iterator<Item = usize> {
        (0..self.normalized.totals.n_samples).filter(|row| self.share(*row) > 0.0)
    }

    /// Number of observations of some rows, which is exact for counts.
    fn number(&self, rows: &[usize]) -> f64 {
        match self.weighting {
            Weighting::Frequency => rows.iter().map(|row| self.weights.map_or(1.0, |w| w[*row])).sum(),
            Weighting::Importance | Weighting::Population if rows.is_empty() => 0.0,
            Weighting::Importance | Weighting::Population => {
                let sum: f64 = rows.iter().map(|row| self.share(*row)).sum();
                sum * sum / rows.iter().map(|row| self.share(*row).powi(2)).sum::<f64>()
            }
        }
    }

    /// Values of some rows less their mean, of weighted length one; `None` if they are constant.
    fn standardized(&self, rows: &[usize], value: impl Fn(usize) -> f64) -> Option<Vec<f64>> {
        let size = largest(rows.iter().map(|row| value(*row).abs()));
        let total: f64 = rows.iter().map(|row| self.share(*row)).sum();
        let mean = rows.iter().map(|row| self.share(*row) * (value(*row) / size)).sum::<f64>() / total;
        let mut away: Vec<f64> = rows.iter().map(|row| value(*row) / size - mean).collect();
        // Values that are all zero, and no value, have no number here.
        if largest_magnitude(&away).partial_cmp(&CONSTANT) != Some(Ordering::Greater) {
            return None;
        }
        let length = self.product(rows, &away, &away).sqrt();
        away.iter_mut().for_each(|x| *x /= length);
        Some(away)
    }

    /// Weighted product of values of some rows.
    fn product(&self, rows: &[usize], x: &[f64], y: &[f64]) -> f64 {
        rows.iter().zip(x.iter().zip(y)).map(|(row, (x, y))| self.share(*row) * x * y).sum()
    }
}

/// Categories of one variable, described by scores.
#[derive(Clone, Debug, PartialEq)]
pub struct Categories {
    /// Weighted mean of the scores of each category, shape (n_categories, n_components); NaN for one without rows.
    pub barycentres: Matrix,
    /// Standardised deviation of each barycentre from the mean of all rows, nearly standard normal: FactoMineR's `v.test`
    /// for rows that count alike, and by the variance of weighted means otherwise (Lumley 2010, "Complex Surveys",
    /// section 2.2). NaN for a category of all rows. Shape (n_categories, n_components).
    pub v_tests: Matrix,
    /// Probability of a deviation at least as large, shape (n_categories, n_components).
    pub p_values: Matrix,
    /// Number of observations of each category, shape (n_categories,): its count, or the effective number of its own rows.
    pub sizes: Vec<f64>,
    /// Correlation ratio: the share of the variance of the scores between categories, shape (n_components,). NaN without
    /// variance.
    pub eta2: Vec<f64>,
    /// Probability of a ratio at least as large, by the F test of one-way analysis of variance, shape (n_components,). Under
    /// weights both sums of squares are over what they are expected to be, and the degrees of freedom of the first are those
    /// of its variance, as in the second-order correction of Rao & Scott (1981, doi:10.2307/2287815).
    pub eta2_p_values: Vec<f64>,
}

/// Returns barycentres and tests of the categories of a variable. `codes` has the category of each row, below
/// `n_categories`, or `None` where it is unknown; such rows do not count. Tests count observations as [`correlations`]
/// does, in each category by its own weights.
///
/// # Errors
/// [`Error::Shape`] unless there is one code for each row of `scores`; errors of the weights of a fit;
/// [`Error::Degenerate`] for a code beyond the last category.
pub fn categories(
    scores: &Matrix,
    (codes, n_categories): (&[Option<usize>], usize),
    (weights, weighting): (Option<&[f64]>, Weighting),
) -> Result<Categories> {
    let (n, k) = scores.shape();
    check_rows(n, codes.len(), "the categories")?;
    let rows = Observations::new(weights, weighting, n)?;
    check_codes(codes, n_categories)?;
    let known: Vec<usize> = rows.counting().filter(|row| codes[*row].is_some()).collect();
    let of_category = |row: usize| codes[row].unwrap_or(n_categories);
    let total = rows.number(&known);
    let share_of_known: f64 = known.iter().map(|row| rows.share(*row)).sum();
    let mut members = vec![Vec::new(); n_categories];
    known.iter().for_each(|row| members[of_category(*row)].push(*row));
    let share =
        |rows_of: &Vec<usize>| rows_of.iter().map(|row| rows.share(*row)).sum::<f64>() / share_of_known;
    let shares: Vec<f64> = members.iter().map(share).collect();
    let present = shares.iter().filter(|share| **share > 0.0).count() as f64;
    let sizes: Vec<f64> = members.iter().map(|rows_of| rows.number(rows_of)).collect();
    let chance = Chance::new(&shares, &sizes, total);
    let mut found = Categories {
        barycentres: Matrix::zeros(n_categories, k),
        v_tests: Matrix::zeros(n_categories, k),
        p_values: Matrix::zeros(n_categories, k),
        sizes,
        eta2: Vec::new(),
        eta2_p_values: Vec::new(),
    };
    for c in 0..k {
        let means = |value: &dyn Fn(usize) -> f64| {
            let mut means = vec![0.0; n_categories];
            known.iter().zip(0..).for_each(|(row, at)| {
                means[of_category(*row)] += rows.share(*row) / share_of_known * value(at);
            });
            means.iter_mut().zip(&shares).for_each(|(mean, share)| *mean /= share);
            means
        };
        // Standardised scores have variance `1 / share_of_known`, and mean zero.
        let standardized = rows.standardized(&known, |row| scores[(row, c)]);
        let of_standardized = match &standardized {
            Some(z) => means(&|at| z[at] * share_of_known.sqrt()),
            None => vec![f64::NAN; n_categories],
        };
        let barycentres = means(&|at| scores[(known[at], c)]);
        for q in 0..n_categories {
            let v = of_standardized[q] / chance.variances[q].sqrt();
            found.barycentres[(q, c)] = barycentres[q];
            (found.v_tests[(q, c)], found.p_values[(q, c)]) = (v, normal_two_sided(v));
        }
        let between: f64 = (0..n_categories)
            .filter(|q| shares[*q] > 0.0)
            .map(|q| shares[q] * of_standardized[q].powi(2))
            .sum();
        let eta2 = if standardized.is_some() { at_most_one(between) } else { f64::NAN };
        found.eta2.push(eta2);
        found.eta2_p_values.push(chance.p_value(eta2, total - present));
    }
    Ok(found)
}

/// Expected values for scores that are unrelated to the categories, in units of the variance of all rows.
struct Chance {
    /// The variance of the mean of each category about the mean of all rows; NaN for a category of all rows or of none.
    variances: Vec<f64>,
    /// The correlation ratio.
    eta2: f64,
    /// The degrees of freedom of the multiple of chi-squared that has the mean and the variance of the correlation ratio
    /// (Satterthwaite 1946, doi:10.2307/3002019): the number of categories less one if all rows count alike.
    degrees: f64,
}

impl Chance {
    /// `shares` are the shares S of the weight, `sizes` and `total` numbers of observations, whose inverses are sums of squared
    /// shares within a category and among all rows. In the mean of a category, rows of it count `1 / S - 1` times their own
    /// share, and the others minus theirs.
    fn new(shares: &[f64], sizes: &[f64], total: f64) -> Self {
        let n = shares.len();
        let squares: Vec<f64> =
            shares.iter().zip(sizes).map(|(s, n)| if *s > 0.0 { s * s / n } else { 0.0 }).collect();
        // Sums of those before and after: a difference from the sum of all would be rounding for a large category.
        let mut others = vec![0.0; n];
        let (mut before, mut after) = (0.0, 0.0);
        for q in 0..n {
            others[q] += before;
            before += squares[q];
            others[n - 1 - q] += after;
            after += squares[n - 1 - q];
        }
        let unit = 1.0 - 1.0 / total;
        let variance = |q: usize| {
            let own = squares[q] * (1.0 / shares[q] - 1.0).powi(2);
            if shares[q] > 0.0 && others[q] > 0.0 { (own + others[q]) / unit } else { f64::NAN }
        };
        let variances: Vec<f64> = (0..n).map(variance).collect();
        let present = || (0..n).filter(|q| shares[*q] > 0.0);
        let eta2 = present().map(|q| shares[q] * variances[q]).sum::<f64>();
        // The covariance of the means of two categories q and r is c_q + c_r over the unit.
        let c = |q: usize| before / 2.0 - squares[q] / shares[q];
        let (mean, square) = present().fold((0.0, 0.0), |(mean, square), q| {
            (mean + shares[q] * c(q), square + shares[q] * c(q).powi(2))
        });
        let own = |q: usize| (shares[q] * variances[q] * unit).powi(2) - (2.0 * shares[q] * c(q)).powi(2);
        let squared = 2.0 * square + 2.0 * mean * mean + present().map(own).sum::<f64>();
        Self { variances, eta2, degrees: (eta2 * unit).powi(2) / squared }
    }

    /// The probability of a correlation ratio at least as large, with `of_error` degrees of freedom of the residuals; NaN for one
    /// category, and for as many as observations.
    fn p_value(&self, eta2: f64, of_error: f64) -> f64 {
        if !(of_error > 0.0 && self.eta2 < 1.0) {
            return f64::NAN;
        }
        let f = eta2 / self.eta2 / ((1.0 - eta2) / (1.0 - self.eta2));
        f_upper(f, self.degrees, of_error)
    }
}

fn check_codes(codes: &[Option<usize>], n_categories: usize) -> Result<()> {
    match codes.iter().position(|code| code.is_some_and(|code| code >= n_categories)) {
        None => Ok(()),
        Some(index) => {
            let advice = "codes count the categories from zero".into();
            Err(Error::Degenerate { what: "category of row", index, advice })
        }
    }
}

fn check_rows(expected: usize, found: usize, what: &'static str) -> Result<()> {
    if found == expected { Ok(()) } else { Err(Error::Shape { what, axis: "rows", found, expected }) }
}
