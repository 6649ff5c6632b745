//! `karhunen impute`: fills the missing values of a table.

use std::sync::{Mutex, PoisonError};

use karhunen::incomplete::RowScores;
use karhunen_io::{ObservedData, Predicted, ReadOptions, SavedIncomplete};

use crate::args::ImputeArgs;
use crate::args::input::read_options;
use crate::commands::loaded;
use crate::error::{Places, Result, with_flags};
use crate::figures::{count, share};
use crate::files::outputs::{Outputs, print_aside, print_warnings};
use crate::files::overwrite;
use crate::files::paths::{check_files, input_name, is_standard};
use crate::hints;
use crate::incomplete::dataset::{Advice, matched, placed, scores};
use crate::names::visible;
use crate::progress::{Progress, check_stop};

/// Reads a model and a table, and writes the completed table.
pub(crate) fn run(args: ImputeArgs) -> Result<()> {
    check_files([&args.model, &args.data], &args.input, &args.output)?;
    overwrite::check(&[("-o", Some(&args.output))], args.force)?;
    let progress = Progress::new(args.quiet);
    let saved = loaded::incomplete(&args.model, "impute")?;
    let options = args.memory.within(saved.read_options(read_options(&args.input, &args.threads)));
    fill(&args, &saved, &options, &progress)
}

fn fill(
    args: &ImputeArgs,
    saved: &SavedIncomplete,
    options: &ReadOptions,
    progress: &Progress,
) -> Result<()> {
    let file = input_name(&args.data);
    let message = format!("reading {}", visible(&file));
    let with_missing = progress.spin(message, || karhunen_io::read_with_missing(&args.data, options))?;
    check_stop()?;
    print_warnings(&file, &with_flags(&with_missing.table.warnings));
    let table = &with_missing.table;
    let (n, p) = table.data.shape();
    let explain = |error| Places::of(&file, table).explain(error);
    let places = matched(saved, &file, table.feature_names.as_deref(), p, Advice::Columns)?;
    let model = &saved.model;
    let run = args.threads.run(progress);
    // Columns without values in the fit are told if values are missing there.
    let parts = model.parts();
    let unfitted: Vec<usize> = (0..p).filter(|column| parts.n_observed[places[*column]] == 0).collect();
    let found = Mutex::new(Found { n_missing: 0, n_values: vec![0; unfitted.len()] });
    let predict = |_, data: &ObservedData| -> karhunen::Result<Predicted<'_>> {
        found.lock().unwrap_or_else(PoisonError::into_inner).add(data, &unfitted);
        let data = placed(data.clone(), &places, model.n_features())?;
        let RowScores { scores, offsets } = scores(model, &data, &run)?;
        let places = &places;
        Ok(Box::new(move |row, column| {
            let offset = offsets.as_ref().map_or(0.0, |offsets| offsets[row]);
            model.value(scores.row(row), offset, places[column])
        }))
    };
    let mut outputs = Outputs::new(args.force);
    outputs.stage_or(with_missing.stage_filled(&args.output, &predict, &run), explain)?;
    progress.clear();
    let Found { n_missing, n_values } = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    let is_empty = |(column, found): (&usize, &usize)| (*found < n).then_some(*column);
    let empty: Vec<usize> = unfitted.iter().zip(&n_values).filter_map(is_empty).collect();
    let hints = hints::of_empty_columns(&empty, table.feature_names.as_deref());
    print_warnings(&file, &hints.into_iter().collect::<Vec<_>>());
    outputs.commit()?;
    if !args.quiet && !is_standard(Some(&args.output)) {
        let values = if n_missing == 1 { "value" } else { "values" };
        let share = share(n_missing, (n, p));
        print_aside(&format!(
            "{}: {} missing {values} filled ({share} of {} x {})\n",
            visible(&args.output.display().to_string()),
            count(n_missing),
            count(n),
            count(p)
        ));
    }
    Ok(())
}

/// Counts of the entries that were read.
struct Found {
    n_missing: usize,
    /// Number of values of each column without values in the fit.
    n_values: Vec<usize>,
}

impl Found {
    fn add(&mut self, data: &ObservedData, columns: &[usize]) {
        let (n, p) = data.shape();
        self.n_missing += n * p - data.n_observed();
        for (column, found) in columns.iter().zip(&mut self.n_values) {
            *found += match data {
                ObservedData::F32(observed) => observed.n_observed_in_column(*column),
                ObservedData::F64(observed) => observed.n_observed_in_column(*column),
            };
        }
    }
}
