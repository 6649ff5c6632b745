//! `karhunen diagnose`: T², prediction errors and distances of rows, and what each feature adds to the components.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use karhunen::diagnostics::{
    self, Distances, Features, Rows, SpeDistribution, SpeLimit, left_out, samples_with, t2_limit_by,
};
use karhunen::{Matrix, PcaModel, Run, Scalar, Source};
use karhunen_io::{NamedMatrix, ReadOptions, Values};

use crate::args::DiagnoseArgs;
use crate::commands::diagnose_incomplete;
use crate::commands::loaded::{self, Loaded};
use crate::component_names::{COMMUNALITY, FEATURE_COLUMNS, ROW_COLUMNS};
use crate::computed_rows::ComputedRows;
use crate::dataset::Dataset;
use crate::error::{Failure, Result};
use crate::figures::{percent, significant};
use crate::fit_weights::{FitWeights, RowWeights};
use crate::input_args::read_options;
use crate::missing_args::TriplesArgs;
use crate::names;
use crate::outputs::{Outputs, print_aside};
use crate::overwrite::{self, Kind};
use crate::paths::{check_outputs, check_tables, input_name, one_standard_input};
use crate::plan::{OnValues, dispatch};
use crate::progress::Progress;
use crate::row_model::RowModel;

/// The reason of a distance without a limit.
pub(crate) const NO_LIMIT: &str = "the components explain all variance, so there is no limit";

/// Reads a model and rows, and writes their diagnostics.
pub(crate) fn run(args: DiagnoseArgs) -> Result<()> {
    let outputs = [
        ("-o", Some(&*args.output), Kind::RowDiagnostics),
        ("--features", args.features.as_deref(), Kind::FeatureDiagnostics),
    ];
    let weights = RowWeights::of(args.weights.as_ref());
    let written = outputs.map(|(option, path, _)| (option, path));
    check_tables([&args.model, &args.data], &args.input, &written)?;
    one_standard_input(&[Some(&args.model), Some(&args.data), weights.file.as_ref()])?;
    check_outputs(&written, &[weights.file.as_ref()])?;
    overwrite::check(&outputs, args.force)?;
    let progress = Progress::new(args.quiet);
    let model = match loaded::any(&args.model, "diagnose")? {
        Loaded::Rows(model @ (RowModel::Complete(_) | RowModel::Rotated(_))) => model,
        Loaded::Incomplete(saved) => return diagnose_incomplete::run(&args, &saved, &weights, &progress),
        Loaded::RotatedIncomplete(saved) => {
            return diagnose_incomplete::run(&args, &saved, &weights, &progress);
        }
        Loaded::Rows(RowModel::Kernel(_)) => {
            return Err(Failure::Data(format!(
                "{}: diagnostics are of models without a kernel",
                input_name(&args.model)
            )));
        }
    };
    if let Some(option) = args.given.first_of::<TriplesArgs>(&[]) {
        return Err(Failure::Usage(format!(
            "{option} has no effect on a model of complete data; leave it out"
        )));
    }
    let options = args.memory.within(model.read_options(read_options(&args.input, &args.threads)));
    let options = ReadOptions { weights_column: weights.column.clone(), ..options };
    let dataset = Dataset::read(&args.data, &options, &progress)?;
    let weights = weights.of_table(&dataset)?;
    let model = model.aligned(&dataset)?;
    dispatch(
        &dataset.table.data,
        Diagnosis { args: &args, model: &model, dataset: &dataset, weights: &weights, progress: &progress },
    )
}

impl RowModel {
    /// The model of the components: of rotated ones those that were rotated, because T², SPE and distances depend on their
    /// space alone, which no rotation changes.
    fn unrotated(&self) -> karhunen::Result<Cow<'_, PcaModel>> {
        match self {
            RowModel::Complete(saved) => Ok(Cow::Borrowed(&saved.model)),
            RowModel::Rotated(saved) => {
                saved.model.model().leading(saved.model.n_components()).map(Cow::Owned)
            }
            RowModel::Kernel(_) => unreachable!("a model without a kernel"),
        }
    }

    /// The relations of features and components.
    fn features(&self) -> karhunen::Result<Features> {
        match self {
            RowModel::Rotated(saved) => diagnostics::rotated_features(&saved.model),
            _ => diagnostics::features(&*self.unrotated()?),
        }
    }
}

struct Diagnosis<'a> {
    args: &'a DiagnoseArgs,
    model: &'a RowModel,
    dataset: &'a Dataset,
    weights: &'a FitWeights,
    progress: &'a Progress,
}

impl OnValues for Diagnosis<'_> {
    type Output = Result<()>;

    fn on<T: Scalar>(self, values: &Values<T>) -> Result<()> {
        let Self { args, model: of_rows, dataset, weights, progress } = self;
        let explain = |error| dataset.explain(error);
        let source = values.source().map_err(explain)?;
        let model = &*of_rows.unrotated().map_err(explain)?;
        let run = args.threads.run(progress);
        let level = args.level;
        let rows = if args.fitted { Rows::Fitted } else { Rows::New };
        let n = args.observations.unwrap_or(model.n_observations());
        let t2_limit = t2_limit_by(model, n, level, rows).map_err(explain)?;
        let found = Mutex::new([const { Vec::<f64>::new() }; ROW_COLUMNS.len()]);
        let diagnosed = ComputedRows::of_blocks(&*source, ROW_COLUMNS.len(), |block: &dyn Source<T>| {
            let of_block = samples_with(model, block, &run)?;
            let n = of_block.t2.len();
            let table = Matrix::from_fn(n, ROW_COLUMNS.len(), |i, column| {
                [&of_block.t2, &of_block.spe, &of_block.distance2][column][i]
            });
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            for (all, of_block) in found.iter_mut().zip([of_block.t2, of_block.spe, of_block.distance2]) {
                all.extend(of_block);
            }
            Ok(table)
        });
        let mut outputs = Outputs::new(args.force);
        let row_names = ("sample", dataset.table.sample_names.as_deref());
        let columns = ROW_COLUMNS.map(str::to_owned);
        diagnosed.write_to(&mut outputs, &args.output, row_names, &columns, explain)?;
        let [t2, spe, distance2] = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        let distances = Distances { t2: &t2, spe: &spe, distance2: &distance2 };
        let of_fit = if args.fitted && !args.quiet {
            let weights = weights.lend().samples;
            Some(limits(model, distances, &*source, weights, (level, n, &run)).map_err(explain)?)
        } else {
            None
        };
        progress.clear();
        dataset.check_unchanged()?;
        if let Some(path) = &args.features {
            let found = of_rows.features().map_err(explain)?;
            let names = (of_rows.feature_names(), &of_rows.component_names()[..]);
            write_features(&mut outputs, path, names, &found)?;
        }
        outputs.commit()?;
        if !args.quiet {
            print_aside(&summary(distances, level, t2_limit, of_fit));
        }
        Ok(())
    }
}

/// The limits for the squared prediction error of fitted rows, and for T² and this error of new ones, by the rows of the fit,
/// which are worth `n` observations.
fn limits<T: Scalar>(
    model: &PcaModel,
    found: Distances<'_>,
    x: &dyn Source<T>,
    weights: Option<&[f64]>,
    (level, n, run): (f64, f64, &Run<'_>),
) -> karhunen::Result<[f64; 3]> {
    let left = left_out(model, found, x, weights, run)?;
    let of_new = (weights, model.options().weighting);
    let of_new = SpeDistribution::of_left_out(&left.spe, found.distance2, of_new)?;
    let of_fitted = SpeDistribution::of_rows(found.spe, found.distance2, weights)?;
    let t2 = t2_limit_by(model, n, level, Rows::New)? * left.t2_factor;
    Ok([of_fitted.limit(level, SpeLimit::Box)?, t2, of_new.limit(level, SpeLimit::Box)?])
}

/// The rows beyond each limit in words.
fn summary(found: Distances<'_>, level: f64, of_t2: f64, of_fit: Option<[f64; 3]>) -> String {
    let mut text = String::new();
    let mut line = |name: &str, values: &[f64], limit: f64| {
        if limit.is_infinite() {
            let _ = writeln!(text, "{name}: {NO_LIMIT}");
            return;
        }
        let beyond = values.iter().filter(|value| **value > limit).count();
        let share = percent(beyond as f64 / values.len().max(1) as f64);
        let (n, limit) = (values.len(), significant(limit));
        let _ = writeln!(
            text,
            "{name}: {beyond} of {n} rows ({share}) beyond {limit}, the limit at level {level}"
        );
    };
    line("T2", found.t2, of_t2);
    match of_fit {
        Some([of_fitted, t2, spe]) => {
            line("SPE", found.spe, of_fitted);
            for (name, limit) in [("T2", t2), ("SPE", spe)] {
                if limit.is_finite() {
                    let limit = significant(limit);
                    let _ = writeln!(
                        text,
                        "{name}: {limit} is the limit for new rows, by rows left out of the fit"
                    );
                }
            }
        }
        None => {
            text.push_str(
                "SPE: its limit follows from the rows of the fit, and so does a closer one for T2; diagnose them with --fitted\n",
            );
        }
    }
    text
}

/// Writes the relations of the features and the components of these names.
pub(crate) fn write_features(
    outputs: &mut Outputs,
    path: &Path,
    (names, components): (Option<&[String]>, &[String]),
    found: &Features,
) -> Result<()> {
    let (p, k) = found.correlations.shape();
    let parts = [&found.correlations, &found.contributions, &found.cos2];
    let matrix = Matrix::from_fn(p, 3 * k + 1, |j, column| {
        if column == 3 * k { found.communalities[j] } else { parts[column / k][(j, column % k)] }
    });
    let mut columns: Vec<String> = FEATURE_COLUMNS
        .iter()
        .flat_map(|prefix| components.iter().map(move |name| format!("{prefix}{name}")))
        .collect();
    columns.push(COMMUNALITY.to_owned());
    let table = NamedMatrix {
        matrix: &matrix,
        row_names: Some(&names::of_features(names, p)),
        row_header: "feature",
        labels: &[],
        column_names: &columns,
        numeric_ids: false,
    };
    outputs.table(path, &table)
}
