//! `karhunen rotate`: rotates the components of a model.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use karhunen::rotation::{Components, Criterion, RotatedModel};
use karhunen::{Matrix, Run, Scalar};
use karhunen_io::{
    AnyModel, Ids, NamedMatrix, ReadOptions, Saved, SavedIncomplete, SavedModel, Stored, Values,
    load_any_model,
};
use serde::Serialize;

use crate::args::rotate::RotateArgs;
use crate::commands::loaded::no_categories;
use crate::commands::update::model_of;
use crate::component_names::of_rotated;
use crate::data::dataset::Dataset;
use crate::error::{Failure, Places, Result};
use crate::figures::count;
use crate::files::of_fit::{FitFiles, Part};
use crate::files::outputs::print_warnings;
use crate::files::paths::{input_name, one_standard_input};
use crate::names;
use crate::pca::plan::{OnValues, dispatch};
use crate::pca::rotation_report::{RotationReport, RotationSummary};
use crate::pca::summary::to_json;
use crate::progress::Progress;

/// Rotates, writes and reports.
pub(crate) fn run(args: RotateArgs) -> Result<()> {
    // An option that excludes another is refused before anything is read.
    args.criterion.method()?;
    one_standard_input(&[Some(&args.model), args.criterion.target.as_ref()])?;
    match load_any_model(&args.model)? {
        AnyModel::Complete(saved) => of_rows(args, *saved),
        AnyModel::Rotated(saved) => of_rows(args, without_rotation(*saved)),
        AnyModel::Incremental(saved) => {
            let saved = model_of(&args.model, *saved)?;
            of_rows(args, saved)
        }
        AnyModel::Incomplete(saved) => of_incomplete_rows(args, *saved),
        AnyModel::RotatedIncomplete(saved) => of_incomplete_rows(args, without_rotation(*saved)),
        AnyModel::Categorical(_) => Err(no_categories(&args.model, "rotate")),
        AnyModel::Kernel(_) => Err(Failure::Data(format!(
            "{}: is a model with a kernel, and components of features are rotated",
            input_name(&args.model)
        ))),
    }
}

/// The model as it was fitted, without an earlier rotation.
fn without_rotation<M>(saved: Saved<RotatedModel<M>>) -> Saved<M>
where
    M: Components + Stored,
    RotatedModel<M>: Stored<Extras = M::Extras>,
{
    let Saved { model, extras } = saved;
    Saved { model: model.into_model(), extras }
}

fn of_rows(args: RotateArgs, saved: SavedModel) -> Result<()> {
    let features = saved.extras.feature_names.clone();
    let shape = (saved.model.n_samples(), saved.model.n_features());
    rotate(args, saved, features.as_deref(), shape)
}

fn of_incomplete_rows(args: RotateArgs, saved: SavedIncomplete) -> Result<()> {
    let features = saved.extras.column_ids.as_ref().map(Ids::texts);
    let shape = (saved.model.n_samples(), saved.model.n_features());
    rotate(args, saved, features.as_deref(), shape)
}

/// Rotates a model of features with these names and rows of this shape.
fn rotate<M>(
    args: RotateArgs,
    saved: Saved<M>,
    features: Option<&[String]>,
    (n, p): (usize, usize),
) -> Result<()>
where
    M: Components + Stored,
    RotatedModel<M>: Stored<Extras = M::Extras>,
{
    let RotateArgs { model: path, n_components, criterion, output } = args;
    let method = criterion.method()?;
    let inputs = [Some(&path), criterion.target.as_ref()];
    let files = FitFiles::resolve(output.into(), &inputs)?;
    let progress = Progress::new(files.quiet);
    let file = input_name(&path);
    let k = n_components.map(usize::from);
    let (criterion, k) = match (criterion.criterion(method), &criterion.target) {
        (None, Some(target)) => {
            let target = loadings(target, (p, features), &progress)?;
            if let Some(k) = k.filter(|k| *k != target.n_cols()) {
                return Err(Failure::Usage(format!(
                    "-k {k} does not agree with the target, which has {} columns; leave it out",
                    target.n_cols()
                )));
            }
            let k = target.n_cols();
            (Criterion::Procrustes { target }, Some(k))
        }
        (Some(criterion), _) => (criterion, k),
        (None, None) => unreachable!("procrustes has a target"),
    };
    let run = Run { observer: &progress, ..Run::default() };
    let rotated = RotatedModel::new(saved.model, k, criterion, &run)
        .map_err(|error| Places::of_file(&file).explain(error))?;
    progress.clear();
    if !rotated.rotation().converged {
        let advice =
            "the rotation did not converge; rotate fewer components with -k, or give --gamma 0 or less";
        print_warnings(&file, &[advice.to_owned()]);
    }
    let saved = Saved { model: rotated, extras: saved.extras };
    files.write(|outputs, part, path| match part {
        Part::Model => outputs.model(path, &saved),
        Part::Scores => unreachable!("no rows are read"),
        Part::Loadings => {
            let table = NamedMatrix {
                matrix: &saved.model.rotation().pattern,
                row_names: Some(&names::of_features(features, p)),
                row_header: "feature",
                labels: &[],
                column_names: &of_rotated(saved.model.n_components()),
                numeric_ids: false,
            };
            outputs.table(path, &table)
        }
    })?;
    let data = [format!("{file}: fitted to {} rows x {} columns", count(n), count(p))];
    files.print_summary(
        |layout, written| {
            RotationReport { model: &saved.model, features, data: &data, written }.render(layout)
        },
        |extent, written| {
            let model = RotationSummary::new(&saved.model, (n, p), features, extent);
            to_json(&Rotated { file: &file, model, written })
        },
    )
}

/// The JSON output of `rotate --json`.
#[derive(Serialize)]
struct Rotated<'a> {
    file: &'a str,
    #[serde(flatten)]
    model: RotationSummary<'a>,
    /// The files written, by content.
    written: BTreeMap<&'static str, String>,
}

/// Reads a target: loadings of the features of the model, in their order.
///
/// # Errors
/// [`Failure::Data`] for rows that are not the features; errors of reading.
fn loadings(path: &Path, (p, features): (usize, Option<&[String]>), progress: &Progress) -> Result<Matrix> {
    let dataset = Dataset::read(path, &ReadOptions::default(), progress)?;
    let order = match (features, &dataset.table.sample_names) {
        (Some(features), Some(rows)) => Some(order(&dataset.file, features, rows)?),
        _ => None,
    };
    let found = dispatch(&dataset.table.data, Loadings { dataset: &dataset })?;
    let n = found.n_rows();
    match order {
        Some(order) => Ok(Matrix::from_fn(p, found.n_cols(), |j, c| found[(order[j], c)])),
        None if n == p => Ok(found),
        None => Err(Failure::Data(format!(
            "{}: {n} rows, but the model has {p} features; a target has one row for each",
            dataset.file
        ))),
    }
}

/// The row of each feature.
fn order(file: &str, features: &[String], rows: &[String]) -> Result<Vec<usize>> {
    let places: HashMap<&str, usize> = rows.iter().enumerate().map(|(i, name)| (name.as_str(), i)).collect();
    let missing: Vec<&String> = features.iter().filter(|name| !places.contains_key(name.as_str())).collect();
    if !missing.is_empty() {
        return Err(Failure::Data(format!(
            "{file}: has no row for {}; a target has one row for each feature of the model",
            names::list(&missing)
        )));
    }
    Ok(features.iter().map(|name| places[name.as_str()]).collect())
}

struct Loadings<'a> {
    dataset: &'a Dataset,
}

impl OnValues for Loadings<'_> {
    type Output = Result<Matrix>;

    fn on<T: Scalar>(self, values: &Values<T>) -> Self::Output {
        let source = values.source().map_err(|error| self.dataset.explain(error))?;
        let matrix = self.dataset.matrix(&*source, "loadings")?;
        Ok(Matrix::from_fn(matrix.n_rows(), matrix.n_cols(), |i, j| matrix[(i, j)].to_f64()))
    }
}
