//! Incremental fits as records, from which they continue with the same bits.

use crate::error::Result;
use crate::incremental::fit::{Engine, IncrementalFit};
use crate::incremental::held::{Held, Storage};
use crate::incremental::options::{IncrementalMethod, IncrementalPca};
use crate::incremental::sketch::{PROBE, Rules, Sketch, SketchState};
use crate::linalg::Sparse;
use crate::moments::Moments;
use crate::moments::packed::PackedScatter;
use crate::pca::NComponents;
use crate::record::{Record, Recorded, damaged, in_array};

/// Counts of a fit, as text.
#[derive(serde::Serialize, serde::Deserialize)]
struct Counts {
    n_features: usize,
    n_samples: usize,
    n_batches: usize,
    n_held: usize,
    /// Rows in the sums.
    n_summed: usize,
    /// All weights in the sums are integers.
    whole: bool,
    warmed_by: Option<usize>,
}

impl Recorded for IncrementalFit {
    const KIND: &'static str = "incremental";

    fn to_record(&self) -> Result<Record<'_>> {
        let mut record = Record::new(Self::KIND);
        let (moments, warmed_by) = match &self.engine {
            Engine::Scatter(Some(scatter)) => {
                scatter.put_matrix(&mut record);
                (Some(&scatter.moments), None)
            }
            Engine::Scatter(None) => (None, None),
            Engine::Sketch(sketch) => {
                let state = &sketch.state;
                record.put_matrix("directions", &state.directions);
                record.put_row("squares", &state.squares);
                record.put_matrix("probe", &state.probe);
                record.put_scalar("cut_off", state.cut_off);
                if let Some(scale) = &state.scale {
                    record.put_row("scale", scale);
                }
                (Some(&state.moments), state.warmed_by)
            }
        };
        if let Some(moments) = moments {
            moments.put(&mut record);
        }
        record.put_row("held_values", &self.held.values);
        if let Storage::Sparse { pointers, indices } = &self.held.storage {
            record.put_counts("held_pointers", pointers.iter().copied());
            record.put_counts("held_indices", indices.iter().map(|&index| index as usize));
        }
        if let Some(weights) = &self.held.weights {
            record.put_row("held_weights", weights);
        }
        let Self { n_features, n_samples, n_batches, .. } = *self;
        let (n_summed, whole) = moments.map_or((0, true), |moments| (moments.n_samples, moments.whole));
        let n_held = self.held.n_rows;
        let counts = Counts { n_features, n_samples, n_batches, n_held, n_summed, whole, warmed_by };
        record.put_json("counts", &counts)?;
        if let Some(scale) = &self.options.column_scale {
            record.put_row("column_scale", scale);
        }
        record.put_json_without("options", &self.options, "column_scale")?;
        record.put_json("method", &self.method())?;
        Ok(record)
    }

    fn from_record(record: &mut Record<'_>) -> Result<Self> {
        record.check_kind(Self::KIND)?;
        let counts: Counts = record.json("counts")?;
        let column_scale = record.if_there("column_scale", Record::take_any_row)?;
        let options = IncrementalPca { column_scale, ..record.json("options")? };
        let p = counts.n_features;
        options.check(p)?;
        if options.method_for(p) != record.json::<IncrementalMethod>("method")? {
            return Err(damaged(
                "the method does not match the options; the file is damaged, fit it again".into(),
            ));
        }
        let held = held(record, &counts)?;
        if counts.n_summed.checked_add(held.n_rows) != Some(counts.n_samples) {
            return Err(damaged("the numbers of rows disagree; the file is damaged, fit it again".into()));
        }
        let engine = match (options.method_for(p), options.n_components) {
            (IncrementalMethod::Sketch, NComponents::Count(k)) => {
                let rules = Rules::new(&options, k, p);
                rules.ask(p)?;
                let state = state(record, &counts, &rules)?;
                Engine::Sketch(Box::new(Sketch::with_state(&options, k, state)))
            }
            _ if !record.has("scatter") && counts.n_summed == 0 => Engine::Scatter(None),
            _ => {
                let moments = moments(record, &counts)?;
                Engine::Scatter(Some(PackedScatter::take(record, moments)?.unpacked()?))
            }
        };
        let Counts { n_samples, n_batches, .. } = counts;
        Ok(Self { options, n_features: p, n_samples, n_batches, held, engine })
    }
}

fn moments(record: &mut Record<'_>, counts: &Counts) -> Result<Moments> {
    Moments::take(record, counts.n_summed, counts.n_features, counts.whole)
}

fn held(record: &mut Record<'_>, counts: &Counts) -> Result<Held> {
    let (n, p) = (counts.n_held, counts.n_features);
    let storage = if record.has("held_pointers") {
        let (pointers, indices) = (record.take_counts("held_pointers")?, record.take_counts("held_indices")?);
        Storage::Sparse { pointers, indices }
    } else {
        Storage::Dense
    };
    let values = match &storage {
        Storage::Dense => record.take_row("held_values", n.saturating_mul(p))?,
        Storage::Sparse { pointers, indices } => {
            let values: Vec<f64> = record.take_row("held_values", indices.len())?;
            Sparse::csr(n, p, pointers, indices, &values)?;
            values
        }
    };
    let weights = record.if_there("held_weights", |record, name| record.take_not_negative(name, n))?;
    if n == 0 {
        return Ok(Held::new(p));
    }
    Ok(Held { n_features: p, n_rows: n, storage, values, weights })
}

fn state(record: &mut Record<'_>, counts: &Counts, rules: &Rules) -> Result<SketchState> {
    let p = counts.n_features;
    let moments = moments(record, counts)?;
    let directions = record.take_matrix("directions")?;
    let (found, m) = directions.shape();
    if found != p || m > rules.n_directions {
        let problem =
            format!("has shape [{found}, {m}], and at most [{p}, {}] is expected", rules.n_directions);
        return Err(in_array("directions", problem));
    }
    let squares = record.take_not_negative("squares", m)?;
    let probe = record.take_matrix("probe")?;
    if probe.shape() != (p, PROBE) {
        let problem = format!("has shape {:?}, expected [{p}, {PROBE}]", probe.shape());
        return Err(in_array("probe", problem));
    }
    let scale = record.if_there("scale", |record, name| {
        let scale: Vec<f64> = record.take_row(name, p)?;
        match scale.iter().find(|scale| !scale.is_normal() || **scale < 0.0) {
            Some(value) => Err(in_array(name, format!("holds {value}; the file is damaged, fit it again"))),
            None => Ok(scale),
        }
    })?;
    let cut_off = record.take_scalar("cut_off")?;
    Ok(SketchState { moments, directions, squares, probe, cut_off, scale, warmed_by: counts.warmed_by })
}
