//! Transposition of squares of values in vector registers.

use pulp::Simd;

/// Side of a square.
pub const SIDE: usize = 8;

/// Transposes squares. Where a register holds fewer than [`SIDE`] values, the square is cut into squares of as many rows
/// as a register has lanes.
#[derive(Clone, Copy)]
pub struct Transposition<S: Simd> {
    simd: S,
    /// For each of the distances 1, 2 and 4, the lanes whose numbers lack that binary digit.
    without: [S::m64s; 3],
}

impl<S: Simd> Transposition<S> {
    /// Prepares masks.
    #[inline(always)]
    pub fn new(simd: S) -> Self {
        const NUMBERS: [u64; SIDE] = [0, 1, 2, 3, 4, 5, 6, 7];
        let numbers = bytemuck::cast_slice::<u64, S::u64s>(&NUMBERS)[0];
        let mut without = [simd.equal_u64s(numbers, numbers); 3];
        for (mask, digit) in without.iter_mut().zip([1, 2, 4]) {
            *mask = simd.equal_u64s(simd.and_u64s(numbers, simd.splat_u64s(digit)), simd.splat_u64s(0));
        }
        Self { simd, without }
    }

    /// The transposed square.
    #[inline(always)]
    pub fn transpose(self, square: &[[f64; SIDE]; SIDE]) -> [[f64; SIDE]; SIDE] {
        let lanes = S::F64_LANES;
        let mut out = [[0.0; SIDE]; SIDE];
        for i in (0..SIDE).step_by(lanes) {
            for j in (0..SIDE).step_by(lanes) {
                let mut rows = [self.simd.splat_f64s(0.0); SIDE];
                for (row, values) in rows.iter_mut().zip(&square[i..i + lanes]) {
                    *row = bytemuck::cast_slice(&values[j..j + lanes])[0];
                }
                if lanes > 4 {
                    self.exchange::<4>(&mut rows, 2);
                }
                if lanes > 2 {
                    self.exchange::<2>(&mut rows, 1);
                }
                if lanes > 1 {
                    self.exchange::<1>(&mut rows, 0);
                }
                for (row, values) in rows.iter().zip(&mut out[j..j + lanes]) {
                    values[i..i + lanes].copy_from_slice(bytemuck::cast_slice(std::slice::from_ref(row)));
                }
            }
        }
        out
    }

    /// Exchanges the binary digit `DISTANCE` of the numbers of row and lane: one step of a transposition.
    #[inline(always)]
    fn exchange<const DISTANCE: usize>(self, rows: &mut [S::f64s; SIDE], mask: usize) {
        let (simd, lanes, without) = (self.simd, S::F64_LANES, self.without[mask]);
        for i in (0..lanes).filter(|i| i & DISTANCE == 0) {
            let (upper, lower) = (rows[i], rows[i + DISTANCE]);
            rows[i] = simd.select_f64s(without, upper, simd.rotate_right_f64s(lower, DISTANCE));
            rows[i + DISTANCE] =
                simd.select_f64s(without, simd.rotate_right_f64s(upper, lanes - DISTANCE), lower);
        }
    }
}

#[cfg(test)]
mod tests {
    use pulp::{Scalar, WithSimd};

    use super::*;
    use crate::simd::dispatch;

    struct Transpose([[f64; SIDE]; SIDE]);

    impl WithSimd for Transpose {
        type Output = [[f64; SIDE]; SIDE];

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
            Transposition::new(simd).transpose(&self.0)
        }
    }

    #[test]
    fn squares_are_transposed() {
        let square: [[f64; SIDE]; SIDE] =
            std::array::from_fn(|i| std::array::from_fn(|j| (10 * i + j) as f64));
        let expected: [[f64; SIDE]; SIDE] =
            std::array::from_fn(|i| std::array::from_fn(|j| (10 * j + i) as f64));
        assert_eq!(dispatch(Transpose(square)), expected);
        assert_eq!(Transpose(square).with_simd(Scalar::new()), expected);
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = pulp::x86::V3::try_new() {
            assert_eq!(Simd::vectorize(simd, Transpose(square)), expected);
        }
    }
}
