//! Noise variance and covariances of point estimates (`docs/missing-values/model.md`).

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::data::{EntryLines, Observed, Rows};
use crate::incomplete::factors::{FactorSide, Factors};
use crate::incomplete::passes::normal::{NormalLayout, NormalProducts};
use crate::linalg::Matrix;
use crate::linalg::decomp::cholesky::Upper;
use crate::linalg::simd::Lane;
use crate::scalar::Scalar;

/// Precision of the prior of the rows of a factor, times the noise variance.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Precision {
    /// Shape (c, c).
    pub(crate) matrix: Matrix,
    /// True if the matrix is multiplied by the sum of the weights of the entries of a row.
    pub(crate) per_entry: bool,
}

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

/// Writes `(G + P)^-1` of one row, the lower triangle packed by rows, and returns `tr G (G + P)^-1`. `weight` is that of
/// the entries of the row; the values of `inactive` components are left as they are.
pub(crate) fn inverse_in<T: Lane>(
    mut g: Upper<'_>,
    weight: f64,
    (precision, inactive): (&Precision, &[bool]),
    row: &mut [T],
) -> f64 {
    let (c, stride) = (g.m, g.stride);
    let is_inactive = |k: usize| inactive.get(k).is_some_and(|inactive| *inactive);
    let (of_none, heard): (Vec<usize>, Vec<usize>) = (0..c).partition(|k| is_inactive(*k));
    let factor = if precision.per_entry { weight.max(1.0) } else { 1.0 };
    for k in 0..c {
        for l in k..c {
            g.values[k * stride + l] += factor * precision.matrix[(k, l)];
        }
        // Keeps the matrix positive definite to rounding.
        g.values[k * stride + k] *= 1.0 + 1e-9;
    }
    of_none.iter().for_each(|k| g.isolate(*k, 1.0));
    let inverse = invert(&mut g);
    let mut trace = heard.len() as f64;
    for (at, k) in heard.iter().enumerate() {
        for l in &heard[..=at] {
            row[k * (k + 1) / 2 + l] = T::from_f64(inverse[(*k, *l)]);
        }
        let terms = heard.iter().map(|l| factor * precision.matrix[(*k, *l)] * inverse[(*l, *k)]);
        trace -= terms.sum::<f64>();
    }
    trace
}

/// The inverse, or zero if the matrix is still singular.
fn invert(g: &mut Upper<'_>) -> Matrix {
    let m = g.m;
    let mut inverse = Matrix::zeros(m, m);
    if g.factorize() {
        let mut column = vec![0.0; m];
        for k in 0..m {
            column.fill(0.0);
            column[k] = 1.0;
            g.solve(&mut column);
            (0..m).for_each(|l| inverse[(l, k)] = column[l]);
        }
    }
    inverse
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
