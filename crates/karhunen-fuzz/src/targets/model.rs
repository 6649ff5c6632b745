//! Model files and checkpoints: a loaded model can be used, gives finite results, and is equal after saving and
//! loading.

use std::path::Path;

use karhunen::categorical::{Column, Variable};
use karhunen::incomplete::{Checkpoint, FitContext};
use karhunen::{Dense, Matrix, Observed, Pca, Run};
use karhunen_io::{
    AnyModel, Result, SavedCategorical, SavedIncomplete, SavedIncremental, SavedKernel, SavedModel,
    SavedNystrom, SavedRotated, SavedRotatedIncomplete, SavedScatter, load_any_model, load_checkpoint,
    load_model, save_model,
};

use super::{Outcome, Verdict, all_finite, hold};

/// Larger models are loaded but not used.
const MOST_VALUES: usize = 4096;
/// Moments of more columns are loaded but not fitted.
const MOST_COLUMNS: usize = 64;

pub(super) fn run(path: &Path) -> Verdict {
    let again = path.with_extension("again");
    let mut outcome = Outcome::Refused;
    if let Some(model) = loaded(load_any_model(path))? {
        outcome = Outcome::Accepted;
        match model {
            AnyModel::Complete(saved) => complete(&saved, &again)?,
            AnyModel::Incomplete(saved) => incomplete(&saved, &again)?,
            AnyModel::Kernel(saved) => kernel(&saved, &again)?,
            AnyModel::Categorical(saved) => categorical(&saved, &again)?,
            AnyModel::Incremental(saved) => incremental(&saved, &again)?,
            AnyModel::Rotated(saved) => rotated(&saved, &again)?,
            AnyModel::RotatedIncomplete(saved) => rotated_incomplete(&saved, &again)?,
        }
    }
    if let Some(map) = loaded::<SavedNystrom>(load_model(path))? {
        outcome = Outcome::Accepted;
        let p = map.model.parts().landmarks.shape().1;
        if p > 0 && p <= MOST_VALUES {
            let values = row_values(p);
            let x = Dense::row_major(&values, N_ROWS, p).map_err(|error| error.to_string())?;
            match map.model.transform(&x) {
                Ok(features) => all_finite("features of a map", features.as_slice())?,
                Err(error) => super::check_error(&error.to_string())?,
            }
        }
    }
    if let Some(moments) = loaded::<SavedScatter>(load_model(path))? {
        outcome = Outcome::Accepted;
        scatter(&moments, &again)?;
    }
    if let Some(checkpoint) = loaded(load_checkpoint(path))? {
        outcome = Outcome::Accepted;
        resume(&checkpoint)?;
    }
    Ok(outcome)
}

/// The loaded model, or `None` if the file was refused.
fn loaded<M>(result: Result<M>) -> std::result::Result<Option<M>, String> {
    match result {
        Ok(model) => Ok(Some(model)),
        Err(error) => super::check_error(&error.to_string()).map(|()| None),
    }
}

const N_ROWS: usize = 3;

fn row_values(p: usize) -> Vec<f64> {
    (0..N_ROWS * p).map(|index| (index * 37 % 23) as f64 / 4.0 - 2.0).collect()
}

fn complete(saved: &SavedModel, again: &Path) -> std::result::Result<(), String> {
    let model = &saved.model;
    let (k, p) = model.components().shape();
    save_model(again, saved).map_err(|error| format!("a model that was loaded is not saved: {error}"))?;
    let same: SavedModel =
        load_model(again).map_err(|error| format!("a model that was saved is not loaded: {error}"))?;
    hold(same == *saved, || "a model is another when saved and loaded again".to_owned())?;
    if p == 0 || k * p > MOST_VALUES {
        return Ok(());
    }
    let values = row_values(p);
    let x = Dense::row_major(&values, N_ROWS, p).map_err(|error| error.to_string())?;
    match model.transform(&x) {
        Ok(scores) => {
            hold(scores.shape() == (N_ROWS, k), || format!("scores of shape {:?}", scores.shape()))?;
            all_finite("scores", scores.as_slice())?;
            if let Ok(back) = model.inverse_transform(&scores) {
                hold(back.shape() == (N_ROWS, p), || {
                    format!("a reconstruction of shape {:?}", back.shape())
                })?;
                all_finite("the reconstruction", back.as_slice())?;
            }
        }
        Err(error) => super::check_error(&error.to_string())?,
    }
    Ok(())
}

fn rotated(saved: &SavedRotated, again: &Path) -> std::result::Result<(), String> {
    let model = &saved.model;
    let (k, p) = (model.n_components(), model.model().n_features());
    save_model(again, saved).map_err(|error| format!("a model that was loaded is not saved: {error}"))?;
    let same: SavedRotated =
        load_model(again).map_err(|error| format!("a model that was saved is not loaded: {error}"))?;
    // Numbers that overflow to NaN differ from themselves, so models are compared as text.
    hold(format!("{same:?}") == format!("{saved:?}"), || {
        "a rotated model is another when saved and loaded again".to_owned()
    })?;
    if p == 0 || model.model().n_components() * p > MOST_VALUES {
        return Ok(());
    }
    let values = row_values(p);
    let x = Dense::row_major(&values, N_ROWS, p).map_err(|error| error.to_string())?;
    match model.transform_with(&x, &Run::default()) {
        Ok(scores) => hold(scores.shape() == (N_ROWS, k), || format!("scores of shape {:?}", scores.shape())),
        Err(error) => super::check_error(&error.to_string()),
    }
}

fn rotated_incomplete(saved: &SavedRotatedIncomplete, again: &Path) -> std::result::Result<(), String> {
    let model = &saved.model;
    let (k, c) = (model.n_components(), model.model().n_components());
    save_model(again, saved).map_err(|error| format!("a model that was loaded is not saved: {error}"))?;
    let same: SavedRotatedIncomplete =
        load_model(again).map_err(|error| format!("a model that was saved is not loaded: {error}"))?;
    hold(format!("{same:?}") == format!("{saved:?}"), || {
        "a rotated model of incomplete data is another when saved and loaded again".to_owned()
    })?;
    if c > MOST_VALUES {
        return Ok(());
    }
    let values = row_values(c);
    let scores = Matrix::from_vec(N_ROWS, c, values).map_err(|error| error.to_string())?;
    match model.of_scores(&scores) {
        Ok(scores) => hold(scores.shape() == (N_ROWS, k), || format!("scores of shape {:?}", scores.shape())),
        Err(error) => super::check_error(&error.to_string()),
    }
}

fn incomplete(saved: &SavedIncomplete, again: &Path) -> std::result::Result<(), String> {
    let model = &saved.model;
    let (k, p) = model.components().shape();
    save_model(again, saved).map_err(|error| format!("a model that was loaded is not saved: {error}"))?;
    let same: SavedIncomplete =
        load_model(again).map_err(|error| format!("a model that was saved is not loaded: {error}"))?;
    // NaN marks values of a trace that were not computed, so models are compared as text.
    hold(format!("{same:?}") == format!("{saved:?}"), || {
        "a model of incomplete data is another when saved and loaded again".to_owned()
    })?;
    if p == 0 || (k + model.n_samples()) * p > MOST_VALUES {
        return Ok(());
    }
    let mut values = row_values(p);
    values[0] = f64::NAN;
    let x = Dense::row_major(&values, N_ROWS, p).map_err(|error| error.to_string())?;
    let observed = Observed::from_dense(&x).map_err(|error| error.to_string())?;
    match model.transform(&observed) {
        Ok(scores) => {
            hold(scores.shape() == (N_ROWS, k), || format!("scores of shape {:?}", scores.shape()))?;
            all_finite("scores", scores.as_slice())?;
        }
        Err(error) => super::check_error(&error.to_string())?,
    }
    match model.impute(&observed) {
        Ok(filled) => all_finite("imputed rows", filled.as_slice())?,
        Err(error) => super::check_error(&error.to_string())?,
    }
    for row in 0..model.n_samples().min(3) {
        match model.predict(row, p - 1) {
            Ok(prediction) => {
                all_finite("a prediction", &[prediction.value])?;
                hold(prediction.std().is_none_or(|std| std >= 0.0), || {
                    format!("a standard deviation of {:?}", prediction.std())
                })?;
            }
            Err(error) => super::check_error(&error.to_string())?,
        }
    }
    Ok(())
}

fn scatter(saved: &SavedScatter, again: &Path) -> std::result::Result<(), String> {
    save_model(again, saved).map_err(|error| error.to_string())?;
    let same: SavedScatter = load_model(again).map_err(|error| error.to_string())?;
    hold(same == *saved, || "moments read back differ".to_owned())?;
    let p = saved.model.moments.mean.len();
    if p > MOST_COLUMNS {
        return Ok(());
    }
    match Pca::new(1).fit_scatter(&saved.model, None) {
        Ok(model) => all_finite("variances of moments", model.explained_variance()),
        Err(error) => super::check_error(&error.to_string()),
    }
}

fn kernel(saved: &SavedKernel, again: &Path) -> std::result::Result<(), String> {
    let model = &saved.model;
    let (k, p) = (model.n_components(), model.n_features());
    save_model(again, saved).map_err(|error| format!("a model that was loaded is not saved: {error}"))?;
    let same: SavedKernel =
        load_model(again).map_err(|error| format!("a model that was saved is not loaded: {error}"))?;
    hold(format!("{same:?}") == format!("{saved:?}"), || {
        "a kernel model is another when saved and loaded again".to_owned()
    })?;
    if p == 0 || (k + model.n_samples()).saturating_mul(p) > MOST_VALUES {
        return Ok(());
    }
    let values = row_values(p);
    let x = Dense::row_major(&values, N_ROWS, p).map_err(|error| error.to_string())?;
    match model.transform(&x) {
        Ok(scores) => {
            hold(scores.shape() == (N_ROWS, k), || format!("scores of shape {:?}", scores.shape()))?;
            all_finite("scores of a kernel model", scores.as_slice())?;
            match model.inverse_transform(&scores) {
                Ok(back) => all_finite("pre-images", back.as_slice())?,
                Err(error) => super::check_error(&error.to_string())?,
            }
        }
        Err(error) => super::check_error(&error.to_string())?,
    }
    Ok(())
}

fn categorical(saved: &SavedCategorical, again: &Path) -> std::result::Result<(), String> {
    let model = &saved.model;
    save_model(again, saved).map_err(|error| format!("a model that was loaded is not saved: {error}"))?;
    let same: SavedCategorical =
        load_model(again).map_err(|error| format!("a model that was saved is not loaded: {error}"))?;
    hold(same == *saved, || "a model of categories is another when saved and loaded again".to_owned())?;
    if model.n_components() * model.pca().n_features() > MOST_VALUES {
        return Ok(());
    }
    let column = |variable: &Variable| match variable.categories() {
        None => Column::of_numbers(variable.name(), row_values(1)),
        Some(categories) => {
            let texts = (0..N_ROWS).map(|i| categories.get(i % categories.len()).map(String::as_str));
            Column::of_texts(variable.name(), texts)
        }
    };
    let columns: Vec<Column> = model.variables().iter().map(column).collect();
    let (n, k) = (model.shares().len(), model.n_components());
    hold(model.categories().coordinates.shape() == (n, k), || "coordinates of another shape".to_owned())?;
    match model.transform(&columns) {
        Ok(scores) => hold(scores.shape() == (N_ROWS, k), || format!("scores of shape {:?}", scores.shape())),
        Err(error) => super::check_error(&error.to_string()),
    }
}

/// The data of the checkpoints in the corpus.
///
/// # Errors
/// Never, because the data are constant.
pub fn data() -> std::result::Result<Observed<f64>, String> {
    let value = |e: usize| if e % 7 == 3 { f64::NAN } else { (e % 13) as f64 * (e / 6) as f64 / 10.0 };
    let x: Vec<f64> = (0..120).map(value).collect();
    let x = Dense::row_major(&x, 20, 6).map_err(|error| error.to_string())?;
    Observed::from_dense(&x).map_err(|error| error.to_string())
}

/// Resumes a checkpoint with its own options, but with lower limits of time.
fn resume(checkpoint: &Checkpoint) -> std::result::Result<(), String> {
    let options = &checkpoint.options;
    if options.inner_iterations > 50 || options.n_starts.is_some_and(|n| n > 5) || options.n_components > 50 {
        return Ok(());
    }
    let mut pca = options.clone();
    pca.max_iter = options.max_iter.min(checkpoint.iteration.saturating_add(3)).min(40);
    pca.time_limit = None;
    let context = FitContext { resume: Some(checkpoint), ..FitContext::default() };
    match pca.fit_with(&data()?, &context, &Run::default()) {
        Ok(model) => {
            all_finite("components after a checkpoint", model.components().as_slice())?;
            all_finite("scores after a checkpoint", model.scores().as_slice())
        }
        Err(error) => super::check_error(&error.to_string()),
    }
}

fn incremental(saved: &SavedIncremental, again: &Path) -> std::result::Result<(), String> {
    let fit = &saved.model;
    save_model(again, saved).map_err(|error| format!("a state that was loaded is not saved: {error}"))?;
    let same: SavedIncremental =
        load_model(again).map_err(|error| format!("a state that was saved is not loaded: {error}"))?;
    hold(same == *saved, || "a state is another when saved and loaded again".to_owned())?;
    let p = fit.n_features();
    if p == 0 || fit.n_directions().saturating_mul(p) > MOST_VALUES {
        return Ok(());
    }
    let values = row_values(p);
    let x = Dense::row_major(&values, N_ROWS, p).map_err(|error| error.to_string())?;
    let (mut fit, run) = (fit.clone(), Run::default());
    if let Err(error) = fit.push_source(&x, None, &run) {
        return super::check_error(&error.to_string());
    }
    match fit.model(&run) {
        Ok(model) => {
            all_finite("components of a stream", model.pca().components().as_slice())?;
            all_finite("variances of a stream", model.pca().explained_variance())
        }
        Err(error) => super::check_error(&error.to_string()),
    }
}
