//! Many columns without entries: the fit includes one of them, which represents all.
//!
//! Every method gives all such columns the same result: zero loadings, the same mean, the same error bars. So the
//! cost of a fit depends on the entries alone; the result of one empty column is copied to the others at the end.

use crate::error::{Error, Result};
use crate::exec::{Exec, Run};
use crate::incomplete::data::{ENTRIES, Observed};
use crate::incomplete::factors::covariances::Covariances;
use crate::incomplete::fit::checkpoint::FitContext;
use crate::incomplete::model::IncompleteModel;
use crate::incomplete::options::{IncompletePca, Method};
use crate::incomplete::start::Start;
use crate::linalg::Matrix;
use crate::memory;
use crate::scalar::Scalar;

/// Fewest columns for which this pays.
const MANY: usize = 1 << 16;

/// The columns of the reduced fit.
pub(crate) struct Unseen {
    n_features: usize,
    /// Columns with entries and the first without, ascending.
    kept: Vec<u32>,
    /// Position of the column without entries in `kept`.
    example: usize,
}

impl Unseen {
    /// `None` if most columns have entries, or the method treats empty columns individually.
    pub(crate) fn of<T: Scalar>(pca: &IncompletePca, data: &Observed<T>) -> Option<Self> {
        let p = data.n_features();
        if p < MANY || pca.row_offsets || pca.method == Method::Online {
            return None;
        }
        let seen = |column: &u32| data.n_observed_in_column(*column as usize) > 0;
        let n_seen = (0..p as u32).filter(seen).count();
        if 2 * n_seen > p || n_seen == 0 || pca.n_components > n_seen {
            return None;
        }
        let first = (0..p as u32).find(|column| !seen(column))?;
        let kept: Vec<u32> = (0..p as u32).filter(|column| seen(column) || *column == first).collect();
        let example = kept.partition_point(|column| *column < first);
        Some(Self { n_features: p, kept, example })
    }

    /// Fits the kept columns by `fit`, and copies the result of the empty one.
    pub(crate) fn fit<T: Scalar>(
        &self,
        pca: &IncompletePca,
        data: &Observed<T>,
        context: &FitContext<'_>,
        run: &Run<'_>,
        fit: impl FnOnce(&Observed<T>, &FitContext<'_>) -> Result<IncompleteModel>,
    ) -> Result<IncompleteModel> {
        self.ask(pca, data.n_samples())?;
        let start = context.start.map(|start| Start {
            loadings: self.pick(&start.loadings),
            mean: start.mean.as_ref().map(|mean| self.kept.iter().map(|j| mean[*j as usize]).collect()),
            ..start.clone()
        });
        let fewer = Exec::run(run, |exec| data.select_columns(&self.kept, &exec.phase(ENTRIES)))?;
        let context = FitContext { start: start.as_ref(), ..*context };
        let fitted = fit(&fewer, &context).map_err(|error| self.of_all_columns(error));
        Ok(self.unfolded(fitted?))
    }

    /// Renumbers the column of an error of the reduced fit.
    fn of_all_columns(&self, error: Error) -> Error {
        match error {
            Error::SpreadTooLarge { column, deviation, most, dtype } => {
                Error::SpreadTooLarge { column: self.kept[column] as usize, deviation, most, dtype }
            }
            error => error,
        }
    }

    /// Number of columns of the reduced fit.
    pub(crate) fn n_kept(&self) -> usize {
        self.kept.len()
    }

    /// Memory estimate of the model of all columns, bytes.
    pub(crate) fn need(&self, pca: &IncompletePca) -> f64 {
        let (p, c) = (self.n_features as f64, pca.n_components as f64);
        let bars = if pca.error_bars { 4.0 * c * (c + 1.0) / 2.0 } else { 0.0 };
        p * (8.0 * (c + 3.0) + 4.0 + bars)
    }

    fn ask(&self, pca: &IncompletePca, n_samples: usize) -> Result<()> {
        let (p, n_seen) = (self.n_features, self.kept.len() - 1);
        let what = format!("a model of {n_samples} rows and {p} columns, of which {n_seen} hold entries,");
        memory::ask(&what, self.need(pca), || vec!["leave out columns without entries".into()])
    }

    fn pick(&self, loadings: &Matrix) -> Matrix {
        Matrix::from_fn(self.kept.len(), loadings.n_cols(), |j, k| loadings[(self.kept[j] as usize, k)])
    }

    fn unfolded(&self, model: IncompleteModel) -> IncompleteModel {
        let n_more = (self.n_features - self.kept.len()) as f64;
        model.with_columns(|parts| {
            let (c, p) = (parts.components.n_rows(), self.n_features);
            let mut components = Matrix::zeros(c, p);
            for k in 0..c {
                for (at, column) in self.kept.iter().enumerate() {
                    components[(k, *column as usize)] = parts.components[(k, at)];
                }
            }
            parts.components = components;
            parts.mean = self.expand(&parts.mean, 1);
            parts.mean_variance = self.expand(&parts.mean_variance, 1);
            parts.n_observed = self.expand(&parts.n_observed, 1);
            for values in [&mut parts.residual_variance, &mut parts.feature_noise_variance] {
                *values = values.as_ref().map(|values| self.expand(values, 1));
            }
            if let Some(Covariances { n_components, packed, .. }) = &mut parts.loading_covariances {
                *packed = self.expand(packed, *n_components * (*n_components + 1) / 2);
            }
            if let Some(far) = &mut parts.convergence.far {
                far.column = self.kept[far.column] as usize;
            }
            // The noise of a posterior adds to the variance of every column.
            if parts.convergence.method.has_posterior() && parts.total_variance > 0.0 {
                let total = parts.total_variance + n_more * parts.noise_variance;
                let share = parts.total_variance / total;
                parts.explained_variance_ratio.iter_mut().for_each(|ratio| *ratio *= share);
                parts.total_variance = total;
            }
        })
    }

    /// Expands `width` values per kept column to all columns.
    fn expand<U: Copy>(&self, values: &[U], width: usize) -> Vec<U> {
        let of = |at: usize| &values[at * width..(at + 1) * width];
        let mut all = Vec::with_capacity(self.n_features * width);
        let mut kept = self.kept.iter().enumerate().peekable();
        for column in 0..self.n_features {
            let here = kept.next_if(|(_, kept)| **kept as usize == column);
            all.extend_from_slice(of(here.map_or(self.example, |(at, _)| at)));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::incomplete::data::{Duplicates, Triples};

    /// Entries of 40 rows in the columns `of(0)` to `of(5)`.
    fn data(p: usize, of: impl Fn(usize) -> u32) -> Observed<f64> {
        let (mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for row in 0..40u32 {
            for j in (0..6usize).filter(|j| (row as usize + j) % 4 != 1) {
                rows.push(row);
                columns.push(of(j));
                values
                    .push(f64::from(row % 7) * (j as f64 - 2.0) + f64::from(row * 13 % 11) * 0.3 + j as f64);
            }
        }
        let triples = Triples { rows: &rows, columns: &columns, values: &values, weights: None };
        Observed::from_triples_with(&triples, (40, p), Duplicates::Refuse, &Run::threads(1)).unwrap()
    }

    #[test]
    fn columns_without_entries_change_nothing_and_have_one_model() {
        let place = |j: usize| [3, 4, 1000, 40_000, 69_998, 69_999][j];
        let (few, many) = (data(7, |j| j as u32 + 1), data(70_000, place));
        for method in [Method::Als, Method::Ridge, Method::Ppca, Method::VbFull] {
            let pca = IncompletePca { method, max_iter: 30, ..IncompletePca::new(2) };
            assert!(Unseen::of(&pca, &few).is_none());
            assert!(Unseen::of(&pca, &many).is_some());
            let fit = |data| pca.fit_with(data, &FitContext::default(), &Run::threads(1)).unwrap();
            let (a, b) = (fit(&few), fit(&many));
            let (a, b) = (a.parts(), b.parts());
            assert_eq!(b.components.shape(), (a.components.n_rows(), 70_000));
            assert_eq!(b.n_observed.iter().sum::<usize>(), a.n_observed.iter().sum::<usize>());
            let places = [0u32, 3, 4, 1000, 40_000, 69_998, 69_999];
            for (at, column) in places.into_iter().map(|column| column as usize).enumerate() {
                // Equal up to the random start, from which both converge to one optimum.
                let close = |a: f64, b: f64| (a - b).abs() <= 1e-2 * a.abs().max(1.0);
                assert!(
                    close(a.mean[at], b.mean[column]),
                    "{method:?} {at}: {} {}",
                    a.mean[at],
                    b.mean[column]
                );
                assert!(close(a.mean_variance[at], b.mean_variance[column]), "{method:?} {at}");
                for k in 0..a.components.n_rows() {
                    assert!(close(a.components[(k, at)], b.components[(k, column)]), "{method:?} {at} {k}");
                }
            }
            // All columns without entries agree.
            for column in [1, 2, 5, 12_345, 69_997] {
                assert_eq!(b.mean[column], b.mean[0]);
                assert_eq!(b.n_observed[column], 0);
                assert!((0..a.components.n_rows()).all(|k| b.components[(k, column)] == 0.0));
            }
            let norm = |k: usize| b.components.row(k).iter().map(|x| x * x).sum::<f64>();
            assert!((0..a.components.n_rows()).all(|k| (norm(k) - 1.0).abs() < 1e-12));
        }
    }
}
