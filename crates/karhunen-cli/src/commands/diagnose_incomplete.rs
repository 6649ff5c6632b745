//! `karhunen diagnose` for a model of data with missing values.

use std::fmt::Write as _;

use karhunen::diagnostics::{IncompleteSamples, Rows, SpeScale, incomplete_samples};
use karhunen::{IncompleteModel, Matrix};
use karhunen_io::{Ids, NamedMatrix, ObservedData, Saved};

use crate::args::DiagnoseArgs;
use crate::commands::diagnose::{NO_LIMIT, write_features};
use crate::commands::fit_incomplete::row_header;
use crate::component_names::INCOMPLETE_ROW_COLUMNS;
use crate::data::weights::RowWeights;
use crate::error::{Failure, Places, Result};
use crate::figures::percent;
use crate::files::outputs::{Outputs, print_aside};
use crate::incomplete::dataset::{EntryArgs, ObservedDataset};
use crate::incomplete::rows::IncompleteRows;
use crate::progress::Progress;

/// Reads rows, from a table, or from triples if the model was fitted to triples, and writes their diagnostics.
pub(super) fn run(
    args: &DiagnoseArgs,
    saved: &Saved<impl IncompleteRows>,
    weights: &RowWeights,
    progress: &Progress,
) -> Result<()> {
    if let Some(n) = args.observations {
        return Err(Failure::Usage(format!(
            "--observations {n} has no effect on a model of missing values; leave it out"
        )));
    }
    let (input, memory, triples) = (&args.input, &args.memory, &args.triples);
    let how = EntryArgs { input, memory, triples, threads: args.threads, weights };
    let dataset = ObservedDataset::read_for(saved, &args.data, &how, progress)?;
    let weights = dataset.row_weights(weights.file.as_deref(), weights.column.as_deref())?;
    let weights = weights.as_ref().map(|(weights, _)| &weights[..]);
    let (file, row_names) = (dataset.file.clone(), dataset.row_names.clone());
    let entries = dataset.align(saved)?;
    let explain =
        |error| Places { file: &file, samples: row_names.as_deref(), features: None }.explain(error);
    let (model, run) = (saved.model.fitted(), args.threads.run(progress));
    let found = match &entries {
        ObservedData::F32(entries) => incomplete_samples(model, entries, &run),
        ObservedData::F64(entries) => incomplete_samples(model, entries, &run),
    };
    let found = found.map_err(explain)?;
    let limits = limits(args, model, &found, weights).map_err(explain)?;
    progress.clear();
    let mut outputs = Outputs::new(args.force);
    let table = NamedMatrix {
        matrix: &table(&found, &limits),
        row_names: row_names.as_deref(),
        row_header: row_header(saved),
        labels: &[],
        column_names: &INCOMPLETE_ROW_COLUMNS.map(str::to_owned),
        numeric_ids: false,
    };
    outputs.table(&args.output, &table)?;
    if let Some(path) = &args.features {
        let names = saved.extras.column_ids.as_ref().map(Ids::texts);
        let components = saved.model.component_names();
        let names = (names.as_deref(), &components[..]);
        write_features(&mut outputs, path, names, &saved.model.features())?;
    }
    outputs.commit()?;
    if !args.quiet {
        print_aside(&summary(args, &found, &limits));
    }
    Ok(())
}

/// Limits of T² and of the squared prediction error of each row.
fn limits(
    args: &DiagnoseArgs,
    model: &IncompleteModel,
    found: &IncompleteSamples,
    weights: Option<&[f64]>,
) -> karhunen::Result<[Vec<f64>; 2]> {
    let (rows, scale) = if args.fitted {
        (Rows::Fitted, SpeScale::of_rows(found, weights)?)
    } else {
        (Rows::New, SpeScale::of_model(model))
    };
    Ok([found.t2_limits(model, args.level, rows)?, scale.limits(found, args.level)?])
}

fn table(found: &IncompleteSamples, [t2_limits, spe_limits]: &[Vec<f64>; 2]) -> Matrix {
    Matrix::from_fn(found.t2.len(), INCOMPLETE_ROW_COLUMNS.len(), |i, column| {
        [
            found.t2[i],
            found.t2_degrees[i] as f64,
            t2_limits[i],
            found.spe[i],
            found.spe_degrees[i] as f64,
            spe_limits[i],
            found.distance2[i],
        ][column]
    })
}

fn summary(args: &DiagnoseArgs, found: &IncompleteSamples, [t2, spe]: &[Vec<f64>; 2]) -> String {
    let mut text = String::new();
    let lines = [("T2", &found.t2, &found.t2_degrees, t2), ("SPE", &found.spe, &found.spe_degrees, spe)];
    for (name, values, degrees, limits) in lines {
        let counted: Vec<usize> = (0..values.len()).filter(|i| degrees[*i] > 0).collect();
        if counted.iter().all(|i| limits[*i].is_infinite()) {
            let _ = writeln!(text, "{name}: {NO_LIMIT}");
            continue;
        }
        let beyond = counted.iter().filter(|i| values[**i] > limits[**i]).count();
        let _ = writeln!(
            text,
            "{name}: {beyond} of {} rows ({}) beyond the limits of rows with the same entries at level {}",
            counted.len(),
            percent(beyond as f64 / counted.len().max(1) as f64),
            args.level,
        );
    }
    text
}
