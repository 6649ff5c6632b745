//! The side of the fit: sends tasks to an engine and checks what comes back.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::cluster::{Engine, PartSeen, Partial, Sums, Task, Work};
use crate::error::{Error, Result};
use crate::exec::Exec;
use crate::linalg::decomp::tsqr::Triangle;
use crate::linalg::{ColumnMap, Matrix};
use crate::operator::{Products, Side, cancelled_by_correction, needs_rows};

/// Makes the passes of one fit.
pub(crate) struct Driver<'a> {
    engine: &'a dyn Engine,
    fit: u64,
    n_passes: AtomicUsize,
    /// Number of passes that the engine made.
    n_made: AtomicUsize,
    /// The parts as the first pass found them.
    parts: OnceLock<Vec<PartSeen>>,
}

impl<'a> Driver<'a> {
    pub(crate) fn new(engine: &'a dyn Engine) -> Self {
        // Only the identity of the fit is random; no result depends on it.
        let fit = RandomState::new().build_hasher().finish();
        Self {
            engine,
            fit,
            n_passes: AtomicUsize::new(0),
            n_made: AtomicUsize::new(0),
            parts: OnceLock::new(),
        }
    }

    /// Number of passes so far, with those that a log held.
    pub(crate) fn n_passes(&self) -> usize {
        self.n_passes.load(Ordering::Relaxed)
    }

    /// Returns the sums over all parts: from the log, or from the engine.
    ///
    /// # Errors
    /// Errors of the engine; [`Error::PartChanged`] for a part that an earlier pass found otherwise; [`Error::Parts`]
    /// for results that do not cover all parts.
    pub(crate) fn pass(&self, name: &'static str, work: Work, exec: &Exec<'_>) -> Result<Partial> {
        exec.report(0.0)?;
        let task = Task { fit: self.fit, pass: self.n_passes.fetch_add(1, Ordering::Relaxed), work };
        let total = exec.pass(name, || Partial::none(&task), |_| self.reduce(&task))?;
        if total.task != (task.fit, task.pass) {
            let problem = "the engine returned the result of another task".to_owned();
            return Err(Error::Parts { problem });
        }
        if let Some((number, _)) = (0..).zip(&total.parts).find(|(number, part)| part.number != *number) {
            return Err(Error::Parts { problem: format!("part {number} is missing") });
        }
        self.check_unchanged(&total.parts)?;
        Ok(total)
    }

    /// Compares the parts with the parts of the log, if it held all passes.
    /// `scatter_columns` is the value of the first pass.
    ///
    /// # Errors
    /// As [`Driver::pass`].
    pub(crate) fn check_log(&self, n_features: usize, scatter_columns: usize) -> Result<()> {
        if self.n_made.load(Ordering::Relaxed) > 0 {
            return Ok(());
        }
        // The first pass of the engine.
        let task = Task { fit: self.fit, pass: 0, work: Work::Check { scatter_columns } };
        let now = self.reduce(&task)?;
        if now.n_features != n_features {
            let (found, expected) = (n_features.to_string(), now.n_features.to_string());
            return Err(Error::OtherFit { what: "numbers of columns", found, expected });
        }
        self.check_unchanged(&now.parts)
    }

    fn reduce(&self, task: &Task) -> Result<Partial> {
        self.n_made.fetch_add(1, Ordering::Relaxed);
        self.engine.reduce(task)
    }

    fn check_unchanged(&self, now: &[PartSeen]) -> Result<()> {
        let before = self.parts.get_or_init(|| now.to_vec());
        if before.len() != now.len() {
            let problem = format!("there were {} parts in the first pass, now {}", before.len(), now.len());
            return Err(Error::Parts { problem });
        }
        match before.iter().zip(now).find(|(before, now)| before != now) {
            None => Ok(()),
            Some((before, now)) => {
                Err(Error::PartChanged { part: now.number, rows_before: before.n_rows, rows_now: now.n_rows })
            }
        }
    }
}

/// `B'B Q` with `B = V^(1/2) (X - 1 mu') F` over all parts, each product in one pass. Iteration has its basis on the side
/// of the columns also for fewer rows than columns, because a product on the side of the rows would take two passes.
pub(crate) struct PartProducts<'a> {
    pub(crate) driver: &'a Driver<'a>,
    /// (n_samples, n_features).
    pub(crate) shape: (usize, usize),
    pub(crate) map: ColumnMap<'a>,
    /// The sum of the weights.
    pub(crate) weight: f64,
    /// True if the rows of any part are sparse.
    pub(crate) sparse: bool,
    /// Orthonormal columns from the first pass.
    pub(crate) start: Option<Matrix>,
}

impl Products for PartProducts<'_> {
    /// The shape of `B`, below which rows of zeros stand if it has fewer rows than columns: they do not change `B'B`.
    fn shape(&self) -> (usize, usize) {
        let (n, p) = self.shape;
        (n.max(p), p)
    }

    fn cancelled(&self, _: f64) -> f64 {
        if self.sparse { cancelled_by_correction(self.map) } else { 0.0 }
    }

    fn normal(&self, q: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        let work = Work::Product {
            shift: self.map.shift.to_vec(),
            factor: self.map.factor.to_vec(),
            weight: self.weight,
            q: q.clone(),
        };
        let shape = (self.shape.1, q.n_cols());
        match self.driver.pass("product of columns", work, exec)?.sums {
            Sums::Product(product) if (product.n_rows(), product.n_cols()) == shape => Ok(product),
            _ => Err(Error::Parts { problem: "the engine returned no product".to_owned() }),
        }
    }

    fn start(&self) -> Option<&Matrix> {
        self.start.as_ref()
    }

    // Only products on the side of the columns are asked for.
    fn apply_t(&self, _: &Matrix, _: &Exec<'_>) -> Result<Matrix> {
        Err(needs_rows())
    }
    fn normal_t(&self, _: &Matrix, _: &Exec<'_>) -> Result<Matrix> {
        Err(needs_rows())
    }
    fn product(&self, _: Side, _: &Exec<'_>) -> Result<Matrix> {
        Err(needs_rows())
    }
    fn triangle(&self, _: Side, _: &Exec<'_>) -> Result<Triangle> {
        Err(needs_rows())
    }
}
