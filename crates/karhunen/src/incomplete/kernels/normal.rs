//! Normal equations of one row of a factor: `G = sum w z z'`, `b = sum w y z`, `sum w y^2`, where `z` are rows of the
//! other factor and `y = x - mu`. In `f64`, because the cost follows from them by a difference.

use pulp::{Simd, WithSimd};

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::cholesky::{BLOCK, Upper, solve_singular};
use crate::incomplete::factors::{Factor, Factors, Side};
use crate::incomplete::observed::{Rows, Segment};
use crate::incomplete::problem::Problem;
use crate::linalg::simd::{Lane, dispatch, prefetch};

/// Rows of the other factor that are gathered at a time.
const GATHERED: usize = 32;

/// Where the sums of one row lie in their accumulator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// Unknowns.
    pub(crate) m: usize,
    /// Values from one row of `G` to the next.
    pub(crate) stride: usize,
}

impl Layout {
    pub(crate) fn new(m: usize) -> Self {
        Self { m, stride: m.next_multiple_of(BLOCK) }
    }

    /// Numbers in an accumulator: `G`, `b`, `sum w y^2`; and room for gathered rows and `y`, or for another `G`.
    pub(crate) fn lengths(self) -> (usize, usize) {
        let sums = self.stride * self.stride + self.stride + 1;
        (sums, GATHERED.max(self.stride) * (self.stride + 1))
    }

    /// `G` (upper triangle), `b`, `sum w y^2`, and room.
    pub(crate) fn parts(self, acc: &mut [f64]) -> (Upper<'_>, &mut [f64], f64, &mut [f64]) {
        let (g, rest) = acc.split_at_mut(self.stride * self.stride);
        let (b, rest) = rest.split_at_mut(self.stride);
        let (squares, room) = rest.split_at_mut(1);
        (Upper { values: g, m: self.m, stride: self.stride }, b, squares[0], room)
    }
}

/// Adds the entries of a segment to an accumulator. `constant` is the last used value of the own row: the mean of a
/// feature, one for a sample.
pub(crate) fn gather<T: Lane>(
    segment: Segment<'_, T>,
    other: &Factor<T>,
    c: usize,
    constant: T,
    layout: Layout,
    acc: &mut [f64],
) {
    dispatch(Gather { segment, other, c, constant, layout, acc });
}

struct Gather<'a, T> {
    segment: Segment<'a, T>,
    other: &'a Factor<T>,
    c: usize,
    constant: T,
    layout: Layout,
    acc: &'a mut [f64],
}

impl<T: Lane> WithSimd for Gather<'_, T> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Segment { indices, values, weights, .. } = self.segment;
        let stride = self.layout.stride;
        let (sums, room) = self.acc.split_at_mut(stride * stride + stride + 1);
        let (z, y) = room.split_at_mut(GATHERED * stride);
        let constant = self.constant.to_f64();
        for start in (0..indices.len()).step_by(GATHERED) {
            let end = indices.len().min(start + GATHERED);
            for (at, z) in z.chunks_exact_mut(stride).take(end - start).enumerate() {
                let e = start + at;
                if let Some(index) = indices.get(e + GATHERED) {
                    prefetch(self.other.as_slice(), *index as usize * self.other.width());
                }
                let row = self.other.row(indices[e] as usize);
                // What a row holds beyond its fitted values ends up in sums that nobody reads.
                for (z, x) in z.as_chunks_mut::<BLOCK>().0.iter_mut().zip(row.as_chunks::<BLOCK>().0) {
                    for k in 0..BLOCK {
                        z[k] = x[k].to_f64();
                    }
                }
                y[at] = values[e].to_f64() - constant * row[self.c].to_f64();
                if let Some(weights) = weights {
                    let root = weights[e].to_f64().sqrt();
                    y[at] *= root;
                    for z in z.iter_mut() {
                        *z *= root;
                    }
                }
            }
            add_products(simd, &z[..(end - start) * stride], &y[..end - start], stride, sums);
        }
    }
}

/// Replaces one factor by the minimiser of F given the other, the mean with the loadings if it is fitted.
/// Returns F without the penalties of the other side, and the penalty terms of this one.
pub(crate) fn solve_side<T: Lane>(
    problem: &Problem<'_, T>,
    factors: &mut Factors<T>,
    side: Side,
    exec: &Exec<'_>,
) -> Result<[f64; 2]> {
    let c = problem.c;
    let (own, other) = match side {
        Side::Scores => (&mut factors.s, &factors.a),
        Side::Loadings => (&mut factors.a, &factors.s),
    };
    let constants: Vec<T> = (0..own.n_rows()).map(|i| own.row(i)[c]).collect();
    let layout = Layout::new(problem.n_fitted(side));
    let outs = [Rows { width: own.width(), data: own.as_mut_slice() }];
    problem.lines(side).pass(
        exec,
        layout.lengths(),
        outs,
        |segment, acc| gather(segment, other, c, constants[segment.line], layout, acc),
        |line, acc, [row]| {
            let (mut g, b, squares, room) = layout.parts(acc);
            // Unknown is the change of the mean: its pull is towards the prior as seen from where it is.
            let mut offset = 0.0;
            for (k, b) in b[..layout.m].iter_mut().enumerate() {
                let (d, centre) = problem.pull(side, line, k);
                g.values[k * layout.stride + k] += d;
                if k == c {
                    let away = centre - row[c].to_f64();
                    *b += d * away;
                    offset = d * away * away;
                }
            }
            let explained = solve(&mut g, b, room)?;
            for (k, x) in b[..layout.m].iter().enumerate() {
                let x = if k == c { x + row[c].to_f64() } else { *x };
                row[k] = T::from_f64(x);
            }
            Ok([(squares + offset - explained).max(0.0), problem.row_penalty(side, line, row)])
        },
    )
}

/// Solves in place of `b`, the least-norm solution where `G` is singular; returns `b'x`.
fn solve(g: &mut Upper<'_>, b: &mut [f64], room: &mut [f64]) -> Result<f64> {
    let n = g.values.len();
    let (kept, rest) = room.split_at_mut(n);
    kept.copy_from_slice(g.values);
    let sides = &mut rest[..g.m];
    sides.copy_from_slice(&b[..g.m]);
    if let Some(explained) = g.factorize_and_solve(b) {
        return Ok(explained);
    }
    b[..g.m].copy_from_slice(sides);
    solve_singular(&Upper { values: kept, m: g.m, stride: g.stride }, b)
}

/// Adds gathered rows `z` and their `y` to `G`, `b`, `sum y^2`.
#[inline(always)]
fn add_products<S: Simd>(simd: S, z: &[f64], y: &[f64], stride: usize, sums: &mut [f64]) {
    let lanes = size_of::<S::f64s>() / size_of::<f64>();
    let (g, rest) = sums.split_at_mut(stride * stride);
    let (b, squares) = rest.split_at_mut(stride);
    for column in (0..stride).step_by(lanes) {
        let of_y = tile::<S, true>(simd, z, y, stride, 0, column, g);
        add::<S>(of_y, &mut b[column..column + lanes]);
    }
    for first in (BLOCK..stride).step_by(BLOCK) {
        for column in (first..stride).step_by(lanes) {
            tile::<S, false>(simd, z, y, stride, first, column, g);
        }
    }
    for y in y {
        squares[0] += y * y;
    }
}

/// Adds [`BLOCK`] rows of `z z'`, from row `first`, in the columns of one vector; returns those columns of `z' y` if
/// `WITH_Y`.
#[inline(always)]
fn tile<S: Simd, const WITH_Y: bool>(
    simd: S,
    z: &[f64],
    y: &[f64],
    stride: usize,
    first: usize,
    column: usize,
    g: &mut [f64],
) -> S::f64s {
    let lanes = size_of::<S::f64s>() / size_of::<f64>();
    let mut sums = [simd.splat_f64s(0.0); BLOCK];
    let mut of_y = simd.splat_f64s(0.0);
    for (z, y) in z.chunks_exact(stride).zip(y) {
        let vector: &[S::f64s] = bytemuck::cast_slice(&z[column..column + lanes]);
        let rows = &z[first..first + BLOCK];
        for r in 0..BLOCK {
            sums[r] = <f64 as Lane>::mul_add(simd, simd.splat_f64s(rows[r]), vector[0], sums[r]);
        }
        if WITH_Y {
            of_y = <f64 as Lane>::mul_add(simd, simd.splat_f64s(*y), vector[0], of_y);
        }
    }
    // Plain loops: closures given to array methods are not compiled for the vector extensions.
    for r in 0..BLOCK {
        add::<S>(sums[r], &mut g[(first + r) * stride + column..][..lanes]);
    }
    of_y
}

#[inline(always)]
fn add<S: Simd>(sum: S::f64s, to: &mut [f64]) {
    let sum = [sum];
    let values: &[f64] = bytemuck::cast_slice(&sum);
    for (to, value) in to.iter_mut().zip(values) {
        *to += value;
    }
}
