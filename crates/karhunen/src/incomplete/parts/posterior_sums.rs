//! Sums over the posteriors of scores given the posteriors of the loadings, for each feature and over rows.

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::data::{Observed, Rows};
use crate::incomplete::factors::objective::{Diagonal, MeanRule, Objective};
use crate::incomplete::factors::{Factor, FactorSide, Factors, gram};
use crate::incomplete::passes::moments::{Expected, moments_pass};
use crate::incomplete::passes::normal::{NormalLayout, NormalProducts};
use crate::incomplete::updates::row_posteriors::GivenLoadings;
use crate::incomplete::updates::score_moments::ScoreMoments;
use crate::incomplete::updates::score_posteriors::score_posteriors;
use crate::linalg::Matrix;
use crate::linalg::simd::Lane;
use crate::scalar::is_single;

/// The posterior of the loadings, given which the scores of every row have a posterior.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PosteriorTask {
    /// Shape (n_features, c + 1 + c (c + 1) / 2): means of the loadings, the mean of the feature, and the expected
    /// products of the loadings, lower triangle by rows.
    pub(crate) table: Matrix,
    /// The noise over the prior variance of each score.
    pub(crate) penalty: Vec<f64>,
    pub(crate) noise: f64,
    /// True if the entries of all parts are of single precision.
    pub(crate) single: bool,
    /// The factor of the entries of each feature, shape (n_features,); `None` if all are one.
    pub(crate) factors: Option<Vec<f64>>,
}

/// Sums over rows of `z = (s, 1)` and its expected products, with `y` an entry less the mean of the task.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PosteriorSums {
    /// For each feature `sum w z`, `sum w E ss'` (lower triangle by rows), `sum w y z` and `sum w y^2`; shape
    /// (n_features, c + 1 + c (c + 1) / 2 + c + 2).
    pub(crate) features: Matrix,
    /// `sum w E s E s'` of each feature, lower triangle by rows, shape (n_features, c (c + 1) / 2).
    pub(crate) products: Matrix,
    /// `sum E zz'` over rows, shape (c + 1, c + 1).
    pub(crate) scores: Matrix,
    /// `sum E z E z'` over rows.
    pub(crate) means: Matrix,
    /// Sum of `ln det Psi_i` over rows.
    pub(crate) log_det: f64,
}

/// Number of values of a triangle of `c` rows.
fn triangle(c: usize) -> usize {
    c * (c + 1) / 2
}

/// Number of values of a feature in a [`PosteriorTask`].
pub(crate) fn n_in_task(c: usize) -> usize {
    c + 1 + triangle(c)
}

/// Number of values of a feature in [`PosteriorSums::features`] and [`PosteriorSums::products`].
pub(crate) fn n_in_sums(c: usize) -> [usize; 2] {
    [n_in_task(c) + c + 2, triangle(c)]
}

impl PosteriorTask {
    pub(crate) fn new<T: Lane>(given: &GivenLoadings<'_, T>) -> Self {
        let GivenLoadings { table, penalty, noise } = *given;
        let c = penalty.len();
        let head = Expected::new::<T>(c).head;
        let table = Matrix::from_fn(table.n_rows(), n_in_task(c), |j, at| {
            table.row(j)[if at <= c { at } else { head + at - c - 1 }].to_f64()
        });
        Self { table, penalty: penalty.to_vec(), noise, single: is_single::<T>(), factors: None }
    }

    pub(crate) fn n_components(&self) -> usize {
        self.penalty.len()
    }

    /// The table with the layout of [`Expected`].
    fn expected<T: Lane>(&self) -> Factor<T> {
        let c = self.n_components();
        let layout = Expected::new::<T>(c);
        let mut table = Factor::zeros(self.table.n_rows(), layout.width);
        for j in 0..self.table.n_rows() {
            let (first, second) = self.table.row(j).split_at(c + 1);
            let row = table.row_mut(j);
            row.iter_mut().zip(first).for_each(|(x, value)| *x = T::from_f64(*value));
            row[layout.head..].iter_mut().zip(second).for_each(|(x, value)| *x = T::from_f64(*value));
        }
        table
    }
}

impl PosteriorSums {
    pub(crate) fn empty(p: usize, c: usize) -> Self {
        let [in_features, in_products] = n_in_sums(c);
        Self {
            features: Matrix::zeros(p, in_features),
            products: Matrix::zeros(p, in_products),
            scores: Matrix::zeros(c + 1, c + 1),
            means: Matrix::zeros(c + 1, c + 1),
            log_det: 0.0,
        }
    }

    pub(crate) fn of<T: Lane>(data: &Observed<T>, task: &PosteriorTask, exec: &Exec<'_>) -> Result<Self> {
        let ((n, p), c) = (data.shape(), task.n_components());
        let table = task.expected::<T>();
        let mean: Vec<f64> = (0..p).map(|j| task.table[(j, c)]).collect();
        let mut factors = Factors::<T>::new(&Matrix::zeros(p, c), &Matrix::zeros(n, c), &mean)
            .with_multiplicity(data.multiplicity());
        let problem = Objective {
            data,
            loadings: Diagonal::Same(0.0),
            scores: Diagonal::Same(0.0),
            mean: MeanRule::FLAT,
            offsets: None,
            c,
        };
        let of_scores = exec.phase("scores").part(0.0, 0.5);
        let (expected, log_det) =
            score_posteriors(&problem, &mut factors, &table, &task.penalty, task.noise, None, &of_scores)?;
        let exec = exec.phase("loadings").part(0.5, 1.0);
        let layout = Expected::new::<T>(c);
        let mut sums = Self { log_det, ..Self::empty(p, c) };
        let constants: Vec<T> = (0..p).map(|j| factors.a.row(j)[c]).collect();
        let outs = [Rows { width: sums.features.n_cols(), data: sums.features.as_mut_slice() }];
        let table = (&expected, &constants[..]);
        moments_pass(&problem, FactorSide::Loadings, table, 0, outs, &exec, |_, acc, [row]| {
            // Padding separates the groups of an accumulator.
            let groups = [(0, c + 1), (layout.head, triangle(c)), (layout.width, c + 1)];
            let from = groups.into_iter().flat_map(|(first, len)| &acc[first..first + len]);
            let squares = &acc[layout.width + layout.head];
            row.iter_mut().zip(from.chain([squares])).for_each(|(to, from)| *to = *from);
            Ok([])
        })?;
        sums.add_products(data, &factors, &exec)?;
        let ScoreMoments { n: total, first, second } = ScoreMoments::of(&expected, c, &exec)?;
        sums.scores = Matrix::from_fn(c + 1, c + 1, |k, l| match (k < c, l < c) {
            (true, true) => second[(k, l)],
            (true, false) => first[k],
            (false, true) => first[l],
            (false, false) => total,
        });
        sums.means = gram(&factors.s, c + 1, &exec)?;
        Ok(sums)
    }

    /// Writes the products of the means of the scores.
    fn add_products<T: Lane>(
        &mut self,
        data: &Observed<T>,
        factors: &Factors<T>,
        exec: &Exec<'_>,
    ) -> Result<()> {
        let (lines, c, none) = (data.columns(), factors.c, T::default());
        let layout = NormalLayout::new(c);
        let products = NormalProducts::new(lines, &factors.s, c, layout, exec)?;
        let outs = [Rows { width: triangle(c), data: self.products.as_mut_slice() }];
        lines.pass::<f64, 1, 0>(
            exec,
            layout.lengths(),
            outs,
            |segment, acc| products.gather(segment, none, acc),
            |line, acc, [row]| {
                products.complete(line, none, acc);
                let g = layout.parts(acc).0;
                for k in 0..c {
                    (0..=k).for_each(|l| row[triangle(k) + l] = g.values[l * g.stride + k]);
                }
                Ok([])
            },
        )?;
        Ok(())
    }

    pub(crate) fn n_components(&self) -> usize {
        self.scores.n_rows() - 1
    }

    /// First and second moments of the scores under their posteriors.
    pub(crate) fn moments(&self) -> ScoreMoments {
        let c = self.n_components();
        ScoreMoments {
            n: self.scores[(c, c)],
            first: (0..c).map(|k| self.scores[(k, c)]).collect(),
            second: Matrix::from_fn(c, c, |k, l| self.scores[(k, l)]),
        }
    }

    /// Writes the sums of a feature with the layout of [`Expected::n_sums`], with expected products of scores, or with
    /// the products of their means.
    pub(crate) fn unpack(&self, j: usize, layout: Expected, of_means: bool, acc: &mut [f64]) {
        let c = layout.c;
        let (first, rest) = self.features.row(j).split_at(c + 1);
        let (second, rest) = rest.split_at(triangle(c));
        let second = if of_means { self.products.row(j) } else { second };
        acc[..layout.n_sums()].fill(0.0);
        acc[..=c].copy_from_slice(first);
        acc[layout.head..][..triangle(c)].copy_from_slice(second);
        acc[layout.width..][..=c].copy_from_slice(&rest[..=c]);
        acc[layout.width + layout.head] = rest[c + 1];
    }

    /// Adds the sums over other rows.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (sums, other) in [
            (&mut self.features, &other.features),
            (&mut self.products, &other.products),
            (&mut self.scores, &other.scores),
            (&mut self.means, &other.means),
        ] {
            sums.as_mut_slice().iter_mut().zip(other.as_slice()).for_each(|(sum, x)| *sum += x);
        }
        self.log_det += other.log_det;
    }
}
