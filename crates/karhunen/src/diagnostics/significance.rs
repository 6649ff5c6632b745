//! Correction of p-values for the number of tests.

use crate::choice::{Choice, Named, plain_names};

/// A correction of p-values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Adjust {
    /// None.
    None,
    /// Controls the probability of any false finding (Holm 1979).
    #[default]
    Holm,
    /// Controls the share of false findings (Benjamini & Hochberg 1995, doi:10.1111/j.2517-6161.1995.tb02031.x).
    Fdr,
}

impl Choice for Adjust {
    const TABLE: &'static [Named<Self>] = &[
        Named::new(Self::None, "none", "Leaves p-values as they are"),
        Named::new(Self::Holm, "holm", "Controls the probability of any false finding"),
        Named::new(Self::Fdr, "fdr", "Controls the share of false findings (Benjamini and Hochberg)"),
    ];
}

plain_names!(Adjust);

/// P-values corrected for their number, in the order given, as R's `p.adjust`. NaN stays and does not count.
pub fn adjusted(p_values: &[f64], how: Adjust) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).filter(|i| !p_values[*i].is_nan()).collect();
    order.sort_by(|i, j| p_values[*i].total_cmp(&p_values[*j]));
    let m = order.len();
    let mut out = p_values.to_vec();
    match how {
        Adjust::None => {}
        Adjust::Holm => {
            let mut least = 0.0_f64;
            for (rank, i) in order.iter().enumerate() {
                least = least.max(p_values[*i] * (m - rank) as f64).min(1.0);
                out[*i] = least;
            }
        }
        Adjust::Fdr => {
            let mut most = 1.0_f64;
            for (rank, i) in order.iter().enumerate().rev() {
                most = most.min(p_values[*i] * m as f64 / (rank + 1) as f64);
                out[*i] = most;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corrections_match_p_adjust() {
        // R 4.2: p.adjust(c(0.01, 0.04, 0.03, NA, 0.5), "holm") and "fdr".
        let p = [0.01, 0.04, 0.03, f64::NAN, 0.5];
        let close = |found: &[f64], expected: [f64; 5]| {
            for (x, y) in found.iter().zip(expected) {
                assert!(x.is_nan() && y.is_nan() || (x - y).abs() < 1e-15, "{found:?}");
            }
        };
        close(&adjusted(&p, Adjust::Holm), [0.04, 0.09, 0.09, f64::NAN, 0.5]);
        close(&adjusted(&p, Adjust::Fdr), [0.04, 0.16 / 3.0, 0.16 / 3.0, f64::NAN, 0.5]);
        assert_eq!(adjusted(&p[..3], Adjust::None), p[..3]);
    }
}
