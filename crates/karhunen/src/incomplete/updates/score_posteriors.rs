//! Posteriors of scores with full covariances, given expected values of the loadings.

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::factors::objective::Objective;
use crate::incomplete::factors::{Factor, FactorSide, Factors};
use crate::incomplete::passes::least_norm::solve_and_invert;
use crate::incomplete::passes::moments::{Expected, moments_pass};
use crate::linalg::decomp::cholesky::{BLOCK, Upper};
use crate::linalg::simd::Lane;

/// Computes the posteriors of all scores: the expected values of each sample, and the sum of `ln det Psi_i`.
/// `penalty` is the noise over the prior variance of each score. Writes the means to the factors; reuses the
/// memory of `workspace`.
pub(crate) fn score_posteriors<T: Lane>(
    problem: &Objective<'_, T>,
    factors: &mut Factors<T>,
    table: &Factor<T>,
    penalty: &[f64],
    noise: f64,
    workspace: Option<Factor<T>>,
    exec: &Exec<'_>,
) -> Result<(Factor<T>, f64)> {
    let (c, free) = (problem.c, problem.free());
    let layout = Expected::new::<T>(c);
    let stride = c.next_multiple_of(BLOCK);
    let n = problem.data.n_samples();
    // In reused memory, too, the padding between means and moments is zero.
    let workspace =
        workspace.filter(|workspace| workspace.n_rows() == n && workspace.width() == layout.width);
    let mut expected = workspace.unwrap_or_else(|| factors.s.zeros_of_width(layout.width));
    let ones = vec![T::from_f64(1.0); n];
    let [log_det] = moments_pass(
        problem,
        FactorSide::Scores,
        (table, &ones),
        (3 * c + 1) * stride,
        [factors.s.as_rows(), expected.as_rows()],
        exec,
        |_, acc, [row, out]| {
            let (sums, workspace) = acc.split_at_mut(layout.n_sums());
            let (g, workspace) = workspace.split_at_mut(c * stride);
            let (inverse, workspace) = workspace.split_at_mut(c * stride);
            let (workspace, s) = workspace.split_at_mut(c * stride);
            for k in 0..c {
                for l in k..c {
                    g[k * stride + l] = sums[layout.at(l, k)];
                }
                g[k * stride + k] += penalty[k];
            }
            let b = &sums[layout.width..layout.width + c];
            s[..c].copy_from_slice(b);
            let mut psi = Upper { values: g, m: c, stride };
            let log_det = solve_and_invert(&mut psi, (s, free), inverse, workspace)?;
            for k in 0..c {
                row[k] = T::from_f64(s[k]);
                out[k] = row[k];
                let moments = out[layout.at(k, 0)..].iter_mut().zip(&inverse[k * stride..][..=k]);
                for ((out, inverse), other) in moments.zip(&*s) {
                    *out = T::from_f64(s[k] * other + noise * inverse);
                }
            }
            out[c] = T::from_f64(1.0);
            Ok([log_det])
        },
    )?;
    Ok((expected, log_det))
}
