//! Reading rows of a factor as vectors.

use pulp::Simd;

use crate::incomplete::factors::Factor;
use crate::linalg::simd::Lane;

/// A factor seen as rows of vectors.
#[derive(Clone, Copy)]
pub(super) struct VectorRows<'a, V> {
    values: &'a [V],
    /// Vectors of a row.
    pub(super) n: usize,
}

impl<'a, V: bytemuck::Pod> VectorRows<'a, V> {
    #[inline(always)]
    pub(super) fn new<T: Lane>(factor: &'a Factor<T>) -> Self {
        let lanes = size_of::<V>() / size_of::<T>();
        Self { values: bytemuck::cast_slice(factor.as_slice()), n: factor.width() / lanes }
    }

    #[inline(always)]
    pub(super) fn row(&self, i: usize) -> &'a [V] {
        &self.values[i * self.n..(i + 1) * self.n]
    }
}

/// The dot product of two rows.
#[inline(always)]
pub(super) fn dot<S: Simd, T: Lane>(simd: S, x: &[T::Vector<S>], y: &[T::Vector<S>]) -> T {
    let mut sum = T::splat(simd, T::default());
    for (x, y) in x.iter().zip(y) {
        sum = T::mul_add(simd, *x, *y, sum);
    }
    T::sum(simd, sum)
}

/// `sum += factor x`.
#[inline(always)]
pub(super) fn add_scaled<S: Simd, T: Lane>(simd: S, factor: T, x: &[T::Vector<S>], sum: &mut [T::Vector<S>]) {
    let factor = T::splat(simd, factor);
    for (x, sum) in x.iter().zip(sum) {
        *sum = T::mul_add(simd, factor, *x, *sum);
    }
}

/// Adds sums of a run to sums in `f64`, and clears them.
#[inline(always)]
pub(super) fn flush<S: Simd, T: Lane>(simd: S, sum: &mut [T::Vector<S>], acc: &mut [f64]) {
    let values: &[T] = bytemuck::cast_slice(sum);
    for (acc, value) in acc.iter_mut().zip(values) {
        *acc += value.to_f64();
    }
    sum.fill(T::splat(simd, T::default()));
}
