//! Fitted models of incomplete data as files, in the container of all models.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use karhunen::{
    Covariances, IncompleteConvergence, IncompleteModel, IncompleteParts, IncompletePca, Matrix, Prior,
    TraceEntry,
};
use serde_json::json;

use crate::fit_columns;
use crate::ids::Ids;
use crate::input::Input;
use crate::model_file::{ModelFile, Tensor, json_without, tensor_error, to_json};
use crate::replace::{Staged, stage};
use crate::{Cause, Error, FittedTable, ReadOptions, Result, TripleColumns};

/// What the metadata calls this kind of model.
pub(crate) const KIND: &str = "incomplete-pca";

/// A fitted model of incomplete data, with what its rows and columns are called.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedIncomplete {
    /// The model.
    pub model: IncompleteModel,
    /// One id for each row fitted, if the data had such.
    pub row_ids: Option<Ids>,
    /// One id for each column: the names of the features where the data were a table.
    pub column_ids: Option<Ids>,
    /// The columns of the file of triples that was fitted, if it was one.
    pub triples: Option<TripleColumns>,
    /// Columns beside the features in the table of the fit, by name: weights and labels.
    pub set_aside: Vec<String>,
    /// The column that was asked for to name the rows.
    pub id_column: Option<String>,
}

impl SavedIncomplete {
    /// What model files call this kind.
    pub const KIND: &str = KIND;

    /// How to read more tables for this model: what was no feature in the fit is none now, whether it is there or not.
    #[must_use]
    pub fn read_options(&self, options: ReadOptions) -> ReadOptions {
        let fitted = FittedTable {
            feature_names: self.column_ids.as_ref().map(Ids::texts),
            n_features: self.model.n_features(),
            set_aside: self.set_aside.clone(),
            id_column: self.id_column.clone(),
        };
        fit_columns::read_options(options, fitted)
    }
}

/// Writes a model as a safetensors file, beside the target and renamed; `-` is the standard output.
///
/// The arrays are called as the fields of the model are: `components` (n_components, n_features), `explained_variance`,
/// `explained_variance_ratio`, `singular_values` (n_components), `scores` (n_samples, n_components), `mean`,
/// `mean_variance` (n_features), `prior_precision` (n_components, n_components), `prior_mean` (n_components),
/// `noise_variance`, `total_variance` (no axis), all `float64`; `n_observed` (n_features), `int64`; where there are
/// such, `score_covariances` and `loading_covariances` (rows, n_components (n_components + 1) / 2), lower triangles,
/// `float32`; `row_offsets` (n_samples), where the prior and the covariances of scores are of one more, the offset; and of the trace `trace_iteration` (`int64`), `trace_cost`, `trace_rmse`, `trace_held_out_rmse`, `trace_step`
/// and `trace_seconds`, with NaN for what was not computed. Ids are `row_ids` and `column_ids`: `int64`, or the bytes of
/// their text with `row_ids_ends` and `column_ids_ends`. The metadata holds `karhunen` (the version), `kind`,
/// `format_version`, `dtype` and, as JSON, `options`, `convergence`, `prior_per_entry` and, where there are such, `triples`,
/// `set_aside` and `id_column`.
///
/// # Errors
/// [`Cause::Library`] unless there is one id for each row and column; [`Cause::Io`], and the target is then as it was.
pub fn save_incomplete(path: &Path, saved: &SavedIncomplete) -> Result<()> {
    stage_incomplete(path, saved)?.commit()
}

/// As [`save_incomplete`], leaving the file beside the target until [`Staged::commit`].
///
/// # Errors
/// As [`save_incomplete`].
pub fn stage_incomplete(path: &Path, saved: &SavedIncomplete) -> Result<Staged> {
    let file = to_file(saved).map_err(|cause| Error::new(path, cause))?;
    stage(path, |sink: &mut dyn Write| file.write(sink))
}

/// Reads a model of incomplete data; `-` is the standard input.
///
/// # Errors
/// As [`crate::load_model`].
pub fn load_incomplete(path: &Path) -> Result<SavedIncomplete> {
    let input = Input::load(path)?;
    from_file(path, ModelFile::read(&input)?)
}

fn to_file(saved: &SavedIncomplete) -> std::result::Result<ModelFile, Cause> {
    let parts = saved.model.parts();
    let ((c, p), n) = (parts.components.shape(), parts.scores.n_rows());
    let all = c + usize::from(parts.row_offsets.is_some());
    let single = Tensor::new::<f64>;
    let counts: Vec<i64> = parts.n_observed.iter().map(|count| *count as i64).collect();
    let mut tensors = vec![
        single("components", &[c, p], parts.components.as_slice()),
        single("explained_variance", &[c], &parts.explained_variance),
        single("explained_variance_ratio", &[c], &parts.explained_variance_ratio),
        single("singular_values", &[c], &parts.singular_values),
        single("scores", &[n, c], parts.scores.as_slice()),
        single("mean", &[p], &parts.mean),
        single("mean_variance", &[p], &parts.mean_variance),
        single("prior_precision", &[all, all], parts.prior.precision.as_slice()),
        single("prior_mean", &[all], &parts.prior.mean),
        single("noise_variance", &[], &[parts.noise_variance]),
        single("total_variance", &[], &[parts.total_variance]),
        Tensor::new("n_observed", &[p], &counts),
    ];
    tensors.extend(trace_tensors(&parts.convergence.trace));
    let all = [
        ("score_covariances", &parts.score_covariances),
        ("loading_covariances", &parts.loading_covariances),
    ];
    for (name, covariances) in all {
        let Some(covariances) = covariances else { continue };
        let rows = if name == "score_covariances" { n } else { p };
        let c = covariances.n_components;
        tensors.push(Tensor::new(name, &[rows, c * (c + 1) / 2], &covariances.packed));
    }
    tensors.extend(parts.row_offsets.as_ref().map(|offsets| single("row_offsets", &[n], offsets)));
    for (name, what, ids, expected) in [
        ("row_ids", "the row ids", &saved.row_ids, n),
        ("column_ids", "the column ids", &saved.column_ids, p),
    ] {
        let Some(ids) = ids else { continue };
        if ids.len() != expected {
            let found = ids.len();
            return Err(Cause::from(karhunen::Error::Shape { what, axis: "values", found, expected }));
        }
        tensors.extend(id_tensors(name, ids));
    }
    let version = env!("CARGO_PKG_VERSION").to_owned();
    Ok(ModelFile { version, kind: KIND.to_owned(), tensors, metadata: metadata(saved)? })
}

fn metadata(saved: &SavedIncomplete) -> std::result::Result<BTreeMap<String, String>, Cause> {
    let parts = saved.model.parts();
    // The trace is made of arrays: a fit may have many iterations.
    let convergence = json_without(&parts.convergence, "trace")?;
    let mut metadata = BTreeMap::from([
        ("dtype".to_owned(), parts.dtype.clone()),
        ("options".to_owned(), to_json(&parts.options)?),
        ("convergence".to_owned(), convergence),
        ("prior_per_entry".to_owned(), json!(parts.prior.per_entry).to_string()),
    ]);
    if let Some(columns) = &saved.triples {
        metadata.insert("triples".to_owned(), to_json(columns)?);
    }
    fit_columns::insert(&mut metadata, None, &saved.set_aside, saved.id_column.as_deref());
    Ok(metadata)
}

fn trace_tensors(trace: &[TraceEntry]) -> Vec<Tensor> {
    let column = |name: &str, of: &dyn Fn(&TraceEntry) -> f64| {
        Tensor::new(name, &[trace.len()], &trace.iter().map(of).collect::<Vec<_>>())
    };
    let iterations: Vec<i64> = trace.iter().map(|entry| entry.iteration as i64).collect();
    vec![
        Tensor::new("trace_iteration", &[trace.len()], &iterations),
        column("trace_cost", &|entry| entry.cost),
        column("trace_rmse", &|entry| entry.rmse),
        column("trace_held_out_rmse", &|entry| entry.held_out_rmse.unwrap_or(f64::NAN)),
        column("trace_step", &|entry| entry.step.unwrap_or(f64::NAN)),
        column("trace_seconds", &|entry| entry.seconds),
    ]
}

fn id_tensors(name: &str, ids: &Ids) -> Vec<Tensor> {
    match ids {
        Ids::Integers(ids) => vec![Tensor::new(name, &[ids.len()], ids)],
        Ids::Texts(ids) => {
            let bytes = ids.concat().into_bytes();
            let ends: Vec<i64> = ids
                .iter()
                .scan(0, |end, id| {
                    *end += id.len() as i64;
                    Some(*end)
                })
                .collect();
            vec![
                Tensor::new(&format!("{name}_ends"), &[ends.len()], &ends),
                Tensor::new(name, &[bytes.len()], &bytes),
            ]
        }
    }
}

/// The model of a file of this kind.
pub(crate) fn from_file(path: &Path, mut file: ModelFile) -> Result<SavedIncomplete> {
    file.check_kind(path, KIND)?;
    let refuse = |error: karhunen::Error| Error::new(path, error.into());
    let ([c, p], components) = file.take(path, "components")?;
    let ([n, score_columns], scores) = file.take(path, "scores")?;
    let ([rows, columns], precision) = file.take(path, "prior_precision")?;
    let row_offsets =
        if file.has("row_offsets") { Some(file.take_row(path, "row_offsets", n)?) } else { None };
    let all = c + usize::from(row_offsets.is_some());
    let prior = Prior {
        precision: Matrix::from_vec(rows, columns, precision).map_err(refuse)?,
        per_entry: file.json(path, "prior_per_entry")?,
        mean: file.take_row(path, "prior_mean", all)?,
    };
    let mut scalar = |name: &str| file.take::<f64, 0>(path, name).map(|(_, values)| values[0]);
    let (noise_variance, total_variance) = (scalar("noise_variance")?, scalar("total_variance")?);
    let mean_variance = file.take_row(path, "mean_variance", p)?;
    let variances = [
        ("noise_variance", &[noise_variance][..]),
        ("total_variance", &[total_variance]),
        ("mean_variance", &mean_variance),
    ];
    for (name, values) in variances {
        if let Some(value) = values.iter().find(|value| **value < 0.0) {
            let message = format!("holds the variance {value}; the model file is damaged, fit it again");
            return Err(tensor_error(path, name, message));
        }
    }
    let parts = IncompleteParts {
        components: Matrix::from_vec(c, p, components).map_err(refuse)?,
        mean: file.take_row(path, "mean", p)?,
        explained_variance: file.take_row(path, "explained_variance", c)?,
        explained_variance_ratio: file.take_row(path, "explained_variance_ratio", c)?,
        singular_values: file.take_row(path, "singular_values", c)?,
        total_variance,
        noise_variance,
        scores: Matrix::from_vec(n, score_columns, scores).map_err(refuse)?,
        row_offsets,
        score_covariances: covariances(path, &mut file, "score_covariances", all)?,
        loading_covariances: covariances(path, &mut file, "loading_covariances", c)?,
        mean_variance,
        prior,
        n_observed: counts(path, &mut file, "n_observed")?,
        options: file.json::<IncompletePca>(path, "options")?,
        dtype: file.text(path, "dtype")?.to_owned(),
        convergence: convergence(path, &mut file)?,
    };
    let (row_ids, column_ids) = (ids(path, &mut file, "row_ids", n)?, ids(path, &mut file, "column_ids", p)?);
    Ok(SavedIncomplete {
        model: IncompleteModel::try_from(parts).map_err(refuse)?,
        row_ids,
        column_ids,
        triples: file.optional_json(path, "triples")?,
        set_aside: fit_columns::set_aside(path, &file)?,
        id_column: fit_columns::id_column(path, &file)?,
    })
}

fn covariances(path: &Path, file: &mut ModelFile, name: &str, c: usize) -> Result<Option<Covariances>> {
    if !file.has(name) {
        return Ok(None);
    }
    let ([_, _], packed) = file.take::<f32, 2>(path, name)?;
    Ok(Some(Covariances { n_components: c, packed }))
}

/// Whole numbers that are not negative.
fn counts(path: &Path, file: &mut ModelFile, name: &str) -> Result<Vec<usize>> {
    let ([_], values) = file.take::<i64, 1>(path, name)?;
    let damaged = |value: i64| {
        tensor_error(path, name, format!("holds {value}; the model file is damaged, fit it again"))
    };
    values.into_iter().map(|value| usize::try_from(value).map_err(|_| damaged(value))).collect()
}

fn convergence(path: &Path, file: &mut ModelFile) -> Result<IncompleteConvergence> {
    let convergence: IncompleteConvergence = file.json_with_no(path, "convergence", "trace")?;
    let iterations = counts(path, file, "trace_iteration")?;
    let length = iterations.len();
    let costs = file.take_row::<f64>(path, "trace_cost", length)?;
    let errors = file.take_row::<f64>(path, "trace_rmse", length)?;
    let seconds = file.take_row::<f64>(path, "trace_seconds", length)?;
    let held_out = with_holes(path, file, "trace_held_out_rmse", length)?;
    let steps = with_holes(path, file, "trace_step", length)?;
    let entry = |at: usize| TraceEntry {
        iteration: iterations[at],
        cost: costs[at],
        rmse: errors[at],
        held_out_rmse: held_out[at],
        step: steps[at],
        seconds: seconds[at],
    };
    Ok(IncompleteConvergence { trace: (0..length).map(entry).collect(), ..convergence })
}

fn with_holes(path: &Path, file: &mut ModelFile, name: &str, expected: usize) -> Result<Vec<Option<f64>>> {
    let ([found], values) = file.take_with_holes::<f64, 1>(path, name)?;
    if found != expected {
        let message =
            format!("has shape [{found}], expected [{expected}]; the model file is damaged, fit it again");
        return Err(tensor_error(path, name, message));
    }
    Ok(values.into_iter().map(|x| Some(x).filter(|x| !x.is_nan())).collect())
}

fn ids(path: &Path, file: &mut ModelFile, name: &str, expected: usize) -> Result<Option<Ids>> {
    let ends_name = format!("{name}_ends");
    if !file.has(&ends_name) {
        return if file.has(name) {
            file.take_row(path, name, expected).map(|ids| Some(Ids::Integers(ids)))
        } else {
            Ok(None)
        };
    }
    let ends = counts(path, file, &ends_name)?;
    let damaged =
        |what: &str| tensor_error(path, name, format!("{what}; the model file is damaged, fit it again"));
    if ends.len() != expected {
        return Err(damaged(&format!("there are {} ids, expected {expected}", ends.len())));
    }
    let ([_], bytes) = file.take::<u8, 1>(path, name)?;
    let text = String::from_utf8(bytes).map_err(|error| damaged(&error.to_string()))?;
    let mut start = 0;
    let ids: Option<Vec<String>> = ends
        .into_iter()
        .map(|end| text.get(std::mem::replace(&mut start, end)..end).map(str::to_owned))
        .collect();
    ids.map(|ids| Some(Ids::Texts(ids)))
        .ok_or_else(|| damaged("the ends of the ids are not those of its text"))
}

#[cfg(test)]
mod tests {
    use karhunen::{Dense, Method, Observed};

    use super::*;
    use crate::checksum::sealed_again;
    use crate::input::Bytes;

    const NAN: f64 = f64::NAN;
    const X: [f64; 20] = [
        1.0,
        2.0,
        0.5,
        NAN,
        -3.0,
        0.25,
        7.0,
        1.0,
        1e-3,
        NAN,
        4.0,
        -5.0,
        NAN,
        2.5,
        1.0 / 3.0,
        2.0,
        3.0,
        0.5,
        -1.0,
        1.5,
    ];

    fn fitted(pca: &IncompletePca) -> IncompleteModel {
        pca.fit(&Observed::from_dense(&Dense::row_major(&X, 5, 4).unwrap(), None).unwrap()).unwrap()
    }

    fn saved() -> SavedIncomplete {
        let names = ["a", "", "ü \"quoted\"", "d"].map(str::to_owned).to_vec();
        SavedIncomplete {
            model: fitted(&IncompletePca { max_iter: 20, ..IncompletePca::new(2) }),
            row_ids: Some(Ids::Integers(vec![-1, 4, i64::MAX, 0, 3])),
            column_ids: Some(Ids::Texts(names)),
            triples: Some(TripleColumns {
                row: "user".to_owned(),
                column: "item".to_owned(),
                value: "rating".to_owned(),
                weight: None,
            }),
            set_aside: vec!["class".to_owned()],
            id_column: Some("id".to_owned()),
        }
    }

    fn read(file: &ModelFile) -> Result<SavedIncomplete> {
        let mut bytes = Vec::new();
        file.write(&mut bytes).unwrap();
        let path = Path::new("m");
        from_file(path, ModelFile::read(&Input { path: path.into(), bytes: Bytes::Owned(bytes) })?)
    }

    #[test]
    fn models_of_all_methods_read_back_bit_for_bit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.safetensors");
        for method in Method::ALL {
            for (error_bars, early_stopping, row_offsets) in
                [(true, None, false), (false, Some(0.2), false), (true, None, true), (false, None, true)]
            {
                let options = IncompletePca {
                    method,
                    row_offsets,
                    error_bars,
                    early_stopping,
                    max_iter: 5,
                    ..IncompletePca::new(2)
                };
                let saved = SavedIncomplete { model: fitted(&options), ..saved() };
                save_incomplete(&path, &saved).unwrap();
                assert_eq!(load_incomplete(&path).unwrap(), saved, "{method:?}");
            }
        }
        let saved = SavedIncomplete {
            row_ids: Some(Ids::Texts(vec![String::new(); 5])),
            column_ids: None,
            triples: None,
            set_aside: Vec::new(),
            id_column: None,
            ..saved()
        };
        save_incomplete(&path, &saved).unwrap();
        assert_eq!(load_incomplete(&path).unwrap(), saved);
    }

    #[test]
    fn a_model_without_components_reads_back() {
        let mut parts = saved().model.parts().clone();
        let (n, p) = (parts.scores.n_rows(), parts.mean.len());
        (parts.components, parts.scores) = (Matrix::zeros(0, p), Matrix::zeros(n, 0));
        parts.prior = Prior { precision: Matrix::zeros(0, 0), per_entry: false, mean: Vec::new() };
        for values in
            [&mut parts.explained_variance, &mut parts.explained_variance_ratio, &mut parts.singular_values]
        {
            values.clear();
        }
        let none = Covariances { n_components: 0, packed: Vec::new() };
        (parts.score_covariances, parts.loading_covariances) = (Some(none.clone()), Some(none));
        let saved = SavedIncomplete { model: IncompleteModel::try_from(parts).unwrap(), ..saved() };
        assert_eq!(read(&to_file(&saved).unwrap()).unwrap(), saved);
    }

    #[test]
    fn covariances_take_four_bytes_for_each_value() {
        let file = to_file(&saved()).unwrap();
        let sizes = file.tensors.iter().filter(|tensor| tensor.name.ends_with("covariances"));
        assert_eq!(sizes.map(|tensor| tensor.data.n_bytes()).sum::<usize>(), 4 * (5 + 4) * 3);
    }

    #[test]
    fn damage_is_named() {
        type Change = fn(&mut ModelFile);
        fn replace(file: &mut ModelFile, tensor: Tensor) {
            file.tensors.retain(|old| old.name != tensor.name);
            file.tensors.push(tensor);
        }
        let cases: [(Change, &str); 12] = [
            (
                |file| file.kind = "pca".to_owned(),
                "m: holds a model of the kind `pca`; `incomplete-pca` is what can be read",
            ),
            (
                |file| file.tensors.retain(|tensor| tensor.name != "scores"),
                "m: `scores`: is missing; the model file is damaged, fit it again",
            ),
            (
                |file| replace(file, Tensor::new("scores", &[5, 1], &[0.0; 5])),
                "m: scores: 1 value, but 2 are needed",
            ),
            (
                |file| replace(file, Tensor::new("n_observed", &[4], &[1_i64, 2, -3, 4])),
                "m: `n_observed`: holds -3; the model file is damaged, fit it again",
            ),
            (
                |file| replace(file, Tensor::new("n_observed", &[4], &[1.0; 4])),
                "m: `n_observed`: has dtype F64, and I64 is expected; fit the model again",
            ),
            (
                |file| replace(file, Tensor::new("score_covariances", &[5, 3], &[f32::NAN; 15])),
                "m: `score_covariances`: holds NaN; the model file is damaged, fit it again",
            ),
            (
                |file| replace(file, Tensor::new("score_covariances", &[4, 3], &[1.0_f32; 12])),
                "m: score_covariances: 12 values, but 15 are needed",
            ),
            (
                |file| replace(file, Tensor::new("trace_step", &[1], &[1.0])),
                "m: `trace_step`: has shape [1], expected [20]; the model file is damaged, fit it again",
            ),
            (
                |file| replace(file, Tensor::new("row_ids", &[1], &[1_i64])),
                "m: `row_ids`: has shape [1], expected [5]; the model file is damaged, fit it again",
            ),
            (
                |file| replace(file, Tensor::new("column_ids_ends", &[4], &[1_i64, 0, 2, 3])),
                "m: `column_ids`: the ends of the ids are not those of its text; the model file is damaged, fit it again",
            ),
            (
                |file| replace(file, Tensor::new("column_ids_ends", &[1], &[1_i64])),
                "m: `column_ids`: there are 1 ids, expected 4; the model file is damaged, fit it again",
            ),
            (
                |file| _ = file.metadata.insert("prior_per_entry".to_owned(), "2".to_owned()),
                "m: `prior_per_entry` in the metadata is damaged (invalid type: integer `2`, expected a boolean at line 1 \
                 column 1); fit the model again",
            ),
        ];
        for (change, message) in cases {
            let mut file = to_file(&saved()).unwrap();
            change(&mut file);
            assert_eq!(read(&file).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn damaged_files_never_panic() {
        let mut whole = Vec::new();
        let small = fitted(&IncompletePca { max_iter: 2, error_bars: false, ..IncompletePca::new(1) });
        let saved = SavedIncomplete { model: small, ..saved() };
        to_file(&saved).unwrap().write(&mut whole).unwrap();
        let path = Path::new("m");
        let read = |bytes: &[u8]| {
            let input = Input { path: path.into(), bytes: Bytes::Owned(bytes.to_vec()) };
            ModelFile::read(&input).and_then(|file| from_file(path, file))
        };
        assert_eq!(read(&whole).unwrap(), saved);
        for at in 0..whole.len() {
            for flip in [1, 0x80, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] ^= flip;
                assert!(read(&bytes).is_err(), "byte {at}");
                let _ = read(&sealed_again(bytes));
            }
            assert!(read(&whole[..at]).is_err());
        }
    }

    #[test]
    fn ids_that_do_not_fit_are_not_written() {
        let saved = SavedIncomplete { row_ids: Some(Ids::Integers(vec![1])), ..saved() };
        let error = save_incomplete(Path::new("/no/such/folder/m"), &saved).unwrap_err().to_string();
        assert!(error.contains("the row ids"), "{error}");
    }
}
