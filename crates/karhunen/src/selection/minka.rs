//! The evidence of probabilistic PCA.

use crate::error::Result;
use crate::pca::evidence;
use crate::selection::{Rule, Selection, Spectrum};

/// Chooses the number of components of largest evidence under probabilistic PCA, from 1 to the number of columns less
/// one: the number that [`crate::NComponents::Mle`] keeps. Minka (2000), "Automatic choice of dimensionality for PCA",
/// Advances in Neural Information Processing Systems 13, equation 77.
///
/// Laplace's method overestimates where observations are few; it needs at least as many as columns.
///
/// ```
/// use karhunen::selection::{Spectrum, minka};
/// let spectrum = Spectrum::new(&[9.0, 5.0, 4.0, 1.02, 1.01, 1.0, 0.99, 0.98], 1000.0, 8)?;
/// assert_eq!(minka(&spectrum)?.n_components, Some(3));
/// # Ok::<(), karhunen::Error>(())
/// ```
///
/// # Errors
/// [`crate::Error::Truncated`] unless the spectrum is complete.
pub fn minka(spectrum: &Spectrum) -> Result<Selection> {
    let not_applicable = |reason| Ok(Selection::not_applicable(Rule::Minka, reason));
    if let Some(reason) = spectrum.unusable() {
        return not_applicable(reason);
    }
    if spectrum.n_observations < spectrum.n_features as f64 {
        return not_applicable("there are fewer observations than columns");
    }
    let mut variances = spectrum.complete(Rule::Minka.name())?;
    variances.resize(spectrum.n_features, 0.0);
    let evidences = evidence::evidences(&variances, spectrum.n_observations);
    let best = evidence::most_probable(&evidences);
    Ok(Selection::by_criterion(Rule::Minka, "the logarithm of the evidence", (1, evidences), best))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{Dense, Matrix};
    use crate::pca::{NComponents, Pca};
    use crate::testing::test_matrices::gaussian;
    use crate::weights::Weights;

    #[test]
    fn the_rule_matches_a_fit() {
        let noise = gaussian(60, 7, 3, 0);
        let x = Matrix::from_fn(60, 7, |i, j| noise[(i, j)] * [5.0, 4.0, 3.0, 1.0, 1.0, 1.0, 1.0][j]);
        let x = Dense::from(&x);
        let weights: Vec<f64> = (0..60).map(|i| f64::from(1 + i % 4)).collect();
        for weights in [Weights::default(), Weights::of_samples(&weights)] {
            let all = Pca::default().fit(&x, &weights).unwrap();
            let mle = Pca { n_components: NComponents::Mle, ..Pca::default() }.fit(&x, &weights).unwrap();
            let found = minka(&Spectrum::of_model(&all, None).unwrap()).unwrap();
            assert_eq!(found.n_components, Some(mle.n_components()));
            assert_eq!(found.range, (1, 6));
        }
    }

    #[test]
    fn wide_data_have_no_evidence() {
        let found = minka(&Spectrum::new(&[3.0, 1.0], 3.0, 5).unwrap()).unwrap();
        assert_eq!(
            (found.n_components, found.reason.as_str()),
            (None, "there are fewer observations than columns")
        );
    }
}
