//! Sums over the entries of a line of expected values of the other factor: `sum w z`, `sum w y z` and `sum w zz'`, where
//! `z z'` is expected under a posterior and `y = x - mu`.

use pulp::{Simd, WithSimd};

use super::RUN;
use super::rows::{LINE, VectorRows, flush};
use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::factors::{Factor, Side};
use crate::incomplete::observed::{Rows, Segment};
use crate::incomplete::problem::Problem;
use crate::linalg::simd::{Lane, dispatch, prefetch};

/// Entries whose expected values are asked for ahead of their use.
const AHEAD: usize = 8;
/// Entries that are added at a time.
const TOGETHER: usize = 4;
/// Vectors of sums that are kept on the stack.
const ON_STACK: usize = 48;

/// One row of expected values: the mean of `z` and its constant, filled up to cache lines, then the lower triangle of the
/// second moments, row after row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected {
    /// Components.
    pub(crate) c: usize,
    /// Where the triangle begins.
    pub(crate) head: usize,
    /// Values of one row.
    pub(crate) width: usize,
}

impl Expected {
    pub(crate) fn new<T>(c: usize) -> Self {
        let per_line = LINE / size_of::<T>();
        let head = (c + 1).next_multiple_of(per_line);
        Self { c, head, width: (head + c * (c + 1) / 2).next_multiple_of(per_line) }
    }

    /// Where the second moment of components `k` and `l <= k` lies.
    #[inline(always)]
    pub(crate) fn at(self, k: usize, l: usize) -> usize {
        self.head + k * (k + 1) / 2 + l
    }

    /// Sums of a line: `sum w z` and moments, `sum w y z`, `sum w y^2`.
    pub(crate) fn n_sums(self) -> usize {
        self.width + self.head + 1
    }
}

/// Walks the lines of a side; `table` has a row of expected values for each line of the other side. `finish` gets the
/// sums of each line, see [`Expected::n_sums`], and `room` numbers of work space.
pub(crate) fn moments_pass<T: Lane, const K: usize, const M: usize>(
    problem: &Problem<'_, T>,
    side: Side,
    (table, constants): (&Factor<T>, &[T]),
    room: usize,
    outs: [&mut Factor<T>; K],
    exec: &Exec<'_>,
    finish: impl Fn(usize, &mut [f64], &mut [&mut [T]; K]) -> Result<[f64; M]> + Sync,
) -> Result<[f64; M]> {
    let expected = Expected::new::<T>(problem.c);
    let outs = outs.map(|out| Rows { width: out.width(), data: out.as_mut_slice() });
    problem.lines(side).pass(
        exec,
        (expected.n_sums(), room),
        outs,
        |segment, acc| {
            let constant = constants[segment.line];
            dispatch(Moments { segment, table, constant, expected, acc });
        },
        finish,
    )
}

/// `sum w (s_j, 1)` over the samples that saw each feature.
pub(crate) fn sums_of_scores<T: Lane>(
    problem: &Problem<'_, T>,
    scores: &Factor<T>,
    exec: &Exec<'_>,
) -> Result<Factor<T>> {
    let width = scores.width();
    let mut out = Factor::zeros(problem.data.n_features(), width);
    let outs = [Rows { width, data: out.as_mut_slice() }];
    problem.lines(Side::Loadings).pass(
        exec,
        (width, 0),
        outs,
        |segment, acc| {
            for (e, index) in segment.indices.iter().enumerate() {
                let weight = segment.weights.map_or(1.0, |w| w[e].to_f64());
                for (acc, x) in acc.iter_mut().zip(scores.row(*index as usize)) {
                    *acc += weight * x.to_f64();
                }
            }
        },
        |_, acc, [row]| {
            row.iter_mut().zip(acc.iter()).for_each(|(out, x)| *out = T::from_f64(*x));
            Ok([])
        },
    )?;
    Ok(out)
}

struct Moments<'a, T> {
    segment: Segment<'a, T>,
    table: &'a Factor<T>,
    /// The mean of an own feature, or the one of an own sample.
    constant: T,
    expected: Expected,
    acc: &'a mut [f64],
}

impl<T: Lane> WithSimd for Moments<'_, T> {
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

impl<T: Lane> Moments<'_, T> {
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
                // Beyond the last entry: nothing of it.
                let (mut weight, mut weighted) = ([T::default(); TOGETHER], [T::default(); TOGETHER]);
                for t in 0..n {
                    let index = indices[e + t] as usize;
                    if let Some(ahead) = indices.get(e + t + AHEAD) {
                        let from = *ahead as usize * width;
                        for line in (0..width).step_by(LINE / size_of::<T>()) {
                            prefetch(self.table.as_slice(), from + line);
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

/// `sums += factor x` of several rows.
#[inline(always)]
fn add_rows<S: Simd, T: Lane>(
    simd: S,
    factor: [T; TOGETHER],
    x: [&[T::Vector<S>]; TOGETHER],
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
