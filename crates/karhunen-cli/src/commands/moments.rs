//! `karhunen moments`: sums the rows of a part of the data.

use std::io::IsTerminal;
use std::path::Path;
use std::time::Instant;

use karhunen::moments::Scatter;
use karhunen::{Pca, Scalar};
use karhunen_io::{OfFile, ReadOptions, SavedScatter, TableColumns, Values};
use serde::Serialize;

use crate::args::input::read_options;
use crate::args::moments::MomentsArgs;
use crate::data::dataset::Dataset;
use crate::data::weights::{FitWeights, column_or_file};
use crate::error::{Failure, Result};
use crate::figures::{duration, sum};
use crate::files::outputs::{Outputs, check_standard_output, print, print_aside};
use crate::files::overwrite;
use crate::files::paths::{check_outputs, is_standard, one_standard_input};
use crate::pca::moments_report::MomentsSummary;
use crate::pca::plan::{OnValues, dispatch};
use crate::pca::summary::to_json;
use crate::progress::Progress;
use crate::text::{Layout, Seconds, wrapped};

/// Reads, sums, writes and reports.
pub(crate) fn run(args: MomentsArgs) -> Result<()> {
    let (column, weights_file) = column_or_file(args.weights.clone());
    let names = [weights_file.as_ref(), args.input.feature_names.as_ref(), args.input.sample_names.as_ref()];
    let inputs: Vec<_> = args.data.iter().map(Some).chain(names).collect();
    one_standard_input(&inputs)?;
    check_outputs(&[("-o", Some(&args.output))], &inputs)?;
    let to_standard = is_standard(Some(&args.output));
    if to_standard && std::io::stdout().is_terminal() {
        let message =
            "-o - would write moments, which are binary, to the terminal; give a file, or pipe them on";
        return Err(Failure::Usage(message.to_owned()));
    }
    if to_standard && args.json {
        let message = "--json and an output `-` both ask for the standard output; give that output a file";
        return Err(Failure::Usage(message.to_owned()));
    }
    overwrite::check(&[("-o", Some(&args.output))], args.force)?;
    if !args.quiet {
        check_standard_output()?;
    }
    let progress = Progress::new(args.quiet);
    let read = ReadOptions { weights_column: column, ..read_options(&args.input, &args.threads) };
    let read = args.memory.within(read);
    let dataset = Dataset::read_all(&args.data, &read, &progress)?;
    let weights = FitWeights::read(weights_file.as_deref(), read.weights_column.as_deref(), None, &dataset)?;
    let work = Sums { args: &args, dataset: &dataset, weights: &weights, progress: &progress };
    let (scatter, seconds) = dispatch(&dataset.table.data, work)?;
    progress.clear();
    dataset.check_unchanged()?;
    let extras = TableColumns {
        feature_names: dataset.table.feature_names.clone(),
        of_file: OfFile::of(
            &read,
            (&dataset.table.labels, &dataset.table.left_out),
            dataset.table.id_name.as_ref(),
        ),
        log1p: dataset.table.log1p,
    };
    let saved = SavedScatter { model: scatter, extras };
    let mut outputs = Outputs::new(args.force);
    outputs.model(&args.output, &saved)?;
    outputs.commit()?;
    report(&args, &dataset, &weights, &saved, seconds)
}

/// Sums values of either type.
struct Sums<'a> {
    args: &'a MomentsArgs,
    dataset: &'a Dataset,
    weights: &'a FitWeights,
    progress: &'a Progress,
}

impl OnValues for Sums<'_> {
    type Output = Result<(Scatter, Seconds)>;

    fn on<T: Scalar>(self, values: &Values<T>) -> Self::Output {
        let explain = |error| self.dataset.explain(error);
        let source = values.source().map_err(explain)?;
        let pca = Pca { memory_limit: self.args.memory.memory_limit, ..Pca::default() };
        let started = Instant::now();
        let run = self.args.threads.run(self.progress);
        let scatter = pca.scatter_of(&*source, self.weights.lend().samples, &run).map_err(explain)?;
        Ok((scatter, Seconds { read: self.dataset.seconds, fit: started.elapsed().as_secs_f64() }))
    }
}

/// The JSON output.
#[derive(Debug, Serialize)]
struct Summed<'a> {
    file: &'a str,
    format: &'a str,
    #[serde(flatten)]
    moments: MomentsSummary<'a>,
    notes: &'a [String],
    written: &'a Path,
    seconds: Seconds,
}

fn report(
    args: &MomentsArgs,
    dataset: &Dataset,
    weights: &FitWeights,
    saved: &SavedScatter,
    seconds: Seconds,
) -> Result<()> {
    if args.quiet {
        return Ok(());
    }
    let scatter = &saved.model;
    if args.json {
        return print(&to_json(&Summed {
            file: &dataset.file,
            format: dataset.table.format,
            moments: MomentsSummary::new(scatter, saved.extras.feature_names.as_deref()),
            notes: &dataset.notes(),
            written: &args.output,
            seconds,
        })?);
    }
    let to_standard = is_standard(Some(&args.output));
    let layout = Layout::of(&if to_standard { console::Term::stderr() } else { console::Term::stdout() });
    let mut out = String::new();
    let of_weights =
        weights.origin().map(|origin| format!("weights from {origin}: sum {}", sum(scatter.moments.weight)));
    for line in [dataset.headline()].into_iter().chain(dataset.remarks()).chain(of_weights) {
        wrapped(&mut out, "", &line, layout.width);
    }
    let Seconds { read, fit } = seconds;
    wrapped(&mut out, "time", &format!("read {}, sum {}", duration(read), duration(fit)), layout.width);
    if to_standard {
        print_aside(&out);
        return Ok(());
    }
    wrapped(&mut out, "written", &format!("moments to {}", args.output.display()), layout.width);
    print(&out)
}
