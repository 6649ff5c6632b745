//! The first stage of a fit: the route, and whether its memory suffices, decided before the rows are read.

use crate::affine::Standardization;
use crate::error::Result;
use crate::exec::Run;
use crate::operator::FirstPass;
use crate::pca::limit::{self, Allowance};
use crate::pca::{NComponents, Pca};
use crate::scalar::Scalar;
use crate::scaling::Scaling;
use crate::solver::select::{RouteChoice, choose};
use crate::solver::{self, IterationOptions, Problem, Reading, Route};
use crate::source::{Pass, PassKind, Source};

/// Ratio of the number of components of a share to the number that is known from a spectrum estimate or a search, up to which a
/// limit that is named suffices, and rows are not kept in memory.
const MORE_COMPONENTS: usize = 2;

/// What a fit does with its rows.
pub(super) struct Plan<'a> {
    pub(super) pca: &'a Pca,
    pub(super) problem: Problem,
    pub(super) choice: RouteChoice,
    /// True if the values are tested for counts before they are scaled.
    pub(super) checks_counts: bool,
    n_threads: usize,
}

impl<'a> Plan<'a> {
    /// For a fit that is weighted or not and has a log or not.
    pub(super) fn new<T: Scalar>(
        pca: &'a Pca,
        x: &dyn Source<T>,
        (is_weighted, is_logged): (bool, bool),
        run: &Run<'_>,
    ) -> Self {
        let problem = problem::<T>(pca, x, is_weighted, is_logged);
        // Genotypes of packed files are counts.
        let packed = matches!(x.pass(), Pass::Costly { kind: PassKind::Packed, .. });
        let checks_counts = pca.scale == Scaling::Binomial && !packed;
        let choice = chosen(pca, &problem);
        Self { pca, problem, choice, checks_counts, n_threads: run.expected_threads() }
    }

    /// The number of passes over the rows, if it can be predicted.
    pub(super) fn n_passes(&self) -> Option<usize> {
        let RouteChoice::Route(route, _) = &self.choice else { return None };
        let before = self.pca.scale == Scaling::Range || self.checks_counts;
        Some(self.problem.predicted_passes(*route) + usize::from(before))
    }

    /// True if one pass gives the moments and the products of the covariance route. Sparse rows in memory are multiplied about
    /// the mean of all of them.
    pub(super) fn is_one_pass(&self) -> bool {
        let sums = !self.problem.sparse || self.problem.reading.is_some();
        matches!(self.choice, RouteChoice::Route(Route::Covariance, _))
            && sums
            && self.pca.n_components != NComponents::Count(0)
    }

    /// True if block Krylov iteration keeps the rows packed.
    pub(super) fn packs(&self, allowance: Allowance<'_>) -> bool {
        !self.problem.is_logged && keeps_packed(&self.choice, &self.problem, allowance, self.n_threads)
    }

    /// True if rows are packed from the first product on. A spectrum estimate may leave for another route; its few products
    /// repay packing only of wide data.
    pub(super) fn packs_first(&self) -> bool {
        self.problem.n < self.problem.p || matches!(self.choice, RouteChoice::Route(..))
    }

    /// Refuses the plan if memory is short.
    ///
    /// # Errors
    /// As [`Allowance::ask`].
    pub(super) fn ask(&self, allowance: Allowance<'_>) -> Result<()> {
        let Self { pca, problem, n_threads, .. } = self;
        match &self.choice {
            RouteChoice::Route(route, _) => {
                let courses = |limited: &Problem| match pca.solver {
                    Some(route) => limit::only(route)(limited),
                    None => limited.courses(1),
                };
                allowance.ask(*route, problem, *n_threads, courses)
            }
            // The spectrum estimate allocates as block Krylov iteration for one component does.
            RouteChoice::Estimate(_) => {
                let courses = |limited: &Problem| share(pca, limited).courses(1);
                allowance.ask(Route::BlockKrylov, &problem.searching(1), *n_threads, courses)
            }
        }
    }

    /// Permits the source to keep rows in the memory that the route leaves, if there are more passes.
    pub(super) fn let_keep<T: Scalar>(&self, x: &dyn Source<T>, allowance: Allowance<'_>) {
        if let (RouteChoice::Route(route, _), false) = (&self.choice, self.is_one_pass()) {
            allowance.let_keep(x, &self.problem, *route, self.n_threads);
        }
    }

    /// Asks for the memory of a route to `k` components that a spectrum estimate or a search leads to; returns whether there
    /// is room for packed rows.
    ///
    /// # Errors
    /// As [`Allowance::ask`].
    pub(super) fn ask_for<T: Scalar>(
        &self,
        (route, k): (Route, usize),
        x: &dyn Source<T>,
        allowance: Allowance<'_>,
    ) -> Result<bool> {
        let problem = self.problem.searching(k);
        // A search may turn out to need more components.
        let courses =
            |limited: &Problem| share(self.pca, limited).courses(MORE_COMPONENTS * limited.k.unwrap_or(1));
        allowance.ask(route, &problem, self.n_threads, courses)?;
        let iterates = RouteChoice::Route(route, String::new());
        let packs = keeps_packed(&iterates, &problem, allowance, self.n_threads);
        // Rows that an earlier call kept give way to more components.
        allowance.let_keep(x, &self.problem.searching(MORE_COMPONENTS * k), route, self.n_threads);
        Ok(packs)
    }

    /// True if the SVD route may follow a route that lost small variances.
    pub(super) fn may_follow_up(&self, allowance: Allowance<'_>) -> bool {
        self.pca.solver.is_none()
            && self.problem.affords_svd()
            && allowance.ask(Route::Svd, &self.problem, self.n_threads, limit::only(Route::Svd)).is_ok()
    }

    /// The start that the first pass makes: for block Krylov iteration on the side of the columns, over rows that every pass
    /// reads again.
    pub(super) fn start<'s>(&self, standardization: Standardization<'s>) -> Option<FirstPass<'s>> {
        let iterates =
            matches!(self.choice, RouteChoice::Route(Route::BlockKrylov, _)) && self.problem.k.is_some();
        let blocks = self.problem.blocks().filter(|_| iterates && self.problem.p <= self.problem.n)?;
        Some(FirstPass { standardization, width: blocks.width, seed: self.pca.seed })
    }
}

/// The largest residual that counts as converged.
pub(super) fn tolerance<T: Scalar>(pca: &Pca) -> f64 {
    pca.tol.unwrap_or(if T::EPSILON > f64::EPSILON { 1e-6 } else { 1e-8 })
}

pub(super) fn iteration(pca: &Pca, tol: f64) -> IterationOptions<'static> {
    let Pca { max_iter, block_size, seed, .. } = *pca;
    IterationOptions { tol, centring: 0.0, max_iter, block_size, reading: None, seed, start: None }
}

fn problem<T: Scalar>(pca: &Pca, x: &dyn Source<T>, weighted: bool, is_logged: bool) -> Problem {
    let (n_stored, sparse) = (x.n_stored(), x.is_sparse());
    let reading = match x.pass() {
        Pass::Memory => None,
        Pass::Costly { bytes, kind, .. } => {
            Some(Reading { bytes, wide: matches!(kind, PassKind::Dense | PassKind::Text), weighted })
        }
    };
    let sums = problem_of_sums(pca, x.shape());
    // Within a limit, the route that follows a spectrum estimate may need the memory of packed values.
    let room = sums.k.is_some() || sums.limit.is_none();
    let packs = !sparse && reading.is_none() && x.n_blocks() == Some(1) && room;
    let reserved = limit::reserved(x.pass());
    let value_bytes = size_of::<T>();
    Problem { n_stored, sparse, value_bytes, reserved, reading, packs, is_logged, ..sums }
}

/// The size of a fit for a share of the variance, if `problem` describes a number of components within it.
fn share(pca: &Pca, problem: &Problem) -> Problem {
    Problem { k: None, block_size: pca.block_size, ..*problem }
}

/// The route that was asked for, or the choice.
fn chosen(pca: &Pca, problem: &Problem) -> RouteChoice {
    pca.solver.map_or_else(|| choose(problem), |route| RouteChoice::Route(route, "asked for".to_owned()))
}

/// Tests whether block Krylov iteration, or a spectrum estimate, keeps its data packed.
fn keeps_packed(choice: &RouteChoice, problem: &Problem, allowance: Allowance<'_>, n_threads: usize) -> bool {
    let may_follow = match choice {
        RouteChoice::Route(route, _) => *route == Route::BlockKrylov,
        RouteChoice::Estimate(_) => true,
    };
    let spares = |bytes| allowance.spares(bytes, Route::BlockKrylov, problem, n_threads);
    may_follow && solver::need_of_packed(problem).is_some_and(spares)
}

/// The size of a fit without rows of its own: of sums or of products.
pub(super) fn problem_of_sums(pca: &Pca, (n, p): (usize, usize)) -> Problem {
    let (k, limit) = (pca.n_components.known(n.min(p)), pca.memory_limit.map(|bytes| bytes as f64));
    Problem {
        n,
        p,
        k,
        n_stored: 0,
        sparse: false,
        value_bytes: size_of::<f64>(),
        limit,
        reserved: 0.0,
        block_size: pca.block_size,
        reading: None,
        packs: false,
        is_logged: false,
    }
}

/// Memory estimate of a fit in bytes.
pub(crate) fn memory_need<T: Scalar>(pca: &Pca, x: &dyn Source<T>, run: &Run<'_>) -> f64 {
    let problem = problem::<T>(pca, x, true, false);
    let choice = chosen(pca, &problem);
    let route = pca.solver.unwrap_or_else(|| problem.likely());
    let n_threads = run.expected_threads();
    let held = |factor| x.memory_within(factor).held;
    let packs = keeps_packed(&choice, &problem, Allowance::of(pca, x.pass(), &held), n_threads);
    let packed = solver::need_of_packed(&problem).filter(|_| packs).unwrap_or(0.0);
    problem.need(route, n_threads) + packed
}
