//! The rows of a fit with posteriors: in memory here, in parts elsewhere ([`crate::incomplete::parts`]).

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::factors::objective::Objective;
use crate::incomplete::factors::{Factor, FactorSide, Factors};
use crate::incomplete::passes::moments::{moments_pass, sums_of_scores};
use crate::incomplete::updates::loading_posteriors::{LoadingSolver, OfLoadings};
use crate::incomplete::updates::score_moments::ScoreMoments;
use crate::incomplete::updates::score_posteriors::score_posteriors;
use crate::linalg::simd::Lane;

/// The posterior of the loadings and the prior of the scores, from which the posteriors of the scores follow.
pub(crate) struct GivenLoadings<'a, T> {
    /// Expected values of the loadings, see [`crate::incomplete::passes::moments::Expected`].
    pub(crate) table: &'a Factor<T>,
    /// The noise over the prior variance of each score.
    pub(crate) penalty: &'a [f64],
    /// `v_x`.
    pub(crate) noise: f64,
}

/// Sums over the posteriors of the scores of all rows.
pub(crate) struct OfScores {
    /// Sum of `ln det Psi_i`.
    pub(crate) log_det: f64,
    pub(crate) moments: ScoreMoments,
}

/// Sums over the rows of a fit with posteriors.
pub(crate) trait RowPosteriors<T> {
    /// The posteriors of all scores, or the sums over them that the loadings need.
    type Scores;

    /// Sum of the multiplicities of the rows.
    fn n_samples(&self, problem: &Objective<'_, T>) -> f64;

    /// Number of entries, with multiplicities.
    fn n_entries(&self, problem: &Objective<'_, T>) -> f64;

    /// Sum of the weights of the entries of a feature.
    fn weight(&self, problem: &Objective<'_, T>, j: usize) -> f64;

    /// Computes the posteriors of all scores; writes their means to the factors, if these hold the rows.
    fn scores(
        &mut self,
        problem: &Objective<'_, T>,
        factors: &mut Factors<T>,
        given: &GivenLoadings<'_, T>,
        exec: &Exec<'_>,
    ) -> Result<(OfScores, Self::Scores)>;

    /// `sum w (s_i, 1)` over the entries of each feature, with the means of the scores before any change.
    fn sums_of_scores(
        &self,
        problem: &Objective<'_, T>,
        factors: &Factors<T>,
        scores: &Self::Scores,
        exec: &Exec<'_>,
    ) -> Result<Factor<T>>;

    /// Updates the posteriors of the loadings, and the means.
    fn loadings(
        &mut self,
        problem: &Objective<'_, T>,
        loadings: [&mut Factor<T>; 2],
        scores: Self::Scores,
        solver: &LoadingSolver<'_>,
        exec: &Exec<'_>,
    ) -> Result<OfLoadings>;
}

/// Rows that the objective holds.
#[derive(Debug)]
pub(crate) struct RowsInMemory<T> {
    /// Memory reused for expected values of so many scores per row.
    workspace: Option<(usize, Factor<T>)>,
}

impl<T> RowsInMemory<T> {
    pub(crate) fn new() -> Self {
        Self { workspace: None }
    }
}

impl<T: Lane> RowPosteriors<T> for RowsInMemory<T> {
    type Scores = Factor<T>;

    fn n_samples(&self, problem: &Objective<'_, T>) -> f64 {
        problem.data.total_samples()
    }

    fn n_entries(&self, problem: &Objective<'_, T>) -> f64 {
        problem.data.total_entries()
    }

    fn weight(&self, problem: &Objective<'_, T>, j: usize) -> f64 {
        problem.data.columns().weight(j)
    }

    fn scores(
        &mut self,
        problem: &Objective<'_, T>,
        factors: &mut Factors<T>,
        given: &GivenLoadings<'_, T>,
        exec: &Exec<'_>,
    ) -> Result<(OfScores, Factor<T>)> {
        let GivenLoadings { table, penalty, noise } = *given;
        // The padding of a table of another number of scores is not zero.
        let workspace = self.workspace.take().filter(|(c, _)| *c == problem.c).map(|(_, table)| table);
        let (expected, log_det) = score_posteriors(problem, factors, table, penalty, noise, workspace, exec)?;
        let moments = ScoreMoments::of(&expected, problem.c, &exec.part(1.0, 1.0))?;
        Ok((OfScores { log_det, moments }, expected))
    }

    fn sums_of_scores(
        &self,
        problem: &Objective<'_, T>,
        factors: &Factors<T>,
        _: &Factor<T>,
        exec: &Exec<'_>,
    ) -> Result<Factor<T>> {
        sums_of_scores(problem, &factors.s, exec)
    }

    fn loadings(
        &mut self,
        problem: &Objective<'_, T>,
        [loadings, table]: [&mut Factor<T>; 2],
        scores: Factor<T>,
        solver: &LoadingSolver<'_>,
        exec: &Exec<'_>,
    ) -> Result<OfLoadings> {
        let c = problem.c;
        let constants: Vec<T> = (0..loadings.n_rows()).map(|j| loadings.row(j)[c]).collect();
        let found = moments_pass(
            problem,
            FactorSide::Loadings,
            (&scores, &constants),
            solver.workspace(),
            [loadings.as_rows(), table.as_rows()],
            exec,
            |_, acc, [row, expected]| solver.solve(acc, row, expected),
        )?;
        self.workspace = Some((c, scores));
        Ok(OfLoadings::of(found))
    }
}
