//! The broken-stick rule.

use crate::error::Result;
use crate::selection::{Rule, Selection, Spectrum};

/// Keeps leading components whose share of the variance exceeds the expected length of the k-th longest piece of a
/// stick of length one that is broken at random into r pieces,
///
/// $$ b_k = \frac{1}{r} \sum_{i=k}^{r} \frac{1}{i}, $$
///
/// with r the number of variances that can differ from zero: the number of columns, or of rows less one if that is
/// smaller. Frontier (1976), doi:10.1016/0022-0981(76)90076-9; Jackson (1993), doi:10.2307/1939574.
///
/// ```
/// use karhunen::selection::{Spectrum, broken_stick};
/// // The pieces of two are 3/4 and 1/4.
/// assert_eq!(broken_stick(&Spectrum::new(&[3.2, 0.8], 9.0, 2)?)?.n_components, Some(1));
/// assert_eq!(broken_stick(&Spectrum::new(&[2.8, 1.2], 9.0, 2)?)?.n_components, Some(0));
/// # Ok::<(), karhunen::Error>(())
/// ```
///
/// # Errors
/// [`crate::Error::Truncated`] if all computed shares exceed their pieces, and others were left out.
pub fn broken_stick(spectrum: &Spectrum) -> Result<Selection> {
    if let Some(reason) = spectrum.unusable() {
        return Ok(Selection::not_applicable(Rule::BrokenStick, reason));
    }
    let r = spectrum.rank;
    let mut sum = 0.0;
    let mut pieces: Vec<f64> = (1..=r)
        .rev()
        .map(|i| {
            sum += 1.0 / i as f64;
            sum / r as f64
        })
        .collect();
    pieces.reverse();
    let shares: Vec<f64> = spectrum.variances.iter().map(|variance| variance / spectrum.total).collect();
    pieces.truncate(shares.len());
    Selection::compared(Rule::BrokenStick, "share", (shares, pieces), r)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::selection::Curve;

    #[test]
    fn pieces_of_four_match_the_literature() {
        // Jackson 1993, table: 0.521, 0.271, 0.146, 0.063.
        let spectrum =
            Spectrum::new(&[2.480_241_58, 0.989_765_15, 0.356_563_18, 0.173_430_09], 50.0, 4).unwrap();
        let found = broken_stick(&spectrum).unwrap();
        let Curve::Compared { values, thresholds } = &found.curve else { panic!("{found:?}") };
        for (piece, expected) in thresholds.iter().zip([25.0 / 48.0, 13.0 / 48.0, 7.0 / 48.0, 3.0 / 48.0]) {
            assert!((piece - expected).abs() < 1e-15);
        }
        assert!((values[0] - 0.620_060_4).abs() < 1e-6);
        assert_eq!((found.n_components, found.at_edge, found.range), (Some(1), false, (0, 4)));
        assert_eq!(found.reason, "PC1: share 0.6201 > 0.5208; PC2: share 0.2474 <= 0.2708");
    }

    #[test]
    fn wide_data_have_as_many_pieces_as_free_rows() {
        let spectrum = Spectrum::new(&[6.0, 3.0, 1.0], 4.0, 100).unwrap();
        let found = broken_stick(&spectrum).unwrap();
        // Pieces 11/18, 5/18, 2/18 against shares 0.6, 0.3, 0.1.
        assert_eq!((found.n_components, found.at_edge), (Some(0), true));
    }
}
