//! Sums over nearly full lines. Sums of products `z z'` of rows of the other factor are those over all rows, less
//! those over the missing entries: time O(N c + missing c^2) instead of O(N c^2). Sums that involve the entries
//! run over the entries.

use pulp::{Simd, WithSimd};

use crate::incomplete::data::Segment;
use crate::incomplete::factors::Factor;
use crate::incomplete::passes::RUN;
use crate::incomplete::passes::rows::{VectorRows, add_rows, flush};
use crate::linalg::prefetch::LINE;
use crate::linalg::simd::{Lane, dispatch};

/// Number of entries added together.
const TOGETHER: usize = 4;
/// Most vectors of sums kept on the stack.
const ON_STACK: usize = 16;
/// Least fraction of a sum of squares that may remain after the subtraction; below it, cancellation would lose
/// digits, and the sum runs over the entries.
const LEAST_LEFT: f64 = 0.125;

/// `sum y z` and `sum y^2` with `y = x - constant z_c` over the entries of an unweighted segment. `z` are the
/// leading values of rows of `other`, padded to whole cache lines; `sums` receives as many as it holds.
pub(super) fn project<T: Lane>(
    segment: Segment<'_, T>,
    other: &Factor<T>,
    (c, constant): (usize, T),
    (sums, squares): (&mut [f64], &mut f64),
) {
    let head = (c + 1).next_multiple_of(LINE / size_of::<T>());
    *squares += dispatch(Project { segment, other, c, head, constant: constant.to_f64(), sums });
}

struct Project<'a, T> {
    segment: Segment<'a, T>,
    other: &'a Factor<T>,
    c: usize,
    /// Number of values read per row.
    head: usize,
    constant: f64,
    sums: &'a mut [f64],
}

impl<T: Lane> WithSimd for Project<'_, T> {
    type Output = f64;
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let zero = T::splat(simd, T::default());
        let n = self.head / (size_of::<T::Vector<S>>() / size_of::<T>());
        if n <= ON_STACK {
            self.run(simd, &mut [zero; ON_STACK][..n])
        } else {
            self.run(simd, &mut vec![zero; n])
        }
    }
}

impl<T: Lane> Project<'_, T> {
    #[inline(always)]
    fn run<S: Simd>(self, simd: S, sums: &mut [T::Vector<S>]) -> f64 {
        let Segment { indices, values, .. } = self.segment;
        let rows: VectorRows<'_, T::Vector<S>> = VectorRows::new(self.other);
        let (width, last) = (self.other.width(), &self.other.as_slice()[self.c..]);
        let mut squares = 0.0;
        // Zeros pad the last group of entries.
        let mut y = [T::default(); RUN + TOGETHER];
        for (indices, values) in indices.chunks(RUN).zip(values.chunks(RUN)) {
            let n = indices.len();
            for ((y, index), value) in y.iter_mut().zip(indices).zip(values) {
                let away = value.to_f64() - self.constant * last[*index as usize * width].to_f64();
                squares += away * away;
                *y = T::from_f64(away);
            }
            y[n..n + TOGETHER].fill(T::default());
            for (four, y) in indices.chunks(TOGETHER).zip(y.as_chunks::<TOGETHER>().0) {
                let row = match four {
                    [i, j, k, l] => [*i, *j, *k, *l],
                    _ => std::array::from_fn(|t| four[t.min(four.len() - 1)]),
                };
                add_rows::<S, T>(simd, *y, row.map(|index| rows.row(index as usize)), sums);
            }
            flush::<S, T>(simd, sums, self.sums);
        }
        squares
    }
}

/// The missing entries of a segment, stored as entries.
pub(super) struct MissingEntries<T> {
    line: usize,
    indices: Vec<u32>,
    values: Vec<T>,
}

impl<T: Lane> MissingEntries<T> {
    /// The missing entries of a segment of a line with `n` indices.
    pub(super) fn of(segment: &Segment<'_, T>, n: usize) -> Self {
        let indices = segment.missing(n);
        Self { line: segment.line, values: vec![T::default(); indices.len()], indices }
    }

    /// A segment of entries of value zero.
    pub(super) fn as_segment(&self) -> Segment<'_, T> {
        Segment::whole(self.line, &self.indices, &self.values)
    }
}

/// Tests that the differences `all - missing` of sums of squares keep their digits at all given positions.
pub(crate) fn keep_digits(all: &[f64], missing: &[f64], mut places: impl Iterator<Item = usize>) -> bool {
    places.all(|at| all[at] - missing[at] >= LEAST_LEFT * all[at])
}

#[cfg(test)]
mod tests {
    use crate::exec::Exec;
    use crate::incomplete::data::{EntryLines, Observed};
    use crate::incomplete::factors::objective::{Diagonal, MeanRule, Objective};
    use crate::incomplete::factors::{Factor, FactorSide};
    use crate::incomplete::passes::moments::{Expected, moments_pass, sums_of_scores};
    use crate::incomplete::passes::normal::{NormalLayout, NormalProducts};
    use crate::linalg::Dense;
    use crate::linalg::simd::Lane;
    use crate::testing::test_matrices::gaussian;

    const C: usize = 3;
    const P: usize = 4;

    /// Columns: full; few missing; too many missing to be treated as full; without the rows of largest scores.
    fn is_missing(n: usize, i: usize, j: usize) -> bool {
        match j {
            0 => false,
            1 => i % 7 == 3 || i + 1 == n,
            2 => i.is_multiple_of(2),
            _ => i % 50 == 11,
        }
    }

    /// Data, and a table of scores with their expected products; every 50th row has scores scaled by 1e4.
    fn setting<T: Lane>(n: usize) -> (Vec<T>, Observed<T>, Factor<T>) {
        let noise = gaussian(n, P, 5, 0);
        let x: Vec<T> = (0..n * P)
            .map(|e| if is_missing(n, e / P, e % P) { f64::NAN } else { noise.as_slice()[e] + 2.0 })
            .map(T::from_f64)
            .collect();
        let data = Observed::from_dense(&Dense::row_major(&x, n, P).unwrap()).unwrap();
        let scores = gaussian(n, C, 6, 0);
        let layout = Expected::new::<T>(C);
        let mut table = Factor::zeros(n, layout.width);
        for i in 0..n {
            let scale = if i % 50 == 11 { 1e4 } else { 1.0 };
            let row = table.row_mut(i);
            for k in 0..C {
                row[k] = T::from_f64(scale * scores[(i, k)]);
                for l in 0..=k {
                    row[layout.at(k, l)] = T::from_f64(scale * scale * scores[(i, k)] * scores[(i, l)]);
                }
            }
            row[C] = T::from_f64(1.0);
        }
        (x, data, table)
    }

    /// Sum of `f` over the observed rows of a column, in order.
    fn sum(n: usize, j: usize, f: impl Fn(usize) -> f64) -> f64 {
        (0..n).filter(|i| !is_missing(n, *i, j)).map(f).sum()
    }

    fn check<T: Lane>(n: usize, tolerance: f64) {
        let (x, data, table) = setting::<T>(n);
        let lines: &EntryLines<T> = data.columns();
        let layout = Expected::new::<T>(C);
        let mean = 0.25;
        let constants = vec![T::from_f64(mean); P];
        let z = |i: usize, k: usize| table.row(i)[k].to_f64();
        let y = |i: usize, j: usize| x[i * P + j].to_f64() - mean;
        let problem = Objective {
            data: &data,
            loadings: Diagonal::Same(0.0),
            scores: Diagonal::Same(0.0),
            mean: MeanRule::FLAT,
            offsets: None,
            c: C,
        };
        let compare = |what: &str, j: usize, found: f64, expected: f64, size: f64| {
            assert!(
                (found - expected).abs() <= tolerance * size,
                "{what} of column {j}: {found}, {expected}"
            );
        };
        let products = |j: usize, k: usize, l: usize| sum(n, j, |i| z(i, k) * z(i, l));
        let size = |j: usize, k: usize, l: usize| (products(j, k, k) * products(j, l, l)).sqrt();
        let mut out = Factor::<T>::zeros(P, 1);
        moments_pass(
            &problem,
            FactorSide::Loadings,
            (&table, &constants),
            0,
            [out.as_rows()],
            &Exec::sequential(),
            {
                |j, acc, _| {
                    for k in 0..C {
                        compare("first moment", j, acc[k], products(j, k, C), size(j, k, C));
                        let expected = sum(n, j, |i| z(i, k) * y(i, j));
                        compare("projection", j, acc[layout.width + k], expected, size(j, k, k));
                        for l in 0..=k {
                            compare("moment", j, acc[layout.at(k, l)], products(j, k, l), size(j, k, l));
                        }
                    }
                    let squares = sum(n, j, |i| y(i, j).powi(2));
                    compare("squares", j, acc[layout.n_sums() - 1], squares, squares);
                    Ok([])
                }
            },
        )
        .unwrap();
        let seen = sums_of_scores(&problem, &table, &Exec::sequential()).unwrap();
        let normal = NormalLayout::new(C + 1);
        let sums = NormalProducts::new(lines, &table, C, normal, &Exec::sequential()).unwrap();
        for (j, constant) in constants.iter().enumerate() {
            (0..=C).for_each(|k| {
                let all = (n as f64 * products(0, k, k)).sqrt();
                compare("sum of scores", j, seen.row(j)[k].to_f64(), products(j, k, C), all);
            });
            let mut acc = vec![0.0; normal.lengths().0 + normal.lengths().1];
            sums.gather(lines.line(j), *constant, &mut acc);
            sums.complete(j, *constant, &mut acc);
            let (g, b, squares, _) = normal.parts(&mut acc);
            for (k, b) in b.iter().enumerate().take(C + 1) {
                compare("right side", j, *b, sum(n, j, |i| z(i, k) * y(i, j)), size(j, k, k));
                for l in k..=C {
                    compare("product", j, g.values[k * normal.stride + l], products(j, k, l), size(j, k, l));
                }
            }
            compare("squares", j, squares, sum(n, j, |i| y(i, j).powi(2)), squares);
        }
    }

    #[test]
    fn sums_over_nearly_full_lines_are_sums_over_entries() {
        // Rounding of sums of up to 500 products; runs are summed in the type of the data.
        check::<f64>(500, 1e-13);
        check::<f32>(500, 1e-5);
        check::<f64>(64, 1e-13);
    }

    #[test]
    fn pieces_of_long_lines_share_missing_entries() {
        check::<f64>(70_000, 1e-11);
    }
}
