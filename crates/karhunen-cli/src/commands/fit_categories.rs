//! `karhunen fit --mca` and `--famd`: multiple correspondence analysis and factor analysis of mixed data.

use std::path::Path;
use std::time::Instant;

use karhunen::categorical::{Analysis, CategoricalModel, CategoricalPca, CategoryResults};
use karhunen::error::options;
use karhunen::pca::Transform;
use karhunen::{Error, Matrix, NComponents, Weighting};
use karhunen_io::{ColumnKinds, NamedMatrix, OfFile, SavedCategorical, TableColumns, stage_table};

use crate::args::fit::FitArgs;
use crate::categorical::dataset::CategoryDataset;
use crate::categorical::plan::CategoryPlan;
use crate::categorical::report::{CategoryReport, treatment, v_test_note};
use crate::categorical::summary::{CategoryFitSummary, CategorySummary};
use crate::commands::fit::{warn_of_components, write_loadings};
use crate::component_names::{CATEGORY_COLUMNS, SHARE, of_components};
use crate::data::weights::{note, sample_weights};
use crate::error::Result;
use crate::figures::sum;
use crate::files::of_fit::Part;
use crate::files::outputs::{Outputs, print_warnings};
use crate::pca::summary::to_json;
use crate::progress::Progress;
use crate::text::Seconds;

/// Components without `-k`.
const DEFAULT_COMPONENTS: usize = 10;

/// Fits, writes and reports.
pub(crate) fn run(args: FitArgs, analysis: Analysis) -> Result<()> {
    let plan = CategoryPlan::resolve(args, analysis)?;
    let progress = Progress::new(plan.files.quiet);
    let kinds = match analysis {
        Analysis::Mca => ColumnKinds::Categories,
        Analysis::Famd => ColumnKinds::ByContent,
    };
    let mut dataset = CategoryDataset::read(&plan.data, kinds, &plan.read, &progress)?;
    if analysis == Analysis::Mca {
        dataset.hint();
    }
    let file = (plan.weights_file.as_deref(), plan.read.weights_column.as_deref());
    let table = &dataset.table;
    let columns = table.columns.iter().map(|column| &column.name).chain(&table.labels);
    let (weights, origin) =
        sample_weights(file, table.weights.clone(), (&dataset.file[..], table.n_rows), columns)?.unzip();
    let started = Instant::now();
    let run = plan.threads.run(&progress);
    let fit = |n_components| {
        let options = CategoricalPca { n_components, ..plan.options.clone() };
        options.fit_with(&table.columns, weights.as_deref(), &run)
    };
    let model = if plan.chooses_components {
        // Ten, or as many as there are.
        match fit(NComponents::Count(DEFAULT_COMPONENTS)) {
            Err(Error::Option { option: options::N_COMPONENTS, .. }) => fit(NComponents::All),
            outcome => outcome,
        }
    } else {
        fit(plan.options.n_components)
    };
    let model = model.map_err(|error| dataset.explain(error))?;
    let seconds = Seconds { read: dataset.seconds, fit: started.elapsed().as_secs_f64() };
    let scores = match plan.files.scores {
        Some(_) => {
            let how = Transform { whiten: plan.files.whiten, ..Transform::default() };
            let scores = model.transform_with(&table.columns, how, &run);
            Some(scores.map_err(|error| dataset.explain(error))?)
        }
        None => None,
    };
    progress.clear();
    write(&plan, &dataset, &model, scores.as_ref())?;
    warn_of_components(model.pca().convergence(), &dataset.places());
    let of_weights = weights.as_deref().and_then(|weights| note(weights, plan.options.weighting));
    let notes: Vec<String> = v_test_note(&model).into_iter().chain(of_weights).collect();
    print_warnings(&dataset.file, &notes);
    report(&plan, &dataset, origin.as_deref(), &model, seconds)
}

fn write(
    plan: &CategoryPlan,
    dataset: &CategoryDataset,
    model: &CategoricalModel,
    scores: Option<&Matrix>,
) -> Result<()> {
    let table = &dataset.table;
    let names = model.feature_names();
    let results = |outputs: &mut Outputs| match &plan.categories {
        Some(path) => write_categories(outputs, path, model),
        None => Ok(()),
    };
    plan.files.write_with(results, |outputs, part, path| match (part, scores) {
        (Part::Model, _) => outputs.model(path, &saved(plan, dataset, model)),
        (Part::Loadings, _) => write_loadings(outputs, path, model.pca(), Some(&names)),
        (Part::Scores, None) => Ok(()),
        (Part::Scores, Some(scores)) => {
            let table = NamedMatrix {
                matrix: scores,
                row_names: table.sample_names.as_deref(),
                row_header: "sample",
                labels: &[],
                column_names: &of_components(model.n_components()),
                numeric_ids: false,
            };
            outputs.table(path, &table)
        }
    })
}

/// Writes a row for each category: share, then each result for every component.
fn write_categories(outputs: &mut Outputs, path: &Path, model: &CategoricalModel) -> Result<()> {
    let CategoryResults { coordinates, contributions, cos2, v_tests } = model.categories();
    let results = [&coordinates, &contributions, &cos2, &v_tests];
    let k = model.n_components();
    let of_result =
        |name: &&str| of_components(k).into_iter().map(|c| format!("{name}_{c}")).collect::<Vec<_>>();
    let columns: Vec<String> =
        [SHARE.to_owned()].into_iter().chain(CATEGORY_COLUMNS.iter().flat_map(of_result)).collect();
    let matrix = Matrix::from_fn(model.shares().len(), columns.len(), |i, j| match j.checked_sub(1) {
        None => model.shares()[i],
        Some(j) => results[j / k][(i, j % k)],
    });
    let table = NamedMatrix {
        matrix: &matrix,
        row_names: Some(&model.category_names()),
        row_header: "category",
        labels: &[],
        column_names: &columns,
        numeric_ids: false,
    };
    outputs.stage(stage_table(path, &table))
}

fn saved(plan: &CategoryPlan, dataset: &CategoryDataset, model: &CategoricalModel) -> SavedCategorical {
    let (table, read) = (&dataset.table, &plan.read);
    let names = || table.columns.iter().map(|column| column.name.clone()).collect();
    let extras = TableColumns {
        feature_names: table.has_names.then(names),
        of_file: OfFile::of(read, (&[], &table.labels), table.id_name.as_ref()),
        log1p: None,
    };
    SavedCategorical { model: model.clone(), extras }
}

fn report(
    plan: &CategoryPlan,
    dataset: &CategoryDataset,
    origin: Option<&str>,
    model: &CategoricalModel,
    seconds: Seconds,
) -> Result<()> {
    let text = |layout, written: &[String]| {
        let mut data: Vec<String> = [dataset.headline()].into_iter().chain(dataset.remarks()).collect();
        if let Some(origin) = origin {
            let total = sum(model.pca().sum_of_weights());
            let meaning = match model.options().weighting {
                Weighting::Frequency => "numbers of rows",
                other => other.name(),
            };
            data.push(format!("weights from {origin}: {meaning}, sum {total}"));
        }
        let hint = if plan.chooses_components { " (-k chooses)" } else { "" };
        data.push(format!("{}{hint}", treatment(model)));
        let of_categories = plan.categories.as_ref().map(|path| format!("categories to {}", path.display()));
        let written = &written.iter().cloned().chain(of_categories).collect::<Vec<_>>();
        CategoryReport { model, data: &data, seconds: Some(seconds), written }.render(layout)
    };
    plan.files.print_summary(text, |extent, mut written| {
        written.extend(plan.categories.as_ref().map(|path| ("categories", path.display().to_string())));
        to_json(&CategoryFitSummary {
            file: &dataset.file,
            format: dataset.table.format,
            model: CategorySummary::new(model, extent),
            notes: &dataset.notes(),
            written,
            seconds,
        })
    })
}
