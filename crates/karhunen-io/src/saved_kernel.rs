//! Fitted kernel models as files, in the container of all models.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use karhunen::{KernelBasis, KernelConvergence, KernelModel, KernelParts, KernelPca, Matrix, PreImageParts};

use crate::fit_columns;
use crate::input::Input;
use crate::kernel_rows::{row_tensors, take_rows};
use crate::model_file::{ModelFile, Tensor, json_without, to_json};
use crate::names::shortened;
use crate::replace::{Staged, stage};
use crate::{Cause, Error, FittedTable, ReadOptions, Result};

/// What the metadata calls this kind of model.
pub(crate) const KIND: &str = "kernel-pca";

/// A fitted kernel model with the names of the columns it was fitted on.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedKernel {
    /// The model. A kernel function of the caller's own is not written: give it again with
    /// [`KernelModel::with_function`] to what was read.
    pub model: KernelModel,
    /// One name for each feature, if the data had names; of a precomputed kernel, for each row fitted.
    pub feature_names: Option<Vec<String>>,
    /// Columns beside the features in the file of the fit, by name: weights and labels.
    pub set_aside: Vec<String>,
    /// The column that was asked for to name the rows.
    pub id_column: Option<String>,
}

impl SavedKernel {
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

/// Writes a kernel model as a safetensors file, beside the target and renamed; `-` is the standard output.
///
/// The arrays are `eigenvalues`, `offsets`, `residuals` (n_components), `eigenvectors` (n_samples, n_components; no rows
/// on the approximate routes), `coefficients` (m, n_components), `shift` (n_features, or none), `total` and
/// `sum_of_weights` (no axis), all `float64`. What new rows are compared with is `rows` (the rows fitted) or `landmarks`,
/// shape (m, n_features), of the type of the data; where they are sparse `rows_pointers` (m + 1, `int64`), `rows_columns`
/// (`uint32`) and `rows_values`, or those of `landmarks`; or `frequencies` (m / 2, n_features), `float64`; or, of a
/// precomputed kernel, nothing. Pre-images are `pre_image_scores` and `pre_image_coefficients` of the ridge regression,
/// with `pre_image_centre` (n_features) where rows were centred, or `pre_image_shares` of the fixed-point iteration. The
/// metadata holds `karhunen` (the version), `kind`, `format_version`, `n_samples`, `n_features`, `dtype`,
/// `basis` and, as JSON, `kernel` (with a number for gamma), `options`, `convergence` and, where there are such,
/// `feature_names`, `set_aside` and `id_column`.
///
/// # Errors
/// [`Cause::Library`] unless there is one name for each feature; [`Cause::Io`], and the target is then as it was.
pub fn save_kernel(path: &Path, saved: &SavedKernel) -> Result<()> {
    stage_kernel(path, saved)?.commit()
}

/// As [`save_kernel`], leaving the file beside the target until [`Staged::commit`].
///
/// # Errors
/// As [`save_kernel`].
pub fn stage_kernel(path: &Path, saved: &SavedKernel) -> Result<Staged> {
    let file = to_file(saved).map_err(|cause| Error::new(path, cause))?;
    stage(path, |sink: &mut dyn Write| file.write(sink))
}

/// Reads a kernel model; `-` is the standard input. One of a kernel function of the caller's own needs
/// [`KernelModel::with_function`] before it can transform.
///
/// # Errors
/// As [`crate::load_model`].
pub fn load_kernel(path: &Path) -> Result<SavedKernel> {
    let input = Input::load(path)?;
    from_file(path, ModelFile::read(&input)?)
}

/// The model as arrays and texts.
fn to_file(saved: &SavedKernel) -> std::result::Result<ModelFile, Cause> {
    let parts = saved.model.parts();
    let (k, p) = (parts.eigenvalues.len(), parts.basis.n_features());
    if let Some(names) = saved.feature_names.as_ref().filter(|names| names.len() != p) {
        let (what, found) = ("the feature names", names.len());
        return Err(Cause::from(karhunen::Error::Shape { what, axis: "names", found, expected: p }));
    }
    let tensor = Tensor::new::<f64>;
    let mut tensors = vec![
        tensor("eigenvalues", &[k], &parts.eigenvalues),
        tensor("offsets", &[k], &parts.offsets),
        tensor("residuals", &[k], &parts.convergence.residuals),
        tensor("shift", &[parts.shift.len()], &parts.shift),
        tensor("total", &[], &[parts.total]),
        tensor("sum_of_weights", &[], &[parts.sum_of_weights]),
        matrix("coefficients", &parts.coefficients),
        matrix("eigenvectors", &parts.eigenvectors),
    ];
    let single = parts.dtype == "f32";
    match &parts.basis {
        KernelBasis::Rows(rows) => tensors.extend(row_tensors("rows", rows, single)),
        KernelBasis::Landmarks(rows) => tensors.extend(row_tensors("landmarks", rows, single)),
        KernelBasis::Frequencies(frequencies) => tensors.push(matrix("frequencies", frequencies)),
        KernelBasis::Precomputed { .. } => {}
    }
    match &parts.pre_image {
        None => {}
        Some(PreImageParts::Ridge { scores, coefficients, centre }) => {
            tensors.push(matrix("pre_image_scores", scores));
            tensors.push(matrix("pre_image_coefficients", coefficients));
            if !centre.is_empty() {
                tensors.push(tensor("pre_image_centre", &[centre.len()], centre));
            }
        }
        Some(PreImageParts::FixedPoint { shares }) => {
            tensors.push(tensor("pre_image_shares", &[shares.len()], shares));
        }
    }
    let version = env!("CARGO_PKG_VERSION").to_owned();
    Ok(ModelFile { version, kind: KIND.to_owned(), tensors, metadata: metadata(saved)? })
}

fn matrix(name: &str, values: &Matrix) -> Tensor {
    Tensor::new(name, &[values.n_rows(), values.n_cols()], values.as_slice())
}

fn metadata(saved: &SavedKernel) -> std::result::Result<BTreeMap<String, String>, Cause> {
    let parts = saved.model.parts();
    let mut metadata = BTreeMap::from([
        ("n_samples".to_owned(), parts.n_samples.to_string()),
        ("n_features".to_owned(), parts.basis.n_features().to_string()),
        ("dtype".to_owned(), parts.dtype.clone()),
        ("basis".to_owned(), basis_name(&parts.basis).to_owned()),
        ("kernel".to_owned(), to_json(&parts.kernel)?),
        ("options".to_owned(), to_json(&parts.options)?),
        // The residuals are an array: JSON has no infinity.
        ("convergence".to_owned(), json_without(&parts.convergence, "residuals")?),
    ]);
    fit_columns::insert(
        &mut metadata,
        saved.feature_names.as_deref(),
        &saved.set_aside,
        saved.id_column.as_deref(),
    );
    Ok(metadata)
}

fn basis_name(basis: &KernelBasis) -> &'static str {
    match basis {
        KernelBasis::Rows(_) => "rows",
        KernelBasis::Landmarks(_) => "landmarks",
        KernelBasis::Frequencies(_) => "frequencies",
        KernelBasis::Precomputed { .. } => "precomputed",
    }
}

/// The model of a file of this kind.
pub(crate) fn from_file(path: &Path, mut file: ModelFile) -> Result<SavedKernel> {
    file.check_kind(path, KIND)?;
    let (n_samples, n_features) = (file.json(path, "n_samples")?, file.json(path, "n_features")?);
    let basis = basis(path, &mut file, n_features)?;
    if basis.n_features() != n_features {
        let (what, found) = (basis_name(&basis), basis.n_features());
        let error = karhunen::Error::Shape { what, axis: "columns", found, expected: n_features };
        return Err(Error::new(path, error.into()));
    }
    let ([k], eigenvalues) = file.take(path, "eigenvalues")?;
    let (offsets, residuals) = (file.take_row(path, "offsets", k)?, file.take_row(path, "residuals", k)?);
    let ([_], shift) = file.take(path, "shift")?;
    let mut scalar = |name: &str| file.take::<f64, 0>(path, name).map(|(_, values)| values[0]);
    let (total, sum_of_weights) = (scalar("total")?, scalar("sum_of_weights")?);
    let convergence: KernelConvergence = file.json_with_no(path, "convergence", "residuals")?;
    let parts = KernelParts {
        kernel: file.json(path, "kernel")?,
        basis,
        shift,
        coefficients: take_matrix(path, &mut file, "coefficients")?,
        offsets,
        eigenvalues,
        total,
        n_samples,
        eigenvectors: take_matrix(path, &mut file, "eigenvectors")?,
        pre_image: pre_image(path, &mut file)?,
        sum_of_weights,
        options: file.json::<KernelPca>(path, "options")?,
        dtype: file.text(path, "dtype")?.to_owned(),
        convergence: KernelConvergence { residuals, ..convergence },
    };
    Ok(SavedKernel {
        model: KernelModel::try_from(parts).map_err(|error| Error::new(path, error.into()))?,
        feature_names: fit_columns::feature_names(path, &file, n_features)?,
        set_aside: fit_columns::set_aside(path, &file)?,
        id_column: fit_columns::id_column(path, &file)?,
    })
}

fn basis(path: &Path, file: &mut ModelFile, n_features: usize) -> Result<KernelBasis> {
    match file.text(path, "basis")? {
        "rows" => Ok(KernelBasis::Rows(take_rows(path, file, "rows", n_features)?)),
        "landmarks" => Ok(KernelBasis::Landmarks(take_rows(path, file, "landmarks", n_features)?)),
        "frequencies" => Ok(KernelBasis::Frequencies(take_matrix(path, file, "frequencies")?)),
        "precomputed" => Ok(KernelBasis::Precomputed { n_samples: n_features }),
        other => {
            let other = shortened(other).escape_debug().to_string();
            let message = format!("compares new rows with `{other}`, which is unknown; fit the model again");
            Err(Error::new(path, Cause::Format(message)))
        }
    }
}

fn take_matrix(path: &Path, file: &mut ModelFile, name: &str) -> Result<Matrix> {
    let ([rows, columns], values) = file.take(path, name)?;
    Matrix::from_vec(rows, columns, values).map_err(|error| Error::new(path, error.into()))
}

fn pre_image(path: &Path, file: &mut ModelFile) -> Result<Option<PreImageParts>> {
    if file.has("pre_image_scores") {
        let scores = take_matrix(path, file, "pre_image_scores")?;
        let coefficients = take_matrix(path, file, "pre_image_coefficients")?;
        let centre = if file.has("pre_image_centre") {
            let ([_], centre) = file.take(path, "pre_image_centre")?;
            centre
        } else {
            Vec::new()
        };
        return Ok(Some(PreImageParts::Ridge { scores, coefficients, centre }));
    }
    if file.has("pre_image_shares") {
        let ([_], shares) = file.take(path, "pre_image_shares")?;
        return Ok(Some(PreImageParts::FixedPoint { shares }));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use karhunen::{
        Dense, Gamma, Kernel, KernelRoute, Matrix, PreImage, Scalar, Source, Sparse, Unobserved, Weights,
    };

    use super::*;
    use crate::checksum::sealed_again;
    use crate::input::Bytes;

    const N: usize = 40;
    const P: usize = 3;

    /// Values without a pattern, none negative, some zero.
    fn values<T: Scalar>() -> Vec<T> {
        let value = |e: usize| {
            if e.is_multiple_of(5) { 0.0 } else { (e * e % 31) as f64 / 7.0 + (e % 3) as f64 / 3.0 }
        };
        (0..N * P).map(|e| T::from_f64(value(e))).collect()
    }

    fn saved(model: KernelModel) -> SavedKernel {
        SavedKernel {
            model,
            feature_names: Some(["a", "", "ü \"quoted\""].map(str::to_owned).to_vec()),
            set_aside: vec!["class".to_owned()],
            id_column: Some("id".to_owned()),
        }
    }

    fn read(file: &ModelFile) -> Result<SavedKernel> {
        let mut bytes = Vec::new();
        file.write(&mut bytes).unwrap();
        let path = Path::new("m");
        from_file(path, ModelFile::read(&Input { path: path.into(), bytes: Bytes::Owned(bytes) })?)
    }

    /// Writes and reads a model; both are the same, and so are their scores and pre-images.
    fn survives<T: Scalar>(model: &KernelModel, x: &dyn Source<T>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.safetensors");
        let names = (0..model.n_features()).map(|j| format!("x{j}")).collect();
        for feature_names in [None, Some(names)] {
            let saved = SavedKernel { feature_names, ..saved(model.clone()) };
            save_kernel(&path, &saved).unwrap();
            let again = load_kernel(&path).unwrap();
            assert_eq!(again, saved);
            let scores = again.model.transform(x).unwrap();
            assert_eq!(scores, model.transform(x).unwrap());
            if model.parts().pre_image.is_some() {
                let rows = again.model.inverse_transform(&scores).unwrap();
                assert_eq!(rows, model.inverse_transform(&scores).unwrap());
            }
        }
    }

    fn kernels() -> [Kernel; 8] {
        let gamma = Gamma::Scale;
        [
            Kernel::Linear,
            Kernel::Polynomial { degree: 2.5, gamma, coef0: 1.0 / 3.0 },
            Kernel::Rbf { gamma: Gamma::Median },
            Kernel::Laplacian { gamma },
            Kernel::Sigmoid { gamma: Gamma::Value(1e-3), coef0: 0.1 },
            Kernel::Cosine,
            Kernel::AdditiveChi2,
            Kernel::Chi2 { gamma },
        ]
    }

    fn all_kernels<T: Scalar>() {
        let x = values::<T>();
        let dense = Dense::row_major(&x, N, P).unwrap();
        let stored: Vec<usize> = (0..N * P).filter(|e| x[*e].to_f64() != 0.0).collect();
        let entries: Vec<T> = stored.iter().map(|e| x[*e]).collect();
        let columns: Vec<u32> = stored.iter().map(|e| (e % P) as u32).collect();
        let pointers: Vec<u64> =
            (0..=N).map(|i| stored.iter().filter(|e| **e < i * P).count() as u64).collect();
        let sparse = Sparse::csr(N, P, &pointers, &columns, &entries).unwrap();
        let weights: Vec<f64> = (0..N).map(|i| (i % 4) as f64).collect();
        for kernel in kernels() {
            for solver in [KernelRoute::Full, KernelRoute::Stored] {
                let pca = KernelPca { kernel, solver: Some(solver), ..KernelPca::new(2) };
                let model = pca.fit(&dense, &Weights::of_samples(&weights)).unwrap();
                survives(&model, &dense);
                survives(&pca.fit(&sparse, &Weights::default()).unwrap(), &sparse);
            }
        }
    }

    #[test]
    fn models_of_all_kernels_read_back_bit_for_bit() {
        all_kernels::<f64>();
        all_kernels::<f32>();
    }

    #[test]
    fn approximations_pre_images_and_precomputed_kernels_read_back() {
        let x = values::<f64>();
        let dense = Dense::row_major(&x, N, P).unwrap();
        let rbf = Kernel::Rbf { gamma: Gamma::Value(0.1) };
        let options = KernelPca { kernel: rbf, ..KernelPca::new(3) };
        for (solver, pre_image) in [
            (KernelRoute::Nystrom, None),
            (KernelRoute::Nystrom, Some(PreImage::Ridge { alpha: 0.1 })),
            (KernelRoute::Nystrom, Some(PreImage::Auto { alpha: 0.1 })),
            (KernelRoute::Fourier, None),
            (KernelRoute::Full, Some(PreImage::Ridge { alpha: 1.0 / 3.0 })),
            (KernelRoute::Tiles, Some(PreImage::FixedPoint)),
            (KernelRoute::Stored, Some(PreImage::Auto { alpha: 0.1 })),
        ] {
            let n_features = solver.approximates().then_some(32);
            let options = KernelPca { solver: Some(solver), n_features, pre_image, ..options.clone() };
            survives(&options.fit(&dense, &Weights::default()).unwrap(), &dense);
        }
        let products = Matrix::from_fn(N, N, |i, j| (0..P).map(|c| x[i * P + c] * x[j * P + c]).sum::<f64>());
        let precomputed = KernelPca { kernel: Kernel::Precomputed, ..KernelPca::new(2) };
        let products = Dense::from(&products);
        survives(&precomputed.fit(&products, &Weights::default()).unwrap(), &products);
    }

    #[test]
    fn a_function_of_the_caller_is_given_again() {
        let x = values::<f64>();
        let dense = Dense::row_major(&x, N, P).unwrap();
        let function = |a: &Matrix, b: &Matrix| -> karhunen::Result<Matrix> {
            let value = |i, j| a.row(i).iter().zip(b.row(j)).map(|(x, y): (&f64, &f64)| x * y).sum::<f64>();
            Ok(Matrix::from_fn(a.n_rows(), b.n_rows(), value))
        };
        let options = KernelPca { kernel: Kernel::Custom, ..KernelPca::new(2) };
        let model =
            options.fit_function(&dense, &Weights::default(), Arc::new(function), &Unobserved).unwrap();
        let again = read(&to_file(&saved(model.clone())).unwrap()).unwrap().model;
        let message = again.transform(&dense).unwrap_err().to_string();
        assert!(message.contains("`with_function`"), "{message}");
        let again = again.with_function(Arc::new(function));
        assert_eq!(again.transform(&dense).unwrap(), model.transform(&dense).unwrap());
    }

    #[test]
    fn rows_are_kept_in_the_type_of_the_data() {
        let x = values::<f32>();
        let dense = Dense::row_major(&x, N, P).unwrap();
        let model = KernelPca::new(2).fit(&dense, &Weights::default()).unwrap();
        let file = to_file(&saved(model)).unwrap();
        let rows = file.tensors.iter().find(|tensor| tensor.name == "rows").unwrap();
        assert_eq!(rows.data.n_bytes(), 4 * N * P);
    }

    fn small() -> SavedKernel {
        let x = [0.5, 1.0, 0.0, 2.0, 0.25, 3.0];
        let options = KernelPca {
            pre_image: Some(PreImage::FixedPoint),
            kernel: Kernel::Rbf { gamma: Gamma::Value(0.5) },
            ..KernelPca::new(1)
        };
        let model = options.fit(&Dense::row_major(&x, 3, 2).unwrap(), &Weights::default()).unwrap();
        SavedKernel { feature_names: None, ..saved(model) }
    }

    #[test]
    fn damage_is_named() {
        type Change = fn(&mut ModelFile);
        fn replace(file: &mut ModelFile, tensor: Tensor) {
            file.tensors.retain(|old| old.name != tensor.name);
            file.tensors.push(tensor);
        }
        fn say(file: &mut ModelFile, key: &str, text: &str) {
            file.metadata.insert(key.to_owned(), text.to_owned());
        }
        let cases: [(Change, &str); 11] = [
            (
                |file| file.kind = "pca".to_owned(),
                "m: holds a model of the kind `pca`; `kernel-pca` is what can be read",
            ),
            (
                |file| file.tensors.retain(|tensor| tensor.name != "offsets"),
                "m: `offsets`: is missing; the model file is damaged, fit it again",
            ),
            (
                |file| replace(file, Tensor::new("offsets", &[2], &[1.0, 2.0])),
                "m: `offsets`: has shape [2], expected [1]; the model file is damaged, fit it again",
            ),
            (
                |file| replace(file, Tensor::new("rows", &[3, 2], &[f64::NAN; 6])),
                "m: `rows`: holds NaN; the model file is damaged, fit it again",
            ),
            (
                |file| replace(file, Tensor::new("rows", &[2, 2], &[1.0; 4])),
                "m: coefficients: 3 values, but 2 are needed",
            ),
            (
                |file| replace(file, Tensor::new("rows", &[3, 2], &[1_i64; 6])),
                "m: `rows`: has dtype I64, and F64 is expected; fit the model again",
            ),
            (|file| say(file, "n_features", "3"), "m: rows: 2 columns, but 3 are needed"),
            (
                |file| say(file, "basis", "columns"),
                "m: compares new rows with `columns`, which is unknown; fit the model again",
            ),
            (
                |file| say(file, "kernel", r#"{"rbf":{"gamma":"scale"}}"#),
                "m: gamma = given is not allowed: a fitted kernel has a number for gamma",
            ),
            (
                |file| say(file, "kernel", r#"{"rbf":{"gamma":{"value":-1.0}}}"#),
                "m: gamma = -1 is not allowed: it must be finite and positive",
            ),
            (
                |file| {
                    file.tensors.retain(|tensor| tensor.name != "rows");
                    file.tensors.push(Tensor::new("rows_pointers", &[4], &[0_i64, 1, -1, 1]));
                    file.tensors.push(Tensor::new("rows_values", &[1], &[1.0]));
                    file.tensors.push(Tensor::new("rows_columns", &[1], &[0_u32]));
                },
                "m: `rows_pointers`: holds -1; the model file is damaged, fit it again",
            ),
        ];
        for (change, message) in cases {
            let mut file = to_file(&small()).unwrap();
            change(&mut file);
            assert_eq!(read(&file).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn damaged_files_never_panic() {
        let mut whole = Vec::new();
        to_file(&small()).unwrap().write(&mut whole).unwrap();
        let path = Path::new("m");
        let read = |bytes: &[u8]| {
            let input = Input { path: path.into(), bytes: Bytes::Owned(bytes.to_vec()) };
            ModelFile::read(&input).and_then(|file| from_file(path, file))
        };
        assert_eq!(read(&whole).unwrap(), small());
        let x = Matrix::<f64>::zeros(1, 2);
        for at in 0..whole.len() {
            for flip in [1, 0x80, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] ^= flip;
                assert!(read(&bytes).is_err(), "byte {at}");
                if let Ok(saved) = read(&sealed_again(bytes)) {
                    let scores = saved.model.transform(&Dense::from(&x));
                    let _ = scores.and_then(|scores| saved.model.inverse_transform(&scores));
                }
            }
            assert!(read(&whole[..at]).is_err());
        }
    }

    #[test]
    fn names_that_do_not_fit_are_not_written() {
        let misnamed = SavedKernel { feature_names: Some(vec!["a".to_owned()]), ..small() };
        let error = save_kernel(Path::new("/no/such/folder/m"), &misnamed).unwrap_err().to_string();
        assert!(error.contains("the feature names"), "{error}");
    }
}
