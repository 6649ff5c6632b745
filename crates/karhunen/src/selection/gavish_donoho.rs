//! The optimal hard threshold of singular values.

use crate::error::Result;
use crate::selection::marchenko_pastur::{Noise, median, median_of_law};
use crate::selection::{Rule, Selection, Spectrum};

/// Keeps components whose singular value exceeds the hard threshold that minimises the asymptotic mean squared error of
/// the denoised table, for noise of unknown variance. Gavish & Donoho (2014), doi:10.1109/TIT.2014.2323359.
///
/// The threshold is $\omega(\beta)$ times the median of the singular values, with $\beta = \min(n, p) / \max(n, p)$ (n
/// less one after centring), $\omega(\beta) = \lambda_*(\beta) / \sqrt{\mu_\beta}$ (their equation 5), and
///
/// $$ \lambda_*(\beta) = \sqrt{2 (\beta + 1) + \frac{8 \beta}{(\beta + 1) + \sqrt{\beta^2 + 14 \beta + 1}}} $$
///
/// (equation 11). $\mu_\beta$, the median of the law of Marchenko and Pastur, is computed for every $\beta$, not by the
/// cubic approximation of $\omega$.
///
/// The rule minimises an error; it does not estimate a rank: a component that the edge of the noise
/// ([`super::marchenko_pastur`]) reveals may be too weak to be worth keeping.
///
/// ```
/// use karhunen::selection::{Spectrum, gavish_donoho};
/// let spectrum = Spectrum::new(&[9.0, 1.2, 1.1, 1.0, 1.0, 0.9, 0.8], 200.0, 7)?;
/// assert_eq!(gavish_donoho(&spectrum)?.n_components, Some(1));
/// # Ok::<(), karhunen::Error>(())
/// ```
///
/// # Errors
/// [`crate::Error::Truncated`] unless the spectrum is complete.
pub fn gavish_donoho(spectrum: &Spectrum) -> Result<Selection> {
    let rule = Rule::GavishDonoho;
    let noise = match Noise::of(spectrum, rule)? {
        Ok(noise) => noise,
        Err(reason) => return Ok(Selection::not_applicable(rule, reason)),
    };
    let root = spectrum.n_free().sqrt();
    let singular_values: Vec<f64> = noise.variances.iter().map(|variance| variance.sqrt() * root).collect();
    let threshold = coefficient(noise.beta) * median(&singular_values);
    let most = singular_values.len();
    Selection::compared(rule, "singular value", (singular_values, vec![threshold; most]), most)
}

/// $\omega(\beta)$.
fn coefficient(beta: f64) -> f64 {
    let root = (beta * beta + 14.0 * beta + 1.0).sqrt();
    (2.0 * (beta + 1.0) + 8.0 * beta / (beta + 1.0 + root)).sqrt() / median_of_law(beta).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coefficients_match_the_paper() {
        // The abstract of Gavish & Donoho 2014: 2.858 for square tables.
        assert!((coefficient(1.0) - 2.858).abs() < 5e-4);
        // The median by `uniroot` of R's `integrate` over the density.
        for (beta, expected) in [
            (0.05, 1.519_340_959_6),
            (0.1, 1.608_771_557_4),
            (0.25, 1.836_865_791_1),
            (0.5, 2.171_185_348_5),
            (1.0, 2.858_362_424_1),
        ] {
            let found = coefficient(beta);
            assert!((found - expected).abs() < 1e-9, "{beta}: {found}");
        }
        // Their cubic approximation, equation 5 of the introduction, is within 0.02.
        for step in 1..=100 {
            let beta = f64::from(step) / 100.0;
            let cubic = 0.56 * beta.powi(3) - 0.95 * beta.powi(2) + 1.82 * beta + 1.43;
            assert!((coefficient(beta) - cubic).abs() < 0.02, "{beta}");
        }
    }

    #[test]
    fn the_threshold_scales_with_the_noise_and_follows_the_definition() {
        let variances = [40.0, 10.0, 1.5, 1.3, 1.2, 1.0, 0.9, 0.8, 0.7];
        for factor in [1.0, 1e-6, 1e6] {
            let scaled = variances.map(|variance| variance * factor);
            let found = gavish_donoho(&Spectrum::new(&scaled, 31.0, 9).unwrap()).unwrap();
            assert_eq!(found.n_components, Some(2));
            let crate::selection::Curve::Compared { values, thresholds } = &found.curve else { panic!() };
            // Nine singular values of 30 free rows: the median is the fifth.
            let expected = coefficient(0.3) * (1.2 * factor * 30.0).sqrt();
            assert!((thresholds[0] / expected - 1.0).abs() < 1e-14);
            assert!((values[0] / (40.0 * factor * 30.0).sqrt() - 1.0).abs() < 1e-14);
        }
    }
}
