//! Vector operations of the dense kernels, for `f32` and `f64`, on every instruction set.

use bytemuck::Pod;
use pulp::{Arch, Simd, WithSimd};

use crate::scalar::Scalar;

/// Element types of packed panels.
pub trait Lane: Scalar {
    /// The smallest positive normal number.
    const LEAST_NORMAL: Self;
    /// A vector register.
    type Vector<S: Simd>: Pod;
    /// `x` in every lane.
    fn splat<S: Simd>(simd: S, x: Self) -> Self::Vector<S>;
    /// `a * b + c`, fused if the processor supports it.
    fn mul_add<S: Simd>(
        simd: S,
        a: Self::Vector<S>,
        b: Self::Vector<S>,
        c: Self::Vector<S>,
    ) -> Self::Vector<S>;
    /// The sum of the lanes.
    fn sum<S: Simd>(simd: S, a: Self::Vector<S>) -> Self;
    /// `a - b`.
    fn sub<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// `a + b`.
    fn add<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// `a / b`.
    fn div<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// `|a|`.
    fn abs<S: Simd>(simd: S, a: Self::Vector<S>) -> Self::Vector<S>;
    /// The lane-wise maximum.
    fn max<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
}

impl Lane for f64 {
    const LEAST_NORMAL: Self = f64::MIN_POSITIVE;
    type Vector<S: Simd> = S::f64s;
    #[inline(always)]
    fn splat<S: Simd>(simd: S, x: f64) -> S::f64s {
        simd.splat_f64s(x)
    }
    #[inline(always)]
    fn mul_add<S: Simd>(simd: S, a: S::f64s, b: S::f64s, c: S::f64s) -> S::f64s {
        // Without vector registers a fused product is a slow library call.
        if S::IS_SCALAR { simd.add_f64s(simd.mul_f64s(a, b), c) } else { simd.mul_add_f64s(a, b, c) }
    }
    #[inline(always)]
    fn sum<S: Simd>(simd: S, a: S::f64s) -> f64 {
        simd.reduce_sum_f64s(a)
    }
    #[inline(always)]
    fn sub<S: Simd>(simd: S, a: S::f64s, b: S::f64s) -> S::f64s {
        simd.sub_f64s(a, b)
    }
    #[inline(always)]
    fn add<S: Simd>(simd: S, a: S::f64s, b: S::f64s) -> S::f64s {
        simd.add_f64s(a, b)
    }
    #[inline(always)]
    fn div<S: Simd>(simd: S, a: S::f64s, b: S::f64s) -> S::f64s {
        simd.div_f64s(a, b)
    }
    #[inline(always)]
    fn max<S: Simd>(simd: S, a: S::f64s, b: S::f64s) -> S::f64s {
        simd.max_f64s(a, b)
    }
    #[inline(always)]
    fn abs<S: Simd>(simd: S, a: S::f64s) -> S::f64s {
        simd.abs_f64s(a)
    }
}

impl Lane for f32 {
    const LEAST_NORMAL: Self = f32::MIN_POSITIVE;
    type Vector<S: Simd> = S::f32s;
    #[inline(always)]
    fn splat<S: Simd>(simd: S, x: f32) -> S::f32s {
        simd.splat_f32s(x)
    }
    #[inline(always)]
    fn mul_add<S: Simd>(simd: S, a: S::f32s, b: S::f32s, c: S::f32s) -> S::f32s {
        if S::IS_SCALAR { simd.add_f32s(simd.mul_f32s(a, b), c) } else { simd.mul_add_f32s(a, b, c) }
    }
    #[inline(always)]
    fn sum<S: Simd>(simd: S, a: S::f32s) -> f32 {
        simd.reduce_sum_f32s(a)
    }
    #[inline(always)]
    fn sub<S: Simd>(simd: S, a: S::f32s, b: S::f32s) -> S::f32s {
        simd.sub_f32s(a, b)
    }
    #[inline(always)]
    fn add<S: Simd>(simd: S, a: S::f32s, b: S::f32s) -> S::f32s {
        simd.add_f32s(a, b)
    }
    #[inline(always)]
    fn div<S: Simd>(simd: S, a: S::f32s, b: S::f32s) -> S::f32s {
        simd.div_f32s(a, b)
    }
    #[inline(always)]
    fn max<S: Simd>(simd: S, a: S::f32s, b: S::f32s) -> S::f32s {
        simd.max_f32s(a, b)
    }
    #[inline(always)]
    fn abs<S: Simd>(simd: S, a: S::f32s) -> S::f32s {
        simd.abs_f32s(a)
    }
}

/// Runs `op` with the widest vectors of this processor.
pub fn dispatch<Op: WithSimd>(op: Op) -> Op::Output {
    Arch::new().dispatch(op)
}
