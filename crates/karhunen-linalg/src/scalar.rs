//! The element types of data: `f32` and `f64`.

use std::any::Any;

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// An element type of data. Sealed: implemented for [`f32`] and [`f64`] only.
///
/// Whatever the element type, statistics are accumulated and small matrices decomposed in `f64`.
///
/// ```
/// use karhunen::Scalar;
/// assert_eq!(f32::NAME, "f32");
/// assert_eq!(f32::from_f64(0.5).to_f64(), 0.5);
/// ```
///
/// ```compile_fail
/// struct Mine;
/// impl karhunen::Scalar for Mine {}
/// ```
pub trait Scalar:
    sealed::Sealed + bytemuck::Pod + Copy + Default + PartialOrd + Send + Sync + std::fmt::Debug + 'static
{
    /// The name of the type, as in messages and files: `"f32"` or `"f64"`.
    const NAME: &'static str;
    /// The distance from 1 to the next larger number, as `f64`.
    const EPSILON: f64;
    /// Converts without loss.
    fn to_f64(self) -> f64;
    /// Converts, rounding to nearest.
    fn from_f64(value: f64) -> Self;
}

/// Calls the function `$function`, generic over the element type `$scalar`, as compiled in the calling crate for `f32`
/// and `f64`. `$signature` is the type of the function.
///
/// Rust compiles a generic function again in every crate that calls it. A public function that only calls this
/// macro avoids that: its code is compiled once, in the library.
#[doc(hidden)]
#[macro_export]
macro_rules! compiled {
    ($scalar:ident, $function:expr => $signature:ty) => {{
        type Of<$scalar> = $signature;
        // If inlined into another crate, the functions would be compiled there again.
        #[inline(never)]
        fn both() -> (Of<f32>, Of<f64>) {
            let single = {
                type $scalar = f32;
                $function
            };
            let double = {
                type $scalar = f64;
                $function
            };
            (single, double)
        }
        let (single, double) = both();
        $crate::scalar::of_type::<Of<$scalar>>([&single, &double])
    }};
}
#[doc(hidden)]
pub use crate::compiled;

/// True if products of data of type `T` are formed in `f32`.
pub fn is_single<T: Scalar>() -> bool {
    T::EPSILON > f64::EPSILON
}

/// Returns the choice of type `W`.
pub fn of_type<W: Copy + 'static>(choices: [&dyn Any; 2]) -> W {
    let found = choices.iter().find_map(|choice| choice.downcast_ref().copied());
    found.unwrap_or_else(|| unreachable!("element types are f32 and f64"))
}

/// The largest of non-negative values: NaN if any value is NaN, zero if there are none.
///
/// NaN thus exceeds every bound; `f64::max` would drop it and report residuals of NaN as converged.
pub fn largest(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(
        0.0,
        |largest, value| {
            if largest.is_nan() || value <= largest { largest } else { value }
        },
    )
}

/// The largest absolute value: NaN if any value is NaN, zero if there are none.
pub fn largest_magnitude(values: &[f64]) -> f64 {
    // The bits of non-negative numbers are ordered as the numbers are, and the bits of NaN come last: their maximum,
    // unlike a maximum of numbers, takes vector instructions.
    let most = || values.iter().map(|value| value.abs().to_bits()).max().unwrap_or(0);
    f64::from_bits(pulp::Arch::new().dispatch(most))
}

impl Scalar for f32 {
    const NAME: &'static str = "f32";
    const EPSILON: f64 = f32::EPSILON as f64;
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value as f32
    }
}

impl Scalar for f64 {
    const NAME: &'static str = "f64";
    const EPSILON: f64 = f64::EPSILON;
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_value_is_nan_if_any_value_is_nan() {
        for values in
            [[f64::NAN, 1.0, 2.0], [1.0, f64::NAN, 2.0], [f64::INFINITY, 1.0, f64::NAN], [f64::NAN; 3]]
        {
            assert!(largest(values).is_nan(), "{values:?}");
            assert!(largest_magnitude(&values).is_nan(), "{values:?}");
        }
        assert_eq!((largest([0.5, 2.0, 1.0]), largest([])), (2.0, 0.0));
        assert_eq!((largest_magnitude(&[0.5, -2.0]), largest([1.0, f64::INFINITY])), (2.0, f64::INFINITY));
    }
}
