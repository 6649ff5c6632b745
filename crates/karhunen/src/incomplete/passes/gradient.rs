//! Residuals, gradients and curvatures in one pass: `g = sum e x - d (y - centre)`, `h = sum x^2 + d`, with `x`
//! the rows of the other factor and `y` the updated row (minus half the gradient of F, half its second
//! derivative).

use pulp::{Simd, WithSimd};

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::data::{Rows, Segment};
use crate::incomplete::factors::objective::Objective;
use crate::incomplete::factors::{Factor, FactorSide, Factors};
use crate::incomplete::passes::RUN;
use crate::incomplete::passes::rows::{TOGETHER, VectorRows, add_scaled, dot, flush};
use crate::linalg::simd::{Lane, dispatch};

/// Most vectors per row whose sums stay in registers; wider rows keep sums in memory.
const IN_REGISTERS: usize = 4;

/// Cost terms that a gradient pass also computes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    /// `sum w e^2`.
    pub(crate) squares: f64,
    /// The penalty terms of the updated factor.
    pub(crate) penalty: f64,
}

/// Computes `(g, h)` of the fitted values of every row of one factor. `direct` receives both and writes its row of
/// each of `outs`.
pub(crate) fn gradient_pass<T: Lane, const K: usize>(
    problem: &Objective<'_, T>,
    factors: &Factors<T>,
    side: FactorSide,
    outs: [&mut Factor<T>; K],
    exec: &Exec<'_>,
    direct: impl Fn(&[f64], &[f64], &mut [&mut [T]; K]) + Sync,
) -> Result<Found> {
    let (own, other) = (factors.of(side), factors.of(side.other()));
    let (width, fitted) = (own.width(), problem.n_fitted(side));
    let outs = outs.map(|out| Rows { width: out.width(), data: out.as_mut_slice() });
    let sums = problem.lines(side).pass(
        exec,
        (2 * width + 1, 0),
        outs,
        |segment, acc| dispatch(Gradient { segment, own: own.row(segment.line), other, acc }),
        |line, acc, outs| {
            let (g, rest) = acc.split_at_mut(width);
            let (h, squares) = rest.split_at_mut(width);
            let row = own.row(line);
            let mut penalty = 0.0;
            for k in 0..fitted {
                let (d, centre) = problem.penalty_at(side, line, k);
                let away = row[k].to_f64() - centre;
                g[k] -= d * away;
                h[k] += d;
                penalty += d * away * away;
            }
            if let (FactorSide::Loadings, Some(fixed)) = (side, problem.fixed()) {
                (g[fixed], h[fixed]) = (0.0, 0.0);
            }
            direct(&g[..fitted], &h[..fitted], outs);
            Ok([squares[0], penalty])
        },
    )?;
    Ok(Found { squares: sums[0], penalty: sums[1] })
}

/// Computes `sum w e^2` alone.
pub(crate) fn squares<T: Lane>(
    problem: &Objective<'_, T>,
    factors: &Factors<T>,
    exec: &Exec<'_>,
) -> Result<f64> {
    let sums = problem.lines(FactorSide::Scores).pass::<T, 0, 1>(
        exec,
        (1, 0),
        [],
        |segment, acc| {
            dispatch(Squares { segment, own: factors.s.row(segment.line), other: &factors.a, acc });
        },
        |_, acc, _| Ok([acc[0]]),
    )?;
    Ok(sums[0])
}

struct Gradient<'a, T> {
    segment: Segment<'a, T>,
    own: &'a [T],
    other: &'a Factor<T>,
    /// `g`, `h`, the sum of squares.
    acc: &'a mut [f64],
}

impl<T: Lane> WithSimd for Gradient<'_, T> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let zero = T::splat(simd, T::default());
        match size_of_val(self.own) / size_of::<T::Vector<S>>() {
            1 => self.run(simd, &mut [zero; 1], &mut [zero; 1]),
            2 => self.run(simd, &mut [zero; 2], &mut [zero; 2]),
            3 => self.run(simd, &mut [zero; 3], &mut [zero; 3]),
            IN_REGISTERS => self.run(simd, &mut [zero; IN_REGISTERS], &mut [zero; IN_REGISTERS]),
            n => self.run(simd, &mut vec![zero; n], &mut vec![zero; n]),
        }
    }
}

impl<T: Lane> Gradient<'_, T> {
    #[inline(always)]
    fn run<S: Simd>(self, simd: S, g: &mut [T::Vector<S>], h: &mut [T::Vector<S>]) {
        let Segment { indices, values, weights, .. } = self.segment;
        let own: &[T::Vector<S>] = bytemuck::cast_slice(self.own);
        let own = &own[..g.len()];
        let rows = VectorRows::of_width(self.other, g.len());
        let mut sums = Sums { g, h, squares: [0.0; TOGETHER] };
        let width = self.own.len();
        for start in (0..indices.len()).step_by(RUN) {
            let run = start..indices.len().min(start + RUN);
            let (groups, rest) = indices[run.clone()].as_chunks::<TOGETHER>();
            let (values, last_values) = values[run.clone()].as_chunks();
            let (weights, last_weights) = weights.map(|w| w[run].as_chunks()).unzip();
            for (k, (indices_of, values)) in groups.iter().zip(values).enumerate() {
                rows.prefetch_group_ahead(indices, start + k * TOGETHER);
                sums.add::<S, T, TOGETHER>(simd, rows, own, indices_of, values, weights.map(|w| &w[k]));
            }
            for (t, (index, value)) in rest.iter().zip(last_values).enumerate() {
                let weight = last_weights.map(|w| [w[t]]);
                sums.add::<S, T, 1>(simd, rows, own, &[*index], &[*value], weight.as_ref());
            }
            flush::<S, T>(simd, sums.g, &mut self.acc[..width]);
            flush::<S, T>(simd, sums.h, &mut self.acc[width..2 * width]);
        }
        self.acc[2 * width] += sums.squares.iter().sum::<f64>();
    }
}

/// Sums of a run of entries.
struct Sums<'a, V> {
    g: &'a mut [V],
    h: &'a mut [V],
    /// Sums of `w e^2`, one for each place in a group.
    squares: [f64; TOGETHER],
}

impl<V: bytemuck::Pod> Sums<'_, V> {
    /// Adds `N` entries at once, as independent chains of operations without a branch.
    #[inline(always)]
    fn add<S: Simd, T: Lane<Vector<S> = V>, const N: usize>(
        &mut self,
        simd: S,
        rows: VectorRows<'_, V>,
        own: &[V],
        indices: &[u32; N],
        values: &[T; N],
        weights: Option<&[T; N]>,
    ) {
        // Not by `array::from_fn`, whose closure is compiled without the vector extensions: each intrinsic would be a call.
        let mut along = [T::default(); N];
        for t in 0..N {
            along[t] = dot::<S, T>(simd, rows.row(indices[t] as usize), own);
        }
        let mut factors = [T::default(); N];
        for t in 0..N {
            let residual = values[t].to_f64() - along[t].to_f64();
            let weighted = weights.map_or(residual, |w| w[t].to_f64() * residual);
            self.squares[t] += weighted * residual;
            factors[t] = T::from_f64(weighted);
        }
        for t in 0..N {
            let row = rows.row(indices[t] as usize);
            add_scaled::<S, T>(simd, factors[t], row, self.g);
            match weights {
                None => add_squares::<S, T>(simd, row, self.h),
                Some(w) => add_weighted_squares::<S, T>(simd, w[t], row, self.h),
            }
        }
    }
}

#[inline(always)]
fn add_squares<S: Simd, T: Lane>(simd: S, x: &[T::Vector<S>], sum: &mut [T::Vector<S>]) {
    for (x, sum) in x.iter().zip(sum) {
        *sum = T::mul_add(simd, *x, *x, *sum);
    }
}

#[inline(always)]
fn add_weighted_squares<S: Simd, T: Lane>(simd: S, weight: T, x: &[T::Vector<S>], sum: &mut [T::Vector<S>]) {
    let (weight, zero) = (T::splat(simd, weight), T::splat(simd, T::default()));
    for (x, sum) in x.iter().zip(sum) {
        let weighted = T::mul_add(simd, weight, *x, zero);
        *sum = T::mul_add(simd, weighted, *x, *sum);
    }
}

struct Squares<'a, T> {
    segment: Segment<'a, T>,
    own: &'a [T],
    other: &'a Factor<T>,
    acc: &'a mut [f64],
}

impl<T: Lane> WithSimd for Squares<'_, T> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match size_of_val(self.own) / size_of::<T::Vector<S>>() {
            1 => self.run(simd, 1),
            2 => self.run(simd, 2),
            n => self.run(simd, n),
        }
    }
}

impl<T: Lane> Squares<'_, T> {
    /// `n` is the number of vectors per row.
    #[inline(always)]
    fn run<S: Simd>(self, simd: S, n: usize) {
        let Segment { indices, values, weights, .. } = self.segment;
        let own: &[T::Vector<S>] = bytemuck::cast_slice(self.own);
        let (own, rows) = (&own[..n], VectorRows::of_width(self.other, n));
        let mut squares = [0.0; TOGETHER];
        for first in (0..indices.len()).step_by(TOGETHER) {
            let n = TOGETHER.min(indices.len() - first);
            let mut along = [T::default(); TOGETHER];
            for t in 0..n {
                rows.prefetch_ahead(indices, first + t);
                along[t] = dot::<S, T>(simd, rows.row(indices[first + t] as usize), own);
            }
            for t in 0..n {
                let residual = values[first + t].to_f64() - along[t].to_f64();
                let weight = weights.map_or(1.0, |w| w[first + t].to_f64());
                squares[t] += weight * residual * residual;
            }
        }
        self.acc[0] += squares.iter().sum::<f64>();
    }
}
