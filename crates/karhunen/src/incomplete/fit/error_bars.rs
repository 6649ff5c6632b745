//! Noise variance and covariances of point estimates (`docs/missing-values-variational.md`).

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::data::{EntryLines, Observed, Rows};
use crate::incomplete::factors::{FactorSide, Factors};
use crate::incomplete::passes::normal::{NormalLayout, NormalProducts};
use crate::incomplete::updates::precision::{Precision, inverse_in};
use crate::linalg::simd::Lane;
use crate::scalar::Scalar;

/// `(G + P)^-1` of every row of a factor, lower triangles packed by rows, and `sum tr G (G + P)^-1`, the effective
/// number of parameters. Zero for `inactive` components.
pub(crate) fn inverses<T: Lane>(
    lines: &EntryLines<T>,
    factors: &Factors<T>,
    side: FactorSide,
    (precision, inactive): (&Precision, &[bool]),
    exec: &Exec<'_>,
) -> Result<(Vec<T>, f64)> {
    let c = precision.matrix.n_rows();
    let (own, other) = (factors.of(side), factors.of(side.other()));
    let layout = NormalLayout::new(c);
    let width = c * (c + 1) / 2;
    let mut packed = vec![T::default(); own.n_rows() * width];
    let outs = [Rows { width, data: &mut packed }];
    let products = NormalProducts::new(lines, other, factors.c, layout, exec)?;
    let [trace] = lines.pass(
        exec,
        layout.lengths(),
        outs,
        |segment, acc| products.gather(segment, own.row(segment.line)[factors.c], acc),
        |line, acc, [row]| {
            products.complete(line, own.row(line)[factors.c], acc);
            Ok([inverse_in(layout.parts(acc).0, lines.weight(line), (precision, inactive), row)])
        },
    )?;
    Ok((packed, trace))
}

/// Number of parameters of least squares: `c` per row and `free` per feature (plus a mean), at most one per entry,
/// less the dimension of the gauge.
pub(crate) fn count_parameters<T: Lane>(data: &Observed<T>, (c, free): (usize, usize), means: bool) -> f64 {
    let of_loadings =
        parameters_of_loadings((0..data.n_features()).map(|j| data.total_in_column(j)), free, means);
    parameters_of_scores(data, c) + of_loadings - (c * free) as f64
}

/// Number of parameters of `c` scores per row, at most one per entry.
pub(crate) fn parameters_of_scores<T: Scalar>(data: &Observed<T>, c: usize) -> f64 {
    data.over_rows(|row| data.n_observed_in_row(row).min(c) as f64)
}

/// Number of parameters of `free` loadings per feature (plus a mean), at most one per entry; `entries` are the numbers
/// of entries of the features.
pub(crate) fn parameters_of_loadings(entries: impl Iterator<Item = f64>, free: usize, means: bool) -> f64 {
    let most = (free + usize::from(means)) as f64;
    entries.map(|entries| entries.min(most)).sum()
}
