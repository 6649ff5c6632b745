//! Search for NaN and infinite values.

use pulp::{Simd, WithSimd};

use crate::Matrix;
use crate::error::Error;
use crate::scalar::Scalar;

/// Tests that all values are finite.
pub fn all_finite<T: Scalar>(values: &[T]) -> bool {
    struct AllFinite<'a, T>(&'a [T]);
    impl<T: Scalar> WithSimd for AllFinite<'_, T> {
        type Output = bool;
        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) -> bool {
            // Not `all`: a loop that may end at every value is not vectorized.
            self.0.iter().fold(true, |finite, z| finite & z.to_f64().is_finite())
        }
    }
    pulp::Arch::new().dispatch(AllFinite(values))
}

/// Tests that no value exceeds `most` in magnitude; false for NaN.
pub fn all_within<T: Scalar>(values: &[T], most: f64) -> bool {
    struct AllWithin<'a, T>(&'a [T], f64);
    impl<T: Scalar> WithSimd for AllWithin<'_, T> {
        type Output = bool;
        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) -> bool {
            self.0.iter().fold(true, |within, z| within & (z.to_f64().abs() <= self.1))
        }
    }
    pulp::Arch::new().dispatch(AllWithin(values, most))
}

/// The error for `values`, `n_features` a row and computed from `scores`, that are not all finite. Names the first
/// score that is not finite, otherwise the first value.
pub fn beyond_range<S: Scalar, T: Scalar>(scores: &Matrix<S>, values: &[T], n_features: usize) -> Error {
    let k = scores.n_cols();
    if let Some(at) = scores.as_slice().iter().position(|z| !z.to_f64().is_finite()) {
        return Error::NonFinite { row: at / k, column: at % k, value: scores.as_slice()[at].to_f64() };
    }
    let at = values.iter().position(|x| !x.to_f64().is_finite()).unwrap_or(0);
    Error::ValueOverflow { row: at / n_features, column: at % n_features, dtype: T::NAME }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_among_many_is_found() {
        let mut values = vec![f32::MAX; 1000];
        assert!(all_finite(&values) && all_finite::<f64>(&[]));
        for (at, value) in [(0, f32::NAN), (500, f32::INFINITY), (999, f32::NEG_INFINITY)] {
            values[at] = value;
            assert!(!all_finite(&values), "{at}");
            assert!(!all_within(&values, f64::MAX), "{at}");
            values[at] = 0.0;
        }
        assert!(all_within(&values, 1e39) && !all_within(&values, 1e38));
    }
}
