//! Values that the entries leave open under least squares (`docs/missing-values/model.md`): scores of rows with fewer entries
//! than components, loadings of features with one entry.

use crate::error::Result;
use crate::exec::{Accumulate, Exec};
use crate::incomplete::factors::objective::Objective;
use crate::incomplete::factors::{Factor, FactorSide, Factors};
use crate::incomplete::passes::least_norm::Range;
use crate::linalg::Matrix;
use crate::linalg::simd::Lane;

/// Number of rows per piece of work.
const ROWS: usize = 256;

/// Makes the one entry of a feature its mean, where means are fitted without a prior, and its loadings zero. That is the
/// limit of alternating least squares, in which the share of the loadings falls with every sweep; a new row that holds little
/// beside the feature would have scores that are as large as those loadings are small.
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

/// Replaces the scores, and offsets, that the entries of their rows do not determine by those of least norm, given principal
/// components, of which `inactive` ones take no part; returns false if there are none. With fitted means the norm is that
/// about the mean of the scores, which `principal` then subtracts: `transform` gives the same scores.
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
                let of_fit = || heard.iter().map(|k| factors.s.row(i)[*k].to_f64()).collect();
                let (found, range) = match rows.solve(i, &origin)? {
                    Some((found, range)) => (found, Some(range)),
                    None => (of_fit(), None),
                };
                sums.any |= range.is_some();
                if problem.data.rows().count(i) > 0 {
                    sums.add(multiplicity, &found, range.as_ref());
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
            if let Some((found, _)) = rows.solve(piece * ROWS + at, &mean)? {
                heard.iter().zip(found).zip(&mean).for_each(|((k, s), m)| row[*k] = T::from_f64(s + m));
            }
        }
        Ok(())
    })?;
    Ok(true)
}

/// The rows whose entries do not determine their scores.
struct Undetermined<'a, T> {
    problem: &'a Objective<'a, T>,
    loadings: &'a Factor<T>,
    /// The unknowns of a row.
    heard: &'a [usize],
}

impl<T: Lane> Undetermined<'_, T> {
    /// The scores of least norm about `origin`, less it, and the directions that the entries determine; `None` if these are
    /// all, or the row has no entries.
    fn solve(&self, i: usize, origin: &[f64]) -> Result<Option<(Vec<f64>, Range)>> {
        let (m, c, entries) = (self.heard.len(), self.problem.c, self.problem.data.rows().line(i));
        let of_entry = |e: usize| {
            let row = self.loadings.row(entries.indices[e] as usize);
            (row, entries.weights.map_or(1.0, |weights| weights[e].to_f64()))
        };
        let counts = |e: &usize| self.heard.iter().any(|k| of_entry(*e).0[*k].to_f64() != 0.0);
        let n_entries = entries.indices.len();
        if n_entries == 0 || (0..n_entries).filter(counts).take(m).count() == m {
            return Ok(None);
        }
        let (mut g, mut b, mut z) = (Matrix::zeros(m, m), vec![0.0; m], vec![0.0; m]);
        for (e, value) in entries.values.iter().enumerate() {
            let (row, weight) = of_entry(e);
            z.iter_mut().zip(self.heard).for_each(|(z, k)| *z = row[*k].to_f64());
            let fitted = row[c].to_f64() + z.iter().zip(origin).map(|(z, m)| z * m).sum::<f64>();
            for k in 0..m {
                b[k] += weight * z[k] * (value.to_f64() - fitted);
                (0..m).for_each(|l| g[(k, l)] += weight * z[k] * z[l]);
            }
        }
        let range = Range::of(&g)?;
        range.solve(&mut b);
        Ok(Some((b, range)))
    }
}

/// Sums over the rows with entries.
struct Sums {
    /// Of the projections on what the entries determine.
    of_projections: Matrix,
    /// Of the scores, those of least norm about zero among them.
    of_scores: Vec<f64>,
    /// True if the scores of any row are not determined.
    any: bool,
}

impl Sums {
    fn add(&mut self, multiplicity: f64, scores: &[f64], range: Option<&Range>) {
        self.of_scores.iter_mut().zip(scores).for_each(|(sum, s)| *sum += multiplicity * s);
        for k in 0..scores.len() {
            match range {
                Some(range) => (0..scores.len())
                    .for_each(|l| self.of_projections[(k, l)] += multiplicity * range.projection(k, l)),
                None => self.of_projections[(k, k)] += multiplicity,
            }
        }
    }

    /// The mean `m` of the scores that are of least norm about it: those of a row are `s + (I - P) m`, with `s` of least
    /// norm about zero and `P` the projection, so `sum P m = sum s`. Zero along what no row determines.
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
