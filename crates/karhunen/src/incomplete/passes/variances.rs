//! Sums over the entries of a line of squares and posterior variances of the other factor: `sum w x^2`,
//! `sum w x~`.

use pulp::{Simd, WithSimd};

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::data::{Rows, Segment};
use crate::incomplete::factors::objective::Objective;
use crate::incomplete::factors::{Factor, FactorSide};
use crate::incomplete::passes::RUN;
use crate::incomplete::passes::rows::{VectorRows, flush};
use crate::linalg::simd::{Lane, dispatch};

/// Sums squares and variances over the lines of a factor; `means` and `variances` belong to the other factor.
/// `finish` receives both sums of each line and writes its row of each of `outs`.
pub(crate) fn variances_pass<T: Lane, const K: usize, const M: usize>(
    problem: &Objective<'_, T>,
    side: FactorSide,
    (means, variances): (&Factor<T>, &Factor<T>),
    outs: [&mut Factor<T>; K],
    exec: &Exec<'_>,
    finish: impl Fn(usize, &[f64], &[f64], &mut [&mut [T]; K]) -> [f64; M] + Sync,
) -> Result<[f64; M]> {
    let width = means.width();
    let outs = outs.map(|out| Rows { width: out.width(), data: out.as_mut_slice() });
    problem.lines(side).pass(
        exec,
        (2 * width, 0),
        outs,
        |segment, acc| dispatch(Variances { segment, means, variances, acc }),
        |line, acc, rows| {
            let (squares, variance_sums) = acc.split_at(width);
            Ok(finish(line, squares, variance_sums, rows))
        },
    )
}

struct Variances<'a, T> {
    segment: Segment<'a, T>,
    means: &'a Factor<T>,
    variances: &'a Factor<T>,
    acc: &'a mut [f64],
}

impl<T: Lane> WithSimd for Variances<'_, T> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let zero = T::splat(simd, T::default());
        match size_of::<T>() * self.means.width() / size_of::<T::Vector<S>>() {
            1 => self.run(simd, &mut [zero; 1], &mut [zero; 1]),
            2 => self.run(simd, &mut [zero; 2], &mut [zero; 2]),
            4 => self.run(simd, &mut [zero; 4], &mut [zero; 4]),
            n => self.run(simd, &mut vec![zero; n], &mut vec![zero; n]),
        }
    }
}

impl<T: Lane> Variances<'_, T> {
    #[inline(always)]
    fn run<S: Simd>(self, simd: S, squares: &mut [T::Vector<S>], variance_sums: &mut [T::Vector<S>]) {
        let Segment { indices, weights, .. } = self.segment;
        let n = squares.len();
        let width = self.means.width();
        let means: VectorRows<'_, T::Vector<S>> = VectorRows::of_width(self.means, n);
        let variances: VectorRows<'_, T::Vector<S>> = VectorRows::of_width(self.variances, n);
        let (one, zero) = (T::from_f64(1.0), T::splat(simd, T::default()));
        for start in (0..indices.len()).step_by(RUN) {
            for e in start..indices.len().min(start + RUN) {
                means.prefetch_ahead(indices, e);
                variances.prefetch_ahead(indices, e);
                let index = indices[e] as usize;
                let (x, v) = (means.row(index), variances.row(index));
                let weight = T::splat(simd, weights.map_or(one, |w| w[e]));
                for k in 0..n {
                    let weighted = T::mul_add(simd, weight, x[k], zero);
                    squares[k] = T::mul_add(simd, weighted, x[k], squares[k]);
                    variance_sums[k] = T::mul_add(simd, weight, v[k], variance_sums[k]);
                }
            }
            flush::<S, T>(simd, squares, &mut self.acc[..width]);
            flush::<S, T>(simd, variance_sums, &mut self.acc[width..]);
        }
    }
}
