//! Sums over the entries of a line of expected values of the other factor: `sum w z`, `sum w y z` and `sum w zz'`,
//! with `y = x - mu` and expectations under a posterior.

use pulp::{Simd, WithSimd};

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::data::{Rows, Segment};
use crate::incomplete::factors::objective::Objective;
use crate::incomplete::factors::{Factor, FactorSide};
use crate::incomplete::passes::RUN;
use crate::incomplete::passes::full_lines::{MissingEntries, keep_digits, project};
use crate::incomplete::passes::rows::{VectorRows, add_rows, flush};
use crate::linalg::prefetch::{LINE, prefetch_at};
use crate::linalg::simd::{Lane, dispatch};

/// Prefetch distance, in entries.
const AHEAD: usize = 8;
/// Number of entries added together.
const TOGETHER: usize = 4;
/// Most vectors of sums kept on the stack.
const ON_STACK: usize = 48;

/// Layout of a row of expected values: the mean of `z` and its constant, padded to cache lines, then the lower
/// triangle of the second moments, row after row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected {
    /// Components.
    pub(crate) c: usize,
    /// Position of the triangle.
    pub(crate) head: usize,
    /// Number of values per row.
    pub(crate) width: usize,
}

impl Expected {
    pub(crate) fn new<T>(c: usize) -> Self {
        let per_line = LINE / size_of::<T>();
        let head = (c + 1).next_multiple_of(per_line);
        Self { c, head, width: (head + c * (c + 1) / 2).next_multiple_of(per_line) }
    }

    /// Position of the second moment of components `k` and `l <= k`.
    #[inline(always)]
    pub(crate) fn at(self, k: usize, l: usize) -> usize {
        self.head + k * (k + 1) / 2 + l
    }

    /// Number of sums per line: `sum w z` and moments, `sum w y z`, `sum w y^2`.
    pub(crate) fn n_sums(self) -> usize {
        self.width + self.head + 1
    }
}

/// Sums expected values over the lines of a factor; `table` has a row of them for each row of the other factor.
/// `finish` receives the sums of each line, see [`Expected::n_sums`], and `workspace` more numbers.
pub(crate) fn moments_pass<T: Lane, U: Send, const K: usize, const M: usize>(
    problem: &Objective<'_, T>,
    side: FactorSide,
    (table, constants): (&Factor<T>, &[T]),
    workspace: usize,
    outs: [Rows<'_, U>; K],
    exec: &Exec<'_>,
    finish: impl Fn(usize, &mut [f64], &mut [&mut [U]; K]) -> Result<[f64; M]> + Sync,
) -> Result<[f64; M]> {
    let expected = Expected::new::<T>(problem.c);
    let Expected { c, width, head } = expected;
    let (lines, n) = (problem.lines(side), table.n_rows());
    let all = if lines.has_full_lines(n) { sums_of_rows(table, width, exec)? } else { Vec::new() };
    let over_entries = |segment: Segment<'_, T>, acc: &mut [f64]| {
        let constant = constants[segment.line];
        dispatch(MomentsPass { segment, table, constant, expected, acc });
    };
    lines.pass(
        exec,
        (expected.n_sums(), workspace),
        outs,
        |segment, acc| {
            if !lines.is_nearly_full(segment.line, n) {
                return over_entries(segment, acc);
            }
            let (of_y, squares) = acc[width..].split_at_mut(head);
            project(segment, table, (c, constants[segment.line]), (of_y, &mut squares[0]));
            let (missing, constant) = (MissingEntries::of(&segment, n), T::default());
            dispatch(MomentsPass { segment: missing.as_segment(), table, constant, expected, acc });
        },
        |line, acc, outs| {
            if lines.is_nearly_full(line, n) {
                if keep_digits(&all, acc, (0..c).map(|k| expected.at(k, k))) {
                    acc.iter_mut().zip(&all).for_each(|(missing, all)| *missing = all - *missing);
                } else {
                    acc[..expected.n_sums()].fill(0.0);
                    over_entries(lines.line(line), acc);
                }
            }
            finish(line, acc, outs)
        },
    )
}

/// Sums of the first `n_values` of all rows.
fn sums_of_rows<T: Lane>(rows: &Factor<T>, n_values: usize, exec: &Exec<'_>) -> Result<Vec<f64>> {
    rows.sum_rows(n_values, exec, |_, row, sums| {
        sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x.to_f64());
    })
}

/// `sum w (s_i, 1)` over the observed entries of each feature, shape (n_features, c + 1).
pub(crate) fn sums_of_scores<T: Lane>(
    problem: &Objective<'_, T>,
    scores: &Factor<T>,
    exec: &Exec<'_>,
) -> Result<Factor<T>> {
    let (width, n) = (scores.width(), scores.n_rows());
    let mut out = Factor::zeros(problem.data.n_features(), width);
    let outs = [out.as_rows()];
    let lines = problem.lines(FactorSide::Loadings);
    let all = if lines.has_full_lines(n) { sums_of_rows(scores, width, exec)? } else { Vec::new() };
    lines.pass(
        exec,
        (width, 0),
        outs,
        |segment, acc| {
            let mut add = |index: u32, weight: f64| {
                for (acc, x) in acc.iter_mut().zip(scores.row(index as usize)) {
                    *acc += weight * x.to_f64();
                }
            };
            if lines.is_nearly_full(segment.line, n) {
                return segment.missing(n).into_iter().for_each(|index| add(index, -1.0));
            }
            for (e, index) in segment.indices.iter().enumerate() {
                add(*index, segment.weights.map_or(1.0, |w| w[e].to_f64()));
            }
        },
        |line, acc, [row]| {
            if lines.is_nearly_full(line, n) {
                acc.iter_mut().zip(&all).for_each(|(acc, all)| *acc += all);
            }
            row.iter_mut().zip(acc.iter()).for_each(|(out, x)| *out = T::from_f64(*x));
            Ok([])
        },
    )?;
    Ok(out)
}

struct MomentsPass<'a, T> {
    segment: Segment<'a, T>,
    table: &'a Factor<T>,
    /// The mean of a feature, or one for a sample.
    constant: T,
    expected: Expected,
    acc: &'a mut [f64],
}

impl<T: Lane> WithSimd for MomentsPass<'_, T> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let zero = T::splat(simd, T::default());
        let n = (self.expected.width + self.expected.head) / (size_of::<T::Vector<S>>() / size_of::<T>());
        if n <= ON_STACK {
            self.run(simd, &mut [zero; ON_STACK][..n]);
        } else {
            self.run(simd, &mut vec![zero; n]);
        }
    }
}

impl<T: Lane> MomentsPass<'_, T> {
    #[inline(always)]
    fn run<S: Simd>(self, simd: S, sums: &mut [T::Vector<S>]) {
        let Segment { indices, values, weights, .. } = self.segment;
        let Expected { c, head, width } = self.expected;
        let rows: VectorRows<'_, T::Vector<S>> = VectorRows::new(self.table);
        let n_acc = width + head;
        let (moments, of_y) = sums.split_at_mut(rows.n);
        let (constant, one) = (self.constant.to_f64(), T::from_f64(1.0));
        let mut squares = 0.0;
        for start in (0..indices.len()).step_by(RUN) {
            let end = indices.len().min(start + RUN);
            let mut e = start;
            while e < end {
                let n = TOGETHER.min(end - e);
                let mut row = [rows.row(indices[e] as usize); TOGETHER];
                // Zeros pad the last group of entries.
                let (mut weight, mut weighted) = ([T::default(); TOGETHER], [T::default(); TOGETHER]);
                for t in 0..n {
                    let index = indices[e + t] as usize;
                    if let Some(ahead) = indices.get(e + t + AHEAD) {
                        let from = *ahead as usize * width;
                        for line in (0..width).step_by(LINE / size_of::<T>()) {
                            prefetch_at(self.table.as_slice(), from + line);
                        }
                    }
                    row[t] = rows.row(index);
                    let last = self.table.as_slice()[index * width + c].to_f64();
                    let y = values[e + t].to_f64() - constant * last;
                    weight[t] = weights.map_or(one, |w| w[e + t]);
                    let wy = weight[t].to_f64() * y;
                    weighted[t] = T::from_f64(wy);
                    squares += wy * y;
                }
                add_rows::<S, T>(simd, weight, row, moments);
                add_rows::<S, T>(simd, weighted, row, of_y);
                e += n;
            }
            flush::<S, T>(simd, moments, &mut self.acc[..width]);
            flush::<S, T>(simd, of_y, &mut self.acc[width..n_acc]);
        }
        self.acc[n_acc] += squares;
    }
}
