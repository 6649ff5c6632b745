//! Compressed rows or columns of observed entries, and parallel passes over them.

use std::ops::Range;
use std::sync::Arc;

use crate::error::Result;
use crate::exec::Exec;
use crate::scalar::{Scalar, largest};

/// Completes a line: from its number and sums writes its rows of the results, and returns its own sums.
type Finish<'a, T, const K: usize, const M: usize> =
    dyn Fn(usize, &mut [f64], &mut [&mut [T]; K]) -> Result<[f64; M]> + 'a;

/// Target number of entries plus lines per piece of parallel work.
const PIECE: usize = 1 << 15;

/// The entries of a matrix in compressed rows (CSR) or columns (CSC).
#[derive(Clone, Debug)]
pub(crate) struct EntryLines<T> {
    /// Line `l` has the entries `pointers[l]..pointers[l + 1]`.
    pointers: Vec<usize>,
    /// Minor index of each entry, increasing within a line. Copies with other weights share indices and values.
    indices: Arc<Vec<u32>>,
    values: Arc<Vec<T>>,
    /// Inverse variances; `None` if all are one.
    weights: Option<Vec<T>>,
    /// Multiplicity of each line in sums over lines; `None` if all are one.
    multiplicity: Option<Arc<[f64]>>,
    parts: Vec<LinePart>,
}

/// A piece of work: whole lines, or consecutive entries of one long line.
#[derive(Clone, Debug, PartialEq)]
struct LinePart {
    lines: Range<usize>,
    entries: Range<usize>,
    whole: bool,
}

/// Consecutive entries of one line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment<'a, T> {
    pub(crate) line: usize,
    pub(crate) indices: &'a [u32],
    pub(crate) values: &'a [T],
    pub(crate) weights: Option<&'a [T]>,
    /// Range of minor indices that the segment covers: from its first entry (0 at the start of the line) to the
    /// entry after its last (`u32::MAX` at the end).
    span: (u32, u32),
}

/// Minimum length and minimum fraction observed of a line that is treated as full.
const LONG: usize = 64;
const FULL: f64 = 0.75;
/// Number of indices tested together for a gap.
const RUN: usize = 8;

impl<'a, T> Segment<'a, T> {
    /// All entries of a line.
    pub(crate) fn whole(line: usize, indices: &'a [u32], values: &'a [T]) -> Self {
        Self { line, indices, values, weights: None, span: (0, u32::MAX) }
    }

    /// The missing indices below `n` in the range of the segment.
    pub(crate) fn missing(&self, n: usize) -> Vec<u32> {
        let end = (n as u32).min(self.span.1);
        let mut missing = Vec::with_capacity((end - self.span.0) as usize - self.indices.len());
        let mut next = self.span.0;
        for run in self.indices.chunks(RUN) {
            // Indices increase: the last one alone shows whether the run has gaps.
            if run[run.len() - 1] - next == run.len() as u32 - 1 {
                next += run.len() as u32;
                continue;
            }
            for index in run {
                missing.extend(next..*index);
                next = index + 1;
            }
        }
        missing.extend(next..end);
        missing
    }
}

/// Output of a pass: `width` values for each line.
pub(crate) struct Rows<'a, T> {
    pub(crate) data: &'a mut [T],
    pub(crate) width: usize,
}

impl<T: Scalar> EntryLines<T> {
    pub(crate) fn new(
        pointers: Vec<usize>,
        indices: Vec<u32>,
        values: Vec<T>,
        weights: Option<Vec<T>>,
    ) -> Self {
        let parts = parts(&pointers);
        let (indices, values) = (Arc::new(indices), Arc::new(values));
        Self { pointers, indices, values, weights, multiplicity: None, parts }
    }

    /// Returns a copy of the entries in double precision.
    pub(crate) fn widened(&self) -> EntryLines<f64> {
        let widen = |values: &[T]| values.iter().map(|x| x.to_f64()).collect::<Vec<f64>>();
        EntryLines {
            pointers: self.pointers.clone(),
            indices: Arc::clone(&self.indices),
            values: Arc::new(widen(&self.values)),
            weights: self.weights.as_deref().map(widen),
            multiplicity: self.multiplicity.clone(),
            parts: self.parts.clone(),
        }
    }

    /// Returns a copy with every value times the factor of its line and minor index.
    pub(crate) fn multiplied(
        &self,
        factor: impl Fn(usize, usize) -> f64 + Sync,
        exec: &Exec<'_>,
    ) -> Result<Self> {
        let mut values = self.values.to_vec();
        let multiply = |segment: Segment<'_, T>, out: &mut [T], _: &mut [f64]| {
            for (value, index) in out.iter_mut().zip(segment.indices) {
                *value = T::from_f64(value.to_f64() * factor(segment.line, *index as usize));
            }
        };
        self.pass_with::<T, 0, 0>(exec, (0, 0), &mut values, [], multiply, |_, _, _| Ok([]))?;
        Ok(Self { values: Arc::new(values), ..self.clone() })
    }

    /// Sets the multiplicities of the lines.
    pub(crate) fn with_multiplicity(self, multiplicity: Arc<[f64]>) -> Self {
        Self { multiplicity: Some(multiplicity), ..self }
    }

    /// Multiplies each entry's weight by the multiplicity of its minor index.
    pub(crate) fn reweighted(mut self, multiplicity: &[f64]) -> Self {
        let one = T::from_f64(1.0);
        let mut weights = self.weights.take().unwrap_or_else(|| vec![one; self.values.len()]);
        for (weight, index) in weights.iter_mut().zip(&*self.indices) {
            *weight = T::from_f64(weight.to_f64() * multiplicity[*index as usize]);
        }
        Self { weights: Some(weights), ..self }
    }

    /// Keeps the lines `names`, ascending; the others hold no entries. Shares indices and values.
    pub(crate) fn without_empty(&self, names: &[usize]) -> Self {
        // Lines without entries end where they begin.
        let pointers: Vec<usize> =
            [0].into_iter().chain(names.iter().map(|line| self.pointers[line + 1])).collect();
        let multiplicity = self.multiplicity.as_ref();
        Self {
            parts: parts(&pointers),
            pointers,
            multiplicity: multiplicity.map(|of| names.iter().map(|line| of[*line]).collect()),
            ..self.clone()
        }
    }

    /// Gives the minor index `j` the number `numbers[j]`, in the same order. Shares the values.
    pub(crate) fn renumbered(&self, numbers: &[u32]) -> Self {
        let indices = self.indices.iter().map(|index| numbers[*index as usize]).collect();
        Self { indices: Arc::new(indices), ..self.clone() }
    }

    /// Pointers, indices, values and weights.
    pub(crate) fn into_raw(self) -> (Vec<usize>, Vec<u32>, Vec<T>, Option<Vec<T>>) {
        (self.pointers, Arc::unwrap_or_clone(self.indices), Arc::unwrap_or_clone(self.values), self.weights)
    }

    pub(crate) fn n_lines(&self) -> usize {
        self.pointers.len() - 1
    }

    pub(crate) fn n_entries(&self) -> usize {
        self.values.len()
    }

    pub(crate) fn pointers(&self) -> &[usize] {
        &self.pointers
    }

    /// The minor indices of all lines.
    pub(crate) fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// The values of all lines.
    pub(crate) fn values(&self) -> &[T] {
        &self.values
    }

    pub(crate) fn is_weighted(&self) -> bool {
        self.weights.is_some()
    }

    /// The largest weight; one without weights.
    pub(crate) fn largest_weight(&self) -> f64 {
        self.weights.as_ref().map_or(1.0, |w| largest(w.iter().map(|w| w.to_f64())))
    }

    /// Number of entries of a line.
    pub(crate) fn count(&self, line: usize) -> usize {
        self.pointers[line + 1] - self.pointers[line]
    }

    /// Sum of the weights of a line; its number of entries without weights.
    pub(crate) fn weight(&self, line: usize) -> f64 {
        match &self.weights {
            None => self.count(line) as f64,
            Some(w) => w[self.pointers[line]..self.pointers[line + 1]].iter().map(|w| w.to_f64()).sum(),
        }
    }

    /// All entries of a line.
    pub(crate) fn line(&self, line: usize) -> Segment<'_, T> {
        self.segment(line, self.pointers[line]..self.pointers[line + 1])
    }

    fn segment(&self, line: usize, entries: Range<usize>) -> Segment<'_, T> {
        let (first, end) = (self.pointers[line], self.pointers[line + 1]);
        let from = if entries.start == first { 0 } else { self.indices[entries.start] };
        let to = if entries.end == end { u32::MAX } else { self.indices[entries.end] };
        Segment {
            line,
            indices: &self.indices[entries.clone()],
            values: &self.values[entries.clone()],
            weights: self.weights.as_ref().map(|w| &w[entries]),
            span: (from, to),
        }
    }

    /// Returns true if a line of `n` indices is unweighted and nearly full: sums over all rows less those over the
    /// missing entries are then cheaper.
    pub(crate) fn is_nearly_full(&self, line: usize, n: usize) -> bool {
        let count = self.count(line);
        self.weights.is_none() && count >= LONG && count as f64 >= FULL * n as f64
    }

    /// Returns true if any line is unweighted and nearly full.
    pub(crate) fn has_full_lines(&self, n: usize) -> bool {
        (0..self.n_lines()).any(|line| self.is_nearly_full(line, n))
    }

    /// Makes one pass over all entries. `gather` adds the entries of a segment to `lengths.0` sums, with
    /// `lengths.1` numbers of workspace after them. `finish` receives the complete sums of each line, writes its
    /// row of each of `outs`, and returns numbers to sum over lines.
    ///
    /// Long lines are cut at fixed places, and their sums are added in order: the same bits for any number of
    /// threads. Outputs may have another type than the entries.
    pub(crate) fn pass<U: Send, const K: usize, const M: usize>(
        &self,
        exec: &Exec<'_>,
        lengths: (usize, usize),
        outs: [Rows<'_, U>; K],
        gather: impl Fn(Segment<'_, T>, &mut [f64]) + Sync,
        finish: impl Fn(usize, &mut [f64], &mut [&mut [U]; K]) -> Result<[f64; M]> + Sync,
    ) -> Result<[f64; M]> {
        self.pass_with(exec, lengths, &mut [], outs, |segment, _, acc| gather(segment, acc), finish)
    }

    /// As [`EntryLines::pass`]; `gather` may also change one value of `entries` per entry.
    pub(crate) fn pass_with<U: Send, const K: usize, const M: usize>(
        &self,
        exec: &Exec<'_>,
        lengths: (usize, usize),
        entries: &mut [T],
        outs: [Rows<'_, U>; K],
        gather: impl Fn(Segment<'_, T>, &mut [T], &mut [f64]) + Sync,
        finish: impl Fn(usize, &mut [f64], &mut [&mut [U]; K]) -> Result<[f64; M]> + Sync,
    ) -> Result<[f64; M]> {
        let finish = |line: usize, acc: &mut [f64], outs: &mut [&mut [U]; K]| {
            let multiplicity = self.multiplicity.as_ref().map_or(1.0, |multiplicity| multiplicity[line]);
            Ok(finish(line, acc, outs)?.map(|sum| multiplicity * sum))
        };
        let widths: [usize; K] = std::array::from_fn(|k| outs[k].width);
        let mut tasks: Vec<Task<'_, T, U, K, M>> = self.tasks(entries, outs);
        // No ordered merge: sums over lines are stored per part and added in order at the end.
        exec.each(tasks.iter_mut(), |piece, task| {
            let part = &self.parts[piece];
            let mut entries = std::mem::take(&mut task.entries);
            let mut acc = vec![0.0; lengths.0 + lengths.1];
            if !part.whole {
                let segment = self.segment(part.lines.start, part.entries.clone());
                gather(segment, entries, &mut acc);
                task.partial = acc;
                return Ok(());
            }
            for (at, line) in part.lines.clone().enumerate() {
                acc[..lengths.0].fill(0.0);
                let (own, rest) = split(std::mem::take(&mut entries), self.count(line));
                entries = rest;
                gather(self.line(line), own, &mut acc);
                let found = finish(line, &mut acc, &mut rows_of(&mut task.outs, &widths, at))?;
                add(&mut task.sums, found);
            }
            Ok(())
        })?;
        self.finish_long(tasks, &widths, &finish)
    }

    /// Adds the sums of all parts, then completes the long lines.
    fn finish_long<U, const K: usize, const M: usize>(
        &self,
        tasks: Vec<Task<'_, T, U, K, M>>,
        widths: &[usize; K],
        finish: &Finish<'_, U, K, M>,
    ) -> Result<[f64; M]> {
        let mut total = [0.0; M];
        for task in &tasks {
            add(&mut total, task.sums);
        }
        let mut sum: Vec<f64> = Vec::new();
        for (part, mut task) in self.parts.iter().zip(tasks) {
            if part.whole {
                continue;
            }
            if sum.is_empty() {
                sum = task.partial;
            } else {
                for (a, b) in sum.iter_mut().zip(&task.partial) {
                    *a += b;
                }
            }
            let line = part.lines.start;
            if part.entries.end == self.pointers[line + 1] {
                let mut rows = rows_of(&mut task.outs, widths, 0);
                add(&mut total, finish(line, &mut sum, &mut rows)?);
                sum.clear();
            }
        }
        Ok(total)
    }

    /// Splits the outputs by parts. The last part of a long line writes its row.
    fn tasks<'a, U, const K: usize, const M: usize>(
        &self,
        mut entries: &'a mut [T],
        outs: [Rows<'a, U>; K],
    ) -> Vec<Task<'a, T, U, K, M>> {
        let widths: [usize; K] = std::array::from_fn(|k| outs[k].width);
        let mut rest = outs.map(|out| out.data);
        let mut task = |part: &LinePart| {
            let owns = part.whole || part.entries.end == self.pointers[part.lines.end];
            let n_lines = if owns { part.lines.len() } else { 0 };
            let outs = std::array::from_fn(|k| {
                let (own, after) = std::mem::take(&mut rest[k]).split_at_mut(n_lines * widths[k]);
                rest[k] = after;
                own
            });
            let (own, after) = split(std::mem::take(&mut entries), part.entries.len());
            entries = after;
            Task { entries: own, outs, sums: [0.0; M], partial: Vec::new() }
        };
        self.parts.iter().map(&mut task).collect()
    }
}

/// Output of one part of a pass.
struct Task<'a, T, U, const K: usize, const M: usize> {
    entries: &'a mut [T],
    outs: [&'a mut [U]; K],
    /// Sums over whole lines.
    sums: [f64; M],
    /// Sums over a piece of a long line.
    partial: Vec<f64>,
}

fn add<const M: usize>(sums: &mut [f64; M], more: [f64; M]) {
    for (sum, more) in sums.iter_mut().zip(more) {
        *sum += more;
    }
}

/// Splits after `n` values; an empty slice stays empty.
fn split<T>(values: &mut [T], n: usize) -> (&mut [T], &mut [T]) {
    let n = n.min(values.len());
    values.split_at_mut(n)
}

/// The output rows of line `at` of a part.
fn rows_of<'b, T, const K: usize>(
    outs: &'b mut [&mut [T]; K],
    widths: &[usize; K],
    at: usize,
) -> [&'b mut [T]; K] {
    let mut widths = widths.iter();
    outs.each_mut().map(|out| {
        let width = widths.next().copied().unwrap_or(0);
        &mut out[at * width..(at + 1) * width]
    })
}

/// Cuts lines into pieces of about [`PIECE`] entries. The cuts depend on the entries alone.
fn parts(pointers: &[usize]) -> Vec<LinePart> {
    let mut parts = Vec::new();
    let mut start = 0;
    let n_lines = pointers.len() - 1;
    for line in 0..n_lines {
        let (from, to) = (pointers[line], pointers[line + 1]);
        let whole = |lines: Range<usize>| LinePart {
            entries: pointers[lines.start]..pointers[lines.end],
            lines,
            whole: true,
        };
        if to - from >= 2 * PIECE {
            if start < line {
                parts.push(whole(start..line));
            }
            let pieces = (to - from).div_ceil(PIECE);
            let at =
                |piece: usize| from + (to - from) / pieces * piece + (to - from) % pieces * piece / pieces;
            parts.extend((0..pieces).map(|piece| LinePart {
                lines: line..line + 1,
                entries: at(piece)..at(piece + 1),
                whole: false,
            }));
            start = line + 1;
        } else if to - pointers[start] + (line + 1 - start) >= PIECE {
            parts.push(whole(start..line + 1));
            start = line + 1;
        }
    }
    if start < n_lines {
        parts.push(LinePart {
            lines: start..n_lines,
            entries: pointers[start]..pointers[n_lines],
            whole: true,
        });
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_in_one_part() {
        let lengths = [0, 10, 5 * PIECE + 3, PIECE, 0, 2 * PIECE, 7, PIECE - 1, 1, 0];
        let mut pointers = vec![0];
        for length in lengths {
            pointers.push(pointers.last().unwrap() + length);
        }
        let parts = parts(&pointers);
        let mut next = 0;
        for part in &parts {
            assert_eq!(part.entries.start, next);
            next = part.entries.end;
            assert!(part.entries.len() <= 2 * PIECE);
        }
        assert_eq!(next, *pointers.last().unwrap());
        assert_eq!(parts.iter().filter(|p| !p.whole).count(), 6 + 2);
        assert_eq!(parts.last().unwrap().lines.end, lengths.len());
    }

    #[test]
    fn missing_indices_lie_between_entries() {
        let indices = vec![1, 2, 5, 0, 1, 2, 3, 4, 5, 6];
        let lines = EntryLines::new(vec![0, 3, 10], indices, vec![1.0; 10], None);
        assert_eq!(lines.line(0).missing(7), [0, 3, 4, 6]);
        assert!(lines.line(1).missing(7).is_empty());
        // Consecutive segments of a line share its missing entries without overlap.
        assert_eq!(lines.segment(0, 0..2).missing(7), [0, 3, 4]);
        assert_eq!(lines.segment(0, 2..3).missing(7), [6]);
    }

    #[test]
    fn long_lines_are_summed_in_pieces() {
        let lengths = [3, 3 * PIECE, 0, 5];
        let mut pointers = vec![0];
        for length in lengths {
            pointers.push(pointers.last().unwrap() + length);
        }
        let n = *pointers.last().unwrap();
        let lines = EntryLines::new(pointers, vec![0; n], (0..n).map(|i| i as f64).collect(), None);
        let mut out = vec![0.0; 4];
        let total = lines
            .pass(
                &Exec::sequential(),
                (1, 0),
                [Rows { data: &mut out, width: 1 }],
                |segment, acc| acc[0] += segment.values.iter().sum::<f64>(),
                |_, acc, [row]| {
                    row[0] = acc[0];
                    Ok([acc[0]])
                },
            )
            .unwrap();
        let sum = |from: usize, to: usize| (from..to).map(|i| i as f64).sum::<f64>();
        assert_eq!(out, [3.0, sum(3, 3 + 3 * PIECE), 0.0, sum(n - 5, n)]);
        assert_eq!(total[0], sum(0, n));
    }
}
