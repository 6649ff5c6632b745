//! The posterior of a model, of every method that has one.

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::factors::covariances::Covariances;
use crate::incomplete::factors::objective::Objective;
use crate::incomplete::factors::prior::{NormalPrior, Prior};
use crate::incomplete::factors::state_arrays::{Arrays, flag, size};
use crate::incomplete::factors::{Factor, FactorSide, Factors};
use crate::incomplete::passes::moments::{Expected, moments_pass};
use crate::incomplete::updates::explained;
use crate::incomplete::updates::mean_posteriors::{restore_mean_prior, save_mean_prior};
use crate::incomplete::updates::rotate::{Rotated, principal};
use crate::incomplete::updates::row_posteriors::GivenLoadings;
use crate::incomplete::updates::score_moments::ScoreMoments;
use crate::incomplete::updates::score_posteriors::score_posteriors;
use crate::linalg::Matrix;
use crate::linalg::decomp::cholesky::{BLOCK, Upper};
use crate::linalg::dense::small::t_multiply;
use crate::linalg::simd::Lane;

/// Least noise variance, as a fraction of the mean square of the data.
pub(crate) const LEAST_NOISE: f64 = 1e-9;
/// Rows of covariances per piece of work.
const ROWS: usize = 64;

/// The posterior of loadings and means at the end of a fit; the posterior of the scores follows from it.
#[derive(Debug)]
pub(crate) struct Posterior<T> {
    /// `v_x`.
    pub(crate) noise: f64,
    /// Noise variance over the prior variance of each score.
    pub(crate) score_penalty: Vec<f64>,
    /// Expected values of the loadings, see [`Expected`].
    pub(crate) table: Factor<T>,
    /// True if the loadings are point estimates; their covariances are then computed at the end.
    pub(crate) point: bool,
    /// True if the prior of the scores was fixed, and not learned from the data.
    pub(crate) fixed: bool,
    /// The prior of the means, if it was learned.
    pub(crate) mean_prior: Option<NormalPrior>,
}

/// A posterior in the coordinates of the principal components.
pub(crate) struct Rotation {
    pub(crate) rotated: Rotated,
    /// Expected variance along each component, descending.
    pub(crate) explained: Vec<f64>,
    pub(crate) prior: Prior,
    pub(crate) scores: Option<Covariances>,
    pub(crate) loadings: Covariances,
}

impl<T: Lane> Posterior<T> {
    pub(crate) fn save(&self) -> Arrays {
        let mut out = Arrays::default();
        let flag = |x: bool| f64::from(u8::from(x));
        out.put("noise", [self.noise, flag(self.point), flag(self.fixed)]);
        out.put("score_penalty", self.score_penalty.as_slice());
        out.put_factor("table", &self.table);
        save_mean_prior(self.mean_prior, &mut out);
        out
    }

    /// Reads the arrays of [`Posterior::save`], for `p` features and `c` components.
    pub(crate) fn restore(from: &mut Arrays, p: usize, c: usize) -> Result<Self> {
        let [noise, point, fixed] = from.take_array("noise")?;
        let score_penalty = from.take_sizes("score_penalty", c)?;
        let table = from.take_factor("table", p, Expected::new::<T>(c).width)?;
        Ok(Self {
            noise: size("noise", noise)?,
            score_penalty,
            table,
            point: flag("noise", point)?,
            fixed: flag("noise", fixed)?,
            mean_prior: restore_mean_prior(from)?,
        })
    }

    /// The posterior of the loadings and the prior of the scores.
    pub(crate) fn given(&self) -> GivenLoadings<'_, T> {
        GivenLoadings { table: &self.table, penalty: &self.score_penalty, noise: self.noise }
    }

    /// Posterior of the scores given the loadings, in the coordinates of the principal components.
    pub(crate) fn rotate(
        &self,
        problem: &Objective<'_, T>,
        mut factors: Factors<T>,
        keep_scores: bool,
        exec: &Exec<'_>,
    ) -> Result<Rotation> {
        let c = problem.c;
        let GivenLoadings { table, penalty, noise } = self.given();
        let (expected, _) = score_posteriors(problem, &mut factors, table, penalty, noise, None, exec)?;
        let moments = ScoreMoments::of(&expected, c, exec)?;
        let of_point =
            if self.point { Some(self.moments_of_points(problem, &expected, exec)?) } else { None };
        let table = of_point.as_ref().unwrap_or(&self.table);
        let given = (&moments, table, problem.data.mean_weight());
        let mut rotation = self.rotate_given(problem, factors, given, exec)?;
        if keep_scores {
            let map = &rotation.rotated.of_scores;
            // Components may have vanished, and offsets may vary more.
            let size = rotation.explained.first().map_or(noise, |variance| variance.max(noise));
            rotation.scores = Some(covariances(&expected, Expected::new::<T>(c), map, size, exec)?);
        }
        Ok(rotation)
    }

    /// As [`Posterior::rotate`], from means of scores in the factors, which may stand in for the means of all rows,
    /// their expected moments, expected values of the loadings, and the mean weight of the entries. Score covariances
    /// are left out.
    pub(crate) fn rotate_given(
        &self,
        problem: &Objective<'_, T>,
        mut factors: Factors<T>,
        (moments, table, mean_weight): (&ScoreMoments, &Factor<T>, f64),
        exec: &Exec<'_>,
    ) -> Result<Rotation> {
        let c = problem.c;
        let mut rotated = principal(problem, &mut factors, false, exec)?;
        let explained = self.explained(problem, (moments, self.noise / mean_weight), &mut rotated, exec)?;
        let scaled = Matrix::from_fn(c, c, |l, k| self.score_penalty[l] * rotated.of_loadings[(l, k)]);
        let prior = Prior {
            precision: t_multiply(&rotated.of_loadings, &scaled),
            per_entry: false,
            mean: rotated.prior_mean(false),
        };
        let map = rotated.of_free_loadings(problem.free());
        let loadings = covariances(table, Expected::new::<T>(c), &map, 1.0, exec)?;
        Ok(Rotation { rotated, explained, prior, scores: None, loadings })
    }

    /// Sorts the principal components by `(1/n) sum_i E s_ik^2 sum_j E v_jk^2`, which is returned. Under a fixed
    /// prior returns the variance of the mean scores, because posterior variances would add the variance of the prior.
    /// `noise` refers to an entry of mean weight.
    fn explained(
        &self,
        problem: &Objective<'_, T>,
        (of_scores, noise): (&ScoreMoments, f64),
        rotated: &mut Rotated,
        exec: &Exec<'_>,
    ) -> Result<Vec<f64>> {
        let (c, free) = (problem.c, problem.free());
        let layout = Expected::new::<T>(c);
        let of_means = explained::of_scores(&rotated.singular_values, of_scores.n);
        if self.fixed {
            return Ok(of_means);
        }
        let covariances = self.table.sum_rows(free * free, exec, |_, row, sums| {
            for k in 0..free {
                for l in 0..free {
                    let moment = row[layout.at(k.max(l), k.min(l))].to_f64();
                    sums[k * free + l] += moment - row[k].to_f64() * row[l].to_f64();
                }
            }
        })?;
        let form = |m: &Matrix, k: usize, n: usize, g: &dyn Fn(usize, usize) -> f64| -> f64 {
            (0..n).map(|i| m[(i, k)] * (0..n).map(|j| g(i, j) * m[(j, k)]).sum::<f64>()).sum()
        };
        let mut explained: Vec<f64> = (0..free)
            .map(|k| {
                if explained::is_inactive(of_means[k], noise) {
                    return 0.0;
                }
                let of_scores =
                    form(&rotated.of_scores, k, c, &|i, j| of_scores.second[(i, j)]) / of_scores.n;
                // Principal components have unit length.
                let variance = form(&rotated.of_loadings, k, free, &|i, j| covariances[i * free + j]);
                of_scores * (1.0 + variance.max(0.0))
            })
            .collect();
        let mut order: Vec<usize> = (0..free).collect();
        order.sort_by(|k, l| explained[*l].total_cmp(&explained[*k]));
        if !order.is_sorted() {
            explained = order.iter().map(|k| explained[*k]).collect();
            rotated.reorder(&order);
        }
        Ok(explained)
    }

    /// Expected values of point estimates of the loadings given the scores, under a prior of their own variance.
    fn moments_of_points(
        &self,
        problem: &Objective<'_, T>,
        scores: &Factor<T>,
        exec: &Exec<'_>,
    ) -> Result<Factor<T>> {
        let c = problem.free();
        let layout = Expected::new::<T>(problem.c);
        let stride = c.next_multiple_of(BLOCK);
        let p = problem.data.n_features();
        let squares = self.table.sum_rows(c, exec, |_, row, sums| {
            (0..c).for_each(|k| sums[k] += row[layout.at(k, k)].to_f64() / p as f64);
        })?;
        let constants: Vec<T> = (0..p).map(|j| self.table.row(j)[problem.c]).collect();
        let mut out = Factor::zeros(p, layout.width);
        moments_pass(
            problem,
            FactorSide::Loadings,
            (scores, &constants),
            3 * c * stride,
            [out.as_rows()],
            exec,
            |line, acc, [row]| {
                let (sums, workspace) = acc.split_at_mut(layout.n_sums());
                let (g, workspace) = workspace.split_at_mut(c * stride);
                let (inverse, workspace) = workspace.split_at_mut(c * stride);
                for k in 0..c {
                    (k..c).for_each(|l| g[k * stride + l] = sums[layout.at(l, k)]);
                    g[k * stride + k] += self.noise / squares[k].max(f64::MIN_POSITIVE);
                }
                let mut phi = Upper { values: g, m: c, stride };
                inverse.fill(0.0);
                if phi.factorize() {
                    phi.invert(inverse, workspace);
                }
                row.copy_from_slice(self.table.row(line));
                for k in 0..c {
                    for l in 0..=k {
                        let at = layout.at(k, l);
                        row[at] = T::from_f64(row[at].to_f64() + self.noise * inverse[l * stride + k]);
                    }
                }
                Ok([])
            },
        )?;
        Ok(out)
    }
}

/// `M' (E zz' - z z') M` of every row, over as many leading values as `M` has rows, of variances of about `size`.
fn covariances<T: Lane>(
    table: &Factor<T>,
    layout: Expected,
    map: &Matrix,
    size: f64,
    exec: &Exec<'_>,
) -> Result<Covariances> {
    let c = map.n_rows();
    let (width, unit) = (c * (c + 1) / 2, Covariances::unit_of(size));
    let mut packed = vec![0.0f32; table.n_rows() * width];
    exec.fill(&mut packed, ROWS * width, |piece, out| {
        let mut product = Matrix::zeros(c, c);
        for (at, out) in out.chunks_exact_mut(width).enumerate() {
            let row = table.row(piece * ROWS + at);
            let covariance = |k: usize, l: usize| {
                let moment = row[layout.at(k.max(l), k.min(l))].to_f64() - row[k].to_f64() * row[l].to_f64();
                // Variances below rounding are zero.
                if k == l { moment.max(0.0) } else { moment }
            };
            product.as_mut_slice().fill(0.0);
            for k in 0..c {
                for l in 0..c {
                    let x = covariance(k, l);
                    let to = product.row_mut(k);
                    to.iter_mut().zip(map.row(l)).for_each(|(sum, m)| *sum += x * m);
                }
            }
            for k in 0..c {
                for l in 0..=k {
                    let sum: f64 = (0..c).map(|i| map[(i, k)] * product[(i, l)]).sum();
                    out[k * (k + 1) / 2 + l] = (sum / unit) as f32;
                }
            }
        }
        Ok(())
    })?;
    Ok(Covariances { n_components: c, packed, unit })
}

/// The factors without one component.
pub(crate) fn without_component<T: Lane>(factors: &Factors<T>, dropped: usize) -> Factors<T> {
    let c = factors.c;
    let kept = |factor: &Factor<T>| {
        Matrix::from_fn(factor.n_rows(), c - 1, |i, k| factor.row(i)[k + usize::from(k >= dropped)].to_f64())
    };
    Factors::new(&kept(&factors.a), &kept(&factors.s), &factors.mean())
        .with_multiplicity(factors.s.multiplicity())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::incomplete::updates::rotate::rotate;
    use crate::testing::test_matrices::gaussian;

    #[test]
    fn the_rotation_keeps_every_prediction() {
        let (a, s) = (gaussian(9, 3, 1, 0), gaussian(20, 3, 2, 0));
        let factors: Factors<f64> = Factors::new(&a, &s, &[0.5; 9]);
        let exec = Exec::sequential();
        for shift in [vec![0.0; 3], vec![0.5, -1.0, 2.0]] {
            let rotated = rotate(&factors, 3, shift, &exec).unwrap();
            for i in 0..20 {
                for j in 0..9 {
                    let before: f64 = 0.5 + (0..3).map(|k| a[(j, k)] * s[(i, k)]).sum::<f64>();
                    let products = (0..3).map(|k| rotated.loadings[(j, k)] * rotated.scores[(i, k)]);
                    assert!((before - rotated.mean[j] - products.sum::<f64>()).abs() < 1e-12);
                }
            }
        }
    }
}
