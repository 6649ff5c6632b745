//! `karhunen impute`: fills the missing values of a table.

use karhunen::incomplete::RowScores;
use karhunen_io::{ReadOptions, SavedIncomplete};

use crate::args::ImputeArgs;
use crate::commands::loaded;
use crate::error::{Places, Result, with_flags};
use crate::figures::{count, share};
use crate::hints;
use crate::input_args::read_options;
use crate::names::visible;
use crate::observed_dataset::{Advice, matched, placed, scores};
use crate::outputs::{Outputs, print_aside, print_warnings};
use crate::overwrite::{self, Kind};
use crate::paths::{check_files, input_name, is_standard};
use crate::progress::{Progress, check_stop};

/// Reads a model and a table, and writes the completed table.
pub(crate) fn run(args: ImputeArgs) -> Result<()> {
    check_files([&args.model, &args.data], &args.input, &args.output)?;
    overwrite::check(&[("-o", Some(&args.output), Kind::Rows)], args.force)?;
    let progress = Progress::new(args.quiet);
    let saved = loaded::incomplete(&args.model, "impute")?;
    let options = saved.read_options(read_options(&args.input, &args.threads));
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
    let holed = progress.spin(message, || karhunen_io::read_holed(&args.data, options))?;
    check_stop()?;
    print_warnings(&file, &with_flags(&holed.table.warnings));
    let table = &holed.table;
    let (n, p) = table.data.shape();
    let explain = |error| Places::of(&file, table).explain(error);
    let places = matched(saved, &file, table.feature_names.as_deref(), p, Advice::Columns)?;
    let model = &saved.model;
    let run = args.threads.run(progress);
    let data = table.data.observed(&run).map_err(explain)?;
    table.data.check_unchanged()?;
    let n_holes = n * p - data.n_observed();
    let n_values = hints::n_values(&data);
    let is_empty = |column: &usize| model.parts().n_observed[places[*column]] == 0 && n_values[*column] < n;
    let empty: Vec<usize> = (0..p).filter(is_empty).collect();
    print_warnings(
        &file,
        &hints::of_empty_columns(&empty, table.feature_names.as_deref()).into_iter().collect::<Vec<_>>(),
    );
    let data = placed(data, &places, model.n_features()).map_err(explain)?;
    let RowScores { scores, offsets } = scores(model, &data, &run).map_err(explain)?;
    progress.clear();
    let parts = model.parts();
    let value = |row: usize, column: usize| {
        let j = places[column];
        let products = scores.row(row).iter().enumerate().map(|(k, score)| score * parts.components[(k, j)]);
        let offset = offsets.as_ref().map_or(0.0, |offsets| offsets[row]);
        parts.mean[j] + (offset + products.sum::<f64>())
    };
    let mut outputs = Outputs::new(args.force);
    outputs.stage(holed.stage_filled(&args.output, &value))?;
    outputs.commit()?;
    if !args.quiet && !is_standard(Some(&args.output)) {
        let holes = if n_holes == 1 { "hole" } else { "holes" };
        let share = share(n_holes, (n, p));
        print_aside(&format!(
            "{}: {} {holes} filled ({share} of {} x {})\n",
            visible(&args.output.display().to_string()),
            count(n_holes),
            count(n),
            count(p)
        ));
    }
    Ok(())
}
