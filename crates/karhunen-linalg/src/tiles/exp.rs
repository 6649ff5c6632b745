//! Fast exponentials and hyperbolic tangents of many values, `f32` and `f64`.
//!
//! `exp(x) = 2^n exp(r)` with `n = round(x / ln 2)` and `|r| <= ln 2 / 2`; `exp(r) = 1 + r + r^2 q(r)` for a
//! polynomial `q` of degree 9 (f64) or 4 (f32), interpolated in Chebyshev nodes with exact arithmetic: the
//! truncation errors are 1.7e-17 and 1.1e-8. The loops have no branches, so that the compiler vectorizes them.

use std::ops::{Add, Mul};

use pulp::{Simd, WithSimd};

use crate::simd::{Lane, dispatch};

/// Element types with exponentials.
pub trait Exp: Lane + Add<Output = Self> + Mul<Output = Self> {
    /// `exp(x)` for `x <= 0`, within 1 unit in the last place (f32: 1.2). Returns zero for results below the
    /// smallest normal number and for NaN. `FUSED` if multiplication and addition are one instruction.
    fn exp_of_nonpositive<const FUSED: bool>(self) -> Self;
    /// `tanh(x)`, within 4 units in the last place; NaN becomes 1.
    fn tanh<const FUSED: bool>(self) -> Self;
}

/// `a * b + c`, without a library call if there is no such instruction. A macro, as the method belongs to no
/// trait.
macro_rules! mul_add {
    ($t:ident, $a:expr, $b:expr, $c:expr) => {
        if FUSED { $t::mul_add($a, $b, $c) } else { $a * $b + $c }
    };
}

impl Exp for f64 {
    #[inline(always)]
    fn exp_of_nonpositive<const FUSED: bool>(self) -> f64 {
        /// Arguments below this give results that are not normal.
        const LEAST: f64 = -708.0;
        /// Adding it rounds to an integer, stored in the lowest bits.
        const ROUND: f64 = 6_755_399_441_055_744.0;
        const LN2_HIGH: f64 = 0.693_147_180_485_539_1;
        const LN2_LOW: f64 = 7.440_617_110_012_397e-11;
        const Q: [f64; 10] = [
            0.500_000_000_000_000_1,
            0.166_666_666_666_666_69,
            0.041_666_666_666_623_99,
            0.008_333_333_333_330_051,
            0.001_388_888_891_728_179_4,
            0.000_198_412_698_631_059_68,
            2.480_152_119_021_773e-5,
            2.755_726_837_868_419_2e-6,
            2.762_013_871_973_399_4e-7,
            2.510_042_415_700_506_7e-8,
        ];
        let x = if self > LEAST { self } else { LEAST };
        let rounded: f64 = mul_add!(f64, x, std::f64::consts::LOG2_E, ROUND);
        let n = rounded - ROUND;
        let r: f64 = mul_add!(f64, n, -LN2_HIGH, x);
        let r: f64 = mul_add!(f64, n, -LN2_LOW, r);
        let mut q = Q[9];
        for i in (0..9).rev() {
            q = mul_add!(f64, q, r, Q[i]);
        }
        let p: f64 = 1.0 + mul_add!(f64, q, r * r, r);
        let value = f64::from_bits(p.to_bits().wrapping_add(rounded.to_bits() << 52));
        if self > LEAST { value } else { 0.0 }
    }

    #[inline(always)]
    fn tanh<const FUSED: bool>(self) -> f64 {
        /// Largest argument of the series, whose next term is below 1e-17 of the first.
        const SERIES: f64 = 0.125;
        /// Coefficients of x^3, x^5, ... of the series.
        const C: [f64; 7] = [
            -1.0 / 3.0,
            2.0 / 15.0,
            -17.0 / 315.0,
            62.0 / 2835.0,
            -1382.0 / 155_925.0,
            21_844.0 / 6_081_075.0,
            -929_569.0 / 638_512_875.0,
        ];
        let size = self.abs();
        let e = (-2.0 * size).exp_of_nonpositive::<FUSED>();
        let far = (1.0 - e) / (1.0 + e);
        let square = size * size;
        let mut series = C[6];
        for i in (0..6).rev() {
            series = mul_add!(f64, series, square, C[i]);
        }
        let near: f64 = mul_add!(f64, series * square, size, size);
        (if size < SERIES { near } else { far }).copysign(self)
    }
}

impl Exp for f32 {
    #[inline(always)]
    fn exp_of_nonpositive<const FUSED: bool>(self) -> f32 {
        const LEAST: f32 = -87.0;
        const ROUND: f32 = 12_582_912.0;
        const LN2_HIGH: f32 = 0.693_145_75;
        const LN2_LOW: f32 = 1.428_606_8e-6;
        const Q: [f32; 5] = [0.5, 0.166_665_77, 0.041_666_556, 0.008_363_203, 0.001_392_621_3];
        let x = if self > LEAST { self } else { LEAST };
        let rounded: f32 = mul_add!(f32, x, std::f32::consts::LOG2_E, ROUND);
        let n = rounded - ROUND;
        let r: f32 = mul_add!(f32, n, -LN2_HIGH, x);
        let r: f32 = mul_add!(f32, n, -LN2_LOW, r);
        let mut q = Q[4];
        for i in (0..4).rev() {
            q = mul_add!(f32, q, r, Q[i]);
        }
        let p: f32 = 1.0 + mul_add!(f32, q, r * r, r);
        let value = f32::from_bits(p.to_bits().wrapping_add(rounded.to_bits() << 23));
        if self > LEAST { value } else { 0.0 }
    }

    #[inline(always)]
    fn tanh<const FUSED: bool>(self) -> f32 {
        const SERIES: f32 = 0.125;
        const C: [f32; 3] = [-1.0 / 3.0, 2.0 / 15.0, -17.0 / 315.0];
        let size = self.abs();
        let e = (-2.0 * size).exp_of_nonpositive::<FUSED>();
        let far = (1.0 - e) / (1.0 + e);
        let square = size * size;
        let mut series = C[2];
        for i in (0..2).rev() {
            series = mul_add!(f32, series, square, C[i]);
        }
        let near: f32 = mul_add!(f32, series * square, size, size);
        (if size < SERIES { near } else { far }).copysign(self)
    }
}

/// Replaces every value by `exp(factor * value)`; products must not be positive. Accuracy:
/// [`Exp::exp_of_nonpositive`].
pub fn exp_scaled<E: Exp>(values: &mut [E], factor: E) {
    struct Op<'a, E>(&'a mut [E], E);
    impl<E: Exp> WithSimd for Op<'_, E> {
        type Output = ();
        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) {
            if S::IS_SCALAR {
                self.0.iter_mut().for_each(|v| *v = (*v * self.1).exp_of_nonpositive::<false>());
            } else {
                for v in self.0.iter_mut() {
                    *v = (*v * self.1).exp_of_nonpositive::<true>();
                }
            }
        }
    }
    dispatch(Op(values, factor));
}

/// Replaces every value by `tanh(factor * value + offset)`. Accuracy: [`Exp::tanh`].
pub fn tanh_affine<E: Exp>(values: &mut [E], factor: E, offset: E) {
    struct Op<'a, E>(&'a mut [E], E, E);
    impl<E: Exp> WithSimd for Op<'_, E> {
        type Output = ();
        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) {
            if S::IS_SCALAR {
                self.0.iter_mut().for_each(|v| *v = (*v * self.1 + self.2).tanh::<false>());
            } else {
                for v in self.0.iter_mut() {
                    *v = (*v * self.1 + self.2).tanh::<true>();
                }
            }
        }
    }
    dispatch(Op(values, factor, offset));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Units in the last place between `found` and `expected`.
    fn ulps_f64(found: f64, expected: f64) -> f64 {
        (found - expected).abs() / (f64::from_bits(expected.abs().to_bits() + 1) - expected.abs())
    }

    #[test]
    fn exponentials_are_accurate_to_the_last_place() {
        let n = 200_000;
        let arguments: Vec<f64> = (0..=n).map(|i| -707.9 * (f64::from(i) / f64::from(n)).powi(3)).collect();
        let mut found = arguments.clone();
        exp_scaled(&mut found, 1.0);
        for (x, found) in arguments.iter().zip(&found) {
            // The value of the standard library is within half a unit in the last place.
            assert!(ulps_f64(*found, x.exp()) <= 1.5, "exp({x}) = {found}");
        }
        let arguments: Vec<f32> = (0..=n).map(|i| -86.9 * (i as f32 / n as f32).powi(3)).collect();
        let mut found = arguments.clone();
        exp_scaled(&mut found, 1.0);
        for (x, found) in arguments.iter().zip(&found) {
            let expected = f64::from(*x).exp();
            let place =
                f64::from(f32::from_bits((expected as f32).to_bits() + 1)) - f64::from(expected as f32);
            assert!((f64::from(*found) - expected).abs() <= 1.2 * place, "exp({x}) = {found}");
        }
    }

    #[test]
    fn exponentials_are_right_at_the_ends_of_the_range() {
        let mut values = [0.0, -0.0, -708.1, -1e300, f64::NEG_INFINITY];
        exp_scaled(&mut values, 1.0);
        assert_eq!(values, [1.0, 1.0, 0.0, 0.0, 0.0]);
        let mut values = [0.0f32, -2.0, -87.5, f32::NEG_INFINITY];
        exp_scaled(&mut values, 0.5);
        assert_eq!(values[0], 1.0);
        assert!((values[1] - (-1.0f32).exp()).abs() <= f32::EPSILON);
        assert!(values[2] > 0.0 && values[3] == 0.0);
    }

    #[test]
    fn hyperbolic_tangents_are_accurate() {
        let arguments: Vec<f64> = (-4000..=4000).map(|i| (f64::from(i) / 400.0).powi(3) / 40.0).collect();
        let mut found = arguments.clone();
        tanh_affine(&mut found, 1.0, 0.0);
        let mut single: Vec<f32> = arguments.iter().map(|x| *x as f32).collect();
        tanh_affine(&mut single, 1.0, 0.0);
        for ((x, found), single) in arguments.iter().zip(&found).zip(&single) {
            let expected = x.tanh();
            assert!((found - expected).abs() <= 4.0 * f64::EPSILON * expected.abs(), "tanh({x}) = {found}");
            let expected = f64::from(*x as f32).tanh();
            let error = (f64::from(*single) - expected).abs();
            assert!(error <= 4.0 * f64::from(f32::EPSILON) * expected.abs(), "tanh({x}) = {single}");
        }
        let mut far = [30.0, -1e308, f64::INFINITY];
        tanh_affine(&mut far, 1.0, 1.0);
        assert_eq!(far, [1.0, -1.0, 1.0]);
    }
}
