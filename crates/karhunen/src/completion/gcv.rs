//! The number of components by generalized cross-validation.

use crate::completion::IterativePca;
use crate::error::{Error, OptionName, Result};
use crate::exec::Run;
use crate::linalg::Matrix;

/// A number of components by generalized cross-validation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Chosen {
    /// The number: the first local minimum of the criterion.
    pub n_components: usize,
    /// The smallest number that was tried.
    pub least: usize,
    /// The criterion of `least`, `least + 1`, … components: approximate mean squared errors of prediction.
    pub criterion: Vec<f64>,
}

/// The range of numbers in errors.
const LEAST: OptionName = OptionName::new("least");

/// Chooses the number of components of `options` between `least` and `most`, both included, by generalized
/// cross-validation; missMDA's `estim_ncpPCA`.
///
/// With q components and m missing entries of an n x p table, the criterion is the mean over the observed entries of
/// $\left[ (n p - m) (x - \hat x) / ((n - 1) p - m - q (n + p - q - 1)) \right]^2$ (Josse & Husson 2012, equation 12); without
/// components, the mean squared deviation from the means. `most` is lowered to what the table allows.
///
/// # Errors
/// [`Error::Option`] unless `least` is at most `most` and what the table allows; as [`IterativePca::complete`].
pub fn choose_n_components(
    options: &IterativePca,
    x: &Matrix,
    weights: Option<&[f64]>,
    (least, most): (usize, usize),
    run: &Run<'_>,
) -> Result<Chosen> {
    let (n, p) = x.shape();
    let most = most.min(n.saturating_sub(2)).min(p.saturating_sub(1));
    if least > most {
        return Err(Error::option(LEAST, least, format!("the largest number of components is {most}")));
    }
    let observed: Vec<usize> = (0..n * p).filter(|e| !x.as_slice()[*e].is_nan()).collect();
    let (n_observed, n_missing) = (observed.len() as f64, (n * p - observed.len()) as f64);
    let (rows, columns) = (n as f64, p as f64);
    let mut criterion = Vec::with_capacity(most - least + 1);
    for q in least..=most {
        let found = IterativePca { n_components: q, ..options.clone() }.complete(x, weights, run)?;
        let freedom = (rows - 1.0) * columns - n_missing - (q as f64) * (rows + columns - q as f64 - 1.0);
        let factor = if q == 0 { 1.0 } else { n_observed / freedom };
        let error = |e: &usize| (factor * (x.as_slice()[*e] - found.fitted.as_slice()[*e])).powi(2);
        criterion.push(observed.iter().map(error).sum::<f64>() / n_observed);
    }
    let chosen = criterion.windows(2).position(|pair| pair[1] > pair[0]).unwrap_or(criterion.len() - 1);
    Ok(Chosen { n_components: least + chosen, least, criterion })
}
