//! Normal equations of one row of a factor: `G = sum w z z'`, `b = sum w y z`, `sum w y^2`, with `z` rows of the
//! other factor and `y = x - mu`. Products have the type of the data and are added in `f64` every few rows,
//! because the cost is a difference of these sums.

use std::marker::PhantomData;

use pulp::{Simd, WithSimd};

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::data::{EntryLines, Rows, Segment};
use crate::incomplete::factors::objective::Objective;
use crate::incomplete::factors::{Factor, FactorSide, Factors, gram};
use crate::incomplete::passes::full_lines::{MissingEntries, keep_digits, project};
use crate::incomplete::passes::least_norm::{solve_few, solve_in};
use crate::incomplete::passes::rows::AHEAD;
use crate::linalg::decomp::cholesky::{BLOCK, Upper};
use crate::linalg::prefetch::{LINE, prefetch_at};
use crate::linalg::simd::{Lane, dispatch};
use crate::scalar::{Scalar, largest};

/// Number of rows of the other factor gathered at a time.
const GATHERED: usize = 64;
/// Segments shorter than this form products in `f64` for any type of data.
const FEW: usize = 48;
/// Largest rounding error of an entry less its mean, of half a unit of the last place each, in such units.
const ROUNDING: f64 = 1.0;

/// Returns true if loadings are rounding errors: what they fit of a feature, a sum of squares, is no more than the rounding
/// of its entries. `squares` is the sum of their squares, means included, and so decides for each feature in its own unit:
/// a column of small values keeps its loadings, and one that is constant at any value has none. Rows that hold nothing
/// but such features would otherwise have scores of rounding errors over rounding errors.
pub(crate) fn is_rounding<T: Scalar>(fitted: f64, squares: f64) -> bool {
    fitted <= (ROUNDING * T::EPSILON).powi(2) * squares
}

/// Layout of the sums of one row in an accumulator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NormalLayout {
    /// Unknowns.
    pub(crate) m: usize,
    /// Number of values per row of `G`.
    pub(crate) stride: usize,
}

impl NormalLayout {
    pub(crate) fn new(m: usize) -> Self {
        Self { m, stride: m.next_multiple_of(BLOCK) }
    }

    /// Lengths of the sums `G`, `b`, `sum w y^2`, and of the workspace for gathered rows and `y` or for a copy of
    /// `G`.
    pub(crate) fn lengths(self) -> (usize, usize) {
        let sums = self.stride * self.stride + self.stride + 1;
        (sums, GATHERED.max(self.stride) * (self.stride + 1))
    }

    /// `G` (upper triangle), `b`, `sum w y^2`, and workspace.
    pub(crate) fn parts(self, acc: &mut [f64]) -> (Upper<'_>, &mut [f64], f64, &mut [f64]) {
        let (g, rest) = acc.split_at_mut(self.stride * self.stride);
        let (b, rest) = rest.split_at_mut(self.stride);
        let (squares, workspace) = rest.split_at_mut(1);
        (Upper { values: g, m: self.m, stride: self.stride }, b, squares[0], workspace)
    }
}

/// Normal equations of each line, from its entries or, for a nearly full line, from all rows of the other factor less
/// the rows of the missing entries.
pub(crate) struct NormalProducts<'a, T> {
    lines: &'a EntryLines<T>,
    other: &'a Factor<T>,
    c: usize,
    layout: NormalLayout,
    /// `sum z z'` over all rows; empty if no line is nearly full.
    all: Vec<f64>,
}

impl<'a, T: Lane> NormalProducts<'a, T> {
    pub(crate) fn new(
        lines: &'a EntryLines<T>,
        other: &'a Factor<T>,
        c: usize,
        layout: NormalLayout,
        exec: &Exec<'_>,
    ) -> Result<Self> {
        let NormalLayout { m, stride } = layout;
        let all = if lines.has_full_lines(other.n_rows()) {
            other.sum_rows(stride * stride, exec, |_, row, sums| {
                for (k, sums) in sums.chunks_exact_mut(stride).take(m).enumerate() {
                    let factor = row[k].to_f64();
                    sums.iter_mut().zip(&row[..m]).for_each(|(sum, x)| *sum += factor * x.to_f64());
                }
            })?
        } else {
            Vec::new()
        };
        Ok(Self { lines, other, c, layout, all })
    }

    /// Adds the entries of a segment, or its missing entries, to an accumulator. `constant` is the value that
    /// multiplies the constant of the other factor: the mean of a feature, or one for a sample.
    pub(crate) fn gather(&self, segment: Segment<'_, T>, constant: T, acc: &mut [f64]) {
        let n = self.other.n_rows();
        if !self.lines.is_nearly_full(segment.line, n) {
            return gather(segment, self.other, self.c, constant, self.layout, acc);
        }
        let (of_y, squares) = acc[self.layout.stride * self.layout.stride..].split_at_mut(self.layout.stride);
        project(segment, self.other, (self.c, constant), (of_y, &mut squares[0]));
        let missing = MissingEntries::of(&segment, n);
        gather(missing.as_segment(), self.other, self.c, T::default(), self.layout, acc);
    }

    /// Converts the accumulated sums of a nearly full line to sums over its entries.
    pub(crate) fn complete(&self, line: usize, constant: T, acc: &mut [f64]) {
        if !self.lines.is_nearly_full(line, self.other.n_rows()) {
            return;
        }
        let NormalLayout { m, stride } = self.layout;
        if keep_digits(&self.all, acc, (0..m).map(|k| k * stride + k)) {
            acc.iter_mut().zip(&self.all).for_each(|(missing, all)| *missing = all - *missing);
        } else {
            acc[..self.layout.lengths().0].fill(0.0);
            gather(self.lines.line(line), self.other, self.c, constant, self.layout, acc);
        }
    }
}

/// Adds the entries of a segment to an accumulator.
fn gather<T: Lane>(
    segment: Segment<'_, T>,
    other: &Factor<T>,
    c: usize,
    constant: T,
    layout: NormalLayout,
    acc: &mut [f64],
) {
    // Products of few entries are exact: their rounding would show in the cost of a small problem.
    if segment.indices.len() < FEW {
        dispatch(Gather::<T, f64> { segment, other, c, constant, layout, acc, products: PhantomData });
    } else {
        dispatch(Gather::<T, T> { segment, other, c, constant, layout, acc, products: PhantomData });
    }
}

/// Gathers entries of type `T` and forms products of type `W`.
struct Gather<'a, T, W> {
    segment: Segment<'a, T>,
    other: &'a Factor<T>,
    c: usize,
    constant: T,
    layout: NormalLayout,
    acc: &'a mut [f64],
    products: PhantomData<W>,
}

impl<T: Lane, W: Lane> WithSimd for Gather<'_, T, W> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Segment { indices, values, weights, .. } = self.segment;
        let stride = self.layout.stride;
        // Rows are padded to whole vectors; so is the factor.
        let used = stride.next_multiple_of(LINE / size_of::<W>());
        let (sums, workspace) = self.acc.split_at_mut(stride * stride + stride + 1);
        let workspace: &mut [W] = bytemuck::cast_slice_mut(workspace);
        let (z, y) = workspace.split_at_mut(GATHERED * used);
        let constant = self.constant.to_f64();
        for start in (0..indices.len()).step_by(GATHERED) {
            let n = GATHERED.min(indices.len() - start);
            for (at, z) in z.chunks_exact_mut(used).take(n).enumerate() {
                let e = start + at;
                if let Some(index) = indices.get(e + AHEAD) {
                    for line in (0..used).step_by(LINE / size_of::<T>()) {
                        prefetch_at(self.other.as_slice(), *index as usize * self.other.width() + line);
                    }
                }
                let row = self.other.row(indices[e] as usize);
                // Padding and unfitted values enter only sums that are not read.
                z.iter_mut().zip(&row[..used]).for_each(|(z, x)| *z = W::from_f64(x.to_f64()));
                let mut of_y = values[e].to_f64() - constant * row[self.c].to_f64();
                if let Some(weights) = weights {
                    let root = weights[e].to_f64().sqrt();
                    of_y *= root;
                    z.iter_mut().for_each(|z| *z = W::from_f64(z.to_f64() * root));
                }
                y[at] = W::from_f64(of_y);
            }
            add_products(simd, &z[..n * used], &y[..n], stride, sums);
        }
    }
}

/// Replaces one factor by the minimiser of F given the other, with the mean if it is fitted jointly. Returns F
/// without the penalties of the other factor, and the penalty terms of this one.
pub(crate) fn solve_side<T: Lane>(
    problem: &Objective<'_, T>,
    factors: &mut Factors<T>,
    side: FactorSide,
    exec: &Exec<'_>,
) -> Result<[f64; 2]> {
    let (c, free) = (problem.c, problem.free());
    let (own, other) = match side {
        FactorSide::Scores => (&mut factors.s, &factors.a),
        FactorSide::Loadings => (&mut factors.a, &factors.s),
    };
    let constants: Vec<T> = (0..own.n_rows()).map(|i| own.row(i)[c]).collect();
    let layout = NormalLayout::new(problem.n_fitted(side));
    let outs = [Rows { width: own.width(), data: own.as_mut_slice() }];
    let lines = problem.lines(side);
    let products = NormalProducts::new(lines, other, c, layout, exec)?;
    let few = |line| lines.count(line) < layout.m && is_unpenalized(problem, side, line, layout.m);
    lines.pass(
        exec,
        layout.lengths(),
        outs,
        |segment, acc| {
            if !few(segment.line) {
                products.gather(segment, constants[segment.line], acc);
            }
        },
        |line, acc, [row]| {
            let constant = constants[line];
            if few(line) {
                let (_, x, _, workspace) = layout.parts(acc);
                let segment = lines.line(line);
                if solve_few(segment, other, (c, constant), (&mut x[..layout.m], free), workspace) {
                    if side == FactorSide::Loadings {
                        drop_rounding_of_few(segment, other, &mut x[..free]);
                    }
                    set_row(row, c, &x[..layout.m]);
                    return Ok([0.0, problem.row_penalty(side, line, row)]);
                }
                acc[..layout.lengths().0].fill(0.0);
                products.gather(lines.line(line), constant, acc);
            }
            products.complete(line, constant, acc);
            solve_row(problem, (side, line, lines.weight(line)), layout, acc, row)
        },
    )
}

/// `sum w x^2` of each feature, means included.
pub(crate) fn squares_of_features<T: Lane>(problem: &Objective<'_, T>, exec: &Exec<'_>) -> Result<Vec<f64>> {
    let lines = problem.lines(FactorSide::Loadings);
    let mut squares = vec![0.0; lines.n_lines()];
    let outs = [Rows { width: 1, data: &mut squares }];
    let gather = |segment: Segment<'_, T>, acc: &mut [f64]| {
        for (e, value) in segment.values.iter().enumerate() {
            acc[0] += segment.weights.map_or(1.0, |w| w[e].to_f64()) * value.to_f64().powi(2);
        }
    };
    lines.pass::<f64, 1, 0>(exec, (1, 0), outs, gather, |_, acc, [row]| {
        row[0] = acc[0];
        Ok([])
    })?;
    Ok(squares)
}

/// Sets the loadings of features to zero that are rounding, of fits without penalties.
pub(crate) fn drop_rounding<T: Lane>(
    problem: &Objective<'_, T>,
    factors: &mut Factors<T>,
    exec: &Exec<'_>,
) -> Result<()> {
    let (free, lines) = (problem.free(), problem.lines(FactorSide::Loadings));
    let squares = squares_of_features(problem, exec)?;
    let products = gram(&factors.s, free, exec)?;
    let n = factors.s.total();
    factors.a.map_rows(exec, |j, row| {
        let along = |k: usize| (0..free).map(|l| products[(k, l)] * row[l].to_f64()).sum::<f64>();
        let of_rows: f64 = (0..free).map(|k| row[k].to_f64() * along(k)).sum();
        if is_rounding::<T>(of_rows * lines.weight(j) / n, squares[j]) {
            row[..free].fill(T::default());
        }
    })
}

/// Sets loadings of fewer entries than unknowns to zero if they are rounding.
fn drop_rounding_of_few<T: Lane>(segment: Segment<'_, T>, other: &Factor<T>, loadings: &mut [f64]) {
    let (mut fitted, mut squares) = (0.0, 0.0);
    for (e, (index, value)) in segment.indices.iter().zip(segment.values).enumerate() {
        let weight = segment.weights.map_or(1.0, |w| w[e].to_f64());
        let scores = other.row(*index as usize);
        let along: f64 = loadings.iter().zip(scores).map(|(a, s)| a * s.to_f64()).sum();
        fitted += weight * along * along;
        squares += weight * value.to_f64().powi(2);
    }
    if is_rounding::<T>(fitted, squares) {
        loadings.fill(0.0);
    }
}

/// Replaces a row of a factor by the minimiser of F, from its normal equations in `acc`, whose entries have this total
/// `weight`. Returns F of its entries with the penalty terms of the row, and the penalty terms alone.
pub(crate) fn solve_row<T: Lane>(
    problem: &Objective<'_, T>,
    (side, line, weight): (FactorSide, usize, f64),
    layout: NormalLayout,
    acc: &mut [f64],
    row: &mut [T],
) -> Result<[f64; 2]> {
    let c = problem.c;
    let (mut g, b, mut squares, workspace) = layout.parts(acc);
    if let (FactorSide::Loadings, Some(fixed)) = (side, problem.fixed()) {
        squares = fix_unknown(&mut g, b, squares, fixed);
        // A fixed value has no equation: its pivot may be any curvature of the size of the others.
        let largest = largest((0..g.m).map(|k| g.values[k * layout.stride + k]));
        g.values[fixed * layout.stride + fixed] = if largest > 0.0 { largest } else { 1.0 };
    }
    // The unknown is the change of the mean, so the prior is centred relative to the current mean.
    let mut offset = 0.0;
    for (k, b) in b[..layout.m].iter_mut().enumerate() {
        let (d, centre) = problem.penalty_at(side, line, k);
        g.values[k * layout.stride + k] += d;
        if k == c {
            let away = centre - row[c].to_f64();
            *b += d * away;
            offset = d * away * away;
        }
    }
    let (unpenalized, free, n) =
        (is_unpenalized(problem, side, line, layout.m), problem.free(), g.values.len());
    let explained = solve_in(&mut g, b, free, workspace)?;
    if side == FactorSide::Loadings && unpenalized {
        // The workspace holds `G`, which the solution has overwritten.
        let product = |k: usize, l: usize| workspace[..n][k.min(l) * layout.stride + k.max(l)];
        let along = |k: usize| (0..free).map(|l| product(k, l) * b[l]).sum::<f64>();
        let fitted: f64 = (0..free).map(|k| b[k] * along(k)).sum();
        if is_rounding::<T>(fitted, squares + weight * row[c].to_f64().powi(2)) {
            b[..free].fill(0.0);
        }
    }
    set_row(row, c, &b[..layout.m]);
    if let (FactorSide::Loadings, Some(fixed)) = (side, problem.fixed()) {
        row[fixed] = T::from_f64(1.0);
    }
    Ok([(squares + offset - explained).max(0.0), problem.row_penalty(side, line, row)])
}

/// Writes the solution to a row; value `c`, the mean, is a change.
fn set_row<T: Lane>(row: &mut [T], c: usize, solved: &[f64]) {
    for (k, (value, x)) in row.iter_mut().zip(solved).enumerate() {
        *value = T::from_f64(if k == c { x + value.to_f64() } else { *x });
    }
}

/// Returns true if a row has no penalties and no fixed value.
fn is_unpenalized<T: Lane>(problem: &Objective<'_, T>, side: FactorSide, line: usize, m: usize) -> bool {
    let fixed = side == FactorSide::Loadings && problem.fixed().is_some();
    !fixed && (0..m).all(|k| problem.penalty_at(side, line, k).0 == 0.0)
}

/// Fixes unknown `q` at one: removes its terms from `b`, its row and column from `G`, and returns the reduced
/// `sum w y^2`.
pub(crate) fn fix_unknown(g: &mut Upper<'_>, b: &mut [f64], squares: f64, q: usize) -> f64 {
    let (m, stride) = (g.m, g.stride);
    let left = squares - 2.0 * b[q] + g.values[q * stride + q];
    for (k, b) in b[..m].iter_mut().enumerate() {
        let at = k.min(q) * stride + k.max(q);
        *b -= g.values[at];
        g.values[at] = 0.0;
    }
    b[q] = 0.0;
    left.max(0.0)
}

/// Adds gathered rows `z` and their `y` to `G`, `b`, `sum y^2`.
#[inline(always)]
fn add_products<S: Simd, T: Lane>(simd: S, z: &[T], y: &[T], stride: usize, sums: &mut [f64]) {
    let lanes = size_of::<T::Vector<S>>() / size_of::<T>();
    let (g, rest) = sums.split_at_mut(stride * stride);
    let (b, squares) = rest.split_at_mut(stride);
    for column in (0..stride).step_by(lanes) {
        let of_y = tile::<S, T, true>(simd, z, y, stride, 0, column, g);
        add::<S, T>(of_y, &mut b[column..]);
    }
    for first in (BLOCK..stride).step_by(BLOCK) {
        // Vectors that extend beyond the diagonal.
        for column in (first / lanes * lanes..stride).step_by(lanes) {
            tile::<S, T, false>(simd, z, y, stride, first, column, g);
        }
    }
    for y in y {
        squares[0] += y.to_f64() * y.to_f64();
    }
}

/// Adds [`BLOCK`] rows of `z z'`, from row `first`, in the columns of one vector; returns these columns of `z' y`
/// if `WITH_Y`.
#[inline(always)]
fn tile<S: Simd, T: Lane, const WITH_Y: bool>(
    simd: S,
    z: &[T],
    y: &[T],
    stride: usize,
    first: usize,
    column: usize,
    g: &mut [f64],
) -> T::Vector<S> {
    let lanes = size_of::<T::Vector<S>>() / size_of::<T>();
    let zero = T::splat(simd, T::default());
    let mut sums = [zero; BLOCK];
    let mut of_y = zero;
    for (z, y) in z.chunks_exact(stride.next_multiple_of(LINE / size_of::<T>())).zip(y) {
        let vector: &[T::Vector<S>] = bytemuck::cast_slice(&z[column..column + lanes]);
        let rows = &z[first..first + BLOCK];
        for r in 0..BLOCK {
            sums[r] = T::mul_add(simd, T::splat(simd, rows[r]), vector[0], sums[r]);
        }
        if WITH_Y {
            of_y = T::mul_add(simd, T::splat(simd, *y), vector[0], of_y);
        }
    }
    // Plain loops: closures passed to array methods are not compiled for the vector extensions.
    for r in 0..BLOCK {
        add::<S, T>(sums[r], &mut g[(first + r) * stride..(first + r + 1) * stride][column..]);
    }
    of_y
}

/// Adds the lanes of a vector, as far as `to` reaches.
#[inline(always)]
fn add<S: Simd, T: Lane>(sum: T::Vector<S>, to: &mut [f64]) {
    let sum = [sum];
    let values: &[T] = bytemuck::cast_slice(&sum);
    for (to, value) in to.iter_mut().zip(values) {
        *to += value.to_f64();
    }
}
