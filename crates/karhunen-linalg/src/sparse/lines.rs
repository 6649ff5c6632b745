//! Operands of sparse kernels: compressed lines of either orientation, and blocks of vectors packed to a fixed
//! width.

use std::ops::Range;

use crate::error::Result;
use crate::exec::Exec;
use crate::prefetch::{LINE, prefetch_at};
use crate::scalar::Scalar;
use crate::sparse::plan::Extent;
use crate::{Matrix, Sparse};

/// An index as stored.
pub trait Index: Copy + Send + Sync + 'static {
    /// The index as a position.
    fn at(self) -> usize;
}

impl Index for u16 {
    #[inline(always)]
    fn at(self) -> usize {
        self.into()
    }
}

impl Index for u32 {
    #[inline(always)]
    fn at(self) -> usize {
        self as usize
    }
}

impl Index for u64 {
    #[inline(always)]
    fn at(self) -> usize {
        self as usize
    }
}

/// Numbers of lines in a transposed copy. The narrower they are, the fewer cache lines hold a list of them.
pub trait LineNumber: Index + Default {
    /// The most lines that have numbers.
    const MOST: usize;
    /// `line`, which must be below [`Self::MOST`].
    fn of(line: usize) -> Self;
}

impl LineNumber for u16 {
    const MOST: usize = 1 << 16;
    #[inline(always)]
    fn of(line: usize) -> Self {
        line as Self
    }
}

impl LineNumber for u32 {
    const MOST: usize = u32::MAX as usize;
    #[inline(always)]
    fn of(line: usize) -> Self {
        line as Self
    }
}

/// The stored lines of a sparse matrix, its rows (CSR) or its columns (CSC). In the kernels, A is the matrix whose
/// rows are the lines: X for CSR, X' for CSC.
///
/// Invariant, kept by the constructors of [`Sparse`]: every index is below `n_minor` and indices increase along a
/// line.
pub struct Lines<'a, I, C> {
    n_minor: usize,
    pointers: &'a [usize],
    indices: &'a [I],
    values: &'a [C],
}

impl<I, C> Clone for Lines<'_, I, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<I, C> Copy for Lines<'_, I, C> {}

impl<'a, I: Index, C: Scalar> Lines<'a, I, C> {
    /// The lines of `x`; `indices` are the typed indices of `x`.
    pub fn of(x: &'a Sparse<'_, C>, indices: &'a [I]) -> Self {
        let n_minor = match x.major() {
            crate::Major::Rows => x.n_cols(),
            crate::Major::Columns => x.n_rows(),
        };
        Self { n_minor, pointers: x.pointers(), indices, values: x.values() }
    }

    /// The lines `range`.
    pub fn slice(&self, range: Range<usize>) -> Self {
        Self { pointers: &self.pointers[range.start..=range.end], ..*self }
    }

    /// Cuts the lines into runs of at most `entries` entries, or of one line.
    pub fn runs(&self, entries: usize) -> Vec<Range<usize>> {
        runs(self.pointers, entries)
    }

    /// Number of lines.
    pub fn len(&self) -> usize {
        self.pointers.len() - 1
    }

    /// Length of a line.
    pub fn n_minor(&self) -> usize {
        self.n_minor
    }

    /// Number of stored entries.
    pub fn n_stored(&self) -> usize {
        self.values.len()
    }

    /// The indices and values of line `i`.
    #[inline(always)]
    pub fn line(&self, i: usize) -> (&'a [I], &'a [C]) {
        let range = self.pointers[i]..self.pointers[i + 1];
        (&self.indices[range.clone()], &self.values[range])
    }

    /// The indices from entry `n` after the start of line `i` on, over all following lines.
    #[inline(always)]
    pub fn after(&self, i: usize, n: usize) -> &'a [I] {
        &self.indices[(self.pointers[i] + n).min(self.indices.len())..]
    }

    /// The size that plans depend on.
    pub fn extent(&self) -> Extent {
        Extent { lines: self.len(), minors: self.n_minor, stored: self.values.len() }
    }

    /// The index of entry `entry`, counted over all lines.
    pub fn index(&self, entry: usize) -> usize {
        self.indices[entry].at()
    }

    /// The entries of line `i` whose indices are in `minors`.
    #[inline(always)]
    pub fn segment(&self, i: usize, minors: &Range<usize>) -> (&'a [I], &'a [C]) {
        let (indices, values) = self.line(i);
        let range = self.place(i, minors.start)..self.place(i, minors.end);
        (&indices[range.clone()], &values[range])
    }

    /// The number of entries of line `i` whose indices are below `minor`. Searches from its position under evenly
    /// spread indices, in doubling steps: a binary search would miss the cache at every step.
    pub fn place(&self, i: usize, minor: usize) -> usize {
        let indices = self.line(i).0;
        let guess = (indices.len() as f64 * (minor as f64 / self.n_minor.max(1) as f64)) as usize;
        let guess = guess.min(indices.len());
        let below = |j: &I| j.at() < minor;
        let mut step = 8;
        if indices[..guess].last().is_none_or(below) {
            let mut start = guess;
            while start + step < indices.len() && below(&indices[start + step]) {
                start += step;
                step *= 2;
            }
            let end = indices.len().min(start + step);
            start + indices[start..end].partition_point(below)
        } else {
            let mut end = guess;
            while end > step && !below(&indices[end - step]) {
                end -= step;
                step *= 2;
            }
            let start = end.saturating_sub(step);
            start + indices[start..end].partition_point(below)
        }
    }
}

/// Cuts lines that end at `pointers` into runs of at most `entries` entries, or of one line.
pub fn runs(pointers: &[usize], entries: usize) -> Vec<Range<usize>> {
    let n_lines = pointers.len() - 1;
    let mut runs = Vec::new();
    let mut start = 0;
    while start < n_lines {
        let limit = pointers[start] + entries;
        let end = pointers.partition_point(|&pointer| pointer <= limit) - 1;
        let end = end.clamp(start + 1, n_lines);
        runs.push(start..end);
        start = end;
    }
    runs
}

/// A transposed copy of a run of columns of compressed lines.
pub struct Transposed<N, T> {
    n_minor: usize,
    pointers: Vec<usize>,
    /// The line of each entry, followed by [`RUN`] more.
    indices: Vec<N>,
    /// The values, followed by [`RUN`] more.
    values: Vec<T>,
    /// The position of each entry here, line by line; the entries of line `i` are
    /// `line_pointers[i]..line_pointers[i + 1]`.
    positions: Vec<u32>,
    line_pointers: Vec<usize>,
}

/// Number of entries that [`Transposed::run`] reads.
pub const RUN: usize = 32;

impl<N: LineNumber, T: Scalar> Transposed<N, T> {
    /// Transposes the columns `columns` of `lines`; column `j` has `pointers[j + 1] - pointers[j]` entries. The
    /// columns are the entries `starts[i]..ends[i]` of line `i`. There must be no more lines than numbers.
    pub fn of<I: Index>(
        lines: &Lines<'_, I, T>,
        columns: Range<usize>,
        pointers: &[usize],
        starts: &[usize],
        ends: &[usize],
    ) -> Self {
        assert!(lines.len() <= N::MOST, "more lines than numbers: {}", lines.len());
        let first = pointers[columns.start];
        let pointers: Vec<usize> =
            pointers[columns.start..=columns.end].iter().map(|pointer| pointer - first).collect();
        let n_stored = pointers[columns.len()];
        let (mut indices, mut values) =
            (vec![N::default(); n_stored + RUN], vec![T::default(); n_stored + RUN]);
        let mut positions = Vec::with_capacity(n_stored);
        let mut line_pointers = Vec::with_capacity(lines.len() + 1);
        line_pointers.push(0);
        let mut next = pointers.clone();
        for (i, (&start, &end)) in starts.iter().zip(ends).enumerate() {
            let (minors, line) = lines.line(i);
            for (minor, &value) in minors[start..end].iter().zip(&line[start..end]) {
                let place = &mut next[minor.at() - columns.start];
                indices[*place] = N::of(i);
                values[*place] = value;
                positions.push(*place as u32);
                *place += 1;
            }
            line_pointers.push(positions.len());
        }
        Self { n_minor: lines.len(), pointers, indices, values, positions, line_pointers }
    }

    /// The positions here of the entries of line `i`.
    #[inline(always)]
    pub fn positions(&self, i: usize) -> &[u32] {
        &self.positions[self.line_pointers[i]..self.line_pointers[i + 1]]
    }

    /// The position after the last entry of column `column`, counted from the first one here.
    #[inline(always)]
    pub fn end(&self, column: usize) -> usize {
        self.pointers[column + 1]
    }

    /// The value at `position`.
    #[inline(always)]
    pub fn value(&self, position: usize) -> T {
        self.values[position]
    }

    /// The lines and values of [`RUN`] entries from `position` on, past the end of their column if need be.
    #[inline(always)]
    pub fn run(&self, position: usize) -> (&[N], &[T]) {
        (&self.indices[position..position + RUN], &self.values[position..position + RUN])
    }

    /// Prefetches some entries from `position` on: two cache lines of each kind.
    #[inline(always)]
    pub fn prefetch(&self, position: usize) {
        prefetch_at(&self.indices, position);
        prefetch_at(&self.indices, position + LINE / size_of::<N>());
        prefetch_at(&self.values, position);
        prefetch_at(&self.values, position + LINE / size_of::<T>());
    }

    /// The lines.
    pub fn lines(&self) -> Lines<'_, N, T> {
        let n_stored = self.positions.len();
        Lines {
            n_minor: self.n_minor,
            pointers: &self.pointers,
            indices: &self.indices[..n_stored],
            values: &self.values[..n_stored],
        }
    }
}

/// Evaluates `$body` with `$y` the sparse matrix `$x` as one of `f32` or `f64`, for which the kernels have
/// vectors.
macro_rules! with_typed {
    ($x:expr, |$y:ident| $body:expr) => {
        match $x.typed() {
            crate::sparse::view::Typed::F32(typed) => {
                let $y = &typed;
                $body
            }
            crate::sparse::view::Typed::F64(typed) => {
                let $y = &typed;
                $body
            }
        }
    };
}
pub(crate) use with_typed;

/// Evaluates `$body` with `$lines` the [`Lines`] of `$x`. A closure cannot be generic over the type of the
/// indices.
#[doc(hidden)]
#[macro_export]
macro_rules! with_lines {
    ($x:expr, |$lines:ident| $body:expr) => {
        match $x.indices() {
            $crate::sparse::view::Indices::U32(indices) => {
                let $lines = $crate::sparse::lines::Lines::of($x, indices);
                $body
            }
            $crate::sparse::view::Indices::U64(indices) => {
                let $lines = $crate::sparse::lines::Lines::of($x, indices);
                $body
            }
        }
    };
}
#[doc(hidden)]
pub use crate::with_lines;

/// Evaluates `$body` with the constant `$w` equal to the width `$width`, because constants cannot come from
/// values.
macro_rules! with_width {
    ($width:expr, |$w:ident| $body:expr) => {
        match $width {
            8 => {
                const $w: usize = 8;
                $body
            }
            16 => {
                const $w: usize = 16;
                $body
            }
            32 => {
                const $w: usize = 32;
                $body
            }
            _ => {
                const $w: usize = 64;
                $body
            }
        }
    };
}
pub(crate) use with_width;

/// Columns of a block of vectors that are multiplied together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Range of the columns.
    pub columns: Range<usize>,
    /// The width they are padded to, with zeros: 8, 16, 32 or 64.
    pub width: usize,
}

/// Cuts `n_columns` columns into groups of at most 64.
pub fn groups(n_columns: usize) -> impl Iterator<Item = Group> {
    (0..n_columns).step_by(64).map(move |start| {
        let columns = start..n_columns.min(start + 64);
        let width = columns.len().next_power_of_two().max(8);
        Group { columns, width }
    })
}

/// A block of vectors, row-major with `width` values a row, aligned to a cache line.
pub struct TypedPanel<C> {
    data: Vec<C>,
    start: usize,
    len: usize,
    width: usize,
}

impl<C: Scalar> TypedPanel<C> {
    /// `len` rows of `width` zeros.
    pub fn zeros(len: usize, width: usize) -> Self {
        let line = 64 / size_of::<C>();
        let data = vec![C::default(); len * width + line];
        let start = data.as_ptr().align_offset(64).min(line);
        Self { data, start, len, width }
    }

    /// Packs the columns of `group`, with row `i` multiplied by `factor[i]` (1 if `None`), rounded to `C`.
    pub fn pack(q: &Matrix, group: &Group, factor: Option<&[f64]>, exec: &Exec<'_>) -> Result<Self> {
        const PIECE: usize = 4096;
        let mut panel = Self::zeros(q.n_rows(), group.width);
        exec.fill(panel.values_mut(), PIECE * group.width, |piece, values| {
            for (i, row) in (piece * PIECE..).zip(values.chunks_exact_mut(group.width)) {
                let factor = factor.map_or(1.0, |factor| factor[i]);
                for (to, from) in row.iter_mut().zip(&q.row(i)[group.columns.clone()]) {
                    *to = C::from_f64(factor * from);
                }
            }
            Ok(())
        })?;
        Ok(panel)
    }

    /// Values of a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// All values, row-major.
    pub fn values(&self) -> &[C] {
        &self.data[self.start..self.start + self.len * self.width]
    }

    /// All values, row-major.
    pub fn values_mut(&mut self) -> &mut [C] {
        &mut self.data[self.start..self.start + self.len * self.width]
    }
}
