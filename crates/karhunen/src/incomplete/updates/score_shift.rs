//! Affine change of the scores that lowers the cost of methods with posteriors
//! (`docs/missing-values-variational.md`).

use pulp::{Simd, WithSimd};

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::factors::Factor;
use crate::incomplete::factors::objective::Objective;
use crate::incomplete::passes::least_norm::solve;
use crate::incomplete::passes::moments::Expected;
use crate::incomplete::updates::learned_variances::Hyperprior;
use crate::incomplete::updates::score_moments::ScoreMoments;
use crate::linalg::Matrix;
use crate::linalg::decomp::cholesky::{BLOCK, Upper, add_blocks};
use crate::linalg::decomp::eigh::eigh;
use crate::linalg::dense::small::{multiply, t_multiply};
use crate::linalg::simd::{Lane, dispatch};

/// A change of the scores, `s -> R (s - m)`, with the change of loadings and means that keeps every prediction.
#[derive(Clone, Debug)]
pub(crate) struct ScoreShift {
    /// `R`, shape (c, c).
    pub(crate) map: Matrix,
    /// `R'`, rows padded to [`ScoreShift::stride`] values.
    transposed: Vec<f64>,
    /// `m`.
    pub(crate) shift: Vec<f64>,
    /// `ln |det R|`.
    pub(crate) log_determinant: f64,
    /// Mean expected squares of the loadings after the change.
    pub(crate) variances: Vec<f64>,
}

impl ScoreShift {
    pub(crate) fn identity(c: usize) -> Self {
        let map = Matrix::from_fn(c, c, |k, l| f64::from(u8::from(k == l)));
        Self::new(map, vec![0.0; c], 0.0, vec![0.0; c])
    }

    fn new(map: Matrix, shift: Vec<f64>, log_determinant: f64, variances: Vec<f64>) -> Self {
        let c = map.n_rows();
        let stride = Self::stride_of(c);
        let mut transposed = vec![0.0; c * stride];
        for k in 0..c {
            (0..c).for_each(|j| transposed[j * stride + k] = map[(k, j)]);
        }
        Self { map, transposed, shift, log_determinant, variances }
    }

    /// Padded length of a row of all scores and a constant.
    pub(crate) fn stride(&self) -> usize {
        Self::stride_of(self.shift.len())
    }

    fn stride_of(c: usize) -> usize {
        (c + 1).next_multiple_of(BLOCK)
    }

    /// `sum_i E (R (s_i - m))_k^2` of each score `k`.
    pub(crate) fn squares_of(&self, moments: &ScoreMoments) -> Vec<f64> {
        let c = moments.first.len();
        let centred = moments.about(&self.shift);
        let r = &self.map;
        (0..c)
            .map(|k| {
                let row = r.row(k);
                (0..c).map(|i| row[i] * (0..c).map(|j| centred[(i, j)] * row[j]).sum::<f64>()).sum::<f64>()
            })
            .collect()
    }

    /// Changes one row of scores.
    pub(crate) fn apply<T: Lane>(&self, row: &mut [T]) {
        const ON_STACK: usize = 64;
        let stride = self.stride();
        let (mut small, mut large) = ([0.0; ON_STACK], Vec::new());
        let moved = if stride <= ON_STACK {
            &mut small[..stride]
        } else {
            large.resize(stride, 0.0);
            &mut large[..]
        };
        for ((s, m), column) in row.iter().zip(&self.shift).zip(self.transposed.chunks_exact(stride)) {
            add_blocks(s.to_f64() - m, column, moved);
        }
        row.iter_mut().zip(moved).for_each(|(x, moved)| *x = T::from_f64(*moved));
    }

    /// The change of the mean of a feature with loadings `row`.
    pub(crate) fn change_of_mean<T: Lane>(&self, row: &[T]) -> f64 {
        row.iter().zip(&self.shift).map(|(a, m)| a.to_f64() * m).sum()
    }

    /// Transforms the sums of a feature, see [`Expected::n_sums`], to the changed scores and a mean changed by
    /// `delta`: `sum w E (s, 1)(s, 1)'` into `g`, `sum w y (s, 1)` into `b`; returns `sum w y^2`. `workspace` is as
    /// large as `g`, whose rows have [`ScoreShift::stride`] values.
    pub(crate) fn moved_sums(
        &self,
        layout: Expected,
        sums: &[f64],
        delta: f64,
        (g, workspace): (&mut [f64], &mut [f64]),
        b: &mut [f64],
    ) -> f64 {
        let (c, m, stride) = (layout.c, &self.shift, self.stride());
        let weight = sums[c];
        let (first, of_y) = (&sums[..c], &sums[layout.width..layout.width + layout.head]);
        let squares = sums[layout.width + layout.head];
        dispatch(MoveSums { affine: self, layout, sums, g, workspace });
        b.fill(0.0);
        for i in 0..c {
            let centred = first[i] - weight * m[i];
            let rows = &self.transposed[i * stride..(i + 1) * stride];
            add_blocks(of_y[i] - of_y[c] * m[i] - delta * centred, rows, b);
            for (k, r) in rows[..c].iter().enumerate() {
                g[k * stride + c] += r * centred;
            }
        }
        g[c * stride + c] = weight;
        b[c] = of_y[c] - delta * weight;
        squares - 2.0 * delta * of_y[c] + delta * delta * weight
    }
}

/// Arguments of the transformed second moments of [`ScoreShift::moved_sums`].
struct MoveSums<'a> {
    affine: &'a ScoreShift,
    layout: Expected,
    sums: &'a [f64],
    g: &'a mut [f64],
    workspace: &'a mut [f64],
}

impl WithSimd for MoveSums<'_> {
    type Output = ();
    /// `R (M - s m' - m s' + w m m') R'`, compiled for the vector extensions.
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { affine, layout, sums, g, workspace } = self;
        let (c, m, stride) = (layout.c, &affine.shift, affine.stride());
        let (weight, first) = (sums[c], &sums[..c]);
        g.fill(0.0);
        for (i, half) in workspace.chunks_exact_mut(stride).take(c).enumerate() {
            half.fill(0.0);
            for (j, rows) in affine.transposed.chunks_exact(stride).enumerate() {
                let second = sums[layout.at(i.max(j), i.min(j))];
                let x = second - first[i] * m[j] - m[i] * first[j] + weight * m[i] * m[j];
                add_blocks(x, rows, half);
            }
            let rows = &affine.transposed[i * stride..i * stride + c];
            for (r, g) in rows.iter().zip(g.chunks_exact_mut(stride)) {
                add_blocks(*r, half, g);
            }
        }
    }
}

/// The priors of a fit during a change of its scores and loadings.
pub(crate) struct Priors<'a> {
    /// `v_a`, if loadings have a posterior.
    pub(crate) of_loadings: Option<&'a [f64]>,
    /// True if `v_a` is fixed.
    pub(crate) fixed: bool,
    /// The noise over the prior variance of each score.
    pub(crate) of_scores: &'a [f64],
    /// `v_x`.
    pub(crate) noise: f64,
    pub(crate) hyperprior: Hyperprior,
}

/// The affine change that lowers the cost most. It centres the scores if the mean is fitted, moves the common part
/// of the loadings to the row offsets, and makes the expected moments diagonal: one for scores, descending for
/// loadings. If the prior of the loadings is fixed, or has a hyperprior, it also scales the components to it. `seen` are `sum w (s_i, 1)`
/// over the entries of each feature, which a fitted mean with a posterior of the loadings needs.
pub(crate) fn best_affine<T: Lane>(
    problem: &Objective<'_, T>,
    (table, moments, seen): (&Factor<T>, &ScoreMoments, Option<&Factor<T>>),
    priors: &Priors<'_>,
    exec: &Exec<'_>,
) -> Result<ScoreShift> {
    let (c, n, p) = (problem.free(), moments.n, problem.data.n_features() as f64);
    let layout = Expected::new::<T>(problem.c);
    let shift = if problem.mean.joint {
        best_shift(problem, (table, moments, seen), priors, exec)?
    } else {
        vec![0.0; problem.c]
    };
    let mut second = moments.about(&shift);
    second.scale(1.0 / n);
    let sums = table.sum_rows(layout.width, exec, |_, row, sums| {
        sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x.to_f64());
    })?;
    let loading_shift = match problem.fixed() {
        Some(fixed) => best_loading_shift((&sums[..fixed], p), (&second, n), fixed, priors)?,
        None => vec![0.0; c],
    };
    let of_scores = eigh(&Matrix::from_fn(c, c, |k, l| second[(k, l)]))?;
    let root: Vec<f64> = of_scores.values.iter().map(|d| d.max(f64::MIN_POSITIVE).sqrt()).collect();
    let w = Matrix::from_fn(c, c, |i, k| of_scores.vectors[(i, k)] * root[k]);
    let b = Matrix::from_fn(c, c, |k, l| {
        let moved = loading_shift[k] * sums[l] / p
            + sums[k] / p * loading_shift[l]
            + loading_shift[k] * loading_shift[l];
        sums[layout.at(k.max(l), k.min(l))] / p + moved
    });
    let of_loadings = eigh(&t_multiply(&w, &multiply(&b, &w)))?;
    let mut variances = of_loadings.values.clone();
    // R = V' W^-1 = V' D^-1/2 U'.
    let inverse = Matrix::from_fn(c, c, |k, i| of_scores.vectors[(i, k)] / root[k]);
    let mut map = t_multiply(&of_loadings.vectors, &inverse);
    let mut log_determinant = -root.iter().map(|d| d.ln()).sum::<f64>();
    if let Some(of_prior) = priors.of_loadings.filter(|_| priors.fixed) {
        for k in 0..c {
            let qa = p * variances[k] / of_prior[k];
            let root = ((n - p).powi(2) + 4.0 * qa * n).sqrt();
            let u = if n >= p { 2.0 * n / (n - p + root) } else { (p - n + root) / (2.0 * qa) };
            if u > 0.0 && u.is_finite() {
                variances[k] *= u;
                log_determinant -= 0.5 * u.ln();
                map.row_mut(k).iter_mut().for_each(|r| *r /= u.sqrt());
            }
        }
    } else if priors.of_loadings.is_some() {
        for (k, variance) in variances.iter_mut().enumerate() {
            let t = priors.hyperprior.mean_square((n, p), p * *variance);
            if t != 1.0 {
                *variance /= t;
                log_determinant += 0.5 * t.ln();
                map.row_mut(k).iter_mut().for_each(|r| *r *= t.sqrt());
            }
        }
    }
    if problem.fixed().is_some() {
        // Loadings gain what the offset loses: b - loading_shift.s.
        let last = |l: usize| if l < c { -loading_shift[l] } else { 1.0 };
        let corner = |k: usize, l: usize| if l < c { map[(k, l)] } else { 0.0 };
        map = Matrix::from_fn(c + 1, c + 1, |k, l| if k < c { corner(k, l) } else { last(l) });
    }
    Ok(ScoreShift::new(map, shift, log_determinant, variances))
}

/// `m` of `a_j += m`, `b_i -= m.s_i`: `(p / v_a + n / v_b E ss') m = n / v_b E bs - sum_j a_j / v_a`.
/// `of_loadings` are the sums of the loadings of `p` features, `second` the mean moments of `n` rows.
fn best_loading_shift(
    (of_loadings, p): (&[f64], f64),
    (second, n): (&Matrix, f64),
    fixed: usize,
    priors: &Priors<'_>,
) -> Result<Vec<f64>> {
    let stride = fixed.next_multiple_of(BLOCK);
    let (mut g, mut m) = (vec![0.0; fixed * stride], vec![0.0; fixed]);
    // Both terms in units of the noise.
    let of_offsets = n * priors.of_scores[fixed];
    for k in 0..fixed {
        let of_prior = priors.of_loadings.map_or(0.0, |v| priors.noise / v[k]);
        (0..fixed).for_each(|l| g[k * stride + l] = of_offsets * second[(k, l)]);
        g[k * stride + k] += p * of_prior;
        m[k] = of_offsets * second[(k, fixed)] - of_prior * of_loadings[k];
    }
    solve(&mut Upper { values: &mut g, m: fixed, stride }, &mut m, fixed)?;
    Ok(m)
}

/// `m` of `(sum_i H_i + kappa A'A) m = sum_i H_i s_i - kappa A'(mu - m0)`, `H_i = v_x D + sum_j w Sa_j`, with `D`
/// the precisions of the prior of the scores.
fn best_shift<T: Lane>(
    problem: &Objective<'_, T>,
    (table, moments, seen): (&Factor<T>, &ScoreMoments, Option<&Factor<T>>),
    priors: &Priors<'_>,
    exec: &Exec<'_>,
) -> Result<Vec<f64>> {
    let (c, kappa) = (problem.c, problem.mean.kappa);
    let layout = Expected::new::<T>(c);
    let sums = table.sum_rows(c * c + c, exec, |j, row, sums| {
        let (of_g, of_b) = sums.split_at_mut(c * c);
        let away = row[c].to_f64() - problem.mean.prior;
        for k in 0..c {
            for l in 0..c {
                let product = row[k].to_f64() * row[l].to_f64();
                of_g[k * c + l] += kappa * product;
                if let Some(seen) = seen {
                    let covariance = row[layout.at(k.max(l), k.min(l))].to_f64() - product;
                    of_g[k * c + l] += seen.row(j)[c].to_f64() * covariance;
                    of_b[k] += covariance * seen.row(j)[l].to_f64();
                }
            }
            of_b[k] -= kappa * row[k].to_f64() * away;
        }
    })?;
    let stride = c.next_multiple_of(BLOCK);
    let mut g = vec![0.0; c * stride];
    let mut m = vec![0.0; c];
    for k in 0..c {
        for l in k..c {
            g[k * stride + l] = sums[k * c + l] + if k == l { moments.n * priors.of_scores[k] } else { 0.0 };
        }
        m[k] = sums[c * c + k] + priors.of_scores[k] * moments.first[k];
    }
    solve(&mut Upper { values: &mut g, m: c, stride }, &mut m, problem.free())?;
    Ok(m)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::test_matrices::gaussian;

    #[test]
    fn sums_move_as_their_scores_do() {
        let (c, n) = (3, 10);
        let layout = Expected::new::<f64>(c);
        let (s, y) = (gaussian(n, c, 1, 0), gaussian(n, 1, 2, 0));
        let affine = ScoreShift::new(gaussian(c, c, 3, 0), vec![0.5, -1.0, 2.0], 0.0, vec![0.0; c]);
        let sums_of = |rows: &[Vec<f64>], y: &[f64]| {
            let mut sums = vec![0.0; layout.n_sums()];
            for (row, y) in rows.iter().zip(y) {
                for k in 0..c {
                    (0..=k).for_each(|l| sums[layout.at(k, l)] += row[k] * row[l]);
                    sums[k] += row[k];
                    sums[layout.width + k] += y * row[k];
                }
                sums[c] += 1.0;
                sums[layout.width + c] += y;
                sums[layout.width + layout.head] += y * y;
            }
            sums
        };
        let before: Vec<Vec<f64>> = (0..n).map(|i| s.row(i).to_vec()).collect();
        let mut after = before.clone();
        after.iter_mut().for_each(|row| affine.apply(row));
        let delta = 0.7;
        let y_after: Vec<f64> = y.as_slice().iter().map(|y| y - delta).collect();
        let expected = sums_of(&after, &y_after);
        let stride = affine.stride();
        let (mut g, mut workspace) = (vec![f64::NAN; (c + 1) * stride], vec![f64::NAN; (c + 1) * stride]);
        let mut b = vec![f64::NAN; stride];
        let sums = sums_of(&before, y.as_slice());
        let squares = affine.moved_sums(layout, &sums, delta, (&mut g, &mut workspace), &mut b);
        assert!((squares - expected[layout.width + layout.head]).abs() < 1e-12);
        for k in 0..c {
            assert!((g[k * stride + c] - expected[k]).abs() < 1e-12);
            (0..=k).for_each(|l| assert!((g[l * stride + k] - expected[layout.at(k, l)]).abs() < 1e-12));
        }
        assert!((0..=c).all(|k| (b[k] - expected[layout.width + k]).abs() < 1e-12));
    }
}
