//! Inner loops of sparse products by blocks of columns, with a position in each line.
#![allow(unsafe_code)] // Unchecked access to rows by indices that are checked at the ends of a run.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use crate::Sparse;
use crate::prefetch::prefetch;
use crate::simd::Lane;
use crate::sparse::lanes::{Middle, dispatch, dot};
use crate::sparse::lines::{Index, Lines, TypedPanel, with_lines, with_width};

/// Prefetch distance in lines.
const AHEAD: usize = 3;

/// Start and end of the segment of each line within a block of columns, as offsets in the line.
pub struct Cursors {
    starts: Vec<usize>,
    ends: Vec<usize>,
}

impl Cursors {
    /// The position of column `first` in each line.
    pub fn at<C: Lane>(x: &Sparse<'_, C>, first: usize) -> Self {
        let ends: Vec<usize> =
            with_lines!(x, |lines| (0..lines.len()).map(|i| lines.place(i, first)).collect());
        Self { starts: ends.clone(), ends }
    }

    /// Adds `A_J' u` for the lines `range` to `sums`, row-major with the width of `u`, for the columns J that
    /// begin at `first`, and advances these lines to J. Blocks must follow one another from the column given to
    /// [`Cursors::at`].
    pub fn spread<C: Lane>(
        &mut self,
        x: &Sparse<'_, C>,
        range: Range<usize>,
        u: &TypedPanel<C>,
        first: usize,
        sums: &mut [C],
    ) {
        with_lines!(x, |lines| with_width!(u.width(), |W| {
            let (u, sums) = (u.values().as_chunks::<W>().0, sums.as_chunks_mut::<W>().0);
            dispatch::<C, W>(SpreadBlock { cursors: self, lines, range, u, first, sums });
        }));
    }

    /// Adds `A_J t` to `out`, after [`Cursors::spread`] has advanced all lines to the columns J, which begin at
    /// `first`.
    pub fn gather<C: Lane>(&self, x: &Sparse<'_, C>, t: &[C], first: usize, out: &mut TypedPanel<C>) {
        with_lines!(x, |lines| with_width!(out.width(), |W| {
            let (t, out) = (t.as_chunks::<W>().0, out.values_mut().as_chunks_mut::<W>().0);
            dispatch::<C, W>(GatherBlock { cursors: self, lines, t, first, out });
        }));
    }
}

/// See [`Cursors::spread`].
struct SpreadBlock<'a, I, C, const W: usize> {
    cursors: &'a mut Cursors,
    lines: Lines<'a, I, C>,
    range: Range<usize>,
    u: &'a [[C; W]],
    first: usize,
    sums: &'a mut [[C; W]],
}

impl<I: Index, C: Lane, const W: usize> WithSimd for SpreadBlock<'_, I, C, W> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { cursors, lines, range, u, first, sums } = self;
        let n_vectors = const { W * size_of::<C>() / size_of::<C::Vector<S>>() };
        let expected = lines.n_stored() * sums.len() / (lines.len() * lines.n_minor()).max(1);
        for i in range {
            if let Some(&start) = cursors.ends.get(i + AHEAD) {
                let (indices, values) = lines.line(i + AHEAD);
                let end = indices.len().min(start + expected.min(512));
                prefetch(&indices[start..end]);
                prefetch(&values[start..end]);
            }
            let start = cursors.ends[i];
            let (indices, values) = lines.line(i);
            let (indices, values) = (&indices[start..], &values[start..]);
            let y: &[C::Vector<S>] = bytemuck::cast_slice(&u[i]);
            let mut vectors = [C::splat(simd, C::default()); W];
            vectors[..n_vectors].copy_from_slice(y);
            let mut taken = indices.len();
            for (e, (index, &value)) in indices.iter().zip(values).enumerate() {
                let Some(row) = sums.get_mut(index.at() - first) else {
                    taken = e;
                    break;
                };
                let row: &mut [C::Vector<S>] = bytemuck::cast_slice_mut(row);
                let value = C::splat(simd, value);
                for k in 0..n_vectors {
                    row[k] = C::mul_add(simd, value, vectors[k], row[k]);
                }
            }
            cursors.starts[i] = start;
            cursors.ends[i] = start + taken;
        }
    }
}

/// See [`Cursors::gather`].
struct GatherBlock<'a, I, C, const W: usize> {
    cursors: &'a Cursors,
    lines: Lines<'a, I, C>,
    t: &'a [[C; W]],
    first: usize,
    out: &'a mut [[C; W]],
}

impl<I: Index, C: Lane, const W: usize> WithSimd for GatherBlock<'_, I, C, W> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { cursors, lines, t, first, out } = self;
        for (i, out) in out.iter_mut().enumerate() {
            let range = cursors.starts[i]..cursors.ends[i];
            let (indices, values) = lines.line(i);
            let (indices, values) = (&indices[range.clone()], &values[range]);
            let Some(last) = indices.last() else { continue };
            assert!(indices[0].at() >= first && last.at() - first < t.len());
            // SAFETY: indices increase along a line; the first and the last are in the block.
            let sum = unsafe { dot(simd, indices, values, first, t) };
            for (out, sum) in out.iter_mut().zip(sum) {
                *out = C::from_f64(out.to_f64() + sum);
            }
        }
    }
}

/// Maps sums of the columns from `first` on in place and adds their moments to `moment`. The sums are in `t`, or,
/// with too many lines for the element type, in `wide` (otherwise empty).
pub fn map_block<C: Lane>(middle: &Middle<'_>, first: usize, wide: &[f64], t: &mut [C], moment: &mut [f64]) {
    with_width!(moment.len(), |W| {
        let (wide, t) = (wide.as_chunks::<W>().0, t.as_chunks_mut::<W>().0);
        let moment = &mut moment.as_chunks_mut::<W>().0[0];
        dispatch::<C, W>(MapBlock { middle, first, wide, t, moment });
    });
}

/// See [`map_block`].
struct MapBlock<'a, C, const W: usize> {
    middle: &'a Middle<'a>,
    first: usize,
    wide: &'a [[f64; W]],
    t: &'a mut [[C; W]],
    moment: &'a mut [f64; W],
}

impl<C: Lane, const W: usize> WithSimd for MapBlock<'_, C, W> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { middle, first, wide, t, moment } = self;
        for (j, row) in t.iter_mut().enumerate() {
            let sums = wide.get(j).copied().unwrap_or_else(|| row.map(C::to_f64));
            *row = middle.apply(first + j, &sums, moment);
        }
    }
}
