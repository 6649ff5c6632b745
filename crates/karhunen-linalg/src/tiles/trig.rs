//! Fast sines and cosines of many values.
//!
//! `x = n pi / 2 + r` with `|r| <= pi / 4`, by three parts of `pi / 2`; then the polynomials of fdlibm. Loops
//! without branches, as in [`crate::tiles::exp`]. Arguments of f32 are computed in f64.

use pulp::{Simd, WithSimd};

use crate::scalar::Scalar;
use crate::simd::dispatch;

/// Sine or cosine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wave {
    /// The sine.
    Sine,
    /// The cosine.
    Cosine,
}

/// Replaces every value by `factor` times its sine or cosine, with an error of at most 2 units of rounding for
/// arguments up to 1e5, and about `1e-16 |x|` beyond.
pub fn wave<E: Scalar>(wave: Wave, factor: f64, values: &mut [E]) {
    dispatch(Op { quarter: if wave == Wave::Cosine { 1 } else { 0 }, factor, values });
}

struct Op<'a, E> {
    /// Quarter turns added to the argument.
    quarter: u64,
    factor: f64,
    values: &'a mut [E],
}

impl<E: Scalar> WithSimd for Op<'_, E> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for value in self.values.iter_mut() {
            *value = E::from_f64(sine(value.to_f64(), self.quarter) * self.factor);
        }
    }
}

#[inline(always)]
fn sine(x: f64, quarter: u64) -> f64 {
    /// Adding it rounds to an integer, stored in the lowest bits.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    const PARTS: [f64; 3] = [1.570_796_326_734_125_6, 6.077_100_506_303_966e-11, 2.022_266_248_795_950_6e-21];
    const SINE: [f64; 6] = [
        -1.666_666_666_666_663_2e-1,
        8.333_333_333_322_49e-3,
        -1.984_126_982_985_795e-4,
        2.755_731_370_707_007e-6,
        -2.505_076_025_340_686_3e-8,
        1.589_690_995_211_55e-10,
    ];
    const COSINE: [f64; 6] = [
        4.166_666_666_666_66e-2,
        -1.388_888_888_887_411e-3,
        2.480_158_728_947_673e-5,
        -2.755_731_435_139_066_3e-7,
        2.087_572_321_298_175e-9,
        -1.135_964_755_778_819_5e-11,
    ];
    let rounded = x * std::f64::consts::FRAC_2_PI + ROUND;
    let n = rounded - ROUND;
    let r = ((x - n * PARTS[0]) - n * PARTS[1]) - n * PARTS[2];
    let z = r * r;
    let (mut s, mut c) = (SINE[5], COSINE[5]);
    for i in (0..5).rev() {
        s = s * z + SINE[i];
        c = c * z + COSINE[i];
    }
    let sine = r + r * z * s;
    let cosine = 1.0 - (0.5 * z - z * z * c);
    let turn = rounded.to_bits().wrapping_add(quarter);
    let value = if turn & 1 == 0 { sine } else { cosine };
    f64::from_bits(value.to_bits() ^ ((turn & 2) << 62))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sines_and_cosines_are_accurate() {
        let x: Vec<f64> =
            (-20_000..=20_000).map(|i| f64::from(i) * 0.0371 + 1e-4 * f64::from(i).powi(2)).collect();
        for (which, exact) in [(Wave::Sine, f64::sin as fn(f64) -> f64), (Wave::Cosine, f64::cos)] {
            let mut found = x.clone();
            wave(which, 1.0, &mut found);
            for (x, found) in x.iter().zip(&found) {
                assert!((found - exact(*x)).abs() <= 2.0 * f64::EPSILON, "{which:?} {x}: {found}");
            }
            let mut single: Vec<f32> = x.iter().map(|x| *x as f32).collect();
            wave(which, 2.0, &mut single);
            for (x, found) in x.iter().zip(&single) {
                assert!((f64::from(*found) - 2.0 * exact(f64::from(*x as f32))).abs() <= 1.2e-7);
            }
        }
    }
}
