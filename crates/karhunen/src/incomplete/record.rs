//! Models of incomplete data, and the checkpoints of their fits, as records.

use crate::error::Result;
use crate::incomplete::data::ColumnScales;
use crate::incomplete::factors::covariances::Covariances;
use crate::incomplete::factors::prior::{NormalPrior, Prior};
use crate::incomplete::fit::checkpoint::Checkpoint;
use crate::incomplete::model::convergence::{IncompleteConvergence, TraceEntry};
use crate::incomplete::model::row_errors::SpeScale;
use crate::incomplete::model::{IncompleteModel, IncompleteParts, RowTotals};
use crate::record::{Record, Recorded};

impl Recorded for IncompleteModel {
    const KIND: &'static str = "incomplete-pca";

    fn to_record(&self) -> Result<Record<'_>> {
        let mut record = Record::new(Self::KIND);
        self.put(&mut record)?;
        Ok(record)
    }

    fn from_record(record: &mut Record<'_>) -> Result<Self> {
        record.check_kind(Self::KIND)?;
        Self::take(record)
    }
}

impl IncompleteModel {
    /// Adds the content of the model.
    pub(crate) fn put<'a>(&'a self, record: &mut Record<'a>) -> Result<()> {
        let parts = self.parts();
        record.put_matrix("components", &parts.components);
        record.put_row("explained_variance", &parts.explained_variance);
        record.put_row("explained_variance_ratio", &parts.explained_variance_ratio);
        record.put_row("singular_values", &parts.singular_values);
        record.put_matrix("scores", &parts.scores);
        record.put_row("mean", &parts.mean);
        record.put_row("mean_variance", &parts.mean_variance);
        record.put_matrix("prior_precision", &parts.prior.precision);
        record.put_row("prior_mean", &parts.prior.mean);
        record.put_scalar("noise_variance", parts.noise_variance);
        record.put_scalar("total_variance", parts.total_variance);
        record.put_counts("n_observed", parts.n_observed.iter().copied());
        put_trace(record, &parts.convergence.trace);
        put_covariances(record, "score_covariances", parts.scores.n_rows(), parts.score_covariances.as_ref());
        put_covariances(record, "loading_covariances", self.n_features(), parts.loading_covariances.as_ref());
        if let Some(NormalPrior { mean, variance }) = parts.mean_prior {
            record.put_row("mean_prior", vec![mean, variance]);
        }
        if let Some(offsets) = &parts.row_offsets {
            record.put_row("row_offsets", offsets);
        }
        let optional = [
            ("scale", &parts.scales.scale),
            ("feature_weights", &parts.scales.weights),
            ("residual_variance", &parts.residual_variance),
            ("feature_noise_variance", &parts.feature_noise_variance),
            ("conformal_errors", &parts.conformal_errors),
        ];
        for (name, values) in optional {
            if let Some(values) = values {
                record.put_row(name, values);
            }
        }
        if let Some(factor) = parts.t2_factor {
            record.put_scalar("t2_factor", factor);
        }
        if let Some(SpeScale { variance, dispersion, n_observations }) = parts.spe_scale {
            record.put_row("spe_scale", vec![variance, dispersion, n_observations]);
        }
        if let Some(RowTotals { samples, entries, offset_variance }) = parts.row_totals {
            record.put_row("row_totals", vec![samples, entries, offset_variance]);
        }
        record.put_text("dtype", &parts.dtype);
        record.put_json("options", &parts.options)?;
        // The trace is stored as arrays, because a fit may have many iterations.
        record.put_json_without("convergence", &parts.convergence, "trace")?;
        record.put_json("prior_per_entry", &parts.prior.per_entry)
    }

    /// Reads the content of [`IncompleteModel::put`].
    pub(crate) fn take(record: &mut Record<'_>) -> Result<Self> {
        let components = record.take_matrix("components")?;
        let c = components.n_rows();
        let row_offsets = record.if_there("row_offsets", Record::take_any_row)?;
        let all = c + usize::from(row_offsets.is_some());
        Self::try_from(IncompleteParts {
            components,
            mean: record.take_any_row("mean")?,
            scales: ColumnScales {
                scale: record.if_there("scale", Record::take_any_row)?,
                weights: record.if_there("feature_weights", Record::take_any_row)?,
            },
            explained_variance: record.take_any_row("explained_variance")?,
            explained_variance_ratio: record.take_any_row("explained_variance_ratio")?,
            singular_values: record.take_any_row("singular_values")?,
            total_variance: record.take_scalar("total_variance")?,
            residual_variance: record.if_there("residual_variance", Record::take_any_row)?,
            noise_variance: record.take_scalar("noise_variance")?,
            feature_noise_variance: record.if_there("feature_noise_variance", Record::take_any_row)?,
            conformal_errors: record.if_there("conformal_errors", Record::take_any_row)?,
            t2_factor: record.if_there("t2_factor", Record::take_scalar)?,
            spe_scale: record.if_there("spe_scale", take_spe_scale)?,
            scores: record.take_matrix("scores")?,
            row_offsets,
            score_covariances: take_covariances(record, "score_covariances", all)?,
            loading_covariances: take_covariances(record, "loading_covariances", c)?,
            mean_variance: record.take_any_row("mean_variance")?,
            mean_prior: record
                .if_there("mean_prior", |record, name| record.take_row(name, 2))?
                .map(|prior: Vec<f64>| NormalPrior { mean: prior[0], variance: prior[1] }),
            prior: Prior {
                precision: record.take_matrix("prior_precision")?,
                per_entry: record.json("prior_per_entry")?,
                mean: record.take_any_row("prior_mean")?,
            },
            n_observed: record.take_counts("n_observed")?,
            row_totals: record.if_there("row_totals", take_row_totals)?,
            options: record.json("options")?,
            dtype: record.text("dtype")?.to_owned(),
            convergence: take_convergence(record)?,
        })
    }
}

fn take_spe_scale(record: &mut Record<'_>, name: &str) -> Result<SpeScale> {
    let values: Vec<f64> = record.take_row(name, 3)?;
    Ok(SpeScale { variance: values[0], dispersion: values[1], n_observations: values[2] })
}

fn take_row_totals(record: &mut Record<'_>, name: &str) -> Result<RowTotals> {
    let values: Vec<f64> = record.take_row(name, 3)?;
    Ok(RowTotals { samples: values[0], entries: values[1], offset_variance: values[2] })
}

fn put_covariances<'a>(record: &mut Record<'a>, name: &str, n: usize, covariances: Option<&'a Covariances>) {
    if let Some(Covariances { n_components: c, packed, unit }) = covariances {
        record.put(name, &[n, c * (c + 1) / 2], packed);
        if *unit != 1.0 {
            record.put_scalar(&format!("{name}_unit"), *unit);
        }
    }
}

fn take_covariances(record: &mut Record<'_>, name: &str, c: usize) -> Result<Option<Covariances>> {
    let packed = record.if_there(name, |record, name| record.take::<f32, 2>(name))?;
    let unit = record.if_there(&format!("{name}_unit"), Record::take_scalar)?.unwrap_or(1.0);
    Ok(packed.map(|(_, packed)| Covariances { n_components: c, packed, unit }))
}

/// Adds one array for each column of the trace; NaN marks values that were not computed.
fn put_trace(record: &mut Record<'_>, trace: &[TraceEntry]) {
    record.put_counts("trace_iteration", trace.iter().map(|entry| entry.iteration));
    let mut column = |name: &str, of: fn(&TraceEntry) -> f64| {
        record.put_row(name, trace.iter().map(of).collect::<Vec<_>>());
    };
    column("trace_cost", |entry| entry.cost);
    column("trace_rmse", |entry| entry.rmse);
    column("trace_held_out_rmse", |entry| entry.held_out_rmse.unwrap_or(f64::NAN));
    column("trace_step", |entry| entry.step.unwrap_or(f64::NAN));
    column("trace_seconds", |entry| entry.seconds);
}

fn take_convergence(record: &mut Record<'_>) -> Result<IncompleteConvergence> {
    let iterations: Vec<usize> = record.take_counts("trace_iteration")?;
    let length = iterations.len();
    let costs: Vec<f64> = record.take_row("trace_cost", length)?;
    let errors: Vec<f64> = record.take_row("trace_rmse", length)?;
    let seconds: Vec<f64> = record.take_row("trace_seconds", length)?;
    let held_out = record.take_row_with_missing("trace_held_out_rmse", length)?;
    let steps = record.take_row_with_missing("trace_step", length)?;
    let entry = |at: usize| TraceEntry {
        iteration: iterations[at],
        cost: costs[at],
        rmse: errors[at],
        held_out_rmse: held_out[at],
        step: steps[at],
        seconds: seconds[at],
    };
    let convergence: IncompleteConvergence = record.json_with_no("convergence", "trace")?;
    Ok(IncompleteConvergence { trace: (0..length).map(entry).collect(), ..convergence })
}

/// All arrays have one axis and the type `float64`, and keep their names in the checkpoint.
impl Recorded for Checkpoint {
    const KIND: &'static str = "incomplete-pca-checkpoint";

    fn to_record(&self) -> Result<Record<'_>> {
        let mut record = Record { version: self.version.clone(), ..Record::new(Self::KIND) };
        self.arrays.iter().for_each(|(name, values)| record.put_row(name, values));
        record.put_json("options", &self.options)?;
        record.put_json("data", &self.data)?;
        record.put_json("iteration", &self.iteration)?;
        Ok(record)
    }

    fn from_record(record: &mut Record<'_>) -> Result<Self> {
        record.check_kind(Self::KIND)?;
        let names: Vec<String> = record.arrays.iter().map(|array| array.name.clone()).collect();
        let take = |name: String| record.take_with_missing::<f64, 1>(&name).map(|(_, values)| (name, values));
        Ok(Self {
            arrays: names.into_iter().map(take).collect::<Result<_>>()?,
            version: record.version.clone(),
            options: record.json("options")?,
            data: record.json("data")?,
            iteration: record.json("iteration")?,
        })
    }
}
