//! Exact steps along the gauge: changes of the factors that alter the penalties and leave every prediction the
//! same (`docs/missing-values-methods.md`).

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::factors::objective::{Diagonal, Objective};
use crate::incomplete::factors::{Factor, FactorSide, Factors, gram};
use crate::incomplete::passes::least_norm::solve;
use crate::linalg::Matrix;
use crate::linalg::decomp::cholesky::{BLOCK, Upper};
use crate::linalg::decomp::eigh::eigh;
use crate::linalg::decomp::svd::svd;
use crate::linalg::dense::small::{multiply, t_multiply};
use crate::linalg::simd::Lane;

/// Lowers the penalties along the gauge: by the shift if the mean is fitted, and by the best linear map, exact for
/// one penalty per factor, otherwise by shears of pairs of components.
pub(crate) fn gauge<T: Lane>(
    problem: &Objective<'_, T>,
    factors: &mut Factors<T>,
    exec: &Exec<'_>,
) -> Result<()> {
    if problem.mean.joint && !problem.scores.is_zero() {
        shift(problem, factors, exec)?;
    }
    shift_loadings(problem, factors, exec)?;
    match (&problem.loadings, &problem.scores) {
        (Diagonal::Same(da), Diagonal::Same(ds)) if *da > 0.0 && *ds > 0.0 => {
            balance(factors, problem.free(), (*da, *ds), exec)?;
        }
        _ => {
            let weighted = FactorMoments::of(problem, factors, exec)?;
            let mut map = FactorMap::identity(problem.free());
            weighted.shear(&mut map);
            weighted.scale(&mut map);
            transform(&mut factors.a, &map.a, exec)?;
            transform(&mut factors.s, &map.s, exec)?;
        }
    }
    Ok(())
}

/// Second moments that give the penalties of both factors under a linear map: `P_l = sum_j dA_jl a_j a_j'` and
/// `Q_k = sum_i dS_ik s_i s_i'`, shape (c, c) each.
pub(crate) struct FactorMoments {
    p: Vec<Matrix>,
    q: Vec<Matrix>,
}

/// A linear gauge change, `A R`, `S W` with `R W' = I`.
pub(crate) struct FactorMap {
    /// `R`.
    pub(crate) a: Matrix,
    /// `W`.
    pub(crate) s: Matrix,
}

impl FactorMap {
    pub(crate) fn identity(c: usize) -> Self {
        let unit = Matrix::from_fn(c, c, |k, l| f64::from(u8::from(k == l)));
        Self { a: unit.clone(), s: unit }
    }
}

impl FactorMoments {
    pub(crate) fn of<T: Lane>(
        problem: &Objective<'_, T>,
        factors: &Factors<T>,
        exec: &Exec<'_>,
    ) -> Result<Self> {
        let side =
            |side: FactorSide| weighted_grams(factors.of(side), problem.penalty(side), problem.free(), exec);
        Ok(Self { p: side(FactorSide::Loadings)?, q: side(FactorSide::Scores)? })
    }

    /// Two rounds of shears `a_l += t a_k`, `s_k -= t s_l` over all ordered pairs, each with its best `t`.
    pub(crate) fn shear(&self, map: &mut FactorMap) {
        const ROUNDS: usize = 2;
        let c = self.p.len();
        for _ in 0..ROUNDS {
            for (l, k) in (0..c).flat_map(|l| (0..c).map(move |k| (l, k))).filter(|(l, k)| l != k) {
                let (p, q) = (&self.p[l], &self.q[k]);
                let falls = form(p, &map.a, l, k) - form(q, &map.s, k, l);
                let curvature = form(p, &map.a, k, k) + form(q, &map.s, l, l);
                if curvature > 0.0 {
                    let t = -falls / curvature;
                    for row in 0..c {
                        map.a[(row, l)] += t * map.a[(row, k)];
                        map.s[(row, k)] -= t * map.s[(row, l)];
                    }
                }
            }
        }
    }

    /// Scales each component to equal penalties of both factors, the minimum over all scales.
    pub(crate) fn scale(&self, map: &mut FactorMap) {
        for l in 0..self.p.len() {
            let (of_a, of_s) = (form(&self.p[l], &map.a, l, l), form(&self.q[l], &map.s, l, l));
            let ratio = (of_s / of_a).sqrt().sqrt();
            if ratio > 0.0 && ratio.is_finite() {
                for row in 0..self.p.len() {
                    map.a[(row, l)] *= ratio;
                    map.s[(row, l)] /= ratio;
                }
            }
        }
    }
}

/// `M_k' G M_l`, for two columns of `M`.
fn form(g: &Matrix, m: &Matrix, k: usize, l: usize) -> f64 {
    let c = g.n_rows();
    (0..c).map(|i| m[(i, k)] * (0..c).map(|j| g[(i, j)] * m[(j, l)]).sum::<f64>()).sum()
}

/// `sum_i d_ik x_i x_i'` for each component `k`.
fn weighted_grams<T: Lane>(
    factor: &Factor<T>,
    penalty: &Diagonal,
    c: usize,
    exec: &Exec<'_>,
) -> Result<Vec<Matrix>> {
    // One matrix serves all components unless every value has its own penalty.
    let each = matches!(penalty, Diagonal::Full(_));
    let n = if each { c } else { 1 };
    let sums = factor.sum_rows(n * c * c, exec, |i, row, sums| {
        for (k, sums) in sums.chunks_exact_mut(c * c).enumerate() {
            let weight = match penalty {
                Diagonal::ByRow(_) | Diagonal::Full(_) => penalty.at(i, k, c),
                Diagonal::Same(_) | Diagonal::ByComponent(_) => 1.0,
            };
            for (x, sums) in row.iter().zip(sums.chunks_exact_mut(c)) {
                let x = weight * x.to_f64();
                sums.iter_mut().zip(row).for_each(|(sum, y)| *sum += x * y.to_f64());
            }
        }
    })?;
    (0..c)
        .map(|k| {
            let from = if each { k * c * c } else { 0 };
            let mut gram = Matrix::from_vec(c, c, sums[from..from + c * c].to_vec())?;
            if let Diagonal::Same(_) | Diagonal::ByComponent(_) = penalty {
                gram.scale(penalty.at(0, k, c));
            }
            Ok(gram)
        })
        .collect()
}

/// `s -= m`, `mu += A m` with the best `m`:
/// `(diag(sum_i dS_ik) + kappa A'A) m = sum_i dS_ik s_ik - kappa A'(mu - m0)`.
pub(crate) fn shift<T: Lane>(
    problem: &Objective<'_, T>,
    factors: &mut Factors<T>,
    exec: &Exec<'_>,
) -> Result<()> {
    let (c, kappa) = (factors.c, problem.mean.kappa);
    let sums = factors.s.sum_rows(2 * c, exec, |i, row, sums| {
        for k in 0..c {
            let (d, _) = problem.penalty_at(FactorSide::Scores, i, k);
            sums[k] += d;
            sums[c + k] += d * row[k].to_f64();
        }
    })?;
    let (weights, mut m) = (&sums[..c], sums[c..].to_vec());
    let stride = c.next_multiple_of(BLOCK);
    let mut g = vec![0.0; c * stride];
    for k in 0..c {
        g[k * stride + k] = weights[k];
    }
    if kappa > 0.0 {
        let products = gram(&factors.a, c, exec)?;
        let away = factors.a.sum_rows(c, exec, |_, row, sums| {
            let away = row[c].to_f64() - problem.mean.prior;
            sums.iter_mut().zip(row).for_each(|(sum, a)| *sum += a.to_f64() * away);
        })?;
        for k in 0..c {
            m[k] -= kappa * away[k];
            (0..c).for_each(|l| g[k * stride + l] += kappa * products[(k, l)]);
        }
    }
    solve(&mut Upper { values: &mut g, m: c, stride }, &mut m, problem.free())?;
    factors.a.map_rows(exec, |_, row| {
        let moved: f64 = row[..c].iter().zip(&m).map(|(a, m)| a.to_f64() * m).sum();
        row[c] = T::from_f64(row[c].to_f64() + moved);
    })?;
    factors.s.map_rows(exec, |_, row| {
        row[..c].iter_mut().zip(&m).for_each(|(s, m)| *s = T::from_f64(s.to_f64() - m));
    })
}

/// `a_j += m`, `b_i -= m.s_i` with the best `m`, with row offsets:
/// `(diag(sum_j dA_jk) + sum_i dB_i s_i s_i') m = sum_i dB_i b_i s_i - sum_j dA_j a_j`. Features without entries
/// keep their loadings.
pub(crate) fn shift_loadings<T: Lane>(
    problem: &Objective<'_, T>,
    factors: &mut Factors<T>,
    exec: &Exec<'_>,
) -> Result<()> {
    let Some(fixed) = problem.fixed() else { return Ok(()) };
    let (c, stride) = (fixed, fixed.next_multiple_of(BLOCK));
    if c == 0 {
        return Ok(());
    }
    let of_offsets = factors.s.sum_rows(c * c + c, exec, |i, row, sums| {
        let (d, _) = problem.penalty_at(FactorSide::Scores, i, fixed);
        let (of_g, of_b) = sums.split_at_mut(c * c);
        for (k, of_g) in of_g.chunks_exact_mut(c).enumerate() {
            let x = d * row[k].to_f64();
            of_g.iter_mut().zip(row).for_each(|(sum, y)| *sum += x * y.to_f64());
            of_b[k] += x * row[fixed].to_f64();
        }
    })?;
    let of_loadings = factors.a.sum_rows(2 * c, exec, |j, row, sums| {
        for k in 0..c {
            let (d, _) = problem.penalty_at(FactorSide::Loadings, j, k);
            if problem.data.n_observed_in_column(j) > 0 {
                sums[k] += d;
                sums[c + k] += d * row[k].to_f64();
            }
        }
    })?;
    let mut g = vec![0.0; c * stride];
    let mut m = vec![0.0; c];
    for k in 0..c {
        (0..c).for_each(|l| g[k * stride + l] = of_offsets[k * c + l]);
        g[k * stride + k] += of_loadings[k];
        m[k] = of_offsets[c * c + k] - of_loadings[c + k];
    }
    solve(&mut Upper { values: &mut g, m: c, stride }, &mut m, problem.free())?;
    move_loadings(problem, factors, &m, exec)
}

/// `a_j += m`, `b_i -= m.s_i`, except for features without entries.
pub(crate) fn move_loadings<T: Lane>(
    problem: &Objective<'_, T>,
    factors: &mut Factors<T>,
    m: &[f64],
    exec: &Exec<'_>,
) -> Result<()> {
    let c = m.len();
    factors.a.map_rows(exec, |j, row| {
        if problem.data.n_observed_in_column(j) > 0 {
            row[..c].iter_mut().zip(m).for_each(|(a, m)| *a = T::from_f64(a.to_f64() + m));
        }
    })?;
    factors.s.map_rows(exec, |_, row| {
        let moved: f64 = row[..c].iter().zip(m).map(|(s, m)| s.to_f64() * m).sum();
        row[c] = T::from_f64(row[c].to_f64() - moved);
    })
}

/// Minimises `da |A R|^2 + ds |S R^-T|^2` over all invertible `R`: equal lengths along the singular vectors of the
/// product of the first `c` components. Both Gram matrices become one diagonal, up to the ratio of the penalties.
fn balance<T: Lane>(factors: &mut Factors<T>, c: usize, (da, ds): (f64, f64), exec: &Exec<'_>) -> Result<()> {
    let root_a = square_root(&gram(&factors.a, c, exec)?)?;
    let root_s = square_root(&gram(&factors.s, c, exec)?)?;
    // root_a root_s' = U D V' has the singular values of A S'; R = root_a^-1 U D^1/2 = root_s' V D^-1/2.
    let middle = multiply(&root_a, &root_s.transposed());
    let right = svd(&middle)?;
    let ratio = (ds / da).sqrt().sqrt();
    let least = right.s.first().map_or(0.0, |d| d * f64::EPSILON * c as f64);
    // A component without variance cannot be balanced: zero on both sides, without loss.
    let scaled = |vectors: &Matrix, factor: f64| {
        Matrix::from_fn(c, c, |i, k| {
            if right.s[k] > least { vectors[(i, k)] * factor / right.s[k].sqrt() } else { 0.0 }
        })
    };
    let map_a = t_multiply(&root_s, &scaled(&right.v, ratio));
    let map_s = t_multiply(&root_a, &scaled(&left_vectors(&middle, &right.v), 1.0 / ratio));
    transform(&mut factors.a, &map_a, exec)?;
    transform(&mut factors.s, &map_s, exec)
}

/// The left singular vectors of given right ones; zero for singular values of zero.
fn left_vectors(middle: &Matrix, right: &Matrix) -> Matrix {
    let mut images = multiply(middle, right);
    let c = images.n_cols();
    for k in 0..c {
        let norm = (0..c).map(|i| images[(i, k)] * images[(i, k)]).sum::<f64>().sqrt();
        if norm > 0.0 {
            (0..c).for_each(|i| images[(i, k)] /= norm);
        }
    }
    images
}

/// `R` with `R'R = G`.
fn square_root(g: &Matrix) -> Result<Matrix> {
    let decomposed = eigh(g)?;
    let c = g.n_rows();
    Ok(Matrix::from_fn(c, c, |i, j| decomposed.values[i].max(0.0).sqrt() * decomposed.vectors[(j, i)]))
}

/// Multiplies the components of every row by `map`, shape (c, c).
pub(crate) fn transform<T: Lane>(factor: &mut Factor<T>, map: &Matrix, exec: &Exec<'_>) -> Result<()> {
    let c = map.n_rows();
    factor.map_rows(exec, |_, row| {
        let old: Vec<f64> = row[..c].iter().map(|x| x.to_f64()).collect();
        for (k, x) in row[..c].iter_mut().enumerate() {
            *x = T::from_f64((0..c).map(|l| old[l] * map[(l, k)]).sum());
        }
    })
}

/// The penalty terms of both factors.
pub(crate) fn penalties<T: Lane>(
    problem: &Objective<'_, T>,
    factors: &Factors<T>,
    exec: &Exec<'_>,
) -> Result<f64> {
    Ok(problem.side_penalty(FactorSide::Scores, factors, exec)?
        + problem.side_penalty(FactorSide::Loadings, factors, exec)?)
}
