//! Fitted models as files: every number of the model as an array that numpy can open, the options and names as JSON.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use karhunen::{Convergence, Matrix, ModelParts, Pca, PcaModel};

use crate::fit_columns;
use crate::input::Input;
use crate::model_file::{ModelFile, Tensor, json_without, tensor_error, to_json};
use crate::replace::{Staged, stage};
use crate::{Cause, Error, FittedTable, ReadOptions, Result};

/// What the metadata calls this kind of model.
const KIND: &str = "pca";
const VARIANCE_ABOUT_MEAN: &str = "variance_about_mean";
const RATIO_ABOUT_MEAN: &str = "variance_ratio_about_mean";

/// A fitted model with the names of the columns it was fitted on.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedModel {
    /// The model.
    pub model: PcaModel,
    /// One name for each feature, if the data had names.
    pub feature_names: Option<Vec<String>>,
    /// Columns beside the features in the file of the fit, by name: weights and labels.
    pub set_aside: Vec<String>,
    /// The column that was asked for to name the rows.
    pub id_column: Option<String>,
    /// Of a model that is not centred, the variances of its scores about their mean, if anybody asked for them.
    pub about_mean: Option<AboutMean>,
}

/// Variances of the scores about their mean, of a model whose own variances are those about zero: what scikit-learn's
/// `TruncatedSVD` calls explained variance.
#[derive(Clone, Debug, PartialEq)]
pub struct AboutMean {
    /// Variance of the scores along each component, with divisor n.
    pub variance: Vec<f64>,
    /// Share of the sum of the variances of the columns.
    pub ratio: Vec<f64>,
}

impl SavedModel {
    /// What model files call this kind.
    pub const KIND: &str = KIND;

    /// How to read more data for this model: what was no feature in the fit is none now, whether it is there or not.
    #[must_use]
    pub fn read_options(&self, options: ReadOptions) -> ReadOptions {
        let fitted = FittedTable {
            feature_names: self.feature_names.clone(),
            n_features: self.model.n_features(),
            set_aside: self.set_aside.clone(),
            id_column: self.id_column.clone(),
        };
        fit_columns::read_options(options, fitted)
    }
}

/// Writes a model as a safetensors file, beside the target and renamed; `-` is the standard output.
///
/// The arrays are called as the fields of scikit-learn are: `components` (n_components, n_features),
/// `explained_variance`, `explained_variance_ratio`, `singular_values`, `residuals` (n_components),
/// `mean`, `scale` and, if there were any, `feature_weights` (n_features), `noise_variance`, `total_variance` and
/// `sum_of_weights` (no axis), and where there are such `variance_about_mean` and `variance_ratio_about_mean`
/// (n_components), all `float64`. The metadata holds `karhunen` (the version), `kind`, `format_version`,
/// `n_samples`, `dtype` and, as JSON, `options`, `convergence` and, where there are such, `feature_names`, `set_aside`
/// and `id_column`.
///
/// # Errors
/// [`Cause::Library`] unless there is one name for each feature and one variance about the mean, if there are any, for
/// each component; [`Cause::Io`], and the target is then as it was.
pub fn save_model(path: &Path, saved: &SavedModel) -> Result<()> {
    stage_model(path, saved)?.commit()
}

/// As [`save_model`], leaving the file beside the target until [`Staged::commit`]: for several files that are to appear
/// together. The standard output is written at once.
///
/// # Errors
/// As [`save_model`].
pub fn stage_model(path: &Path, saved: &SavedModel) -> Result<Staged> {
    let file = to_file(saved).map_err(|cause| Error::new(path, cause))?;
    stage(path, |sink: &mut dyn Write| file.write(sink))
}

/// Reads a model; `-` is the standard input.
///
/// # Errors
/// [`Cause::Io`] if the file cannot be read; [`Cause::Format`] for a file that is damaged, of another program, or of
/// a newer karhunen; [`Cause::Library`] for arrays that contradict each other.
pub fn load_model(path: &Path) -> Result<SavedModel> {
    let input = Input::load(path)?;
    from_file(path, ModelFile::read(&input)?)
}

/// The model as arrays and texts.
fn to_file(saved: &SavedModel) -> std::result::Result<ModelFile, Cause> {
    let parts = saved.model.parts();
    let (k, p) = parts.components.shape();
    let needs = |what, axis, found: usize, expected: usize| {
        let error = karhunen::Error::Shape { what, axis, found, expected };
        if found == expected { Ok(()) } else { Err(Cause::from(error)) }
    };
    if let Some(names) = &saved.feature_names {
        needs("the feature names", "names", names.len(), p)?;
    }
    if let Some(AboutMean { variance, ratio }) = &saved.about_mean {
        needs("the variance about the mean", "values", variance.len(), k)?;
        needs("the share of the variance about the mean", "values", ratio.len(), k)?;
    }
    let tensor = Tensor::new::<f64>;
    let mut tensors = vec![
        tensor("components", &[k, p], parts.components.as_slice()),
        tensor("explained_variance", &[k], &parts.explained_variance),
        tensor("explained_variance_ratio", &[k], &parts.explained_variance_ratio),
        tensor("singular_values", &[k], &parts.singular_values),
        tensor("residuals", &[k], &parts.convergence.residuals),
        tensor("mean", &[p], &parts.mean),
        tensor("scale", &[p], &parts.scale),
        tensor("noise_variance", &[], &[parts.noise_variance]),
        tensor("total_variance", &[], &[parts.total_variance]),
        tensor("sum_of_weights", &[], &[parts.sum_of_weights]),
    ];
    tensors.extend(parts.feature_weights.iter().map(|weights| tensor("feature_weights", &[p], weights)));
    if let Some(AboutMean { variance, ratio }) = &saved.about_mean {
        tensors.push(tensor(VARIANCE_ABOUT_MEAN, &[k], variance));
        tensors.push(tensor(RATIO_ABOUT_MEAN, &[k], ratio));
    }
    // The residuals are an array: JSON has no infinity, and need not keep every bit.
    let convergence = json_without(&parts.convergence, "residuals")?;
    let mut metadata = BTreeMap::from([
        ("n_samples".to_owned(), parts.n_samples.to_string()),
        ("dtype".to_owned(), parts.dtype.clone()),
        ("options".to_owned(), to_json(&parts.options)?),
        ("convergence".to_owned(), convergence),
    ]);
    fit_columns::insert(
        &mut metadata,
        saved.feature_names.as_deref(),
        &saved.set_aside,
        saved.id_column.as_deref(),
    );
    let version = env!("CARGO_PKG_VERSION").to_owned();
    Ok(ModelFile { version, kind: KIND.to_owned(), tensors, metadata })
}

/// The model of a file of this kind.
pub(crate) fn from_file(path: &Path, mut file: ModelFile) -> Result<SavedModel> {
    let refuse = |cause| Error::new(path, cause);
    file.check_kind(path, KIND)?;
    let (has_weights, has_about_mean) = (file.has("feature_weights"), file.has(VARIANCE_ABOUT_MEAN));
    let ([k, p], components) = file.take(path, "components")?;
    let mut take = |name: &str, expected: usize| file.take_row(path, name, expected);
    let explained_variance = take("explained_variance", k)?;
    let explained_variance_ratio = take("explained_variance_ratio", k)?;
    let singular_values = take("singular_values", k)?;
    let residuals = take("residuals", k)?;
    let mean = take("mean", p)?;
    let scale = take("scale", p)?;
    let about_mean = match has_about_mean {
        true => {
            Some(AboutMean { variance: take(VARIANCE_ABOUT_MEAN, k)?, ratio: take(RATIO_ABOUT_MEAN, k)? })
        }
        false => None,
    };
    let feature_weights =
        if has_weights { Some(file.take::<f64, 1>(path, "feature_weights")?.1) } else { None };
    let negative = feature_weights.iter().flatten().find(|weight| **weight < 0.0);
    if let Some(weight) = negative {
        let message = format!("holds the weight {weight}; the model file is damaged, fit it again");
        return Err(tensor_error(path, "feature_weights", message));
    }
    let mut scalar = |name: &str| file.take::<f64, 0>(path, name).map(|(_, values)| values[0]);
    let (noise_variance, total_variance) = (scalar("noise_variance")?, scalar("total_variance")?);
    let sum_of_weights = scalar("sum_of_weights")?;
    let parts = ModelParts {
        components: Matrix::from_vec(k, p, components).map_err(|error| refuse(error.into()))?,
        explained_variance,
        explained_variance_ratio,
        singular_values,
        noise_variance,
        total_variance,
        mean,
        scale,
        feature_weights,
        n_samples: file.json(path, "n_samples")?,
        sum_of_weights,
        options: file.json::<Pca>(path, "options")?,
        dtype: file.text(path, "dtype")?.to_owned(),
        convergence: Convergence { residuals, ..file.json_with_no(path, "convergence", "residuals")? },
    };
    let feature_names = fit_columns::feature_names(path, &file, p)?;
    let set_aside = fit_columns::set_aside(path, &file)?;
    let id_column = fit_columns::id_column(path, &file)?;
    let model = PcaModel::try_from(parts).map_err(|error| refuse(error.into()))?;
    Ok(SavedModel { model, feature_names, set_aside, id_column, about_mean })
}

#[cfg(test)]
mod tests {
    use karhunen::{Dense, NComponents, Weights};

    use super::*;

    const X: [f64; 12] = [1.0, 2.0, 0.5, -3.0, 0.25, 7.0, 1e-3, 4.0, -5.0, 2.0, 2.5, 1.0 / 3.0];

    fn saved(feature_weights: Option<&[f64]>) -> SavedModel {
        let pca = Pca { n_components: NComponents::Count(2), scale: true, seed: u64::MAX, ..Pca::default() };
        let x = Dense::row_major(&X, 4, 3).unwrap();
        let weights = Weights { features: feature_weights, ..Weights::default() };
        let model = pca.fit(&x, &weights).unwrap();
        let feature_names = Some(["a", "ü \"quoted\"", "c"].map(str::to_owned).to_vec());
        SavedModel {
            model,
            feature_names,
            set_aside: vec!["class".to_owned()],
            id_column: Some("id".to_owned()),
            about_mean: None,
        }
    }

    #[test]
    fn a_model_reads_back_bit_for_bit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.safetensors");
        for weights in [None, Some(&[1.0, 0.1, 2.0][..])] {
            let about_mean = AboutMean { variance: vec![1.5, 1.0 / 3.0], ratio: vec![0.5, 1e-300] };
            for (feature_names, about_mean) in
                [(None, None), (saved(weights).feature_names, None), (None, Some(about_mean))]
            {
                let saved = SavedModel { feature_names, about_mean, ..saved(weights) };
                save_model(&path, &saved).unwrap();
                assert_eq!(load_model(&path).unwrap(), saved);
                assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
            }
        }
    }

    #[test]
    fn no_damaged_byte_passes() {
        let mut whole = Vec::new();
        to_file(&saved(Some(&[1.0, 0.1, 2.0]))).unwrap().write(&mut whole).unwrap();
        let read = |bytes: Vec<u8>| {
            let input = Input { path: "m".into(), bytes: crate::input::Bytes::Owned(bytes) };
            from_file(Path::new("m"), ModelFile::read(&input)?)
        };
        assert!(read(whole.clone()).is_ok());
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            assert!(read(bytes.clone()).is_err(), "byte {at}");
            let _ = read(crate::checksum::sealed_again(bytes));
        }
    }

    #[test]
    fn weights_whose_sum_overflows_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.safetensors");
        let pca = Pca { weighting: karhunen::Weighting::Population, ..Pca::new(2) };
        let weights = Weights::of_samples(&[1e308, 1e308, 1.0, 1e308]);
        let model = pca.fit(&Dense::row_major(&X, 4, 3).unwrap(), &weights).unwrap();
        assert_eq!(model.sum_of_weights(), f64::INFINITY);
        let saved = SavedModel { model, ..saved(None) };
        save_model(&path, &saved).unwrap();
        assert_eq!(load_model(&path).unwrap(), saved);
    }

    #[test]
    fn what_does_not_fit_the_model_is_not_written() {
        let misnamed = SavedModel { feature_names: Some(vec!["a".to_owned()]), ..saved(None) };
        let error = save_model(Path::new("/no/such/folder/m"), &misnamed).unwrap_err().to_string();
        assert!(error.contains("the feature names"), "{error}");
        for (variance, ratio, what) in
            [(1, 2, "the variance about the mean"), (2, 3, "the share of the variance about the mean")]
        {
            let about_mean = AboutMean { variance: vec![1.0; variance], ratio: vec![1.0; ratio] };
            let unfit = SavedModel { about_mean: Some(about_mean), ..saved(None) };
            let error = save_model(Path::new("/no/such/folder/m"), &unfit).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
    }
}
