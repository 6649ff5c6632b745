//! Generalized cross-validation.

use crate::error::{Error, Result};
use crate::selection::{Rule, Selection, Spectrum};

/// Chooses the first local minimum, over k components, of the generalized cross-validation error
///
/// $$ \mathrm{GCV}(k) = \frac{n p \; \mathrm{RSS}(k)}{\left( (n - 1) p - k (n + p - k - 1) \right)^2}, $$
///
/// from 0 to min(n - 2, p - 1), for n observations of p columns and the sum RSS(k) of squared residuals after k
/// components. Josse & Husson (2012), doi:10.1016/j.csda.2011.11.012, equation 12. Without centring $n - 1$ becomes
/// $n$.
/// The values reported take the divisor of the variances for RSS.
///
/// R's `FactoMineR::estim_ncp(method = "GCV")` takes the first local minimum, too. Its value of k = 0 lacks one factor
/// $n / (n - 1)$.
///
/// ```
/// use karhunen::selection::{Spectrum, gcv};
/// let spectrum = Spectrum::new(&[9.0, 5.0, 1.1, 1.0, 1.0, 0.9], 100.0, 6)?;
/// assert_eq!(gcv(&spectrum)?.n_components, Some(2));
/// # Ok::<(), karhunen::Error>(())
/// ```
///
/// # Errors
/// [`Error::Truncated`] if the error still falls at the last of the computed components.
pub fn gcv(spectrum: &Spectrum) -> Result<Selection> {
    if let Some(reason) = spectrum.unusable() {
        return Ok(Selection::not_applicable(Rule::Gcv, reason));
    }
    let (n, p) = (spectrum.n_observations, spectrum.n_features as f64);
    let centered = f64::from(u8::from(spectrum.centered));
    let most = ((n - 1.0 - centered) as usize).min(spectrum.n_features - 1);
    let computed =
        if spectrum.is_complete() { most.min(spectrum.variances.len()) } else { spectrum.variances.len() };
    let values: Vec<f64> = (0..=most.min(computed))
        .map(|k| {
            let q = k as f64;
            let free = (n - centered) * p - q * (n + p - q - centered);
            spectrum.rest(k) / p * (n * p / free).powi(2)
        })
        .collect();
    let best = values.windows(2).position(|pair| pair[1] > pair[0]).unwrap_or(values.len() - 1);
    if best == computed && !spectrum.is_complete() && computed < most {
        return Err(Error::Truncated { rule: Rule::Gcv.name(), kept: computed, all: spectrum.rank });
    }
    Ok(Selection::by_criterion(Rule::Gcv, "the first local minimum of the error", (0, values), best))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::dense::small::multiply;
    use crate::linalg::{Dense, Matrix};
    use crate::pca::Pca;
    use crate::selection::Curve;
    use crate::testing::test_matrices::gaussian;
    use crate::weights::Weights;

    #[test]
    fn errors_match_reconstructions() {
        let (n, p) = (30usize, 6usize);
        let signal = multiply(&gaussian(n, 2, 1, 0), &gaussian(2, p, 1, 1));
        let noise = gaussian(n, p, 1, 2);
        let x = Matrix::from_fn(n, p, |i, j| signal[(i, j)] + 0.3 * noise[(i, j)]);
        let model = Pca::default().fit(&Dense::from(&x), &Weights::default()).unwrap();
        let found = gcv(&Spectrum::of_model(&model, None).unwrap()).unwrap();
        assert_eq!((found.n_components, found.range), (Some(2), (0, 5)));
        let Curve::Criterion { values, .. } = &found.curve else { panic!() };
        let scores = model.transform(&Dense::from(&x)).unwrap();
        let (nf, pf) = (n as f64, p as f64);
        for (k, value) in values.iter().enumerate() {
            let mut rss = 0.0;
            for i in 0..n {
                for j in 0..p {
                    let fitted: f64 = (0..k).map(|c| scores[(i, c)] * model.components()[(c, j)]).sum();
                    rss += (x[(i, j)] - model.mean()[j] - fitted).powi(2);
                }
            }
            let q = k as f64;
            let expected = nf * pf * rss / ((nf - 1.0) * pf - q * (nf + pf - q - 1.0)).powi(2);
            // Variances have the divisor n - 1, the mean of squares n.
            let found = value * (nf - 1.0) / nf;
            assert!((found / expected - 1.0).abs() < 1e-10, "{k}: {found} {expected}");
        }
    }

    #[test]
    fn a_minimum_within_the_computed_components_needs_no_others() {
        let variances = [9.0, 5.0, 1.1, 1.0, 1.0, 0.9];
        let complete = gcv(&Spectrum::new(&variances, 100.0, 6).unwrap()).unwrap();
        let truncated = |k: usize| gcv(&Spectrum::truncated(&variances[..k], 18.0, 100.0, 6).unwrap());
        assert_eq!(truncated(3).unwrap().n_components, complete.n_components);
        assert!(truncated(2).is_err());
    }
}
