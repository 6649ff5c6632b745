//! Entry points of a fit: selection of rows and columns, then their fit.

use crate::error::{Error, OptionValue, Result, options};
use crate::exec::{Exec, Run};
use crate::incomplete::data::{ColumnScales, HOLDING_OUT, Observed, Share};
use crate::incomplete::fit;
use crate::incomplete::fit::checkpoint::FitContext;
use crate::incomplete::fit::left_out::Division;
use crate::incomplete::fit::unseen::Unseen;
use crate::incomplete::model::IncompleteModel;
use crate::incomplete::options::{IncompletePca, MeanMode, NoiseModel};
use crate::random::Purpose;
use crate::scalar::{Scalar, compiled};

impl IncompletePca {
    /// Fits the model to the observed entries.
    ///
    /// # Errors
    /// [`Error::NComponents`]; [`Error::Option`] for an option that is invalid or has no effect on the method;
    /// [`Error::NothingObserved`]; [`Error::NothingSetAside`] if `early_stopping` or `conformal` can hold out no entry;
    /// [`Error::Threads`]; [`Error::Decomposition`] for values beyond the range of their type.
    pub fn fit<T: Scalar>(&self, data: &Observed<T>) -> Result<IncompleteModel> {
        self.fit_with(data, &FitContext::default(), &Run::default())
    }

    /// As [`IncompletePca::fit`], with the start and checkpoints of `context`, and with threads and observer of `run`.
    ///
    /// # Errors
    /// As [`IncompletePca::fit`]; [`Error::Shape`] and [`Error::NonFinite`] for the start; [`Error::OtherFit`] and
    /// [`Error::CheckpointDamaged`] for a checkpoint to continue from; [`Error::CheckpointNotKept`];
    /// [`Error::Stopped`] if the observer cancels.
    pub fn fit_with<T: Scalar>(
        &self,
        data: &Observed<T>,
        context: &FitContext<'_>,
        run: &Run<'_>,
    ) -> Result<IncompleteModel> {
        let fit = compiled!(T, IncompletePca::fit_checked::<T>
            => fn(&IncompletePca, &Observed<T>, &FitContext<'_>, &Run<'_>) -> Result<IncompleteModel>);
        fit(self, data, context, run)
    }

    fn fit_checked<T: Scalar>(
        &self,
        data: &Observed<T>,
        context: &FitContext<'_>,
        run: &Run<'_>,
    ) -> Result<IncompleteModel> {
        self.check_data(data)?;
        self.ask_within_limit(data, run)?;
        let Some(value) = self.conformal else { return self.fit_scaled(data, context, run) };
        self.check_all(data, context.start)?;
        if data.multiplicity().is_some() || data.is_weighted() {
            let rule =
                "entries and rows with weights cannot represent one another; leave the weights or this out";
            return Err(Error::option(options::CONFORMAL, value, rule));
        }
        let (share, stream) = (Share { option: options::CONFORMAL, value }, Purpose::Conformal.of(self.seed));
        let (kept, held_out) = Exec::run(run, |exec| data.split_by(share, stream, &exec.phase(HOLDING_OUT)))?;
        self.fit_scaled(&kept, context, run)?.with_errors_of(&held_out, run)
    }

    /// Fits entries in the units of the data, which are scaled and weighted by column first.
    pub(crate) fn fit_scaled<T: Scalar>(
        &self,
        data: &Observed<T>,
        context: &FitContext<'_>,
        run: &Run<'_>,
    ) -> Result<IncompleteModel> {
        if self.noise == NoiseModel::Feature {
            let model = self.fit_noise_of_features(data, context, run)?;
            return Ok(self.with_unseen(model, data));
        }
        let scales = ColumnScales::of(data, &self.scale, self.mean != MeanMode::None, run)?;
        if scales.are_one() {
            return self.fit_in_units(data, context, run);
        }
        if let Some(start) = context.start {
            start.check(data.shape(), self.n_components)?;
        }
        let start = context.start.map(|start| start.in_units(&scales));
        let context = FitContext { start: start.as_ref(), ..*context };
        let scaled = scales.of_entries(data, data.n_features(), run)?;
        let model = self.fit_in_units(&scaled, &context, run)?.with_scales(scales);
        Ok(self.with_unseen(model, data))
    }

    /// A model of scaled entries with the mean of all entries for features without entries.
    fn with_unseen<T: Scalar>(&self, model: IncompleteModel, data: &Observed<T>) -> IncompleteModel {
        let is_unseen = self.mean != MeanMode::None && model.parts().n_observed.contains(&0);
        if is_unseen { model.with_unseen_means(mean_and_variance(data)) } else { model }
    }

    /// Fits entries that are in the units of the fit.
    pub(crate) fn fit_in_units<T: Scalar>(
        &self,
        data: &Observed<T>,
        context: &FitContext<'_>,
        run: &Run<'_>,
    ) -> Result<IncompleteModel> {
        if let Some(division) = Division::of(data, self.n_components) {
            if let Some(start) = context.start {
                start.check(data.shape(), self.n_components)?;
            }
            return division.fit(data, context, run, |data, context| self.fit_in_units(data, context, run));
        }
        self.check_all(data, context.start)?;
        if context.start.is_some() && context.resume.is_some() {
            return Err(Error::option(
                options::START,
                OptionValue::Given,
                "a fit that is resumed continues where it was: it has no other start",
            ));
        }
        match Unseen::of(self, data) {
            Some(unseen) => {
                unseen.fit(self, data, context, run, |data, context| self.fit_in_units(data, context, run))
            }
            None => fit::fit(self, data, context, run),
        }
    }
}

/// The mean of all entries in the units of the data, weighted, and their mean square about it: what is known of a feature
/// without entries.
fn mean_and_variance<T: Scalar>(data: &Observed<T>) -> (f64, f64) {
    let sum = |of: &dyn Fn(f64) -> f64| -> f64 {
        (0..data.n_features())
            .map(|column| {
                // The weights of columns have the multiplicities of rows.
                let line = data.columns().line(column);
                let weight = |e: usize| line.weights.map_or(1.0, |w| w[e].to_f64());
                (0..line.values.len()).map(|e| weight(e) * of(line.values[e].to_f64())).sum::<f64>()
            })
            .sum()
    };
    let total = sum(&|_| 1.0);
    let mean = sum(&|x| x / total);
    (mean, sum(&|x| ((x - mean) / total.sqrt()).powi(2)).min(f64::MAX))
}
