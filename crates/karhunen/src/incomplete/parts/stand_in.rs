//! A few rows of scores with the moments of all.

use std::sync::Arc;

use crate::error::Result;
use crate::incomplete::factors::objective::Diagonal;
use crate::incomplete::factors::{Factor, Factors};
use crate::incomplete::parts::{NormalSums, ScorePenalty};
use crate::linalg::Matrix;
use crate::linalg::decomp::eigh::eigh;
use crate::linalg::simd::Lane;

/// Scores that give the same penalties, gauge steps and rotations as the scores of all rows: penalties are quadratic in
/// the scores, and so only their first two moments matter. For penalties per entry other rows stand first, with the
/// moments of these penalties; rows for the moments of the scores follow, without a penalty.
pub(crate) fn stand_in<T: Lane>(sums: &NormalSums, per_entry: bool) -> Result<Factor<T>> {
    let mut rows = Vec::new();
    let mut multiplicity = Vec::new();
    let of_penalties = per_entry.then_some(&sums.scores_per_entry);
    for moments in of_penalties.into_iter().chain([&sums.scores]) {
        let (of_moments, each) = rows_with(moments)?;
        multiplicity.extend(vec![each; of_moments.n_rows()]);
        rows.extend(of_moments.into_vec());
    }
    Ok(factor(rows, multiplicity, sums.n_components()))
}

/// As [`stand_in`], for given moments of the scores and without penalties.
pub(crate) fn with_moments<T: Lane>(moments: &Matrix) -> Result<Factor<T>> {
    let (rows, each) = rows_with(moments)?;
    let (n, c) = rows.shape();
    Ok(factor(rows.into_vec(), vec![each; n], c))
}

/// The rows of [`stand_in`] with the moments of the scores.
pub(crate) fn without_penalty_rows<T: Lane>(scores: &Factor<T>, c: usize) -> Factor<T> {
    let first = scores.n_rows() - 2 * c;
    let rows = (first..scores.n_rows()).flat_map(|i| scores.row(i)[..c].iter().map(|x| x.to_f64()));
    let multiplicity = scores.multiplicity().map_or_else(|| vec![1.0; 2 * c], |m| m[first..].to_vec());
    factor(rows.collect(), multiplicity, c)
}

/// The penalties of the rows of [`stand_in`].
pub(crate) fn penalties(penalty: ScorePenalty, c: usize) -> Diagonal {
    if penalty.per_entry {
        Diagonal::ByRow((0..4 * c).map(|i| if i < 2 * c { penalty.size } else { 0.0 }).collect())
    } else {
        Diagonal::Same(penalty.size)
    }
}

/// `2 c` rows of equal multiplicity with given sums of `(s, 1) (s, 1)'`: the mean of the scores, plus and minus
/// multiples of the principal axes of their covariance (the sigma points of Julier & Uhlmann 1997).
fn rows_with(moments: &Matrix) -> Result<(Matrix, f64)> {
    let c = moments.n_rows() - 1;
    let total = moments[(c, c)];
    if total == 0.0 {
        return Ok((Matrix::zeros(2 * c, c), 0.0));
    }
    let mean: Vec<f64> = (0..c).map(|k| moments[(k, c)] / total).collect();
    let axes = eigh(&Matrix::from_fn(c, c, |k, l| moments[(k, l)] / total - mean[k] * mean[l]))?;
    let length = |at: usize| (c as f64 * axes.values[at].max(0.0)).sqrt();
    let rows = Matrix::from_fn(2 * c, c, |i, k| {
        let sign = if i < c { 1.0 } else { -1.0 };
        mean[k] + sign * length(i % c) * axes.vectors[(k, i % c)]
    });
    Ok((rows, total / (2 * c) as f64))
}

fn factor<T: Lane>(rows: Vec<f64>, multiplicity: Vec<f64>, c: usize) -> Factor<T> {
    let n = multiplicity.len();
    let rows = Matrix::from_fn(n, c, |i, k| rows[i * c + k]);
    let multiplicity: Arc<[f64]> = multiplicity.into();
    Factors::<T>::new(&Matrix::zeros(0, c), &rows, &[]).s.with_multiplicity(Some(&multiplicity))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::dense::small::t_multiply;
    use crate::testing::test_matrices::{gaussian, max_difference};

    #[test]
    fn rows_have_the_moments_of_all() {
        for (n, c) in [(50, 3), (2, 4), (1, 1), (30, 1)] {
            let x = gaussian(n, c + 1, 3, 0);
            let with_one = |x: &Matrix| {
                Matrix::from_fn(x.n_rows(), c + 1, |i, k| if k < c { x[(i, k)] + k as f64 } else { 1.0 })
            };
            let all = with_one(&x);
            let moments = t_multiply(&all, &all);
            let (rows, each) = rows_with(&moments).unwrap();
            assert_eq!(rows.shape(), (2 * c, c));
            let rows = Matrix::from_fn(2 * c, c + 1, |i, k| if k < c { rows[(i, k)] } else { 1.0 });
            let mut found = t_multiply(&rows, &rows);
            found.scale(each);
            assert!(max_difference(&found, &moments) < 1e-12 * n as f64 * (c * c) as f64);
        }
    }
}
