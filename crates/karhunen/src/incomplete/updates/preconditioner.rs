//! Gradients divided by powers of the second derivatives, independent of the unit of each value.
//!
//! A value `x` of size `r` is `r` times a number without unit, of gradient `r g` and second derivative `r^2 h`.
//! Its step `(r g) (r^2 h)^-alpha` is the step `(r^2)^(1 - alpha) g h^-alpha` of `x`. Without sizes, for any power but
//! one, the relative steps of values with different units would depend on the unit of the data.

use pulp::{Simd, WithSimd};

use crate::incomplete::factors::FactorSide;
use crate::linalg::simd::{Lane, dispatch};

/// Squared sizes of values, relative to the sizes of means and offsets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sizes {
    loadings: f64,
    scores: f64,
    /// Size of means and offsets.
    pub(crate) unit: f64,
}

impl Sizes {
    /// Loadings and scores share the unit of the data, as after a random start; `deviation` refers to an entry.
    pub(crate) fn shared(deviation: f64) -> Self {
        let unit = unit(deviation);
        Self { loadings: 1.0 / unit, scores: 1.0 / unit, unit }
    }

    /// The scores have the unit of the data, the loadings none.
    pub(crate) fn of_scores(deviation: f64) -> Self {
        let unit = unit(deviation);
        Self { loadings: unit.powi(-2), scores: 1.0, unit }
    }

    fn of(&self, side: FactorSide) -> f64 {
        match side {
            FactorSide::Scores => self.scores,
            FactorSide::Loadings => self.loadings,
        }
    }
}

/// The deviation, or one if all entries equal their means.
fn unit(deviation: f64) -> f64 {
    if deviation > 0.0 { deviation } else { 1.0 }
}

/// Diagonal preconditioner of the gradient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Preconditioner {
    /// Power of the second derivatives, from 0 to 1.
    pub(crate) alpha: f64,
    pub(crate) sizes: Sizes,
}

impl Preconditioner {
    /// Writes the direction of one row: `free` values of a factor, then its mean or offset.
    pub(crate) fn apply<T: Lane>(
        &self,
        (side, free): (FactorSide, usize),
        g: &[f64],
        h: &[f64],
        out: &mut [T],
    ) {
        let (of_factor, of_constants) = out.split_at_mut(free);
        precondition(&g[..free], &h[..free], (self.alpha, self.sizes.of(side)), of_factor);
        precondition(&g[free..], &h[free..], (self.alpha, 1.0), of_constants);
    }
}

/// `size^(1 - alpha) g h^-alpha`, or zero if `h` is not positive: no entries, or a zero factor.
fn precondition<T: Lane>(g: &[f64], h: &[f64], (alpha, size): (f64, f64), out: &mut [T]) {
    let length = if size == 1.0 { 1.0 } else { size.powf(1.0 - alpha) };
    dispatch(Precondition { g, h, alpha, length, out });
}

struct Precondition<'a, T> {
    g: &'a [f64],
    h: &'a [f64],
    alpha: f64,
    length: f64,
    out: &'a mut [T],
}

impl<T: Lane> WithSimd for Precondition<'_, T> {
    type Output = ();
    /// One loop per common power, compiled for the vector extensions.
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { g, h, alpha, length, out } = self;
        let each = out.iter_mut().zip(g.iter().zip(h));
        // Without positive curvature there is no step.
        if alpha == 0.0 {
            each.for_each(|(out, (g, h))| *out = T::from_f64(if *h > 0.0 { length * g } else { 0.0 }));
        } else if alpha == 1.0 {
            each.for_each(|(out, (g, h))| *out = T::from_f64(if *h > 0.0 { length * g / h } else { 0.0 }));
        } else if alpha == 2.0 / 3.0 {
            for (out, (g, h)) in each {
                let root = inverse_cbrt(*h);
                *out = T::from_f64(if *h > 0.0 { length * g * (root * root) } else { 0.0 });
            }
        } else {
            each.for_each(|(out, (g, h))| {
                *out = T::from_f64(if *h > 0.0 { length * g * h.powf(-alpha) } else { 0.0 })
            });
        }
    }
}

/// `h^(-1/3)` of a positive number: Newton's iteration from a third of the exponent, without division.
#[inline(always)]
fn inverse_cbrt(h: f64) -> f64 {
    /// Four thirds of the bits of one, less the value that minimises the first error.
    const FIRST: f64 = 6.142_611_920_468_695e18;
    // Subnormal numbers count as the smallest normal one.
    let h = h.max(f64::MIN_POSITIVE);
    let mut y = f64::from_bits((FIRST - h.to_bits() as f64 * (1.0 / 3.0)) as u64);
    for _ in 0..5 {
        y *= (4.0 - h * y * y * y) * (1.0 / 3.0);
    }
    y
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_curvatures() {
        for exponent in -300..=300 {
            let h = 1.7 * 10f64.powi(exponent);
            let root = inverse_cbrt(h);
            assert!((root * root * root * h - 1.0).abs() < 1e-14, "{h}");
        }
        for alpha in [0.0, 0.625, 2.0 / 3.0, 1.0] {
            let mut out = [9.0f64; 5];
            precondition(&[2.0, 2.0, 2.0, 2.0], &[8.0, 0.3, 0.0, f64::NAN], (alpha, 1.0), &mut out);
            assert!((out[0] - 2.0 * 8f64.powf(-alpha)).abs() < 1e-14, "{alpha}");
            assert!((out[1] - 2.0 * 0.3f64.powf(-alpha)).abs() < 1e-14, "{alpha}");
            assert_eq!(out[2..], [0.0, 0.0, 9.0], "{alpha}");
        }
    }
    #[test]
    fn directions_have_the_unit_of_what_they_move() {
        // In a data unit four times as small, loadings and scores that share it are twice as large, means four
        // times.
        for alpha in [0.0, 0.625, 1.0] {
            let direct = |deviation: f64, g: [f64; 2], h: [f64; 2]| {
                let mut out = [0.0f64; 2];
                let preconditioner = Preconditioner { alpha, sizes: Sizes::shared(deviation) };
                preconditioner.apply((FactorSide::Loadings, 1), &g, &h, &mut out);
                out
            };
            let (one, other) = (direct(1.0, [3.0, 5.0], [7.0, 9.0]), direct(4.0, [24.0, 20.0], [28.0, 9.0]));
            let (loading, mean) = (other[0] / one[0], other[1] / one[1]);
            // All values share a step size, so only the ratio counts: means move twice as much as loadings.
            assert!((mean / loading - 2.0).abs() < 1e-12, "{alpha}: {loading} {mean}");
        }
    }
}
