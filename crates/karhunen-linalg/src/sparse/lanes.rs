//! Inner loops of sparse products: one thread, a fixed number `W` of vectors side by side.
//!
//! Entries are read in storage order; each multiplies a row of `W` values, a loop that the compiler vectorizes.
//! All functions are inlined into the one that chose the instruction set (`pulp::Arch::dispatch`). Products of f32
//! are summed in f32 over at most 1,024 entries of a line, then in f64.
#![allow(unsafe_code)] // Unchecked access to rows by indices that the constructors of `Sparse` checked.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use crate::Sparse;
use crate::prefetch::prefetch_at;
use crate::scalar::Scalar;
use crate::simd::Lane;
use crate::sparse::lines::{Index, Lines, TypedPanel, with_lines, with_width};
/// Number of entries of a line whose products are summed in the element type, before f64.
const RUN: usize = 1024;

/// Runs `op` with the widest vectors of this processor up to the width of a row of `W` values.
pub fn dispatch<C: Lane, const W: usize>(op: impl WithSimd<Output = ()>) {
    #[cfg(target_arch = "x86_64")]
    if const { W * size_of::<C>() < 64 }
        && let Some(simd) = pulp::x86::V3::try_new()
    {
        return Simd::vectorize(simd, op);
    }
    Arch::new().dispatch(op);
}

/// Writes `A q` for the lines `range` to `out`, row-major with the width of `q`.
pub fn gather<C: Lane>(x: &Sparse<'_, C>, range: Range<usize>, q: &TypedPanel<C>, out: &mut [f64]) {
    with_lines!(x, |lines| with_width!(q.width(), |W| {
        let (q, out) = (q.values().as_chunks::<W>().0, out.as_chunks_mut::<W>().0);
        dispatch::<C, W>(Gather { lines, range, q, out });
    }));
}

/// Adds `A' u` for the lines `range` to `out`, for all columns.
pub fn spread<C: Lane>(x: &Sparse<'_, C>, range: Range<usize>, u: &TypedPanel<C>, out: &mut TypedPanel<C>) {
    with_lines!(x, |lines| with_width!(u.width(), |W| {
        let (u, out) = (u.values().as_chunks::<W>().0, out.values_mut().as_chunks_mut::<W>().0);
        dispatch::<C, W>(Spread { lines, range, u, out });
    }));
}

/// Adds `A' D (A q - shift offset')` for the lines `range` to `out`, and `shift' D (...)` to `moment`. Each line
/// takes part in both products while it is in the first-level cache.
pub fn chain<C: Lane>(
    x: &Sparse<'_, C>,
    range: Range<usize>,
    q: &TypedPanel<C>,
    middle: &Middle<'_>,
    out: &mut TypedPanel<C>,
    moment: &mut [f64],
) {
    with_lines!(x, |lines| with_width!(q.width(), |W| {
        let (q, out) = (q.values().as_chunks::<W>().0, out.values_mut().as_chunks_mut::<W>().0);
        let moment = &mut moment.as_chunks_mut::<W>().0[0];
        dispatch::<C, W>(Chain { lines, range, q, middle, out, moment });
    }));
}

/// Adds `recent` to `total`; both have the same length, unless one is empty.
pub fn add_wide<C: Lane>(total: &mut [f64], recent: &[C]) {
    struct AddWide<'a, C>(&'a mut [f64], &'a [C]);
    impl<C: Lane> WithSimd for AddWide<'_, C> {
        type Output = ();
        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) {
            for (total, recent) in self.0.iter_mut().zip(self.1) {
                *total += recent.to_f64();
            }
        }
    }
    Arch::new().dispatch(AddWide(total, recent));
}

/// The map between two chained products: `t_i -> scale_i (t_i - shift_i offset)`.
pub struct Middle<'a> {
    /// Factor of each line or column.
    pub scale: Scale<'a>,
    /// Multiple of `offset` to subtract; 1 if `None`.
    pub shift: Option<&'a [f64]>,
    /// Row to subtract; nothing if empty.
    pub offset: Vec<f64>,
}

/// A factor for each row or column.
#[derive(Clone, Copy)]
pub enum Scale<'a> {
    /// 1.
    One,
    /// Given factors.
    Factors(&'a [f64]),
    /// The squares of given factors.
    Squares(&'a [f64]),
}

impl Scale<'_> {
    /// The factor of element `i`.
    #[inline(always)]
    pub fn at(&self, i: usize) -> f64 {
        match self {
            Scale::One => 1.0,
            Scale::Factors(factors) => factors[i],
            Scale::Squares(factors) => factors[i] * factors[i],
        }
    }
}

impl<'a> Middle<'a> {
    /// The identity.
    pub fn none() -> Self {
        Self { scale: Scale::One, shift: None, offset: Vec::new() }
    }

    /// Maps the first values of `t` to `out`.
    #[inline(always)]
    pub fn store<U: Scalar>(&self, i: usize, t: &[f64], out: &mut [U]) {
        self.store_from(0, i, t, out);
    }

    /// As [`Middle::store`], for values from column `first` on.
    #[inline(always)]
    pub fn store_from<U: Scalar>(&self, first: usize, i: usize, t: &[f64], out: &mut [U]) {
        if self.offset.is_empty() {
            for (out, t) in out.iter_mut().zip(t) {
                *out = U::from_f64(*t);
            }
            return;
        }
        let scale = self.scale.at(i);
        let shift = self.shift.map_or(1.0, |shift| shift[i]);
        for ((out, t), offset) in out.iter_mut().zip(t).zip(&self.offset[first..]) {
            *out = U::from_f64(scale * (t - shift * offset));
        }
    }

    /// Weights of the mapped values in the moment: `shift`.
    pub fn moment_weights(&self) -> Scale<'a> {
        self.shift.map_or(Scale::One, Scale::Factors)
    }

    /// Maps `t`, rounds it to `C`, and adds `shift_i` times the rounded values to `moment`.
    #[inline(always)]
    pub fn apply<C: Lane, const W: usize>(&self, i: usize, t: &[f64; W], moment: &mut [f64; W]) -> [C; W] {
        let offset = &self.offset[..W];
        let scale = self.scale.at(i);
        let shift = self.shift.map_or(1.0, |shift| shift[i]);
        let mut rounded = [C::default(); W];
        for k in 0..W {
            rounded[k] = C::from_f64(scale * (t[k] - shift * offset[k]));
            moment[k] += shift * rounded[k].to_f64();
        }
        rounded
    }
}

/// The vectors of row `index` of a block.
///
/// # Safety
/// `index < rows.len()`.
#[inline(always)]
unsafe fn row<S: Simd, C: Lane, const W: usize>(rows: &[[C; W]], index: usize) -> &[C::Vector<S>] {
    // SAFETY: the caller's contract.
    bytemuck::cast_slice(unsafe { rows.get_unchecked(index) })
}

/// The sum of `values[e] * rows[indices[e] - first]`.
///
/// # Safety
/// `first <= j < first + rows.len()` for every index `j`.
#[inline(always)]
pub unsafe fn dot<S: Simd, I: Index, C: Lane, const W: usize>(
    simd: S,
    indices: &[I],
    values: &[C],
    first: usize,
    rows: &[[C; W]],
) -> [f64; W] {
    let n_vectors = const { W * size_of::<C>() / size_of::<C::Vector<S>>() };
    let zero = C::splat(simd, C::default());
    let mut total = [0.0; W];
    for (indices, values) in indices.chunks(RUN).zip(values.chunks(RUN)) {
        // Two chains of additions, because each addition waits for the one before in its chain.
        let (mut even, mut odd) = ([zero; W], [zero; W]);
        let (index_pairs, index_rest) = indices.as_chunks::<2>();
        let (value_pairs, value_rest) = values.as_chunks::<2>();
        for (index, value) in index_pairs.iter().zip(value_pairs) {
            // SAFETY: the caller's contract.
            let (a, b) = unsafe {
                (row::<S, C, W>(rows, index[0].at() - first), row::<S, C, W>(rows, index[1].at() - first))
            };
            let (value_a, value_b) = (C::splat(simd, value[0]), C::splat(simd, value[1]));
            for k in 0..n_vectors {
                even[k] = C::mul_add(simd, value_a, a[k], even[k]);
                odd[k] = C::mul_add(simd, value_b, b[k], odd[k]);
            }
        }
        for (index, &value) in index_rest.iter().zip(value_rest) {
            // SAFETY: the caller's contract.
            let a = unsafe { row::<S, C, W>(rows, index.at() - first) };
            let value = C::splat(simd, value);
            for k in 0..n_vectors {
                even[k] = C::mul_add(simd, value, a[k], even[k]);
            }
        }
        let (even, odd): (&[C], &[C]) =
            (bytemuck::cast_slice(&even[..n_vectors]), bytemuck::cast_slice(&odd[..n_vectors]));
        for k in 0..W {
            total[k] += even[k].to_f64() + odd[k].to_f64();
        }
    }
    total
}

/// Loads `y` into registers, the first of the result.
#[inline(always)]
pub fn vectors<S: Simd, C: Lane, const W: usize>(simd: S, y: &[C; W]) -> [C::Vector<S>; W] {
    let y: &[C::Vector<S>] = bytemuck::cast_slice(y);
    let mut vectors = [C::splat(simd, C::default()); W];
    vectors[..y.len()].copy_from_slice(y);
    vectors
}

/// Prefetch distance in entries.
const AHEAD: usize = 32;
/// Size in bytes of a block of vectors from which its rows are prefetched: the second-level cache does not hold it.
const FAR: usize = 1 << 20;

/// The indices of the rows to prefetch while line `i` is added to `rows`.
#[inline(always)]
fn ahead<'a, I: Index, C: Scalar, R>(lines: &Lines<'a, I, C>, i: usize, rows: &[R]) -> &'a [I] {
    if size_of_val(rows) < FAR { &[] } else { lines.after(i, AHEAD) }
}

/// Adds `values[e] * y` to `rows[indices[e] - first]`, with `y` as loaded by [`vectors`], and prefetches the rows
/// of the indices `ahead`.
///
/// # Safety
/// `first <= j < first + rows.len()` for every index `j`.
#[inline(always)]
pub unsafe fn add_outer<S: Simd, I: Index, T: Scalar, C: Lane, const W: usize>(
    simd: S,
    (indices, values): (&[I], &[T]),
    y: &[C::Vector<S>; W],
    ahead: &[I],
    first: usize,
    rows: &mut [[C; W]],
) {
    let n_vectors = const { W * size_of::<C>() / size_of::<C::Vector<S>>() };
    let mut ahead = ahead.iter();
    for (index, &value) in indices.iter().zip(values) {
        if let Some(next) = ahead.next() {
            prefetch_at(rows, next.at() - first);
        }
        // SAFETY: the caller's contract.
        let row = unsafe { rows.get_unchecked_mut(index.at() - first) };
        let sums: &mut [C::Vector<S>] = bytemuck::cast_slice_mut(row);
        let value = C::splat(simd, C::from_f64(value.to_f64()));
        for k in 0..n_vectors {
            sums[k] = C::mul_add(simd, value, y[k], sums[k]);
        }
    }
}

/// See [`gather`].
struct Gather<'a, I, C, const W: usize> {
    lines: Lines<'a, I, C>,
    range: Range<usize>,
    q: &'a [[C; W]],
    out: &'a mut [[f64; W]],
}

impl<I: Index, C: Lane, const W: usize> WithSimd for Gather<'_, I, C, W> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { lines, range, q, out } = self;
        assert_eq!(q.len(), lines.n_minor());
        for (i, out) in range.zip(out) {
            let (indices, values) = lines.line(i);
            // SAFETY: indices of lines are below `n_minor`, the length of `q`.
            *out = unsafe { dot(simd, indices, values, 0, q) };
        }
    }
}

/// See [`spread`].
struct Spread<'a, I, C, const W: usize> {
    lines: Lines<'a, I, C>,
    range: Range<usize>,
    u: &'a [[C; W]],
    out: &'a mut [[C; W]],
}

impl<I: Index, C: Lane, const W: usize> WithSimd for Spread<'_, I, C, W> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { lines, range, u, out } = self;
        assert_eq!(out.len(), lines.n_minor());
        for i in range {
            let (indices, values) = lines.line(i);
            // SAFETY: indices of lines are below `n_minor`, the length of `out`.
            unsafe {
                add_outer(simd, (indices, values), &vectors(simd, &u[i]), ahead(&lines, i, out), 0, out);
            }
        }
    }
}

/// See [`chain`].
struct Chain<'a, I, C, const W: usize> {
    lines: Lines<'a, I, C>,
    range: Range<usize>,
    q: &'a [[C; W]],
    middle: &'a Middle<'a>,
    out: &'a mut [[C; W]],
    moment: &'a mut [f64; W],
}

impl<I: Index, C: Lane, const W: usize> WithSimd for Chain<'_, I, C, W> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { lines, range, q, middle, out, moment } = self;
        assert_eq!(q.len(), lines.n_minor());
        assert_eq!(out.len(), lines.n_minor());
        for i in range {
            let (indices, values) = lines.line(i);
            // SAFETY: indices of lines are below `n_minor`, the length of `q` and of `out`.
            unsafe {
                let y: [C; W] = middle.apply(i, &dot(simd, indices, values, 0, q), moment);
                add_outer(simd, (indices, values), &vectors(simd, &y), ahead(&lines, i, out), 0, out);
            }
        }
    }
}
