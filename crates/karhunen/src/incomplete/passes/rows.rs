//! Access to rows of a factor as vectors.

use pulp::Simd;

use crate::incomplete::factors::Factor;
use crate::linalg::prefetch::{LINE, prefetch_at};
use crate::linalg::simd::Lane;

/// Number of entries whose products form together, as independent chains of operations.
pub(super) const TOGETHER: usize = 8;
/// Prefetch distance, in entries.
pub(super) const AHEAD: usize = 24;

/// A factor viewed as rows of vectors.
#[derive(Clone, Copy)]
pub(super) struct VectorRows<'a, V> {
    values: &'a [V],
    /// Number of vectors per row.
    pub(super) n: usize,
}

impl<'a, V: bytemuck::Pod> VectorRows<'a, V> {
    #[inline(always)]
    pub(super) fn new<T: Lane>(factor: &'a Factor<T>) -> Self {
        Self::of_width(factor, factor.width() * size_of::<T>() / size_of::<V>())
    }

    /// As [`VectorRows::new`], of the `n` vectors per row that the factor has. Where `n` is a constant, addresses and
    /// loops over a row cost a few instructions; otherwise they cost more than the products of a narrow row.
    #[inline(always)]
    pub(super) fn of_width<T: Lane>(factor: &'a Factor<T>, n: usize) -> Self {
        debug_assert_eq!(n * size_of::<V>(), factor.width() * size_of::<T>());
        Self { values: bytemuck::cast_slice(factor.as_slice()), n }
    }

    /// Prefetches the row of the entry [`AHEAD`] entries after `at`.
    #[inline(always)]
    pub(super) fn prefetch_ahead(&self, indices: &[u32], at: usize) {
        if let Some(index) = indices.get(at + AHEAD) {
            self.prefetch(*index);
        }
    }

    /// Prefetches the rows of the [`TOGETHER`] entries that are [`AHEAD`] entries after `at`, if the line has as many.
    #[inline(always)]
    pub(super) fn prefetch_group_ahead(&self, indices: &[u32], at: usize) {
        for index in indices.get(at + AHEAD..at + AHEAD + TOGETHER).unwrap_or_default() {
            self.prefetch(*index);
        }
    }

    #[inline(always)]
    fn prefetch(&self, index: u32) {
        let from = index as usize * self.n;
        for v in (from..from + self.n).step_by((LINE / size_of::<V>()).max(1)) {
            prefetch_at(self.values, v);
        }
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

/// Adds the sums of a run to sums in `f64` and clears them.
#[inline(always)]
pub(super) fn flush<S: Simd, T: Lane>(simd: S, sum: &mut [T::Vector<S>], acc: &mut [f64]) {
    let values: &[T] = bytemuck::cast_slice(sum);
    for (acc, value) in acc.iter_mut().zip(values) {
        *acc += value.to_f64();
    }
    sum.fill(T::splat(simd, T::default()));
}

/// `sums += factor x`, over four rows.
#[inline(always)]
pub(super) fn add_rows<S: Simd, T: Lane>(
    simd: S,
    factor: [T; 4],
    x: [&[T::Vector<S>]; 4],
    sums: &mut [T::Vector<S>],
) {
    let n = sums.len();
    let (x0, x1, x2, x3) = (&x[0][..n], &x[1][..n], &x[2][..n], &x[3][..n]);
    let f0 = T::splat(simd, factor[0]);
    let f1 = T::splat(simd, factor[1]);
    let f2 = T::splat(simd, factor[2]);
    let f3 = T::splat(simd, factor[3]);
    for v in 0..n {
        let mut sum = T::mul_add(simd, f0, x0[v], sums[v]);
        sum = T::mul_add(simd, f1, x1[v], sum);
        sum = T::mul_add(simd, f2, x2[v], sum);
        sums[v] = T::mul_add(simd, f3, x3[v], sum);
    }
}
