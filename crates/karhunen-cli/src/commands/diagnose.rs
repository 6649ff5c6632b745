//! `karhunen diagnose`: T², prediction errors and distances of rows, and what each feature adds to the components.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use karhunen::diagnostics::{
    self, Distances, Features, Rows, SpeDistribution, SpeLimit, samples_with, t2_limit_by,
};
use karhunen::pca::NewRows;
use karhunen::{Matrix, PcaModel, Run, Scalar, Source};
use karhunen_io::{NamedMatrix, ReadOptions, Values};

use crate::args::DiagnoseArgs;
use crate::args::input::read_options;
use crate::args::missing::TriplesArgs;
use crate::commands::diagnose_incomplete;
use crate::commands::loaded::{self, Loaded};
use crate::component_names::{COMMUNALITY, FEATURE_COLUMNS, ROW_COLUMNS};
use crate::data::computed_rows::ComputedRows;
use crate::data::dataset::Dataset;
use crate::data::weights::{FitWeights, RowWeights};
use crate::error::{Failure, Result};
use crate::figures::{percent, significant};
use crate::files::outputs::{Outputs, print_aside};
use crate::files::overwrite;
use crate::files::paths::{check_outputs, check_tables, input_name, one_standard_input};
use crate::names;
use crate::pca::plan::{OnValues, dispatch};
use crate::pca::row_model::RowModel;
use crate::progress::Progress;

/// The reason of a distance without a limit.
pub(crate) const NO_LIMIT: &str = "the components explain all variance, so there is no limit";

/// Reads a model and rows, and writes their diagnostics.
pub(crate) fn run(args: DiagnoseArgs) -> Result<()> {
    let outputs = [("-o", Some(&*args.output)), ("--features", args.features.as_deref())];
    let weights = RowWeights::of(args.weights.as_ref());
    check_tables([&args.model, &args.data], &args.input, &outputs)?;
    one_standard_input(&[Some(&args.model), Some(&args.data), weights.file.as_ref()])?;
    check_outputs(&outputs, &[weights.file.as_ref()])?;
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
        let n = args.observations.unwrap_or(model.n_observations());
        t2_limit_by(model, n, level, Rows::New).map_err(explain)?;
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
        let weights = weights.lend().samples;
        let said = match (args.quiet, args.fitted) {
            (true, _) => String::new(),
            (false, true) => {
                of_fitted(model, distances, &*source, weights, (level, n, &run)).map_err(explain)?
            }
            (false, false) => of_new(model, distances, (level, n)).map_err(explain)?,
        };
        progress.clear();
        dataset.check_unchanged()?;
        if let Some(path) = &args.features {
            let found = of_rows.features().map_err(explain)?;
            let names = (of_rows.feature_names(), &of_rows.component_names()[..]);
            write_features(&mut outputs, path, names, &found)?;
        }
        outputs.commit()?;
        print_aside(&said);
        Ok(())
    }
}

/// The fitted rows beyond each limit in words, and the limits for new ones, if the rows are worth `n` observations.
fn of_fitted<T: Scalar>(
    model: &PcaModel,
    found: Distances<'_>,
    x: &dyn Source<T>,
    weights: Option<&[f64]>,
    (level, n, run): (f64, f64, &Run<'_>),
) -> karhunen::Result<String> {
    let t2 = t2_limit_by(model, n, level, Rows::Fitted)?;
    let spe = SpeDistribution::of_rows(found.spe, found.distance2, weights)?.limit(level, SpeLimit::Box)?;
    let mut text = beyond("T2", found.t2, (level, t2)) + &beyond("SPE", found.spe, (level, spe));
    let new_rows = match model.new_rows() {
        Some(kept) => kept,
        None => NewRows::of_distances(model, found, x, weights, run)?,
    };
    let limits = new_rows.limits(model, n, (level, SpeLimit::Box))?;
    for (name, limit) in ["T2", "SPE"].into_iter().zip(limits).filter(|(_, limit)| limit.is_finite()) {
        let limit = significant(limit);
        let _ = writeln!(text, "{name}: {limit} is the limit for new rows, by rows left out of the fit");
    }
    Ok(text)
}

/// The new rows beyond each limit in words.
fn of_new(model: &PcaModel, found: Distances<'_>, (level, n): (f64, f64)) -> karhunen::Result<String> {
    if let Some(new_rows) = model.new_rows() {
        let [t2, spe] = new_rows.limits(model, n, (level, SpeLimit::Box))?;
        return Ok(beyond("T2", found.t2, (level, t2)) + &beyond("SPE", found.spe, (level, spe)));
    }
    Ok(beyond("T2", found.t2, (level, t2_limit_by(model, n, level, Rows::New)?))
        + "SPE: its limit follows from the rows of the fit, and so does a closer one for T2; fit with --limits to keep them in the \
           model, or diagnose the rows of the fit with --fitted\n")
}

/// The rows beyond a limit in words.
fn beyond(name: &str, values: &[f64], (level, limit): (f64, f64)) -> String {
    if limit.is_infinite() {
        return format!("{name}: {NO_LIMIT}\n");
    }
    let beyond = values.iter().filter(|value| **value > limit).count();
    let share = percent(beyond as f64 / values.len().max(1) as f64);
    let (n, limit) = (values.len(), significant(limit));
    format!("{name}: {beyond} of {n} rows ({share}) beyond {limit}, the limit at level {level}\n")
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
