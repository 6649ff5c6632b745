//! Sampling errors of variances, and the components that they do not distinguish.

use crate::selection::Spectrum;

/// Standard errors of the variances of a fit, and which neighbours they do not separate.
#[derive(Clone, Debug, PartialEq)]
pub struct Separation {
    /// Standard error of each variance.
    pub standard_errors: Vec<f64>,
    /// For each pair of neighbours, one fewer than variances: true if the bars of one standard error overlap.
    pub overlaps: Vec<bool>,
}

impl Separation {
    /// Ranges of consecutive components that overlap: their directions are arbitrary within the space that they span.
    pub fn groups(&self) -> Vec<std::ops::Range<usize>> {
        let mut groups = Vec::new();
        let mut start = 0;
        for k in 0..self.standard_errors.len() {
            if !self.overlaps.get(k).copied().unwrap_or(false) {
                groups.push(start..k + 1);
                start = k + 1;
            }
        }
        groups
    }
}

/// Returns the rule of thumb of North, Bell, Cahalan & Moeng (1982),
/// doi:10.1175/1520-0493(1982)110<0699:SEITEO>2.0.CO;2, equation 24: the standard error of a variance is
/// $\delta\lambda = \lambda \sqrt{2 / n}$ for n independent normal observations. If it is as large as the distance to a
/// neighbour, sampling mixes the two components; here two components overlap if the bars of one standard error about
/// their variances do.
///
/// n is the number of observations of the spectrum; for rows that are correlated, such as a time series, set their
/// effective number by [`Spectrum::of_model`].
///
/// ```
/// use karhunen::selection::{Spectrum, north};
/// let found = north(&Spectrum::new(&[14.0, 4.0, 3.0, 1.0], 200.0, 4)?);
/// assert!((found.standard_errors[0] - 1.4).abs() < 1e-14);
/// assert_eq!(found.overlaps, [false, false, false]);
/// assert_eq!(north(&Spectrum::new(&[14.0, 4.0, 3.0, 1.0], 50.0, 4)?).groups(), [0..1, 1..3, 3..4]);
/// # Ok::<(), karhunen::Error>(())
/// ```
pub fn north(spectrum: &Spectrum) -> Separation {
    let relative = (2.0 / spectrum.n_observations).sqrt();
    let variances = &spectrum.variances[..spectrum.n_components];
    let standard_errors: Vec<f64> = variances.iter().map(|variance| variance * relative).collect();
    let bar = |k: usize| (variances[k] - standard_errors[k], variances[k] + standard_errors[k]);
    let overlaps = (1..standard_errors.len()).map(|k| bar(k - 1).0 <= bar(k).1).collect();
    Separation { standard_errors, overlaps }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_that_touch_overlap() {
        // Standard errors of half the variances: 2 +- 1 and 2/3 +- 1/3 touch at 1.
        let found = north(&Spectrum::new(&[2.0, 0.6, 0.19], 8.0, 3).unwrap());
        assert_eq!(found.standard_errors, [1.0, 0.3, 0.095]);
        assert_eq!(found.overlaps, [false, false]);
        let found = north(&Spectrum::new(&[2.0, 2.0 / 3.0 + 1e-9, 0.1], 8.0, 3).unwrap());
        assert_eq!(found.overlaps, [true, false]);
        assert_eq!(found.groups(), [0..2, 2..3]);
    }

    #[test]
    fn fewer_effective_observations_widen_the_bars() {
        for (n, overlaps) in [(1000.0, [false]), (20.0, [true])] {
            assert_eq!(north(&Spectrum::new(&[4.0, 3.0], n, 2).unwrap()).overlaps, overlaps);
        }
    }
}
