//! Variances above the average.

use crate::error::Result;
use crate::selection::{Rule, Selection, Spectrum};

/// Keeps components whose variance exceeds the average of the columns: one for standardised columns, otherwise the
/// total variance divided by the number of columns. Guttman (1954), doi:10.1007/BF02289162; Kaiser (1960),
/// doi:10.1177/001316446002000116.
///
/// On independent columns it keeps about half of all components: it is an upper bound rather than an estimate.
///
/// ```
/// use karhunen::selection::{Spectrum, kaiser};
/// let spectrum = Spectrum::new(&[1.8, 1.1, 0.1], 9.0, 3)?;
/// assert_eq!(kaiser(&spectrum)?.n_components, Some(2));
/// # Ok::<(), karhunen::Error>(())
/// ```
///
/// # Errors
/// [`crate::Error::Truncated`] if all computed variances exceed the average, and others were left out.
pub fn kaiser(spectrum: &Spectrum) -> Result<Selection> {
    above_average(Rule::Kaiser, spectrum, 1.0)
}

/// As [`kaiser`], for variances above 0.7 of the average, which allows for the sampling error of an average variance.
/// Jolliffe (1972), doi:10.2307/2346488; Jolliffe (2002), "Principal Component Analysis", section 6.1.2.
///
/// # Errors
/// As [`kaiser`].
pub fn jolliffe(spectrum: &Spectrum) -> Result<Selection> {
    above_average(Rule::Jolliffe, spectrum, 0.7)
}

fn above_average(rule: Rule, spectrum: &Spectrum, factor: f64) -> Result<Selection> {
    if let Some(reason) = spectrum.unusable() {
        return Ok(Selection::not_applicable(rule, reason));
    }
    let average = if spectrum.scaled { 1.0 } else { spectrum.total / spectrum.n_features as f64 };
    let variances = spectrum.variances.clone();
    let thresholds = vec![factor * average; variances.len()];
    Selection::compared(rule, "variance", (variances, thresholds), spectrum.rank)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usarrests_has_one_variance_above_one_and_two_above_seven_tenths() {
        let spectrum =
            Spectrum::new(&[2.480_241_58, 0.989_765_15, 0.356_563_18, 0.173_430_09], 50.0, 4).unwrap();
        for spectrum in [spectrum.clone(), spectrum.scaled(true)] {
            assert_eq!(kaiser(&spectrum).unwrap().n_components, Some(1));
            assert_eq!(jolliffe(&spectrum).unwrap().n_components, Some(2));
        }
    }

    #[test]
    fn equal_variances_exceed_no_average_whatever_their_rounding() {
        let spectrum = Spectrum::new(&[1.0 + 4e-16, 1.0, 1.0 - 3e-16], 50.0, 3).unwrap().scaled(true);
        let found = kaiser(&spectrum).unwrap();
        assert_eq!((found.n_components, found.at_edge), (Some(0), true));
        assert_eq!(
            (jolliffe(&spectrum).unwrap().n_components, jolliffe(&spectrum).unwrap().at_edge),
            (Some(3), true)
        );
    }
}
