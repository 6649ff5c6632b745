//! Variables that took no part in the fit: correlations of numbers, barycentres and tests of categories.

use super::distributions::{f_upper, normal_two_sided, t_two_sided};
use super::samples::check_weights;
use crate::error::{Error, Result};
use crate::linalg::Matrix;

/// Correlations of numeric variables with scores.
#[derive(Clone, Debug, PartialEq)]
pub struct Correlations {
    /// Shape (n_variables, n_components); NaN for a constant variable.
    pub correlations: Matrix,
    /// Probability of a correlation at least as large among independent normal variables: Student's t with n - 2 degrees
    /// of freedom, shape (n_variables, n_components).
    pub p_values: Matrix,
    /// Weight of the rows where the variable is present, shape (n_variables,).
    pub n_observed: Vec<f64>,
}

/// Weighted correlations of the columns of `variables`, shape (n_rows, n_variables), with those of `scores`, shape (n_rows,
/// n_components). A NaN of a variable leaves out the row for that variable. Tests count `n` as the sum of the weights.
///
/// # Errors
/// [`Error::Shape`] unless both have the same number of rows; [`Error::WeightLength`] unless there is one weight for each;
/// [`Error::NonFinite`] for an infinite value.
pub fn correlations(scores: &Matrix, variables: &Matrix, weights: Option<&[f64]>) -> Result<Correlations> {
    let (n, k) = scores.shape();
    check_rows(n, variables.n_rows(), "the supplementary variables")?;
    check_weights(weights, n)?;
    let q = variables.n_cols();
    if let Some(at) = variables.as_slice().iter().position(|x| x.is_infinite()) {
        return Err(Error::NonFinite { row: at / q, column: at % q, value: variables.as_slice()[at] });
    }
    let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
    let mut found = Correlations {
        correlations: Matrix::zeros(q, k),
        p_values: Matrix::zeros(q, k),
        n_observed: vec![0.0; q],
    };
    for j in 0..q {
        let present: Vec<usize> =
            (0..n).filter(|i| !variables[(*i, j)].is_nan() && weight(*i) > 0.0).collect();
        let total: f64 = present.iter().map(|i| weight(*i)).sum();
        found.n_observed[j] = total;
        let about_mean = |value: &dyn Fn(usize) -> f64| -> Vec<f64> {
            let mean = present.iter().map(|i| weight(*i) * value(*i)).sum::<f64>() / total;
            present.iter().map(|i| value(*i) - mean).collect()
        };
        let product = |x: &[f64], y: &[f64]| -> f64 {
            present.iter().zip(x.iter().zip(y)).map(|(i, (x, y))| weight(*i) * x * y).sum()
        };
        let variable = about_mean(&|i| variables[(i, j)]);
        let of_variable = product(&variable, &variable);
        for c in 0..k {
            let score = about_mean(&|i| scores[(i, c)]);
            let size = (of_variable * product(&score, &score)).sqrt();
            let r = if size > 0.0 { (product(&variable, &score) / size).clamp(-1.0, 1.0) } else { f64::NAN };
            found.correlations[(j, c)] = r;
            let degrees = total - 2.0;
            found.p_values[(j, c)] = if degrees > 0.0 {
                t_two_sided(r * (degrees / (1.0 - r * r)).sqrt(), degrees)
            } else {
                f64::NAN
            };
        }
    }
    Ok(found)
}

/// Categories of one variable beside scores.
#[derive(Clone, Debug, PartialEq)]
pub struct Categories {
    /// Weighted mean of the scores of each category, shape (n_categories, n_components); NaN for one without rows.
    pub barycentres: Matrix,
    /// Standardised deviation of each barycentre from the mean of all rows, if rows were drawn without replacement:
    /// nearly standard normal (FactoMineR's `v.test`), shape (n_categories, n_components).
    pub v_tests: Matrix,
    /// Probability of a deviation at least as large, shape (n_categories, n_components).
    pub p_values: Matrix,
    /// Weight of each category, shape (n_categories,).
    pub weights: Vec<f64>,
    /// Correlation ratio: the share of the variance of the scores between categories, shape (n_components,).
    pub eta2: Vec<f64>,
    /// Probability of a ratio at least as large, by the F test of one-way analysis of variance, shape (n_components,).
    pub eta2_p_values: Vec<f64>,
}

/// Barycentres and tests of the categories of a variable. `codes` has the category of each row, below `n_categories`, or
/// `None` where it is unknown; such rows do not count.
///
/// # Errors
/// [`Error::Shape`] unless there is one code for each row of `scores`; [`Error::WeightLength`] unless there is one weight;
/// [`Error::Degenerate`] for a code beyond the last category.
pub fn categories(
    scores: &Matrix,
    codes: &[Option<usize>],
    n_categories: usize,
    weights: Option<&[f64]>,
) -> Result<Categories> {
    let (n, k) = scores.shape();
    check_rows(n, codes.len(), "the categories")?;
    check_weights(weights, n)?;
    if let Some(index) = codes.iter().position(|code| code.is_some_and(|code| code >= n_categories)) {
        let advice = "codes count the categories from zero".into();
        return Err(Error::Degenerate { what: "category of row", index, advice });
    }
    let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
    let known: Vec<(usize, usize)> =
        codes.iter().enumerate().filter_map(|(i, code)| code.map(|code| (i, code))).collect();
    let mut sizes = vec![0.0; n_categories];
    let mut sums: Matrix = Matrix::zeros(n_categories, k);
    let (mut means, mut squares) = (vec![0.0; k], vec![0.0; k]);
    for (i, code) in &known {
        sizes[*code] += weight(*i);
        for c in 0..k {
            sums[(*code, c)] += weight(*i) * scores[(*i, c)];
            means[c] += weight(*i) * scores[(*i, c)];
        }
    }
    let total: f64 = sizes.iter().sum();
    means.iter_mut().for_each(|mean| *mean /= total);
    for (i, _) in &known {
        (0..k).for_each(|c| squares[c] += weight(*i) * (scores[(*i, c)] - means[c]).powi(2));
    }
    let barycentres: Matrix = Matrix::from_fn(n_categories, k, |q, c| sums[(q, c)] / sizes[q]);
    let v_tests = Matrix::from_fn(n_categories, k, |q, c| {
        let of_mean = squares[c] / total / sizes[q] * (total - sizes[q]) / (total - 1.0);
        (barycentres[(q, c)] - means[c]) / of_mean.sqrt()
    });
    let p_values = Matrix::from_fn(n_categories, k, |q, c| normal_two_sided(v_tests[(q, c)]));
    let present = sizes.iter().filter(|size| **size > 0.0).count() as f64;
    let eta2: Vec<f64> = (0..k)
        .map(|c| {
            let between = |q: usize| -> f64 { sizes[q] * (barycentres[(q, c)] - means[c]).powi(2) };
            let sum: f64 = (0..n_categories).filter(|q| sizes[*q] > 0.0).map(between).sum();
            (sum / squares[c]).min(1.0)
        })
        .collect();
    let eta2_p_values = eta2
        .iter()
        .map(|eta2| {
            let (of_model, of_error) = (present - 1.0, total - present);
            if of_model > 0.0 && of_error > 0.0 {
                f_upper(eta2 / of_model / ((1.0 - eta2) / of_error), of_model, of_error)
            } else {
                f64::NAN
            }
        })
        .collect();
    Ok(Categories { barycentres, v_tests, p_values, weights: sizes, eta2, eta2_p_values })
}

fn check_rows(expected: usize, found: usize, what: &'static str) -> Result<()> {
    if found == expected { Ok(()) } else { Err(Error::Shape { what, axis: "rows", found, expected }) }
}
