//! Variational Bayes over rows in parts: the sums of a pass instead of the rows.

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::factors::covariances::Covariances;
use crate::incomplete::factors::objective::Objective;
use crate::incomplete::factors::{Factor, Factors};
use crate::incomplete::fit::finish::Found;
use crate::incomplete::options::IncompletePca;
use crate::incomplete::parts::stand_in::with_moments;
use crate::incomplete::parts::{ColumnEntries, EntryPasses, PosteriorSums, PosteriorTask};
use crate::incomplete::updates::loading_posteriors::{LoadingSolver, N_TERMS, OfLoadings};
use crate::incomplete::updates::posterior::Posterior;
use crate::incomplete::updates::row_posteriors::{GivenLoadings, OfScores, RowPosteriors};
use crate::linalg::Matrix;
use crate::linalg::simd::Lane;

/// Features per piece of work.
const FEATURES: usize = 64;

/// The rows of all parts.
pub(crate) struct RowsInParts<'a> {
    pub(crate) passes: &'a dyn EntryPasses,
    pub(crate) entries: &'a ColumnEntries,
}

impl<T: Lane> RowPosteriors<T> for RowsInParts<'_> {
    type Scores = PosteriorSums;

    fn n_samples(&self, _: &Objective<'_, T>) -> f64 {
        self.entries.samples
    }

    fn n_entries(&self, _: &Objective<'_, T>) -> f64 {
        self.entries.total()
    }

    fn weight(&self, _: &Objective<'_, T>, j: usize) -> f64 {
        self.entries.weight[j]
    }

    fn scores(
        &mut self,
        _: &Objective<'_, T>,
        _: &mut Factors<T>,
        given: &GivenLoadings<'_, T>,
        exec: &Exec<'_>,
    ) -> Result<(OfScores, PosteriorSums)> {
        let sums = self.passes.posterior(PosteriorTask::new(given), exec)?;
        Ok((OfScores { log_det: sums.log_det, moments: sums.moments() }, sums))
    }

    fn sums_of_scores(
        &self,
        problem: &Objective<'_, T>,
        _: &Factors<T>,
        sums: &PosteriorSums,
        exec: &Exec<'_>,
    ) -> Result<Factor<T>> {
        let mut out = Factor::zeros(sums.features.n_rows(), problem.c + 1);
        out.map_rows(exec, |j, row| {
            let of_feature = &sums.features.row(j)[..=problem.c];
            row.iter_mut().zip(of_feature).for_each(|(x, sum)| *x = T::from_f64(*sum));
        })?;
        Ok(out)
    }

    fn loadings(
        &mut self,
        _: &Objective<'_, T>,
        [loadings, table]: [&mut Factor<T>; 2],
        sums: PosteriorSums,
        solver: &LoadingSolver<'_>,
        exec: &Exec<'_>,
    ) -> Result<OfLoadings> {
        let mut found = vec![([0.0; N_TERMS], 0.0); loadings.n_rows()];
        let widths = [loadings.width(), table.width()];
        let chunks = loadings
            .as_mut_slice()
            .chunks_mut(FEATURES * widths[0])
            .zip(table.as_mut_slice().chunks_mut(FEATURES * widths[1]))
            .zip(found.chunks_mut(FEATURES));
        exec.each(chunks, |piece, ((loadings, table), found)| {
            let mut acc = vec![0.0; solver.layout.n_sums() + solver.workspace()];
            let rows = loadings.chunks_exact_mut(widths[0]).zip(table.chunks_exact_mut(widths[1]));
            for (at, ((row, out), found)) in rows.zip(found).enumerate() {
                let j = piece * FEATURES + at;
                let errors = ErrorSums::of(&sums, j, solver, row, &mut acc);
                sums.unpack(j, solver.layout, false, &mut acc);
                *found = (solver.solve(&mut acc, row, out)?, errors.given(row));
            }
            Ok(())
        })?;
        let (mut terms, mut errors) = ([0.0; N_TERMS], 0.0);
        for (of_feature, of_points) in found {
            terms.iter_mut().zip(of_feature).for_each(|(sum, x)| *sum += x);
            errors += of_points;
        }
        Ok(OfLoadings { errors: Some(errors), ..OfLoadings::of(terms) })
    }
}

/// Sums of a feature with the means of the scores after their change, from which the squared error follows for any
/// loadings.
struct ErrorSums {
    /// `sum w z z'`, rows of `stride` values, the upper triangle.
    products: Vec<f64>,
    stride: usize,
    /// `sum w y z`, with `y` an entry less `mean`.
    of_y: Vec<f64>,
    /// `sum w y^2`.
    squares: f64,
    mean: f64,
}

impl ErrorSums {
    /// `row` holds the loadings and the mean before the change of the scores; `acc` is overwritten.
    fn of<T: Lane>(
        sums: &PosteriorSums,
        j: usize,
        solver: &LoadingSolver<'_>,
        row: &[T],
        acc: &mut [f64],
    ) -> Self {
        let (layout, affine) = (solver.layout, solver.affine);
        let (c, stride) = (layout.c, affine.stride());
        sums.unpack(j, layout, true, acc);
        let (acc, workspace) = acc.split_at_mut(layout.n_sums());
        let (mut products, mut of_y) = (vec![0.0; (c + 1) * stride], vec![0.0; stride]);
        let delta = affine.change_of_mean(row);
        let moved = (&mut products[..], &mut workspace[..(c + 1) * stride]);
        let squares = affine.moved_sums(layout, acc, delta, moved, &mut of_y);
        Self { products, stride, of_y, squares, mean: row[c].to_f64() + delta }
    }

    /// `sum w e^2` with loadings and mean `row`.
    fn given<T: Lane>(&self, row: &[T]) -> f64 {
        let Self { products, stride, of_y, squares, mean } = self;
        let c = of_y.len().min(products.len() / stride) - 1;
        let a = |k: usize| if k < c { row[k].to_f64() } else { row[c].to_f64() - mean };
        let along = |k: usize| (0..=c).map(|l| a(l) * products[k.min(l) * stride + k.max(l)]).sum::<f64>();
        let fitted: f64 = (0..=c).map(|k| a(k) * (along(k) - 2.0 * of_y[k])).sum();
        (squares + fitted).max(0.0)
    }
}

/// The fit in the coordinates of its principal components, after one more pass. `problem` has the components of
/// `factors`.
pub(crate) fn found_in_parts<T: Lane>(
    pca: &IncompletePca,
    posterior: &Posterior<T>,
    (problem, factors): (&Objective<'_, T>, &Factors<T>),
    (entries, passes): (&ColumnEntries, &dyn EntryPasses),
    exec: &Exec<'_>,
) -> Result<Found> {
    /// Weight of an entry: entries of parts have no weights.
    const OF_ENTRY: f64 = 1.0;
    let c = problem.c;
    let sums = passes.posterior(PosteriorTask::new(&posterior.given()), exec)?;
    let factors = Factors { a: factors.a.clone(), s: with_moments(&sums.means)?, c };
    let rotation =
        posterior.rotate_given(problem, factors, (&sums.moments(), &posterior.table, OF_ENTRY), exec)?;
    let shape = (entries.samples, entries.weight.len());
    let mut found = Found::of_rotation(rotation, (posterior.noise, OF_ENTRY), shape, true);
    // Scores stay with the rows.
    found.rotated.scores = Matrix::zeros(0, c);
    found.score_covariances = pca.error_bars.then(|| Covariances::none(c));
    Ok(found)
}
