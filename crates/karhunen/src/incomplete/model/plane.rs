//! The plane of the components, and the scores of rows with missing values within it.

use crate::error::{Error, Result};
use crate::incomplete::data::Observed;
use crate::incomplete::model::IncompleteModel;
use crate::linalg::Matrix;
use crate::linalg::decomp::cholesky::{BLOCK, Upper};
use crate::linalg::decomp::eigh::{Eigh, eigh};
use crate::scalar::Scalar;

/// Squared pivots below this share of the diagonal leave the scores of a row undetermined.
const LEAST_PIVOT: f64 = 1e-10;

/// The plane of the components with variance (and of the offset), in the units of the fit, and the scores within it.
pub(crate) struct Plane {
    /// Shape (n_features, a).
    pub(crate) loadings: Matrix,
    /// Mean of each feature under the distribution of the scores.
    centre: Vec<f64>,
    /// Precision `S^-1` of the scores, shape (a, a).
    precision: Matrix,
    noise: f64,
}

impl Plane {
    pub(crate) fn of(model: &IncompleteModel) -> Self {
        let (parts, k) = (model.parts(), model.n_components());
        let variances = model.explained_variance();
        let active: Vec<usize> =
            (0..k).filter(|k| variances[*k] > 0.0).chain(parts.row_offsets.iter().map(|_| k)).collect();
        let p = model.n_features();
        let loading = |j: usize, l: usize| if l < k { parts.components[(l, j)] } else { 1.0 };
        let loadings = Matrix::from_fn(p, active.len(), |j, at| loading(j, active[at]));
        let noise = parts.noise_variance;
        let learned = model.convergence().method.learns_variances() && noise > 0.0;
        let mut centre = model.mean_in_units();
        let precision = if learned {
            let prior_mean: Vec<f64> = active.iter().map(|l| parts.prior.mean[*l]).collect();
            centre.iter_mut().enumerate().for_each(|(j, mean)| *mean += dot(loadings.row(j), &prior_mean));
            Matrix::from_fn(active.len(), active.len(), |a, b| {
                parts.prior.precision[(active[a], active[b])] / noise
            })
        } else {
            // The variance of least-squares scores, whose mean is zero, is the variance of the scores and of their
            // noise.
            let totals = model.row_totals();
            let share = totals.entries / (p as f64 * totals.samples.max(1.0));
            let variance = |l: usize| {
                let (found, of_noise) = if l < k {
                    (variances[l], noise / share)
                } else {
                    (totals.offset_variance, noise / (share * p as f64))
                };
                (found - of_noise).max(1e-9 * found).max(f64::MIN_POSITIVE)
            };
            Matrix::from_fn(
                active.len(),
                active.len(),
                |a, b| {
                    if a == b { 1.0 / variance(active[a]) } else { 0.0 }
                },
            )
        };
        Self { loadings, centre, precision, noise }
    }

    fn n_scores(&self) -> usize {
        self.loadings.n_cols()
    }
}

/// A row, and the equations of its scores.
pub(crate) struct Row<'a> {
    plane: &'a Plane,
    /// Column, weight, and value less the centre of each entry.
    pub(crate) entries: Vec<(usize, f64, f64)>,
    /// `G = V' W V`.
    gram: Matrix,
    /// `V' W x`.
    right: Vec<f64>,
    /// Least-squares scores `G^+ V' W x`.
    scores: Vec<f64>,
    pub(crate) rank: usize,
    inverse: PseudoInverse,
}

impl<'a> Row<'a> {
    pub(crate) fn new(plane: &'a Plane) -> Self {
        let a = plane.n_scores();
        Self {
            plane,
            entries: Vec::new(),
            gram: Matrix::zeros(a, a),
            right: vec![0.0; a],
            scores: vec![0.0; a],
            rank: 0,
            inverse: PseudoInverse::None,
        }
    }

    /// Reads the entries of a row and sums its equations.
    pub(crate) fn set<T: Scalar>(&mut self, rows: &Observed<T>, index: usize) {
        // Weights of entries hold the multiplicity of their row, which says nothing of its distances.
        let multiplicity = rows.sample_weights().map_or(1.0, |weights| weights[index]);
        let repeated = if multiplicity > 0.0 { multiplicity } else { 1.0 };
        let line = rows.rows().line(index);
        let weight = |e: usize| line.weights.map_or(1.0, |w| w[e].to_f64() / repeated);
        self.entries.clear();
        self.entries.extend(line.indices.iter().enumerate().filter(|(e, _)| weight(*e) > 0.0).map(
            |(e, column)| {
                let column = *column as usize;
                (column, weight(e), line.values[e].to_f64() - self.plane.centre[column])
            },
        ));
        self.gram.as_mut_slice().fill(0.0);
        self.right.fill(0.0);
        for (column, weight, away) in &self.entries {
            let loadings = self.plane.loadings.row(*column);
            for (k, v) in loadings.iter().enumerate() {
                self.right[k] += weight * v * away;
                let sums = self.gram.row_mut(k)[k..].iter_mut();
                sums.zip(&loadings[k..]).for_each(|(sum, u)| *sum += weight * v * u);
            }
        }
        for k in 0..self.right.len() {
            for l in 0..k {
                self.gram[(k, l)] = self.gram[(l, k)];
            }
        }
    }

    /// Solves for the least-squares scores.
    pub(crate) fn solve(&mut self, index: usize) -> Result<()> {
        self.inverse = PseudoInverse::of(&self.gram, self.entries.len())?;
        self.rank = self.inverse.rank(self.gram.n_rows());
        self.scores.copy_from_slice(&self.right);
        self.inverse.apply(&mut self.scores);
        match self.scores.iter().position(|score| !score.is_finite()) {
            Some(component) => Err(Error::ScoreOverflow { row: index, component, dtype: f64::NAME }),
            None => Ok(()),
        }
    }

    /// `S^-1 (G + v S^-1)^-1 V' W x`, with which the least-squares scores have the inner product T².
    fn weighed(&self) -> Vec<f64> {
        let a = self.right.len();
        let stride = a.next_multiple_of(BLOCK);
        let mut equations = vec![0.0; a * stride];
        for k in 0..a {
            let (gram, precision) = (self.gram.row(k), self.plane.precision.row(k));
            let sums = equations[k * stride..][..a].iter_mut().zip(gram.iter().zip(precision));
            sums.for_each(|(sum, (g, s))| *sum = g + self.plane.noise * s);
        }
        let mut posterior = vec![0.0; stride];
        posterior[..a].copy_from_slice(&self.right);
        let mut upper = Upper { values: &mut equations, m: a, stride };
        if upper.factorize() {
            upper.solve(&mut posterior);
        } else {
            // Without noise, of a row with fewer entries than scores: scores of least squares.
            posterior[..a].copy_from_slice(&self.scores);
        }
        (0..a).map(|k| dot(self.plane.precision.row(k), &posterior[..a])).collect()
    }

    pub(crate) fn t2(&self) -> f64 {
        dot(&self.scores, &self.weighed()).max(0.0)
    }

    /// The factors of `V' W x` in T²: `G^+ S^-1 (G + v S^-1)^-1 V' W x`.
    pub(crate) fn shares(&self) -> Vec<f64> {
        let mut shares = self.weighed();
        self.inverse.apply(&mut shares);
        shares
    }

    /// Column, weight and residual of each entry.
    pub(crate) fn residuals(&self) -> impl Iterator<Item = (usize, f64, f64)> + '_ {
        self.entries.iter().map(|(column, weight, away)| {
            (*column, *weight, away - dot(self.plane.loadings.row(*column), &self.scores))
        })
    }
}

/// The inverse of a Gram matrix on its range.
enum PseudoInverse {
    /// Of no equations.
    None,
    /// The Cholesky factor of a well-conditioned matrix, in rows of `stride` values.
    Factor(Vec<f64>),
    /// Eigenvectors as columns, and the inverses of eigenvalues that are not rounding.
    Spectrum(Matrix, Vec<f64>),
}

impl PseudoInverse {
    fn of(gram: &Matrix, n_entries: usize) -> Result<Self> {
        let a = gram.n_rows();
        if a == 0 || n_entries == 0 {
            return Ok(Self::None);
        }
        let stride = a.next_multiple_of(BLOCK);
        let mut values = vec![0.0; a * stride];
        (0..a).for_each(|k| values[k * stride..][..a].copy_from_slice(gram.row(k)));
        let mut upper = Upper { values: &mut values, m: a, stride };
        let is_positive = n_entries >= a && upper.factorize();
        let pivot = |k: usize| values[k * stride + k].powi(2);
        if is_positive && (0..a).all(|k| pivot(k) > LEAST_PIVOT * gram[(k, k)]) {
            return Ok(Self::Factor(values));
        }
        let Eigh { values: eigenvalues, vectors } = eigh(gram)?;
        let largest = eigenvalues[0];
        let inverse = |value: f64| if value > LEAST_PIVOT * largest { 1.0 / value } else { 0.0 };
        Ok(Self::Spectrum(vectors, eigenvalues.into_iter().map(inverse).collect()))
    }

    fn rank(&self, order: usize) -> usize {
        match self {
            Self::None => 0,
            Self::Factor(_) => order,
            Self::Spectrum(_, inverses) => inverses.iter().filter(|inverse| **inverse > 0.0).count(),
        }
    }

    /// Replaces `b` by the solution of least norm.
    fn apply(&self, b: &mut [f64]) {
        match self {
            Self::None => b.fill(0.0),
            Self::Factor(values) => {
                let (a, stride) = (b.len(), b.len().next_multiple_of(BLOCK));
                let mut values = values.clone();
                let mut padded = vec![0.0; stride];
                padded[..a].copy_from_slice(b);
                Upper { values: &mut values, m: a, stride }.solve(&mut padded);
                b.copy_from_slice(&padded[..a]);
            }
            Self::Spectrum(vectors, inverses) => {
                let a = b.len();
                let along: Vec<f64> = (0..a)
                    .map(|e| inverses[e] * (0..a).map(|k| vectors[(k, e)] * b[k]).sum::<f64>())
                    .collect();
                (0..a).for_each(|k| b[k] = dot(vectors.row(k), &along));
            }
        }
    }
}

pub(crate) fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}
