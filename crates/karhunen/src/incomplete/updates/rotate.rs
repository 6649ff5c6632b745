//! From fitted factors to principal components, orthonormal directions in order of variance
//! (`docs/missing-values.md`).

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::factors::objective::Objective;
use crate::incomplete::factors::{Factor, Factors};
use crate::incomplete::updates::explained::{is_inactive, of_scores};
use crate::incomplete::updates::invariance::move_loadings;
use crate::linalg::Matrix;
use crate::linalg::decomp::orthonormal::orthonormalize;
use crate::linalg::decomp::svd::svd;
use crate::linalg::dense::small::{multiply, t_multiply};
use crate::linalg::normals::gaussian;
use crate::linalg::simd::Lane;
use crate::random::Purpose;
use crate::scalar::{Scalar, largest};

/// The principal components of a fit, and the linear map from the fitted factors to them.
#[derive(Clone, Debug)]
pub(crate) struct Rotated {
    /// Orthonormal columns, shape (n_features, c).
    pub(crate) loadings: Matrix,
    /// Orthogonal columns (weighted by multiplicity), shape (n_samples, c).
    pub(crate) scores: Matrix,
    pub(crate) mean: Vec<f64>,
    /// Norms of the columns of the scores, descending.
    pub(crate) singular_values: Vec<f64>,
    /// `W`, square: scores (and offsets) of components are the fitted ones, less `shift`, times `W`.
    pub(crate) of_scores: Matrix,
    /// `W^-T`, the map of the fitted loadings; zero for components without variance.
    pub(crate) of_loadings: Matrix,
    /// Mean subtracted from the fitted scores.
    pub(crate) shift: Vec<f64>,
    /// The row offsets, if any.
    pub(crate) offsets: Option<Vec<f64>>,
}

impl Rotated {
    /// The factors, with the row offsets.
    pub(crate) fn factors<T: Lane>(&self) -> Factors<T> {
        Factors::with_offsets(&self.loadings, &self.scores, &self.mean, self.offsets.as_deref())
    }

    /// Image of fitted scores and offsets of zero. With `free` means, and one prior for all rows, it is zero: the shift is
    /// what the fit was short of the optimum, where scores are zero on average.
    pub(crate) fn prior_mean(&self, free: bool) -> Vec<f64> {
        if free {
            return vec![0.0; self.shift.len()];
        }
        let shifted = Matrix::from_fn(1, self.shift.len(), |_, k| -self.shift[k]);
        // Adding zero removes negative zeros.
        multiply(&shifted, &self.of_scores).into_vec().into_iter().map(|x| x + 0.0).collect()
    }

    /// Sets components to zero whose variance is negligible compared with the noise of an entry of mean weight, or
    /// whose singular value is rounding compared with the first: the rotation would amplify that rounding, also for new
    /// rows. Returns which ones are inactive.
    pub(crate) fn deactivate(&mut self, samples: f64, noise: f64) -> Vec<bool> {
        let least = least(&self.singular_values);
        let of_means = of_scores(&self.singular_values, samples);
        let inactive = |(d, variance): (&f64, &f64)| *d <= least || is_inactive(*variance, noise);
        let inactive: Vec<bool> = self.singular_values.iter().zip(&of_means).map(inactive).collect();
        for k in (0..inactive.len()).filter(|k| inactive[*k]) {
            self.singular_values[k] = 0.0;
            (0..self.scores.n_rows()).for_each(|i| self.scores[(i, k)] = 0.0);
        }
        inactive
    }

    /// Reorders the components.
    pub(crate) fn reorder(&mut self, order: &[usize]) {
        let columns = |x: &Matrix| {
            let from = |k: usize| order.get(k).copied().unwrap_or(k);
            Matrix::from_fn(x.n_rows(), x.n_cols(), |i, k| x[(i, from(k))])
        };
        for matrix in [&mut self.loadings, &mut self.scores, &mut self.of_scores, &mut self.of_loadings] {
            *matrix = columns(matrix);
        }
        self.singular_values = order.iter().map(|k| self.singular_values[*k]).collect();
    }

    /// The map of the fitted loadings of `free` components.
    pub(crate) fn of_free_loadings(&self, free: usize) -> Matrix {
        Matrix::from_fn(free, free, |k, l| self.of_loadings[(k, l)])
    }

    /// The map of the fitted scores of `free` components.
    pub(crate) fn of_free_scores(&self, free: usize) -> Matrix {
        Matrix::from_fn(free, free, |k, l| self.of_scores[(k, l)])
    }
}

/// The principal components of a fit. With row offsets the loadings sum to zero: the common part of a row is its
/// offset. With a fitted mean the offsets sum to zero over rows with entries, and so do scores if `centre`; rows without
/// entries are at the mean then.
pub(crate) fn principal<T: Lane>(
    problem: &Objective<'_, T>,
    factors: &mut Factors<T>,
    centre: bool,
    exec: &Exec<'_>,
) -> Result<Rotated> {
    let free = problem.free();
    let shift = if centre { centre_of(problem, factors, exec)? } else { vec![0.0; free] };
    let Some(fixed) = problem.fixed() else { return rotate(factors, free, shift, exec) };
    let seen = |j: usize| problem.data.n_observed_in_column(j) > 0;
    let sums = factors.a.sum_rows(free + 1, exec, |j, row, sums| {
        if seen(j) {
            sums.iter_mut()
                .zip(row[..free].iter().map(|a| a.to_f64()).chain([1.0]))
                .for_each(|(s, x)| *s += x);
        }
    })?;
    let loading_shift: Vec<f64> = sums[..free].iter().map(|sum| -sum / sums[free]).collect();
    move_loadings(problem, factors, &loading_shift, exec)?;
    let mut rotated = rotate(factors, free, shift, exec)?;
    let mut offsets = factors.scores_of(fixed);
    let mut shift = 0.0;
    if problem.mean.joint {
        let rows = problem.data.rows();
        let sums = factors.s.sum_rows(2, exec, |i, row, sums| {
            if rows.count(i) > 0 {
                sums[0] += row[fixed].to_f64();
                sums[1] += 1.0;
            }
        })?;
        shift = sums[0] / sums[1];
        for (i, b) in offsets.iter_mut().enumerate() {
            *b = if rows.count(i) > 0 { *b - shift } else { 0.0 };
        }
        rotated.mean.iter_mut().for_each(|mean| *mean += shift);
    }
    // In the fitted coordinates the offset was b + loading_shift.s: W has a column (-loading_shift, 1).
    let (of_scores, of_loadings) = (&rotated.of_scores, &rotated.of_loadings);
    let along = |l: usize| (0..free).map(|k| loading_shift[k] * of_loadings[(k, l)]).sum::<f64>();
    let w = Matrix::from_fn(free + 1, free + 1, |k, l| match (k < free, l < free) {
        (true, true) => of_scores[(k, l)],
        (true, false) => -loading_shift[k],
        (false, true) => 0.0,
        (false, false) => 1.0,
    });
    let inverse = Matrix::from_fn(free + 1, free + 1, |k, l| match (k < free, l < free) {
        (true, true) => of_loadings[(k, l)],
        (true, false) => 0.0,
        (false, true) => along(l),
        (false, false) => 1.0,
    });
    let of_loading_shift: f64 =
        loading_shift.iter().zip(&rotated.shift).map(|(loading_shift, m)| loading_shift * m).sum();
    rotated.shift.push(shift + of_loading_shift);
    Ok(Rotated { of_scores: w, of_loadings: inverse, offsets: Some(offsets), ..rotated })
}

/// Returns the mean of the scores of the rows with entries, and sets the scores of the other rows to it.
fn centre_of<T: Lane>(
    problem: &Objective<'_, T>,
    factors: &mut Factors<T>,
    exec: &Exec<'_>,
) -> Result<Vec<f64>> {
    let (free, rows) = (problem.free(), problem.data.rows());
    let seen = |i: usize| rows.count(i) > 0;
    let mean = mean_of_scores(&factors.s, free, seen, exec)?;
    factors.s.map_rows(exec, |i, row| {
        if !seen(i) {
            row.iter_mut().zip(&mean).for_each(|(s, m)| *s = T::from_f64(*m));
        }
    })?;
    Ok(mean)
}

/// The mean of the first `c` scores over the rows that `counts` names.
pub(crate) fn mean_of_scores<T: Scalar>(
    scores: &Factor<T>,
    c: usize,
    counts: impl Fn(usize) -> bool + Sync,
    exec: &Exec<'_>,
) -> Result<Vec<f64>> {
    let sums = scores.sum_rows(c + 1, exec, |i, row, sums| {
        if counts(i) {
            sums.iter_mut().zip(row[..c].iter().map(|x| x.to_f64()).chain([1.0])).for_each(|(s, x)| *s += x);
        }
    })?;
    Ok(sums[..c].iter().map(|sum| if sums[c] > 0.0 { sum / sums[c] } else { 0.0 }).collect())
}

/// Rotates the first `c` components, after subtracting `shift` from their scores. Offsets are unchanged.
pub(crate) fn rotate<T: Scalar>(
    factors: &Factors<T>,
    c: usize,
    shift: Vec<f64>,
    exec: &Exec<'_>,
) -> Result<Rotated> {
    let (n, p) = (factors.s.n_rows(), factors.a.n_rows());
    let a = factors.a.to_matrix(c);
    let s = Matrix::from_fn(n, c, |i, k| factors.s.row(i)[k].to_f64() - shift[k]);
    let mut mean = factors.mean();
    for (mean, row) in mean.iter_mut().zip(a.as_slice().chunks_exact(c)) {
        *mean += row.iter().zip(&shift).map(|(a, m)| a * m).sum::<f64>();
    }
    let without_loadings: Vec<usize> = (0..p).filter(|j| a.row(*j).iter().all(|a| *a == 0.0)).collect();
    let (qa, ra) = triangle(a, exec)?;
    // A row of multiplicity m is as long as m repetitions together.
    let long = factors
        .s
        .multiplicity()
        .map(|multiplicity| Matrix::from_fn(n, c, |i, k| multiplicity[i].sqrt() * s[(i, k)]));
    let (qs, rs) = triangle(long.clone().unwrap_or_else(|| s.clone()), exec)?;
    // S A' = Qs Rs Ra' Qa' = (Qs V) D (Qa U)', where Ra Rs' = U D V'.
    let middle = multiply(&ra, &rs.transposed());
    let decomposed = svd(&middle)?;
    let (d, v) = (decomposed.s, decomposed.v);
    let u = left_vectors(multiply(&middle, &v), &d, exec)?;
    let mut loadings = multiply(&qa, &u);
    let mut scores = match &long {
        None => multiply(&qs, &v),
        // S W = Q_s V D for the repeated rows, and so for each of them.
        Some(_) => multiply(&s, &multiply(&ra.transposed(), &u)),
    };
    let mut of_scores = multiply(&ra.transposed(), &u);
    let mut of_loadings = multiply(&rs.transposed(), &v);
    let least = least(&d);
    // Components without variance alone may lie along features without loadings.
    for k in (0..c).filter(|k| d[*k] > least) {
        without_loadings.iter().for_each(|j| loadings[(*j, k)] = 0.0);
    }
    for k in 0..c {
        let sign = sign((0..p).map(|j| loadings[(j, k)]));
        (0..p).for_each(|j| loadings[(j, k)] *= sign);
        let length = if long.is_some() { 1.0 } else { d[k] };
        (0..n).for_each(|i| scores[(i, k)] *= sign * length);
        let inverse = if d[k] > least { sign / d[k] } else { 0.0 };
        (0..c).for_each(|l| {
            of_scores[(l, k)] *= sign;
            of_loadings[(l, k)] *= inverse;
        });
    }
    Ok(Rotated { loadings, scores, mean, singular_values: d, of_scores, of_loadings, shift, offsets: None })
}

/// Largest singular value that is zero to rounding; above it, rounding is at most a sixteenth of a direction.
fn least(singular_values: &[f64]) -> f64 {
    largest(singular_values.iter().copied()) * 16.0 * f64::EPSILON * singular_values.len() as f64
}

/// `X = Q R` with orthonormal columns of `Q`; random columns complete a small or deficient `X`.
fn triangle(x: Matrix, exec: &Exec<'_>) -> Result<(Matrix, Matrix)> {
    let (rows, c) = x.shape();
    if rows >= c {
        let result = orthonormalize(x, 0, exec)?;
        return Ok((result.q, result.r));
    }
    // Rows of zeros make the matrix square.
    let tall = Matrix::from_fn(c, c, |i, k| if i < rows { x[(i, k)] } else { 0.0 });
    let result = orthonormalize(tall, 0, exec)?;
    Ok((result.q.rows(0..rows), result.r))
}

/// `U` of `M V = U D`, `D` descending. Singular values of zero to rounding get any directions orthogonal to the
/// others, which are orthonormalised first: dependent columns would distort them.
fn left_vectors(mv: Matrix, d: &[f64], exec: &Exec<'_>) -> Result<Matrix> {
    let (c, least) = (d.len(), least(d));
    let known = d.iter().take_while(|d| **d > least).count();
    let scaled = Matrix::from_fn(c, known, |i, k| mv[(i, k)] / d[k]);
    let mut first = orthonormalize(scaled.clone(), 1, exec)?.q;
    let overlap = t_multiply(&first, &scaled);
    for k in (0..known).filter(|k| overlap[(*k, *k)] < 0.0) {
        (0..c).for_each(|i| first[(i, k)] *= -1.0);
    }
    if known == c {
        return Ok(first);
    }
    let mut rest = gaussian(c, c - known, Purpose::Completion.of(0));
    // Two rounds of orthogonalization suffice.
    for _ in 0..2 {
        let inside = multiply(&first, &t_multiply(&first, &rest));
        rest.as_mut_slice().iter_mut().zip(inside.as_slice()).for_each(|(x, inside)| *x -= inside);
    }
    let rest = orthonormalize(rest, 1, exec)?.q;
    Ok(Matrix::from_fn(c, c, |i, k| if k < known { first[(i, k)] } else { rest[(i, k - known)] }))
}

/// The sign that makes the entry of largest absolute value positive; the first such entry decides ties.
fn sign(values: impl Iterator<Item = f64> + Clone) -> f64 {
    const TIE: f64 = 1e-10;
    let largest = largest(values.clone().map(f64::abs));
    match values.into_iter().find(|x| x.abs() >= largest * (1.0 - TIE)) {
        Some(x) if x < 0.0 => -1.0,
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::test_matrices::gaussian;
    use crate::testing::test_matrices::max_difference;

    #[test]
    fn predictions_survive_components_that_have_died() {
        let exec = Exec::sequential();
        for faded in [0.0, 1e-16, 1e-13, 1e-8] {
            let (mut a, mut s) = (gaussian(9, 4, 1, 0), gaussian(20, 4, 2, 0));
            (0..9).for_each(|j| a[(j, 1)] *= faded);
            (0..20).for_each(|i| s[(i, 1)] *= faded);
            let factors: Factors<f64> = Factors::new(&a, &s, &[0.5; 9]);
            let rotated = rotate(&factors, 4, vec![0.0; 4], &exec).unwrap();
            let (before, after) =
                (multiply(&s, &a.transposed()), multiply(&rotated.scores, &rotated.loadings.transposed()));
            let far = max_difference(&before, &after);
            assert!(far < 1e-12, "{faded:e}: {far:e}");
        }
    }
}
