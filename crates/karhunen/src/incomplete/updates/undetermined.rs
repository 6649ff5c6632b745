//! Values that the entries leave open under least squares (`docs/missing-values.md`): scores of rows with fewer entries
//! than components, loadings of features with one entry.

use crate::error::Result;
use crate::exec::{Accumulate, Exec};
use crate::incomplete::factors::objective::Objective;
use crate::incomplete::factors::{Factor, FactorSide, Factors};
use crate::incomplete::passes::least_norm::Range;
use crate::linalg::Matrix;
use crate::linalg::decomp::cholesky::{BLOCK, Upper};
use crate::linalg::simd::Lane;

/// Number of rows per piece of work.
const ROWS: usize = 256;

/// Makes the one entry of a feature its mean, where means are fitted without a prior, and its loadings zero. That is the
/// limit of alternating least squares, in which the share of the loadings falls with every sweep; a new row that holds
/// little but this feature would have scores that are as large as these loadings are small.
pub(crate) fn leave_single_entries_to_means<T: Lane>(
    problem: &Objective<'_, T>,
    factors: &mut Factors<T>,
    exec: &Exec<'_>,
) -> Result<()> {
    if !problem.mean.is_free() {
        return Ok(());
    }
    let (c, free, lines) = (problem.c, problem.free(), problem.lines(FactorSide::Loadings));
    let (scores, fixed) = (&factors.s, problem.fixed());
    factors.a.map_rows(exec, |j, row| {
        let entry = lines.line(j);
        if let (&[i], &[value]) = (entry.indices, entry.values) {
            let offset = fixed.map_or(0.0, |fixed| scores.row(i as usize)[fixed].to_f64());
            row[..free].fill(T::default());
            row[c] = T::from_f64(value.to_f64() - offset);
        }
    })
}

/// Replaces the scores, and offsets, that the entries of their rows do not determine with scores and offsets of least
/// norm, given principal components, of which `inactive` ones take no part; returns false if there are none. With
/// fitted means the norm is taken about the mean of the scores, which `principal` then subtracts: `transform` gives the
/// same scores.
pub(crate) fn take_least_norm<T: Lane>(
    problem: &Objective<'_, T>,
    factors: &mut Factors<T>,
    inactive: &[bool],
    exec: &Exec<'_>,
) -> Result<bool> {
    let is_heard = |k: &usize| !inactive.get(*k).is_some_and(|inactive| *inactive);
    let heard: Vec<usize> = (0..problem.c).filter(is_heard).collect();
    let rows = Undetermined { problem, loadings: &factors.a, heard: &heard };
    let m = heard.len();
    let n = factors.s.n_rows();
    let origin = vec![0.0; m];
    let sums = exec.fold(
        n.div_ceil(ROWS),
        || Sums { of_projections: Matrix::zeros(m, m), of_scores: vec![0.0; m], any: false },
        |piece, sums| {
            for i in piece * ROWS..((piece + 1) * ROWS).min(n) {
                let multiplicity = factors.s.multiplicity().map_or(1.0, |multiplicity| multiplicity[i]);
                if let Some(equations) = rows.equations(i, &origin) {
                    let found = equations.solve(Some((multiplicity, &mut sums.of_projections)))?;
                    sums.add(multiplicity, found);
                    sums.any = true;
                } else if problem.data.rows().count(i) > 0 {
                    sums.add(multiplicity, heard.iter().map(|k| factors.s.row(i)[*k].to_f64()));
                    (0..m).for_each(|k| sums.of_projections[(k, k)] += multiplicity);
                }
            }
            Ok(())
        },
    )?;
    if !sums.any {
        return Ok(false);
    }
    let mean = if problem.mean.joint { sums.mean()? } else { origin };
    let width = factors.s.width();
    exec.fill(factors.s.as_mut_slice(), ROWS * width, |piece, out| {
        for (at, row) in out.chunks_exact_mut(width).enumerate() {
            if let Some(equations) = rows.equations(piece * ROWS + at, &mean) {
                let found = equations.solve(None)?;
                heard.iter().zip(found).zip(&mean).for_each(|((k, s), m)| row[*k] = T::from_f64(s + m));
            }
        }
        Ok(())
    })?;
    Ok(true)
}

/// The rows with fewer entries than scores.
struct Undetermined<'a, T> {
    problem: &'a Objective<'a, T>,
    loadings: &'a Factor<T>,
    /// The unknowns of a row.
    heard: &'a [usize],
}

impl<T: Lane> Undetermined<'_, T> {
    /// The equations of row `i` for its scores less `origin`, of entries whose loadings are not all zero; `None` if they are
    /// as many as the scores, or the row has no entries.
    fn equations(&self, i: usize, origin: &[f64]) -> Option<Equations> {
        let (m, c, entries) = (self.heard.len(), self.problem.c, self.problem.data.rows().line(i));
        let loadings = |e: usize| self.loadings.row(entries.indices[e] as usize);
        let counts = |e: &usize| self.heard.iter().any(|k| loadings(*e)[*k].to_f64() != 0.0);
        let n_entries = entries.indices.len();
        let counted: Vec<usize> = (0..n_entries).filter(counts).take(m).collect();
        if n_entries == 0 || counted.len() == m {
            return None;
        }
        let z = Matrix::from_fn(counted.len(), m, |e, k| loadings(counted[e])[self.heard[k]].to_f64());
        let y = counted.iter().enumerate().map(|(at, &e)| {
            let fitted = loadings(e)[c].to_f64() + dot(z.row(at), origin);
            entries.values[e].to_f64() - fitted
        });
        let weight = |e: &usize| entries.weights.map_or(1.0, |weights| weights[*e].to_f64());
        Some(Equations { y: y.collect(), weights: counted.iter().map(weight).collect(), z })
    }
}

/// Fewer equations `Z s = y` than unknowns.
struct Equations {
    /// Shape (d, m).
    z: Matrix,
    y: Vec<f64>,
    /// Weights of the equations, which matter if these depend on each other.
    weights: Vec<f64>,
}

impl Equations {
    /// The solution of least norm. Adds the projection on what the equations determine, `Z'(ZZ')^-1 Z`, times a factor, to
    /// `projections`.
    fn solve(mut self, projections: Option<(f64, &mut Matrix)>) -> Result<Vec<f64>> {
        let (d, m) = self.z.shape();
        if d == 0 {
            return Ok(vec![0.0; m]);
        }
        let stride = d.next_multiple_of(BLOCK);
        let mut products = vec![0.0; d * stride];
        for e in 0..d {
            for f in e..d {
                products[e * stride + f] = dot(self.z.row(e), self.z.row(f));
            }
        }
        let mut gram = Upper { values: &mut products, m: d, stride };
        if !gram.factorize() {
            return self.solve_dependent(projections);
        }
        if let Some((factor, sum)) = projections {
            for k in 0..m {
                let mut column: Vec<f64> = (0..d).map(|e| self.z[(e, k)]).collect();
                gram.solve(&mut column);
                self.add_combination(factor, &column, sum.row_mut(k));
            }
        }
        gram.solve(&mut self.y);
        let mut found = vec![0.0; m];
        self.add_combination(1.0, &self.y, &mut found);
        Ok(found)
    }

    /// As [`Equations::solve`], by least squares, if equations depend on each other to rounding.
    fn solve_dependent(&self, projections: Option<(f64, &mut Matrix)>) -> Result<Vec<f64>> {
        let (d, m) = self.z.shape();
        let (mut g, mut b) = (Matrix::zeros(m, m), vec![0.0; m]);
        for e in 0..d {
            for (k, b) in b.iter_mut().enumerate() {
                let factor = self.weights[e] * self.z[(e, k)];
                *b += factor * self.y[e];
                g.row_mut(k).iter_mut().zip(self.z.row(e)).for_each(|(g, z)| *g += factor * z);
            }
        }
        let range = Range::of(&g)?;
        if let Some((factor, sum)) = projections {
            for k in 0..m {
                (0..m).for_each(|l| sum[(k, l)] += factor * range.projection(k, l));
            }
        }
        range.solve(&mut b);
        Ok(b)
    }

    /// Adds the rows of `Z`, times `factors` and `factor`, to `sum`.
    fn add_combination(&self, factor: f64, factors: &[f64], sum: &mut [f64]) {
        for (e, own) in factors.iter().enumerate() {
            sum.iter_mut().zip(self.z.row(e)).for_each(|(sum, z)| *sum += factor * own * z);
        }
    }
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// Sums over the rows with entries.
struct Sums {
    /// Of the projections on what the entries determine.
    of_projections: Matrix,
    /// Of the scores; scores that are not determined have least norm about zero.
    of_scores: Vec<f64>,
    /// True if the scores of any row are not determined.
    any: bool,
}

impl Sums {
    fn add(&mut self, multiplicity: f64, scores: impl IntoIterator<Item = f64>) {
        self.of_scores.iter_mut().zip(scores).for_each(|(sum, s)| *sum += multiplicity * s);
    }

    /// The mean `m` of the scores that are of least norm about it: the scores of a row are `s + (I - P) m`, with `s` of
    /// least norm about zero and `P` the projection, so `sum P m = sum s`. Zero along what no row determines.
    fn mean(&self) -> Result<Vec<f64>> {
        let mut mean = self.of_scores.clone();
        Range::of(&self.of_projections)?.solve(&mut mean);
        Ok(mean)
    }
}

impl Accumulate for Sums {
    fn reset(&mut self) {
        self.of_projections.as_mut_slice().fill(0.0);
        self.of_scores.fill(0.0);
        self.any = false;
    }

    fn merge(&mut self, other: &Self) {
        let add = |sums: &mut [f64], more: &[f64]| sums.iter_mut().zip(more).for_each(|(a, b)| *a += b);
        add(self.of_projections.as_mut_slice(), other.of_projections.as_slice());
        add(&mut self.of_scores, &other.of_scores);
        self.any |= other.any;
    }
}
