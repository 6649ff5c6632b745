//! Fits of incomplete rows in parts.

use crate::cluster::{Driver, Engine, Sums, Work};
use crate::error::{Error, Result};
use crate::exec::{Exec, PassLog, Run};
use crate::incomplete::parts::{
    ColumnEntries, EntryPasses, EntrySums, EntryTask, NoiseSums, NoiseTask, NormalSums, NormalTask,
    PosteriorSums, PosteriorTask, TraceTask, fit_in_parts,
};
use crate::incomplete::{IncompleteModel, IncompletePca};
use crate::operator::describe_weights;

impl IncompletePca {
    /// Fits the model to the observed entries of rows in parts, which an engine visits. The methods are `em`, `als`
    /// and `vb-full`; each iteration is one pass over the parts. The model holds no scores of the fitted rows, which
    /// [`IncompleteModel::row_scores`] computes where the rows are.
    ///
    /// ```
    /// use karhunen::cluster::{Engine, Partial, Task};
    /// use karhunen::incomplete::Method;
    /// use karhunen::{Dense, IncompletePca, Result, Run};
    /// /// Two parts of three rows each, in this process. Row 1 is half of row 2.
    /// struct Parts([[f64; 9]; 2]);
    /// impl Engine for Parts {
    ///     fn reduce(&self, task: &Task) -> Result<Partial> {
    ///         let partials = self.0.iter().enumerate().map(|(part, values)| {
    ///             Partial::of(task, part, &Dense::row_major(values, 3, 3)?, None, &Run::default())
    ///         });
    ///         Partial::merge_all(partials.collect::<Result<_>>()?)
    ///     }
    /// }
    /// let parts = Parts([
    ///     [-1.0, -2.0, -3.0, 1.0, 2.0, 3.0, 2.0, f64::NAN, 6.0],
    ///     [-2.0, -4.0, -6.0, 3.0, 6.0, 9.0, -3.0, -6.0, f64::NAN],
    /// ]);
    /// let pca = IncompletePca { method: Method::Em, ..IncompletePca::new(1) };
    /// let model = pca.fit_parts(&parts)?;
    /// assert_eq!(model.n_samples(), 6);
    /// assert!((model.components()[(0, 1)] / model.components()[(0, 0)] - 2.0).abs() < 1e-4);
    /// # Ok::<(), karhunen::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`IncompletePca::fit`]; [`Error::Option`] for an option that fits in parts do not have; [`Error::Part`] with
    /// the number of a part that cannot be used, [`Error::PartChanged`] and [`Error::PartColumns`]; errors of the engine.
    pub fn fit_parts(&self, engine: &dyn Engine) -> Result<IncompleteModel> {
        self.fit_parts_with(engine, None, None, &Run::default())
    }

    /// As [`IncompletePca::fit_parts`], with a positive weight of each column, which multiplies its squared residuals, with
    /// a log that keeps the result of every pass, and with threads and observer of `run`.
    ///
    /// # Errors
    /// As [`IncompletePca::fit_parts`]; [`Error::WeightLength`], [`Error::WeightValue`]; errors of the log;
    /// [`Error::Stopped`] if the observer cancels.
    pub fn fit_parts_with(
        &self,
        engine: &dyn Engine,
        feature_weights: Option<&[f64]>,
        log: Option<&dyn PassLog>,
        run: &Run<'_>,
    ) -> Result<IncompleteModel> {
        if let Some(log) = log {
            let mut facts = self.facts_in_parts();
            facts.push(describe_weights("weights of columns", feature_weights));
            log.begin(&facts)?;
        }
        Exec::run(run, |exec| {
            let driver = Driver::new(engine);
            let model = fit_in_parts(self, &driver, feature_weights, &exec.logged(log))?;
            driver.check_log(model.n_features(), 0)?;
            Ok(model)
        })
    }
}

impl EntryPasses for Driver<'_> {
    fn columns(&self, exec: &Exec<'_>) -> Result<(ColumnEntries, bool)> {
        let total = self.pass("means and variances", Work::Entries(EntryTask::Columns), exec)?;
        match total.sums {
            Sums::Entries(EntrySums::Columns(entries)) => Ok((entries, total.single)),
            _ => Err(no_sums()),
        }
    }

    fn normal(&self, task: NormalTask, exec: &Exec<'_>) -> Result<NormalSums> {
        match self.pass("normal equations", Work::Entries(EntryTask::Normal(task)), exec)?.sums {
            Sums::Entries(EntrySums::Normal(sums)) => Ok(sums),
            _ => Err(no_sums()),
        }
    }

    fn posterior(&self, task: PosteriorTask, exec: &Exec<'_>) -> Result<PosteriorSums> {
        match self.pass("posteriors", Work::Entries(EntryTask::Posterior(task)), exec)?.sums {
            Sums::Entries(EntrySums::Posterior(sums)) => Ok(sums),
            _ => Err(no_sums()),
        }
    }

    fn trace(&self, task: TraceTask, exec: &Exec<'_>) -> Result<f64> {
        match self.pass("error bars", Work::Entries(EntryTask::Trace(task)), exec)?.sums {
            Sums::Entries(EntrySums::Trace(sum)) => Ok(sum),
            _ => Err(no_sums()),
        }
    }

    fn noise(&self, task: NoiseTask, exec: &Exec<'_>) -> Result<NoiseSums> {
        match self.pass("error bars", Work::Entries(EntryTask::Noise(task)), exec)?.sums {
            Sums::Entries(EntrySums::Noise(sums)) => Ok(sums),
            _ => Err(no_sums()),
        }
    }
}

fn no_sums() -> Error {
    Error::Parts { problem: "the engine returned no sums of entries".to_owned() }
}
