//! The criteria of Bai and Ng.

use crate::choice::{Choice, Named, plain_names};
use crate::error::{Error, Result};
use crate::selection::{Rule, Selection, Spectrum};

/// A criterion of Bai & Ng (2002).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaiNg {
    /// $\ln V(k) + k \, g_1$.
    Ic1,
    /// $\ln V(k) + k \, g_2$.
    Ic2,
    /// $\ln V(k) + k \, g_3$.
    Ic3,
    /// $V(k) + k \, \hat\sigma^2 g_1$.
    Pc1,
    /// $V(k) + k \, \hat\sigma^2 g_2$.
    Pc2,
    /// $V(k) + k \, \hat\sigma^2 g_3$.
    Pc3,
}

impl Choice for BaiNg {
    const TABLE: &'static [Named<Self>] = &[
        Named::new(Self::Ic1, "ic1", "ln V(k) + k g1"),
        Named::new(Self::Ic2, "ic2", "ln V(k) + k g2"),
        Named::new(Self::Ic3, "ic3", "ln V(k) + k g3"),
        Named::new(Self::Pc1, "pc1", "V(k) + k s2 g1"),
        Named::new(Self::Pc2, "pc2", "V(k) + k s2 g2"),
        Named::new(Self::Pc3, "pc3", "V(k) + k s2 g3"),
    ];
}

plain_names!(BaiNg);

impl BaiNg {
    /// The rule of this criterion.
    pub fn rule(self) -> Rule {
        match self {
            Self::Ic1 => Rule::BaiNgIc1,
            Self::Ic2 => Rule::BaiNgIc2,
            Self::Ic3 => Rule::BaiNgIc3,
            Self::Pc1 => Rule::BaiNgPc1,
            Self::Pc2 => Rule::BaiNgPc2,
            Self::Pc3 => Rule::BaiNgPc3,
        }
    }

    /// The penalty of a component for n observations of p columns.
    fn penalty(self, n: f64, p: f64) -> f64 {
        let (each, smaller) = ((n + p) / (n * p), n.min(p));
        match self {
            Self::Ic1 | Self::Pc1 => -each * each.ln(),
            Self::Ic2 | Self::Pc2 => each * smaller.ln(),
            Self::Ic3 | Self::Pc3 => smaller.ln() / smaller,
        }
    }
}

/// Chooses the number of components, from 0 to `most`, that minimises a criterion of Bai & Ng (2002),
/// doi:10.1111/1468-0262.00273, equations 6 to 9. V(k) is the mean squared residual after k components of n
/// observations
/// of p columns, $\hat\sigma^2 = V(\mathrm{most})$, and
///
/// $$ g_1 = \frac{n + p}{n p} \ln \frac{n p}{n + p}, \quad g_2 = \frac{n + p}{n p} \ln \min(n, p), \quad
///    g_3 = \frac{\ln \min(n, p)}{\min(n, p)}. $$
///
/// If `most` is `None`, it is $8 (\min(n, p) / 100)^{1/4}$, rounded down, at least 1. The criteria are for tables that
/// grow in both directions: with fewer than about 40 rows or columns, they choose `most`, and
/// [`Selection::at_edge`] says so. Columns should be standardised.
///
/// ```
/// use karhunen::selection::{BaiNg, Spectrum, bai_ng};
/// let mut variances = vec![30.0, 20.0];
/// variances.extend([1.0; 48]);
/// let spectrum = Spectrum::new(&variances, 100.0, 50)?;
/// assert_eq!(bai_ng(&spectrum, BaiNg::Ic2, Some(8))?.n_components, Some(2));
/// # Ok::<(), karhunen::Error>(())
/// ```
///
/// # Errors
/// [`Error::Truncated`] if fewer than `most` variances were computed.
pub fn bai_ng(spectrum: &Spectrum, criterion: BaiNg, most: Option<usize>) -> Result<Selection> {
    let rule = criterion.rule();
    if let Some(reason) = spectrum.unusable() {
        return Ok(Selection::not_applicable(rule, reason));
    }
    let (n, p) = (spectrum.n_observations, spectrum.n_features as f64);
    let most = most.unwrap_or_else(|| (8.0 * (n.min(p) / 100.0).powf(0.25)).max(1.0) as usize);
    let most = most.min(spectrum.rank - 1);
    if spectrum.variances.len() < most && !spectrum.is_complete() {
        let kept = spectrum.variances.len();
        return Err(Error::Truncated { rule: rule.name(), kept, all: most });
    }
    let most = most.min(spectrum.variances.len());
    // Any common factor of the variances is a common factor of all values of a criterion, or a common summand.
    let residual = |k: usize| spectrum.rest(k) / p;
    if residual(most) <= 1e-12 * residual(0) {
        return Ok(Selection::not_applicable(rule, format!("{most} components leave no residual")));
    }
    let (penalty, noise) = (criterion.penalty(n, p), residual(most));
    let values: Vec<f64> = (0..=most)
        .map(|k| match criterion {
            BaiNg::Ic1 | BaiNg::Ic2 | BaiNg::Ic3 => residual(k).ln() + k as f64 * penalty,
            BaiNg::Pc1 | BaiNg::Pc2 | BaiNg::Pc3 => residual(k) + k as f64 * noise * penalty,
        })
        .collect();
    let best = (0..=most).reduce(|best, k| if values[k] < values[best] { k } else { best }).unwrap_or(0);
    Ok(Selection::by_criterion(rule, "the criterion", (0, values), best))
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

    fn factors(n: usize, p: usize, k: usize, noise: f64, seed: u64) -> Matrix {
        let signal = multiply(&gaussian(n, k, seed, 0), &gaussian(k, p, seed, 1));
        let errors = gaussian(n, p, seed, 2);
        Matrix::from_fn(n, p, |i, j| signal[(i, j)] + noise * errors[(i, j)])
    }

    #[test]
    fn planted_factors_are_counted() {
        // Bai & Ng 2002, table I: with 100 x 100 and as much noise as signal, the criteria find the rank.
        for k in [1, 3, 5] {
            let x = factors(100, 100, k, (k as f64).sqrt(), 7 + k as u64);
            let pca = Pca::default().scale(true);
            let model = pca.fit(&Dense::from(&x), &Weights::default()).unwrap();
            let spectrum = Spectrum::of_model(&model, None).unwrap();
            for criterion in [BaiNg::Ic1, BaiNg::Ic2, BaiNg::Pc1, BaiNg::Pc2] {
                let found = bai_ng(&spectrum, criterion, Some(8)).unwrap();
                assert_eq!((found.n_components, found.at_edge), (Some(k), false), "{criterion} {k}");
            }
        }
    }

    #[test]
    fn values_follow_the_definition() {
        let variances = [4.0, 2.0, 1.0, 0.5];
        let (n, p) = (20.0, 4.0);
        let spectrum = Spectrum::new(&variances, n, 4).unwrap();
        // Residual variances per column after 0, 1 and 2 components.
        let v: [f64; 3] = [7.5 / 4.0, 3.5 / 4.0, 1.5 / 4.0];
        let g1 = (n + p) / (n * p) * (n * p / (n + p)).ln();
        let g2 = (n + p) / (n * p) * 4f64.ln();
        let g3 = 4f64.ln() / 4.0;
        for (criterion, g) in BaiNg::ALL.into_iter().zip([g1, g2, g3, g1, g2, g3]) {
            let found = bai_ng(&spectrum, criterion, Some(2)).unwrap();
            let Curve::Criterion { first: 0, values, maximised: false } = found.curve else { panic!() };
            for k in 0..=2 {
                let penalty = k as f64 * g;
                let expected = if criterion.name().starts_with("ic") {
                    v[k].ln() + penalty
                } else {
                    v[k] + penalty * v[2]
                };
                assert!((values[k] - expected).abs() < 1e-14, "{criterion} {k}");
            }
        }
    }

    #[test]
    fn a_truncated_spectrum_suffices_up_to_its_length() {
        let variances = [4.0, 2.0, 1.0, 0.5];
        let complete = Spectrum::new(&variances, 20.0, 4).unwrap();
        let truncated = Spectrum::truncated(&variances[..2], 7.5, 20.0, 4).unwrap();
        let select = |spectrum, most| bai_ng(spectrum, BaiNg::Ic1, Some(most));
        assert_eq!(select(&complete, 2).unwrap(), select(&truncated, 2).unwrap());
        assert!(select(&truncated, 3).is_err());
    }
}
