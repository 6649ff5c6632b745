//! The inner loops of sparse products: one thread, a fixed number `W` of vectors side by side.
//!
//! Entries are taken in the order they are stored; each multiplies a row of `W` values, which is what the compiler
//! vectorises. Everything here is inlined into the function that chose the instruction set (`pulp::Arch::dispatch`).
//! Products of f32 are added up in f32 over at most 1,024 entries of a line before they go to f64.
#![allow(unsafe_code)] // Unchecked access to rows by indices that the constructors of `Sparse` checked.

use std::ops::Range;

use pulp::Arch;

use super::Sparse;
use super::sparse_lines::{Index, Lines, Panel, with_lines, with_width};
use crate::scalar::Scalar;

/// Entries of a line whose products are added up in the element type before they go to f64.
const RUN: usize = 1024;

/// `A q` for the lines `range`, row after row as wide as `q`.
pub(super) fn gather<C: Scalar>(x: &Sparse<'_, C>, range: Range<usize>, q: &Panel<C>, out: &mut [f64]) {
    with_lines!(x, |lines| with_width!(q.width(), |W| {
        let (q, out) = (q.values().as_chunks::<W>().0, out.as_chunks_mut::<W>().0);
        Arch::new().dispatch(
            #[inline(always)]
            || gather_lines(&lines, range, q, out),
        );
    }));
}

/// Adds `A' u` for the lines `range` to `out`, all columns.
pub(super) fn spread<C: Scalar>(x: &Sparse<'_, C>, range: Range<usize>, u: &Panel<C>, out: &mut Panel<C>) {
    with_lines!(x, |lines| with_width!(u.width(), |W| {
        let (u, out) = (u.values().as_chunks::<W>().0, out.values_mut().as_chunks_mut::<W>().0);
        Arch::new().dispatch(
            #[inline(always)]
            || spread_lines(&lines, range, u, out),
        );
    }));
}

/// Adds `A' D (A q - shift offset')` for the lines `range` to `out`, and `shift' D (...)` to `moment`: each line is
/// used for both products while it is in the innermost cache.
pub(super) fn chain<C: Scalar>(
    x: &Sparse<'_, C>,
    range: Range<usize>,
    q: &Panel<C>,
    middle: &Middle<'_>,
    out: &mut Panel<C>,
    moment: &mut [f64],
) {
    with_lines!(x, |lines| with_width!(q.width(), |W| {
        let (q, out) = (q.values().as_chunks::<W>().0, out.values_mut().as_chunks_mut::<W>().0);
        let moment = &mut moment.as_chunks_mut::<W>().0[0];
        Arch::new().dispatch(
            #[inline(always)]
            || chain_lines(&lines, range, q, middle, out, moment),
        );
    }));
}

/// What happens to the first of two chained products: `t_i -> scale_i (t_i - shift_i offset)`.
pub(super) struct Middle<'a> {
    /// Multiplies each line or column.
    pub(super) scale: Scale<'a>,
    /// The multiple of `offset` to take away; 1 where `None`.
    pub(super) shift: Option<&'a [f64]>,
    /// What is taken away, as long as the rows are wide.
    pub(super) offset: Vec<f64>,
}

/// A factor for each row or column.
#[derive(Clone, Copy)]
pub(super) enum Scale<'a> {
    /// 1.
    One,
    /// These.
    Factors(&'a [f64]),
    /// The squares of these.
    Squares(&'a [f64]),
}

impl Scale<'_> {
    #[inline(always)]
    pub(super) fn at(&self, i: usize) -> f64 {
        match self {
            Scale::One => 1.0,
            Scale::Factors(factors) => factors[i],
            Scale::Squares(factors) => factors[i] * factors[i],
        }
    }
}

impl<'a> Middle<'a> {
    /// Maps `t`.
    pub(super) fn map(&self, i: usize, t: &mut [f64]) {
        let scale = self.scale.at(i);
        let shift = self.shift.map_or(1.0, |shift| shift[i]);
        for (t, offset) in t.iter_mut().zip(&self.offset) {
            *t = scale * (*t - shift * offset);
        }
    }

    /// What mapped values are multiplied by in the moment: `shift`.
    pub(super) fn moment_weights(&self) -> Scale<'a> {
        self.shift.map_or(Scale::One, Scale::Factors)
    }

    /// Maps `t`, rounds it to `C`, and adds `shift_i` times the rounded values to `moment`.
    #[inline(always)]
    fn apply<C: Scalar, const W: usize>(&self, i: usize, t: &[f64; W], moment: &mut [f64; W]) -> [C; W] {
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

/// Row `index` of a block.
///
/// # Safety
/// `index < rows.len()`.
#[inline(always)]
unsafe fn row<C, const W: usize>(rows: &[[C; W]], index: usize) -> &[C; W] {
    // SAFETY: the caller's contract.
    unsafe { rows.get_unchecked(index) }
}

/// Row `index` of a block.
///
/// # Safety
/// `index < rows.len()`.
#[inline(always)]
unsafe fn row_mut<C, const W: usize>(rows: &mut [[C; W]], index: usize) -> &mut [C; W] {
    // SAFETY: the caller's contract.
    unsafe { rows.get_unchecked_mut(index) }
}

#[inline(always)]
fn add_product<C: Scalar, const W: usize>(sum: &mut [C; W], value: C, row: &[C; W]) {
    for k in 0..W {
        sum[k] = sum[k] + value * row[k];
    }
}

/// The sum of `values[e] * rows[indices[e] - first]`.
///
/// # Safety
/// `first <= j < first + rows.len()` for every index `j`.
#[inline(always)]
unsafe fn dot<I: Index, C: Scalar, const W: usize>(
    indices: &[I],
    values: &[C],
    first: usize,
    rows: &[[C; W]],
) -> [f64; W] {
    let mut total = [0.0; W];
    for (indices, values) in indices.chunks(RUN).zip(values.chunks(RUN)) {
        let mut sum = [C::default(); W];
        if W * size_of::<C>() <= 64 {
            // Two chains of additions: one would wait for the latency of each.
            let mut other = [C::default(); W];
            let (index_pairs, index_rest) = indices.as_chunks::<2>();
            let (value_pairs, value_rest) = values.as_chunks::<2>();
            for (index, value) in index_pairs.iter().zip(value_pairs) {
                // SAFETY: the caller's contract.
                let (a, b) = unsafe { (row(rows, index[0].at() - first), row(rows, index[1].at() - first)) };
                add_product(&mut sum, value[0], a);
                add_product(&mut other, value[1], b);
            }
            for (index, &value) in index_rest.iter().zip(value_rest) {
                // SAFETY: the caller's contract.
                add_product(&mut sum, value, unsafe { row(rows, index.at() - first) });
            }
            for k in 0..W {
                sum[k] = sum[k] + other[k];
            }
        } else {
            for (index, &value) in indices.iter().zip(values) {
                // SAFETY: the caller's contract.
                add_product(&mut sum, value, unsafe { row(rows, index.at() - first) });
            }
        }
        for k in 0..W {
            total[k] += sum[k].to_f64();
        }
    }
    total
}

/// Adds `values[e] * y` to `rows[indices[e] - first]`.
///
/// # Safety
/// `first <= j < first + rows.len()` for every index `j`.
#[inline(always)]
unsafe fn add_outer<I: Index, C: Scalar, const W: usize>(
    indices: &[I],
    values: &[C],
    y: &[C; W],
    first: usize,
    rows: &mut [[C; W]],
) {
    for (index, &value) in indices.iter().zip(values) {
        // SAFETY: the caller's contract.
        add_product(unsafe { row_mut(rows, index.at() - first) }, value, y);
    }
}

/// See [`gather`].
#[inline(always)]
fn gather_lines<I: Index, C: Scalar, const W: usize>(
    lines: &Lines<'_, I, C>,
    range: Range<usize>,
    q: &[[C; W]],
    out: &mut [[f64; W]],
) {
    assert_eq!(q.len(), lines.n_minor());
    for (i, out) in range.zip(out) {
        let (indices, values) = lines.line(i);
        // SAFETY: indices of lines are below `n_minor`, the length of `q`.
        *out = unsafe { dot(indices, values, 0, q) };
    }
}

/// See [`spread`].
#[inline(always)]
fn spread_lines<I: Index, C: Scalar, const W: usize>(
    lines: &Lines<'_, I, C>,
    range: Range<usize>,
    u: &[[C; W]],
    out: &mut [[C; W]],
) {
    assert_eq!(out.len(), lines.n_minor());
    for i in range {
        let (indices, values) = lines.line(i);
        // SAFETY: indices of lines are below `n_minor`, the length of `out`.
        unsafe { add_outer(indices, values, &u[i], 0, out) };
    }
}

/// See [`chain`].
#[inline(always)]
fn chain_lines<I: Index, C: Scalar, const W: usize>(
    lines: &Lines<'_, I, C>,
    range: Range<usize>,
    q: &[[C; W]],
    middle: &Middle<'_>,
    out: &mut [[C; W]],
    moment: &mut [f64; W],
) {
    assert_eq!(q.len(), lines.n_minor());
    assert_eq!(out.len(), lines.n_minor());
    for i in range {
        let (indices, values) = lines.line(i);
        // SAFETY: indices of lines are below `n_minor`, the length of `q` and of `out`.
        unsafe {
            let y = middle.apply(i, &dot(indices, values, 0, q), moment);
            add_outer(indices, values, &y, 0, out);
        }
    }
}

/// Where the part of each line that belongs to a block of columns begins and ends, as offsets in the line.
pub(super) struct Cursors {
    starts: Vec<usize>,
    ends: Vec<usize>,
}

impl Cursors {
    /// The place of column `first` in each line.
    pub(super) fn at<C: Scalar>(x: &Sparse<'_, C>, first: usize) -> Self {
        with_lines!(x, |lines| Self::of_lines(&lines, first))
    }

    /// Puts `A_J' u` into `sums`, row after row as wide as `u`, where the columns J begin at `first`, and moves on to
    /// them. Blocks must follow one another, from the column that the cursors were made for.
    pub(super) fn spread<C: Scalar, S: Scalar>(
        &mut self,
        x: &Sparse<'_, C>,
        u: &Panel<C>,
        first: usize,
        sums: &mut [S],
    ) {
        with_lines!(x, |lines| with_width!(u.width(), |W| {
            let (u, sums) = (u.values().as_chunks::<W>().0, sums.as_chunks_mut::<W>().0);
            Arch::new().dispatch(
                #[inline(always)]
                || {
                    sums.fill([S::default(); W]);
                    self.spread_block(&lines, u, first, sums);
                },
            );
        }));
    }

    /// Maps the `sums` of the block J that begins at `first`, to which [`Cursors::spread`] moved, into `t`, and adds
    /// `A_J t` to `out`.
    pub(super) fn gather<C: Scalar, S: Scalar>(
        &self,
        x: &Sparse<'_, C>,
        middle: &Middle<'_>,
        first: usize,
        (sums, t): (&[S], &mut [C]),
        out: &mut Panel<C>,
        moment: &mut [f64],
    ) {
        with_lines!(x, |lines| with_width!(out.width(), |W| {
            let (sums, t) = (sums.as_chunks::<W>().0, t.as_chunks_mut::<W>().0);
            let out = out.values_mut().as_chunks_mut::<W>().0;
            let moment = &mut moment.as_chunks_mut::<W>().0[0];
            Arch::new().dispatch(
                #[inline(always)]
                || {
                    map_block(middle, first, sums, t, moment);
                    self.gather_block(&lines, t, first, out);
                },
            );
        }));
    }

    fn of_lines<I: Index, C: Scalar>(lines: &Lines<'_, I, C>, first: usize) -> Self {
        let place = |i| lines.line(i).0.partition_point(|j| j.at() < first);
        let ends: Vec<usize> =
            if first == 0 { vec![0; lines.len()] } else { (0..lines.len()).map(place).collect() };
        Self { starts: ends.clone(), ends }
    }

    /// See [`Cursors::spread`].
    #[inline(always)]
    fn spread_block<I: Index, C: Scalar, S: Scalar, const W: usize>(
        &mut self,
        lines: &Lines<'_, I, C>,
        u: &[[C; W]],
        first: usize,
        block: &mut [[S; W]],
    ) {
        for (i, y) in u.iter().enumerate() {
            let start = self.ends[i];
            self.starts[i] = start;
            let (indices, values) = lines.line(i);
            let (indices, values) = (&indices[start..], &values[start..]);
            let mut taken = indices.len();
            for (e, (index, &value)) in indices.iter().zip(values).enumerate() {
                let Some(sums) = block.get_mut(index.at() - first) else {
                    taken = e;
                    break;
                };
                for k in 0..W {
                    sums[k] = sums[k] + S::from_f64((value * y[k]).to_f64());
                }
            }
            self.ends[i] = start + taken;
        }
    }

    /// See [`Cursors::gather`].
    #[inline(always)]
    fn gather_block<I: Index, C: Scalar, const W: usize>(
        &self,
        lines: &Lines<'_, I, C>,
        t: &[[C; W]],
        first: usize,
        out: &mut [[C; W]],
    ) {
        for (i, out) in out.iter_mut().enumerate() {
            let range = self.starts[i]..self.ends[i];
            let (indices, values) = lines.line(i);
            let (indices, values) = (&indices[range.clone()], &values[range]);
            let Some(last) = indices.last() else { continue };
            assert!(indices[0].at() >= first && last.at() - first < t.len());
            // SAFETY: indices increase along a line; the first and the last are in the block.
            let sum = unsafe { dot(indices, values, first, t) };
            for k in 0..W {
                out[k] = out[k] + C::from_f64(sum[k]);
            }
        }
    }
}

/// Maps the `sums` of the columns that begin at `first`.
#[inline(always)]
fn map_block<C: Scalar, S: Scalar, const W: usize>(
    middle: &Middle<'_>,
    first: usize,
    sums: &[[S; W]],
    t: &mut [[C; W]],
    moment: &mut [f64; W],
) {
    for (j, (sums, t)) in (first..).zip(sums.iter().zip(t)) {
        *t = middle.apply(j, &sums.map(S::to_f64), moment);
    }
}
