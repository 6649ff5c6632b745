//! Lines of entries: collected from any iterator, sorted by columns, transposed.

use crate::error::{Error, Result};
use crate::exec::{Accumulate, Exec};
use crate::incomplete::data::{EntryLines, Triples};
use crate::linalg::{IndexInt, Major};
use crate::memory;
use crate::scalar::Scalar;

/// Returns false for NaN and for entries of weight zero.
pub(super) fn is_observed<T: Scalar>(value: T, weight: T) -> bool {
    !value.to_f64().is_nan() && weight.to_f64() > 0.0
}

/// Refuses an infinite value.
pub(super) fn check_finite<T: Scalar>(row: usize, column: usize, value: T) -> Result<()> {
    let value = value.to_f64();
    if value.is_infinite() { Err(Error::NonFinite { row, column, value }) } else { Ok(()) }
}

/// Collects `(index, value, weight)` of each of `shape.0` lines, with indices below `shape.1`: one pass counts
/// entries, a second writes them. Entries that are NaN or of weight zero are omitted.
pub(super) fn collect_lines<T: Scalar, I: Iterator<Item = (u32, T, T)>>(
    major: Major,
    shape: (usize, usize),
    weighted: bool,
    exec: &Exec<'_>,
    entries: impl Fn(usize) -> I + Sync,
) -> Result<EntryLines<T>> {
    let (n_lines, n_minor) = shape;
    let mut pointers = vec![0; n_lines + 1];
    let lines_at_a_time = ((1 << 16) / n_minor.max(1)).max(1);
    exec.part(0.0, 0.5).fill(&mut pointers[1..], lines_at_a_time, |piece, counts| {
        for (at, count) in counts.iter_mut().enumerate() {
            let line = piece * lines_at_a_time + at;
            for (index, value, weight) in entries(line) {
                match major {
                    Major::Rows => check_finite(line, index as usize, value)?,
                    Major::Columns => check_finite(index as usize, line, value)?,
                }
                *count += usize::from(is_observed(value, weight));
            }
        }
        Ok(())
    })?;
    let mut raw = Raw::zeros(pointers, weighted)?;
    let cuts: Vec<usize> = (0..n_lines).step_by(lines_at_a_time).chain([n_lines]).collect();
    exec.part(0.5, 1.0).each(raw.pieces(&cuts).into_iter(), |piece, mut out| {
        let observed = (cuts[piece]..cuts[piece + 1]).flat_map(&entries);
        let observed = observed.filter(|(_, value, weight)| is_observed(*value, *weight));
        for (at, (index, value, weight)) in observed.enumerate() {
            out.set(at, index, value, weight);
        }
        Ok(())
    })?;
    Ok(raw.into_lines())
}

/// Sorts triples by column; within a column they keep their order. Each worker scans all triples and writes one
/// range of columns, without a copy.
pub(super) fn by_columns<I: IndexInt, T: Scalar>(
    triples: &Triples<'_, I, T>,
    n_features: usize,
    exec: &Exec<'_>,
) -> Result<EntryLines<T>> {
    let one = T::from_f64(1.0);
    let weight = |e: usize| triples.weights.map_or(one, |w| w[e]);
    let mut pointers = vec![0; n_features + 1];
    for (e, column) in triples.columns.iter().enumerate() {
        pointers[column.widen() as usize + 1] += usize::from(is_observed(triples.values[e], weight(e)));
    }
    let mut raw = Raw::zeros(pointers, triples.weights.is_some())?;
    let cuts = balanced(&raw.pointers, exec.n_threads());
    exec.each(raw.pieces(&cuts).into_iter(), |piece, mut out| {
        let (first, end) = (cuts[piece], cuts[piece + 1]);
        for (e, column) in triples.columns.iter().enumerate() {
            let column = column.widen() as usize;
            if column >= first && column < end && is_observed(triples.values[e], weight(e)) {
                out.push(column - first, triples.rows[e].widen() as u32, triples.values[e], weight(e));
            }
        }
        Ok(())
    })?;
    Ok(raw.pushed())
}

/// Converts CSR to CSC or back, for `n_minor` indices; sorts the indices of each line.
pub(super) fn transpose<T: Scalar>(
    lines: &EntryLines<T>,
    n_minor: usize,
    exec: &Exec<'_>,
) -> Result<EntryLines<T>> {
    let mut raw = Raw::zeros(count_minor(lines, n_minor, &exec.part(0.0, 0.5))?, lines.is_weighted())?;
    let cuts = balanced(&raw.pointers, exec.n_threads());
    let one = T::from_f64(1.0);
    exec.part(0.5, 1.0).each(raw.pieces(&cuts).into_iter(), |piece, mut out| {
        let (first, end) = (cuts[piece], cuts[piece + 1]);
        for l in 0..lines.n_lines() {
            let line = lines.line(l);
            for (e, index) in line.indices.iter().enumerate() {
                let index = *index as usize;
                if index >= first && index < end {
                    out.push(index - first, l as u32, line.values[e], line.weights.map_or(one, |w| w[e]));
                }
            }
        }
        Ok(())
    })?;
    Ok(raw.pushed())
}

/// Number of entries of each minor index.
struct Counts(Vec<usize>);

impl Accumulate for Counts {
    fn reset(&mut self) {
        self.0.fill(0);
    }
    fn merge(&mut self, other: &Self) {
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a += b;
        }
    }
}

/// Counts entries by minor index, shifted by one as [`Raw::zeros`] requires. Shape (n_minor + 1,).
fn count_minor<T: Scalar>(lines: &EntryLines<T>, n_minor: usize, exec: &Exec<'_>) -> Result<Vec<usize>> {
    // Parallel counting pays only with more entries than counters.
    let n_pieces = if lines.n_entries() < n_minor { 1 } else { 16 };
    let counts = exec.fold(
        n_pieces,
        || Counts(vec![0; n_minor + 1]),
        |piece, counts| {
            let at = |piece| lines.n_lines() * piece / n_pieces;
            for line in at(piece)..at(piece + 1) {
                for index in lines.line(line).indices {
                    counts.0[*index as usize + 1] += 1;
                }
            }
            Ok(())
        },
    )?;
    Ok(counts.0)
}

/// Cuts lines into `n` ranges with about the same number of entries; returns the `n + 1` bounds.
fn balanced(pointers: &[usize], n: usize) -> Vec<usize> {
    let (n_lines, total) = (pointers.len() - 1, pointers[pointers.len() - 1]);
    let mut cuts: Vec<usize> =
        (0..=n).map(|piece| pointers.partition_point(|&end| end < total / n * piece).min(n_lines)).collect();
    cuts[n] = n_lines;
    cuts
}

/// Compressed storage under construction.
struct Raw<T> {
    pointers: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<T>,
    weights: Option<Vec<T>>,
}

/// Compressed storage of a range of lines under construction.
struct RawPiece<'a, T> {
    /// Position of the next entry of each line, relative to all entries.
    next: &'a mut [usize],
    /// Pointer of the first line.
    begin: usize,
    indices: &'a mut [u32],
    values: &'a mut [T],
    weights: Option<&'a mut [T]>,
}

impl<T: Scalar> RawPiece<'_, T> {
    /// Appends an entry to a line, counted from the first of the piece. The pointers serve as write positions, to
    /// save memory; [`Raw::pushed`] restores them.
    fn push(&mut self, line: usize, index: u32, value: T, weight: T) {
        let at = self.next[line] - self.begin;
        self.next[line] += 1;
        self.set(at, index, value, weight);
    }

    fn set(&mut self, at: usize, index: u32, value: T, weight: T) {
        self.indices[at] = index;
        self.values[at] = value;
        if let Some(weights) = &mut self.weights {
            weights[at] = weight;
        }
    }
}

impl<T: Scalar> Raw<T> {
    /// Allocates storage. `counts[l + 1]` is the number of entries of line `l`.
    ///
    /// # Errors
    /// [`Error::Memory`].
    fn zeros(counts: Vec<usize>, weighted: bool) -> Result<Self> {
        let mut pointers = counts;
        for line in 1..pointers.len() {
            pointers[line] += pointers[line - 1];
        }
        let n = pointers[pointers.len() - 1];
        let of_values = if weighted { 2.0 } else { 1.0 } * size_of::<T>() as f64;
        memory::ask(&format!("a copy of {n} entries"), n as f64 * (4.0 + of_values), || {
            vec!["take fewer rows or columns".into(), "take f32".into()]
        })?;
        let (indices, values) = (vec![0; n], vec![T::default(); n]);
        Ok(Self { pointers, indices, values, weights: weighted.then(|| vec![T::default(); n]) })
    }

    /// Splits the storage at the cuts.
    fn pieces(&mut self, cuts: &[usize]) -> Vec<RawPiece<'_, T>> {
        let ends: Vec<usize> = cuts.iter().map(|cut| self.pointers[*cut]).collect();
        let (mut indices, mut values) = (self.indices.as_mut_slice(), self.values.as_mut_slice());
        let (mut pointers, mut weights) = (self.pointers.as_mut_slice(), self.weights.as_deref_mut());
        let mut pieces = Vec::with_capacity(cuts.len() - 1);
        for (cut, end) in cuts.windows(2).zip(ends.windows(2)) {
            let n = end[1] - end[0];
            let (next, rest) = std::mem::take(&mut pointers).split_at_mut(cut[1] - cut[0]);
            pointers = rest;
            let own = weights.take().map(|w| w.split_at_mut(n));
            let (own_weights, rest) = own.map_or((None, None), |(own, rest)| (Some(own), Some(rest)));
            weights = rest;
            let (own_indices, rest) = std::mem::take(&mut indices).split_at_mut(n);
            indices = rest;
            let (own_values, rest) = std::mem::take(&mut values).split_at_mut(n);
            values = rest;
            let (indices, values, weights) = (own_indices, own_values, own_weights);
            pieces.push(RawPiece { next, begin: end[0], indices, values, weights });
        }
        pieces
    }

    /// Restores the pointers: after all pushes each is the end of its line, the start of the next.
    fn pushed(mut self) -> EntryLines<T> {
        let n_lines = self.pointers.len() - 1;
        self.pointers.copy_within(..n_lines, 1);
        self.pointers[0] = 0;
        self.into_lines()
    }

    fn into_lines(self) -> EntryLines<T> {
        EntryLines::new(self.pointers, self.indices, self.values, self.weights)
    }
}
