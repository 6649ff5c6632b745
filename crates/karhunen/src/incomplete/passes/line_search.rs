//! Line search: the cost along a direction is a polynomial of degree four.

use pulp::{Simd, WithSimd};

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::data::Segment;
use crate::incomplete::factors::objective::Objective;
use crate::incomplete::factors::{Factor, FactorSide, Factors};
use crate::incomplete::passes::rows::{TOGETHER, VectorRows, dot};
use crate::linalg::simd::{Lane, dispatch};
use crate::scalar::largest;

/// Coefficients of `F(t) - F(0) = t p[0] + t^2 p[1] + t^3 p[2] + t^4 p[3]` along `t directions`, whose constant
/// score is zero.
pub(crate) fn polynomial<T: Lane>(
    problem: &Objective<'_, T>,
    factors: &Factors<T>,
    directions: &Factors<T>,
    exec: &Exec<'_>,
) -> Result<[f64; 4]> {
    let sums = problem.lines(FactorSide::Scores).pass::<T, 0, 5>(
        exec,
        (5, 0),
        [],
        |segment, acc| {
            let (s, ds) = (factors.s.row(segment.line), directions.s.row(segment.line));
            dispatch(DirectionProducts { segment, s, ds, a: &factors.a, da: &directions.a, acc });
        },
        |_, acc, _| Ok([acc[0], acc[1], acc[2], acc[3], acc[4]]),
    )?;
    let [eq1, eq2, q1q1, q1q2, q2q2] = sums;
    let (mut linear, mut square) = (0.0, 0.0);
    for side in [FactorSide::Scores, FactorSide::Loadings] {
        let direction = directions.of(side);
        let sums = factors.of(side).sum_rows(2, exec, |i, row, sums| {
            let direction = direction.row(i);
            for k in 0..problem.n_fitted(side) {
                let (d, centre) = problem.penalty_at(side, i, k);
                let step = direction[k].to_f64();
                sums[0] += d * (row[k].to_f64() - centre) * step;
                sums[1] += d * step * step;
            }
        })?;
        linear += sums[0];
        square += sums[1];
    }
    Ok([2.0 * (linear - eq1), q1q1 - 2.0 * eq2 + square, 2.0 * q1q2, q2q2])
}

/// The positive `t` that minimises `F(t)`, if `F(t) < F(0)`.
pub(crate) fn best_step(p: [f64; 4]) -> Option<f64> {
    let value = |t: f64| t * (p[0] + t * (p[1] + t * (p[2] + t * p[3])));
    positive_roots([p[0], 2.0 * p[1], 3.0 * p[2], 4.0 * p[3]])
        .into_iter()
        .filter(|t| t.is_finite() && value(*t) < 0.0)
        .min_by(|x, y| value(*x).total_cmp(&value(*y)))
}

/// The positive real roots of `q[0] + q[1] t + q[2] t^2 + q[3] t^3`, by bisection between the stationary points
/// and a bound on all roots.
fn positive_roots(q: [f64; 4]) -> Vec<f64> {
    let lead = q.iter().rposition(|x| *x != 0.0).unwrap_or(0);
    if lead == 0 || q.iter().any(|x| !x.is_finite()) {
        return Vec::new();
    }
    let bound = 1.0 + largest(q[..lead].iter().map(|x| (x / q[lead]).abs()));
    let value = |t: f64| q[0] + t * (q[1] + t * (q[2] + t * q[3]));
    let (a, b, c) = (3.0 * q[3], 2.0 * q[2], q[1]);
    let mut cuts = vec![0.0, bound.min(f64::MAX / 4.0)];
    let discriminant = b * b - 4.0 * a * c;
    if discriminant > 0.0 {
        // One of these is not finite if the polynomial is not cubic.
        let half = -0.5 * (b + b.signum() * discriminant.sqrt());
        cuts.extend([half / a, c / half].into_iter().filter(|t| *t > 0.0 && *t < bound));
    }
    cuts.sort_by(f64::total_cmp);
    cuts.windows(2).filter_map(|pair| bisect(value, pair[0], pair[1])).collect()
}

fn bisect(value: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> Option<f64> {
    let rising = value(low) < 0.0;
    if rising == (value(high) < 0.0) {
        return None;
    }
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return Some(middle);
        }
        if (value(middle) < 0.0) == rising { low = middle } else { high = middle }
    }
}

struct DirectionProducts<'a, T> {
    segment: Segment<'a, T>,
    s: &'a [T],
    ds: &'a [T],
    a: &'a Factor<T>,
    da: &'a Factor<T>,
    /// `e q1`, `e q2`, `q1^2`, `q1 q2`, `q2^2`.
    acc: &'a mut [f64],
}

impl<T: Lane> WithSimd for DirectionProducts<'_, T> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match size_of_val(self.s) / size_of::<T::Vector<S>>() {
            1 => self.run::<S, 1>(simd),
            2 => self.run::<S, 2>(simd),
            3 => self.run::<S, 3>(simd),
            4 => self.run::<S, 4>(simd),
            _ => self.run::<S, 0>(simd),
        }
    }
}

impl<T: Lane> DirectionProducts<'_, T> {
    /// `N` vectors per row; zero means any number.
    #[inline(always)]
    fn run<S: Simd, const N: usize>(self, simd: S) {
        let Segment { indices, values, weights, .. } = self.segment;
        let s: &[T::Vector<S>] = bytemuck::cast_slice(self.s);
        let n = if N == 0 { s.len() } else { N };
        let (a, da) = (VectorRows::of_width(self.a, n), VectorRows::of_width(self.da, n));
        let ds: &[T::Vector<S>] = bytemuck::cast_slice(self.ds);
        let (s, ds) = (&s[..n], &ds[..n]);
        let mut sums = [[0.0; TOGETHER]; 5];
        for first in (0..indices.len()).step_by(TOGETHER) {
            let together = TOGETHER.min(indices.len() - first);
            let mut products = [[T::default(); TOGETHER]; 4];
            for t in 0..together {
                a.prefetch_ahead(indices, first + t);
                da.prefetch_ahead(indices, first + t);
                let index = indices[first + t] as usize;
                let (a, da) = (a.row(index), da.row(index));
                products[0][t] = dot::<S, T>(simd, a, s);
                products[1][t] = dot::<S, T>(simd, da, s);
                products[2][t] = dot::<S, T>(simd, a, ds);
                products[3][t] = dot::<S, T>(simd, da, ds);
            }
            for t in 0..together {
                let e = values[first + t].to_f64() - products[0][t].to_f64();
                let q1 = products[1][t].to_f64() + products[2][t].to_f64();
                let q2 = products[3][t].to_f64();
                let weight = weights.map_or(1.0, |w| w[first + t].to_f64());
                let (weighted_e, weighted_q1) = (weight * e, weight * q1);
                sums[0][t] += weighted_e * q1;
                sums[1][t] += weighted_e * q2;
                sums[2][t] += weighted_q1 * q1;
                sums[3][t] += weighted_q1 * q2;
                sums[4][t] += weight * q2 * q2;
            }
        }
        for (acc, sum) in self.acc.iter_mut().zip(sums) {
            *acc += sum.iter().sum::<f64>();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_of_the_minima_is_found() {
        // F(t) = (t-1)^2 (t-3)^2 - 0.1 t, up to a constant: the minimum near 3 is lower.
        let t = best_step([-24.0 - 0.1, 22.0, -8.0, 1.0]).unwrap();
        assert!((t - 3.0).abs() < 0.05, "{t}");
        // A parabola, a line that falls without bound, a rising function.
        assert!((best_step([-2.0, 1.0, 0.0, 0.0]).unwrap() - 1.0).abs() < 1e-15);
        assert_eq!(best_step([-1.0, 0.0, 0.0, 0.0]), None);
        assert_eq!(best_step([1.0, 1.0, 0.0, 0.0]), None);
        assert_eq!(best_step([f64::NAN, 1.0, 0.0, 0.0]), None);
        // Rounding leaves tiny leading coefficients.
        assert!((best_step([-2.0, 1.0, 1e-20, 1e-30]).unwrap() - 1.0).abs() < 1e-12);
    }
}
