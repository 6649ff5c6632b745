//! `karhunen fit --from-moments`: fits moments of parts of the data, which `karhunen moments` summed.

use std::time::Instant;

use karhunen::pca::Route;
use karhunen_io::{SavedModel, SavedScatter, load_moments, read_weights};

use crate::category_args::CategoryArgs;
use crate::checkpoints::CheckpointArgs;
use crate::commands::fit::write_loadings;
use crate::error::{Failure, Places, Result};
use crate::figures::count;
use crate::fit_args::{FitArgs, FitOutputArgs, RowsArgs, SolverArg, WeightArgs};
use crate::fit_files::Part;
use crate::genotype_args::PlinkArgs;
use crate::given::Given;
use crate::hints;
use crate::input_args::InputArgs;
use crate::kernel_args::KernelArgs;
use crate::missing_args::FitMissingArgs;
use crate::moments_report::headline;
use crate::outputs::print_warnings;
use crate::paths::input_names;
use crate::plan::FitPlan;
use crate::progress::{Progress, check_stop};
use crate::report::{ModelReport, Seconds, treatment};
use crate::summary::{FitSummary, ModelSummary, to_json};

/// Reads moments, fits, writes and reports.
pub(crate) fn run(mut args: FitArgs) -> Result<()> {
    refuse_idle(&args)?;
    args.solver.solver = SolverArg::Pca(Route::Covariance);
    let plan = FitPlan::resolve(args)?;
    let progress = Progress::new(plan.files.quiet);
    let started = Instant::now();
    let saved = progress.spin("reading moments".to_owned(), || load_moments(&plan.data))?;
    check_stop()?;
    let read = started.elapsed().as_secs_f64();
    let SavedScatter { model: scatter, beside } = saved;
    let features = beside.feature_names.as_deref();
    let p = scatter.moments.mean.len();
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
    let described = headline(&scatter.moments);
    let hints: Vec<String> = hints::of_model(&model, features).into_iter().collect();
    print_warnings(&file, &hints);
    let saved = SavedModel { model: model.clone(), beside: beside.clone() };
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
        let data = [format!("{file}: {described}{parts}"), treatment(&model, hint)];
        ModelReport { model: &model, features, data: &data, seconds: Some(seconds), written }.render(layout)
    };
    plan.files.print_summary(text, |extent, written| {
        to_json(&FitSummary {
            file: &file,
            format: "moments",
            model: ModelSummary::new(&model, features, extent),
            notes: &hints,
            reading: None,
            written,
            seconds,
        })
    })
}

/// # Errors
/// [`Failure::Usage`] for an option that needs rows.
fn refuse_idle(args: &FitArgs) -> Result<()> {
    let FitArgs { given, solver, .. } = args;
    match solver.solver {
        SolverArg::Auto | SolverArg::Pca(Route::Covariance) => {}
        SolverArg::Pca(_) | SolverArg::Kernel(_) => {
            return Err(idle("--solver", "only the solver covariance needs no rows"));
        }
    }
    let of_rows = |given: &Given| {
        given
            .first_of::<InputArgs>(&[])
            .or_else(|| given.first_of::<WeightArgs>(&["weighting", "feature_weights"]))
    };
    if let Some(option) = of_rows(given) {
        return Err(idle(&option, "it belongs to `karhunen moments`, which reads the rows"));
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

fn idle(option: &str, why: &str) -> Failure {
    Failure::Usage(format!("{option} does not go with --from-moments: {why}; leave it out"))
}
