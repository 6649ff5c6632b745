//! Normal equations of the loadings given the scores that given loadings have, summed over rows.

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::data::{Observed, Rows};
use crate::incomplete::factors::objective::{Diagonal, MeanRule, Objective};
use crate::incomplete::factors::{Factor, FactorSide, Factors};
use crate::incomplete::fit::error_bars::parameters_of_scores;
use crate::incomplete::parts::ScorePenalty;
use crate::incomplete::passes::normal::{NormalLayout, NormalProducts, solve_row, solve_side};
use crate::linalg::Matrix;
use crate::linalg::simd::Lane;

/// Features per piece of work.
const FEATURES: usize = 64;

/// Loadings, for which every row has scores.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NormalTask {
    /// Shape (n_features, c + 1): loadings, and the mean in the last column.
    pub(crate) loadings: Matrix,
    pub(crate) penalty: ScorePenalty,
    /// True if the entries of all parts are of single precision.
    pub(crate) single: bool,
    /// The factor of the entries of each feature, shape (n_features,); `None` if all are one.
    pub(crate) factors: Option<Vec<f64>>,
}

/// Sums over rows with scores `s` that minimise their cost, `z = (s, 1)`, and `y` an entry less the mean of the task.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NormalSums {
    /// For each feature `sum w z z'` (the upper triangle by rows), `sum w y z` and `sum w y^2`; shape
    /// (n_features, (c + 1) (c + 2) / 2 + c + 2).
    pub(crate) features: Matrix,
    /// `sum z z'` over rows, shape (c + 1, c + 1).
    pub(crate) scores: Matrix,
    /// `sum d z z'` with `d` the number of entries of a row.
    pub(crate) scores_per_entry: Matrix,
    /// Number of scores, at most one per entry of a row.
    pub(crate) parameters: f64,
}

impl NormalSums {
    pub(crate) fn empty(p: usize, c: usize) -> Self {
        let m = c + 1;
        Self {
            features: Matrix::zeros(p, n_sums(m)),
            scores: Matrix::zeros(m, m),
            scores_per_entry: Matrix::zeros(m, m),
            parameters: 0.0,
        }
    }

    pub(crate) fn of<T: Lane>(data: &Observed<T>, task: &NormalTask, exec: &Exec<'_>) -> Result<Self> {
        let ((n, p), m) = (data.shape(), task.loadings.n_cols());
        let c = m - 1;
        let mean: Vec<f64> = (0..p).map(|j| task.loadings[(j, c)]).collect();
        let mut factors = Factors::<T>::new(&task.loadings.columns(0..c), &Matrix::zeros(n, c), &mean)
            .with_multiplicity(data.multiplicity());
        let problem = Objective {
            data,
            loadings: Diagonal::Same(0.0),
            scores: task.penalty.of_rows(data),
            mean: MeanRule::FLAT,
            offsets: None,
            c,
        };
        solve_side(&problem, &mut factors, FactorSide::Scores, &exec.phase("scores").part(0.0, 0.5))?;
        let exec = exec.phase("loadings");
        let layout = NormalLayout::new(m);
        let lines = data.columns();
        let products = NormalProducts::new(lines, &factors.s, c, layout, &exec)?;
        let mut features = Matrix::zeros(p, n_sums(m));
        let outs = [Rows { width: n_sums(m), data: features.as_mut_slice() }];
        lines.pass::<f64, 1, 0>(
            &exec.part(0.5, 1.0),
            layout.lengths(),
            outs,
            |segment, acc| {
                let constant = factors.a.row(segment.line)[c];
                products.gather(segment, constant, acc);
            },
            |line, acc, [row]| {
                products.complete(line, factors.a.row(line)[c], acc);
                pack(layout, acc, row);
                Ok([])
            },
        )?;
        let moments = |weight: &(dyn Fn(usize) -> f64 + Sync)| {
            let sums = factors.s.sum_rows(m * m, &exec, |i, row, sums| {
                for (x, sums) in row.iter().zip(sums.chunks_exact_mut(m)) {
                    let x = weight(i) * x.to_f64();
                    sums.iter_mut().zip(row).for_each(|(sum, y)| *sum += x * y.to_f64());
                }
            })?;
            Matrix::from_vec(m, m, sums)
        };
        Ok(Self {
            scores: moments(&|_| 1.0)?,
            scores_per_entry: moments(&|i| data.rows().weight(i))?,
            parameters: parameters_of_scores(data, c),
            features,
        })
    }

    /// Adds the sums over other rows.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (sums, other) in [
            (&mut self.features, &other.features),
            (&mut self.scores, &other.scores),
            (&mut self.scores_per_entry, &other.scores_per_entry),
        ] {
            sums.as_mut_slice().iter_mut().zip(other.as_slice()).for_each(|(sum, x)| *sum += x);
        }
        self.parameters += other.parameters;
    }

    pub(crate) fn n_components(&self) -> usize {
        self.scores.n_rows() - 1
    }

    /// Replaces the loadings, and the mean if it is fitted jointly, by the minimisers of F. Returns F without the
    /// penalties of the scores, and the penalty terms of the loadings.
    pub(crate) fn solve_loadings<T: Lane>(
        &self,
        problem: &Objective<'_, T>,
        loadings: &mut Factor<T>,
        exec: &Exec<'_>,
    ) -> Result<[f64; 2]> {
        let layout = NormalLayout::new(problem.n_fitted(FactorSide::Loadings));
        let (n_sums, n_workspace) = layout.lengths();
        let mut solved = vec![(Vec::new(), [0.0; 2]); loadings.n_rows()];
        exec.fill(&mut solved, FEATURES, |piece, out| {
            let mut acc = vec![0.0; n_sums + n_workspace];
            for (at, (row, cost)) in out.iter_mut().enumerate() {
                let j = piece * FEATURES + at;
                *row = loadings.row(j).to_vec();
                self.unpack(j, layout, &mut acc);
                let constant = self.n_components();
                let line = (FactorSide::Loadings, j, self.product(j, constant, constant));
                *cost = solve_row(problem, line, layout, &mut acc, row)?;
            }
            Ok(())
        })?;
        let mut sums = [0.0; 2];
        for (j, (row, cost)) in solved.into_iter().enumerate() {
            loadings.row_mut(j).copy_from_slice(&row);
            sums.iter_mut().zip(cost).for_each(|(sum, cost)| *sum += cost);
        }
        Ok(sums)
    }

    /// `sum w z_k z_l` of a feature.
    pub(crate) fn product(&self, j: usize, k: usize, l: usize) -> f64 {
        self.features.row(j)[place(self.scores.n_rows(), k.min(l), k.max(l))]
    }

    /// `sum w y z_k` of a feature.
    pub(crate) fn with_y(&self, j: usize, k: usize) -> f64 {
        let m = self.scores.n_rows();
        self.features.row(j)[m * (m + 1) / 2 + k]
    }

    /// `sum w y^2` of a feature.
    pub(crate) fn squares(&self, j: usize) -> f64 {
        self.features.row(j)[self.features.n_cols() - 1]
    }

    /// Writes the sums of a feature for the first `layout.m` unknowns.
    fn unpack(&self, j: usize, layout: NormalLayout, acc: &mut [f64]) {
        let NormalLayout { m, stride } = layout;
        acc.fill(0.0);
        for k in 0..m {
            for l in k..m {
                acc[k * stride + l] = self.product(j, k, l);
            }
            acc[stride * stride + k] = self.with_y(j, k);
        }
        acc[stride * stride + stride] = self.squares(j);
    }
}

/// Number of sums of a feature, with `m` unknowns.
pub(crate) fn n_sums(m: usize) -> usize {
    m * (m + 1) / 2 + m + 1
}

/// Place of row `k`, column `l >= k` of the upper triangle of a matrix of shape (m, m), by rows.
fn place(m: usize, k: usize, l: usize) -> usize {
    k * m - k * (k + 1) / 2 + l
}

/// Copies the sums of a feature from an accumulator.
fn pack(layout: NormalLayout, acc: &mut [f64], row: &mut [f64]) {
    let (g, b, squares, _) = layout.parts(acc);
    let (m, stride) = (g.m, g.stride);
    for k in 0..m {
        for l in k..m {
            row[place(m, k, l)] = g.values[k * stride + l];
        }
        row[m * (m + 1) / 2 + k] = b[k];
    }
    row[n_sums(m) - 1] = squares;
}
