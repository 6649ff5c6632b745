//! Residuals of all entries.

use pulp::{Simd, WithSimd};

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::data::Segment;
use crate::incomplete::factors::objective::Objective;
use crate::incomplete::factors::{Factor, FactorSide, Factors};
use crate::incomplete::passes::rows::{VectorRows, dot};
use crate::linalg::simd::{Lane, dispatch};

/// `x - mu - a.s` of every entry, in storage order by rows (scores) or columns (loadings).
pub(crate) fn residuals<T: Lane>(
    problem: &Objective<'_, T>,
    factors: &Factors<T>,
    side: FactorSide,
    exec: &Exec<'_>,
) -> Result<Vec<T>> {
    let (own, other) = (factors.of(side), factors.of(side.other()));
    let lines = problem.lines(side);
    let mut out = vec![T::default(); lines.n_entries()];
    lines.pass_with::<T, 0, 0>(
        exec,
        (0, 0),
        &mut out,
        [],
        |segment, out, _| dispatch(Residuals { segment, own: own.row(segment.line), other, out }),
        |_, _, _| Ok([]),
    )?;
    Ok(out)
}

struct Residuals<'a, T> {
    segment: Segment<'a, T>,
    own: &'a [T],
    other: &'a Factor<T>,
    out: &'a mut [T],
}

impl<T: Lane> WithSimd for Residuals<'_, T> {
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

impl<T: Lane> Residuals<'_, T> {
    /// `n` is the number of vectors per row.
    #[inline(always)]
    fn run<S: Simd>(self, simd: S, n: usize) {
        let Segment { indices, values, .. } = self.segment;
        let own: &[T::Vector<S>] = bytemuck::cast_slice(self.own);
        let (own, rows) = (&own[..n], VectorRows::of_width(self.other, n));
        for (e, index) in indices.iter().enumerate() {
            rows.prefetch_ahead(indices, e);
            let fitted = dot::<S, T>(simd, rows.row(*index as usize), own).to_f64();
            self.out[e] = T::from_f64(values[e].to_f64() - fitted);
        }
    }
}
