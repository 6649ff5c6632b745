//! The law of Marchenko and Pastur: its quantiles, and the rule of its upper edge.

use std::f64::consts::{FRAC_2_PI, PI};

use crate::error::Result;
use crate::selection::spectrum::whole;
use crate::selection::{Rule, Selection, Spectrum};

/// Keeps components whose variance exceeds the upper edge of the variances of pure noise.
///
/// For independent noise of variance $\sigma^2$ in an n x p table (n less one after centring), with
/// $\beta = \min(n, p) / \max(n, p)$, the squared singular values divided by $\sigma^2 \max(n, p)$ follow the law of
/// Marchenko & Pastur (1967), doi:10.1070/SM1967v001n04ABEH001994, between $(1 - \sqrt\beta)^2$ and
/// $(1 + \sqrt\beta)^2$. The variance of the noise is unknown; it is estimated robustly, so that the median of the
/// variances equals the median of the law. A variance is kept if it exceeds
/// $(1 + \sqrt\beta)^2 \, \mathrm{median}(\lambda) / \mu_\beta$.
///
/// Components up to about a tenth of all hardly move the median. Without signal the largest variance exceeds the
/// edge by chance in a share of the cases that falls slowly with the size of the table (the fluctuations of the largest
/// variance are of the order $n^{-2/3}$, after Johnstone 2001, doi:10.1214/aos/1009210544).
///
/// ```
/// use karhunen::selection::{Spectrum, marchenko_pastur};
/// let spectrum = Spectrum::new(&[9.0, 1.2, 1.1, 1.0, 1.0, 0.9, 0.8], 200.0, 7)?;
/// assert_eq!(marchenko_pastur(&spectrum)?.n_components, Some(1));
/// # Ok::<(), karhunen::Error>(())
/// ```
///
/// # Errors
/// [`crate::Error::Truncated`] unless the spectrum is complete.
pub fn marchenko_pastur(spectrum: &Spectrum) -> Result<Selection> {
    let rule = Rule::MarchenkoPastur;
    let noise = match Noise::of(spectrum, rule)? {
        Ok(noise) => noise,
        Err(reason) => return Ok(Selection::not_applicable(rule, reason)),
    };
    let edge = (1.0 + noise.beta.sqrt()).powi(2) * median(&noise.variances) / median_of_law(noise.beta);
    let thresholds = vec![edge; noise.variances.len()];
    let most = noise.variances.len();
    Selection::compared(rule, "variance", (noise.variances, thresholds), most)
}

/// The variances that noise may explain.
pub(super) struct Noise {
    /// Descending, as many as the shorter side of the table.
    pub(super) variances: Vec<f64>,
    /// The ratio of the shorter to the longer side, 0 < beta <= 1.
    pub(super) beta: f64,
}

impl Noise {
    /// The noise of a complete spectrum, or the reason why there is none.
    pub(super) fn of(spectrum: &Spectrum, rule: Rule) -> Result<std::result::Result<Self, &'static str>> {
        if let Some(reason) = spectrum.unusable() {
            return Ok(Err(reason));
        }
        let (rows, columns) = (spectrum.n_free(), spectrum.n_features as f64);
        let mut variances = spectrum.complete(rule.name())?;
        // Rows of unequal importance can have more variances than the observations that they count as.
        variances.truncate(whole(rows).max(1));
        if median(&variances) <= variances[0] * 1e-12 {
            return Ok(Err("half of the variances are zero, and leave no noise to compare with"));
        }
        Ok(Ok(Self { variances, beta: rows.min(columns) / rows.max(columns) }))
    }
}

/// The median of numbers in order.
pub(super) fn median(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[half] } else { 0.5 * (sorted[half - 1] + sorted[half]) }
}

/// The median of the law of ratio `beta`, 0 < beta <= 1, by bisection of its distribution function.
pub(super) fn median_of_law(beta: f64) -> f64 {
    let (mut low, mut high) = (0.0, PI);
    // 60 halvings reach the rounding of an angle.
    for _ in 0..60 {
        let angle = 0.5 * (low + high);
        if share_below(beta, angle) < 0.5 { low = angle } else { high = angle }
    }
    1.0 + beta - 2.0 * beta.sqrt() * (0.5 * (low + high)).cos()
}

/// The share of the law below $t = 1 + \beta - 2 \sqrt\beta \cos\theta$, for $0 < \theta < \pi$.
///
/// With this substitution the density is $\frac{2}{\pi} \frac{\sin^2\theta}{a - b \cos\theta}$, $a = 1 + \beta$,
/// $b = 2 \sqrt\beta$, whose integral is elementary. It cancels for small `b`, but an error of the angle there moves
/// `t` by `b` times as much.
fn share_below(beta: f64, angle: f64) -> f64 {
    let (a, b, root) = (1.0 + beta, 2.0 * beta.sqrt(), beta.sqrt());
    let half = ((1.0 + root) / (1.0 - root) * (angle / 2.0).tan()).atan();
    FRAC_2_PI * (angle.sin() / b + (a * angle - 2.0 * (1.0 - beta) * half) / (b * b))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The share of the law below `t`, by the midpoint rule over its density after t = low + width sin^2(s).
    fn share_by_density(beta: f64, t: f64) -> f64 {
        let (low, high) = ((1.0 - beta.sqrt()).powi(2), (1.0 + beta.sqrt()).powi(2));
        let end = ((t - low) / (high - low)).sqrt().asin();
        let n = 200_000;
        let step = end / f64::from(n);
        let density = |t: f64| ((high - t) * (t - low)).sqrt() / (2.0 * PI * beta * t);
        (0..n)
            .map(|i| {
                let s = (f64::from(i) + 0.5) * step;
                let t = low + (high - low) * s.sin().powi(2);
                density(t) * 2.0 * (high - low) * s.sin() * s.cos() * step
            })
            .sum()
    }

    #[test]
    fn medians_halve_the_law() {
        for beta in [1.0, 0.97, 0.5, 0.1, 0.01, 1e-4] {
            let share = share_by_density(beta, median_of_law(beta));
            assert!((share - 0.5).abs() < 1e-7, "{beta}: {share}");
        }
        // The law of one column is a point at one.
        assert!((median_of_law(1e-10) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn the_edge_of_pure_noise_is_known() {
        // 100 variances of 400 rows at the quantiles of the law: none lies above the edge, a planted one does.
        let beta = 0.25;
        let quantile = |share: f64| {
            let (mut low, mut high) = (0.0, PI);
            for _ in 0..60 {
                let angle = 0.5 * (low + high);
                if share_below(beta, angle) < share { low = angle } else { high = angle }
            }
            1.0 + beta - 2.0 * beta.sqrt() * low.cos()
        };
        let mut variances: Vec<f64> =
            (0..100).rev().map(|i| quantile((f64::from(i) + 0.5) / 100.0)).collect();
        let select = |variances: &[f64]| {
            marchenko_pastur(&Spectrum::new(variances, 401.0, 100).unwrap()).unwrap().n_components
        };
        assert_eq!(select(&variances), Some(0));
        variances[0] = 2.4;
        assert_eq!(select(&variances), Some(1));
        variances[1] = 2.3;
        assert_eq!(select(&variances), Some(2));
    }

    #[test]
    fn a_spectrum_of_few_variances_has_no_noise() {
        let spectrum = Spectrum::new(&[2.0, 1.0, 0.0, 0.0, 0.0], 50.0, 5).unwrap();
        let found = marchenko_pastur(&spectrum).unwrap();
        assert_eq!(found.n_components, None);
        assert!(found.reason.contains("leave no noise"), "{}", found.reason);
    }
}
