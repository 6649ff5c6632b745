//! `karhunen fit --from-moments` and `--from-covariance`: fits moments of parts of the data, which `karhunen moments` summed,
//! and matrices of covariances.

use std::path::Path;
use std::time::Instant;

use karhunen::PcaModel;
use karhunen::error::Surface as _;
use karhunen::moments::{Moments, Scatter};
use karhunen::pca::{Route, Scaling};
use karhunen_io::{
    Data, ReadOptions, SavedModel, SavedScatter, TableColumns, load_moments, read_column_numbers,
    read_weights,
};

use crate::args::categories::CategoryArgs;
use crate::args::fit::{FitArgs, FitOutputArgs, RowsArgs, SolverArg, WeightArgs};
use crate::args::genotypes::PlinkArgs;
use crate::args::input::InputArgs;
use crate::args::kernel::KernelArgs;
use crate::args::missing::FitMissingArgs;
use crate::commands::fit::write_loadings;
use crate::data::dataset::Dataset;
use crate::error::{Failure, Places, Result};
use crate::figures::count;
use crate::files::checkpoints::CheckpointArgs;
use crate::files::of_fit::Part;
use crate::files::outputs::print_warnings;
use crate::files::paths::input_names;
use crate::hints;
use crate::pca::moments_report::headline;
use crate::pca::plan::FitPlan;
use crate::pca::summary::{FitSummary, ModelSummary, to_json};
use crate::progress::{Progress, check_stop};
use crate::text::{ModelReport, Seconds, treatment};

/// Reads moments, fits, writes and reports.
pub(crate) fn run(mut args: FitArgs) -> Result<()> {
    refuse_idle(&args)?;
    args.solver.solver = SolverArg::Pca(Route::Covariance);
    // The fit has no rows to subtract them from: they are the means of the sums.
    let (n_rows, means) = (args.n_rows, args.complete.center_values.take_if(|_| args.from_covariance));
    let plan = FitPlan::resolve(args)?;
    let progress = Progress::new(plan.files.quiet);
    let started = Instant::now();
    let saved = match n_rows {
        Some(n_rows) => of_covariance(&plan, means.as_deref(), n_rows, &progress)?,
        None => progress.spin("reading moments".to_owned(), || load_moments(&plan.data))?,
    };
    check_stop()?;
    let read = started.elapsed().as_secs_f64();
    let SavedScatter { model: scatter, extras } = saved;
    let (features, p) = (extras.feature_names.as_deref(), scatter.moments.mean.len());
    let feature_weights =
        plan.feature_weights.as_deref().map(|path| read_weights(path, Some(p))).transpose()?;
    let file = input_names(&plan.data);
    let places = Places { file: &file, samples: None, features };
    let started = Instant::now();
    let pca = plan.pca_of((scatter.moments.n_samples, p), features)?;
    let model = pca
        .fit_scatter_with(&scatter, feature_weights.as_deref(), &plan.threads.run(&progress))
        .map_err(|error| places.explain(error))?;
    let seconds = Seconds { read, fit: started.elapsed().as_secs_f64() };
    progress.clear();
    let hints = hints_of(&model, features, n_rows.map(|_| (&scatter, means.is_some())));
    print_warnings(&file, &hints);
    let saved = SavedModel { model: model.clone(), extras: extras.clone() };
    plan.files.write(|outputs, part, path| match part {
        Part::Model => outputs.model(path, &saved),
        // Refused before.
        Part::Scores => Ok(()),
        Part::Loadings => write_loadings(outputs, path, &model, features),
    })?;
    let text = |layout, written: &[String]| {
        let parts = match plan.data.len() {
            1 => String::new(),
            n => format!("; {} parts", count(n)),
        };
        let hint = if plan.chose_components() { " (-k chooses)" } else { "" };
        let described = described(&scatter.moments, n_rows);
        let data = [format!("{file}: {described}{parts}"), treatment(&model, hint)];
        ModelReport { model: &model, features, data: &data, seconds: Some(seconds), written }.render(layout)
    };
    plan.files.print_summary(text, |extent, written| {
        to_json(&FitSummary {
            file: &file,
            format: if n_rows.is_some() { "covariance matrix" } else { "moments" },
            model: ModelSummary::new(&model, features, extent),
            notes: &hints,
            reading: None,
            written,
            seconds,
        })
    })
}

/// Hints about the model, and about the matrix that its sums are of, with or without given means.
fn hints_of(
    model: &PcaModel,
    features: Option<&[String]>,
    of_matrix: Option<(&Scatter, bool)>,
) -> Vec<String> {
    let is_scaled = matches!(model.options().scale, Scaling::Given(_));
    let of_matrix = of_matrix.map(|(scatter, has_means)| {
        [(!has_means).then(hints::of_means), hints::of_correlations(scatter, is_scaled)]
    });
    hints::of_model(model, features).into_iter().chain(of_matrix.into_iter().flatten().flatten()).collect()
}

/// The data in the report.
fn described(moments: &Moments, n_rows: Option<usize>) -> String {
    match n_rows {
        Some(n) => {
            format!("a covariance matrix of {} columns, of {} rows", count(moments.mean.len()), count(n))
        }
        None => headline(moments),
    }
}

/// Reads the matrix of `--from-covariance` as a table.
fn of_covariance(
    plan: &FitPlan,
    means: Option<&Path>,
    n_rows: usize,
    progress: &Progress,
) -> Result<SavedScatter> {
    // A missing entry is named as one of the matrix.
    let options = ReadOptions { missing: true, ..plan.read.clone() };
    let Dataset { file, table, .. } = Dataset::read_all(&plan.data, &options, progress)?;
    let p = table.data.shape().1;
    let features = table.feature_names.as_deref();
    if let (Some(rows), Some(columns)) = (&table.sample_names, features)
        && let Some((row, column)) = rows.iter().zip(columns).find(|(row, column)| row != column)
    {
        return Err(Failure::Data(format!(
            "{file}: row `{row}` is where the columns have `{column}`; a covariance matrix has the same names in rows and columns"
        )));
    }
    let places = Places { file: &file, samples: features, features };
    let mean = means.map(|path| read_column_numbers(path, features, p)).transpose()?;
    let mean = mean.unwrap_or_else(|| vec![0.0; p]);
    let model = match &table.data {
        Data::F32(values) => values.source().and_then(|x| Scatter::of_covariance(&*x, &mean, n_rows)),
        Data::F64(values) => values.source().and_then(|x| Scatter::of_covariance(&*x, &mean, n_rows)),
    };
    let model = model.map_err(|error| match error {
        karhunen::Error::NonFinite { row, column, value } => Failure::Data(format!(
            "{file}: {}, {} is {}; a covariance matrix has a finite number in every cell of both triangles",
            places.row(row),
            places.column(column),
            if value.is_nan() { "missing".to_owned() } else { value.to_string() },
        )),
        error => places.explain(error),
    })?;
    Ok(SavedScatter {
        model,
        extras: TableColumns { feature_names: table.feature_names, ..TableColumns::default() },
    })
}

/// # Errors
/// [`Failure::Usage`] for an option that needs rows.
fn refuse_idle(args: &FitArgs) -> Result<()> {
    let FitArgs { given, solver, .. } = args;
    if args.from_covariance && args.n_rows.is_none() {
        return Err(Failure::Usage(
            "--from-covariance needs --rows N, the number of rows that the matrix was computed from: errors, limits and rules \
             depend on it"
                .to_owned(),
        ));
    }
    let idle = |option: &str, why: &str| {
        let source = if args.from_covariance { "--from-covariance" } else { "--from-moments" };
        Failure::Usage(format!("{option} does not go with {source}: {why}; leave it out"))
    };
    match solver.solver {
        SolverArg::Auto | SolverArg::Pca(Route::Covariance) => {}
        SolverArg::Pca(_) | SolverArg::Kernel(_) => {
            return Err(idle("--solver", "only the solver covariance needs no rows"));
        }
    }
    let of_input = given.first_of::<InputArgs>(&[]).filter(|_| !args.from_covariance);
    if let Some(option) = of_input.or_else(|| given.first_of::<WeightArgs>(&["weighting", "feature_weights"]))
    {
        let why = if args.from_covariance {
            "it needs the rows"
        } else {
            "it belongs to `karhunen moments`, which reads the rows"
        };
        return Err(idle(&option, why));
    }
    if args.from_covariance {
        let by_rows = matches!(args.complete.scale, Some(Scaling::Binomial | Scaling::Range));
        let useless = [
            ("--no-center", args.complete.no_center, "covariances are about the means"),
            ("--scale", by_rows, "that divisor needs the rows"),
            ("--log1p", args.input.log1p.is_some(), "it normalises the counts of rows"),
        ];
        if let Some((option, _, why)) = useless.into_iter().find(|(_, given, _)| *given) {
            return Err(idle(option, why));
        }
    }
    let others = ["model", "loadings", "force", "json", "quiet"];
    let without_rows = given
        .first_of::<FitOutputArgs>(&others)
        .or_else(|| given.first_of::<FitMissingArgs>(&[]))
        .or_else(|| given.first_of::<KernelArgs>(&[]))
        .or_else(|| given.first_of::<CategoryArgs>(&[]))
        .or_else(|| given.first_of::<CheckpointArgs>(&[]))
        .or_else(|| given.first_of::<RowsArgs>(&[]))
        .or_else(|| given.first_of::<PlinkArgs>(&[]))
        .or_else(|| args.memory.cache.as_ref().map(|_| "--cache".to_owned()));
    match without_rows {
        Some(option) => Err(idle(&option, "it needs the rows")),
        None => Ok(()),
    }
}
