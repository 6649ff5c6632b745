//! Fitted Nyström feature maps as files, in the container of all models.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use karhunen::{Matrix, Nystrom, NystromMap, NystromParts};

use crate::fit_columns;
use crate::input::Input;
use crate::kernel_rows::{row_tensors, take_rows};
use crate::model_file::{ModelFile, Tensor, to_json};
use crate::replace::stage;
use crate::{Cause, Error, Result};

/// What the metadata calls this kind of model.
pub(crate) const KIND: &str = "nystrom-map";

/// A fitted feature map with the names of the columns it was fitted on.
#[derive(Clone, Debug)]
pub struct SavedNystrom {
    /// The map. A kernel function of the caller's own is not written: give it again with
    /// [`NystromMap::with_function`] to what was read.
    pub map: NystromMap,
    /// One name for each column, if the data had names.
    pub feature_names: Option<Vec<String>>,
}

/// Writes a feature map as a safetensors file, beside the target and renamed; `-` is the standard output.
///
/// The arrays are `landmarks`, shape (m, n_features), of the type of the data; where they are sparse
/// `landmarks_pointers` (m + 1, `int64`), `landmarks_columns` (`uint32`) and `landmarks_values`; `indices` (m, `int64`);
/// `normalization` (m, m) and `shift` (n_features, or none), `float64`. The metadata holds `karhunen` (the version), `kind`,
/// `format_version`, `n_features`, `dtype` and, as JSON, `kernel` (with a number for gamma), `options` and, where there are
/// such, `feature_names`.
///
/// # Errors
/// [`Cause::Library`] unless there is one name for each column; [`Cause::Io`], and the target is then as it was.
pub fn save_nystrom(path: &Path, saved: &SavedNystrom) -> Result<()> {
    let file = to_file(saved).map_err(|cause| Error::new(path, cause))?;
    stage(path, |sink: &mut dyn Write| file.write(sink))?.commit()
}

/// Reads a feature map; `-` is the standard input. One of a kernel function of the caller's own needs
/// [`NystromMap::with_function`] before it can transform.
///
/// # Errors
/// As [`crate::load_model`].
pub fn load_nystrom(path: &Path) -> Result<SavedNystrom> {
    let input = Input::load(path)?;
    from_file(path, ModelFile::read(&input)?)
}

/// The map as arrays and texts.
fn to_file(saved: &SavedNystrom) -> std::result::Result<ModelFile, Cause> {
    let parts = saved.map.parts();
    let (m, p) = parts.landmarks.shape();
    if let Some(names) = saved.feature_names.as_ref().filter(|names| names.len() != p) {
        let (what, found) = ("the feature names", names.len());
        return Err(Cause::from(karhunen::Error::Shape { what, axis: "names", found, expected: p }));
    }
    let indices: Vec<i64> = parts.indices.iter().map(|i| *i as i64).collect();
    let mut tensors = row_tensors("landmarks", &parts.landmarks, parts.dtype == "f32");
    tensors.push(Tensor::new("indices", &[m], &indices));
    tensors.push(Tensor::new("shift", &[parts.shift.len()], &parts.shift));
    tensors.push(Tensor::new("normalization", &[m, m], parts.normalization.as_slice()));
    let mut metadata = BTreeMap::from([
        ("n_features".to_owned(), p.to_string()),
        ("dtype".to_owned(), parts.dtype.clone()),
        ("kernel".to_owned(), to_json(&parts.kernel)?),
        ("options".to_owned(), to_json(&parts.options)?),
    ]);
    fit_columns::insert(&mut metadata, saved.feature_names.as_deref(), &[], None);
    let version = env!("CARGO_PKG_VERSION").to_owned();
    Ok(ModelFile { version, kind: KIND.to_owned(), tensors, metadata })
}

/// The map of a file of this kind.
fn from_file(path: &Path, mut file: ModelFile) -> Result<SavedNystrom> {
    file.check_kind(path, KIND)?;
    let n_features = file.json(path, "n_features")?;
    let landmarks = take_rows(path, &mut file, "landmarks", n_features)?;
    let (m, found) = landmarks.shape();
    if found != n_features {
        let error =
            karhunen::Error::Shape { what: "landmarks", axis: "columns", found, expected: n_features };
        return Err(Error::new(path, error.into()));
    }
    let indices: Vec<i64> = file.take_row(path, "indices", m)?;
    let indices: std::result::Result<Vec<usize>, _> = indices.into_iter().map(usize::try_from).collect();
    let damaged = |_| {
        let message = "has landmarks of negative rows; the model file is damaged, fit it again".to_owned();
        Error::new(path, Cause::Format(message))
    };
    let ([_], shift) = file.take(path, "shift")?;
    let ([rows, columns], values) = file.take(path, "normalization")?;
    let normalization =
        Matrix::from_vec(rows, columns, values).map_err(|error| Error::new(path, error.into()))?;
    let parts = NystromParts {
        kernel: file.json(path, "kernel")?,
        landmarks,
        indices: indices.map_err(damaged)?,
        shift,
        normalization,
        options: file.json::<Nystrom>(path, "options")?,
        dtype: file.text(path, "dtype")?.to_owned(),
    };
    Ok(SavedNystrom {
        map: NystromMap::try_from(parts).map_err(|error| Error::new(path, error.into()))?,
        feature_names: fit_columns::feature_names(path, &file, n_features)?,
    })
}

#[cfg(test)]
mod tests {
    use karhunen::{Dense, Gamma, Kernel, Landmarks, Sparse, Weights};

    use super::*;
    use crate::checksum::sealed_again;
    use crate::input::Bytes;
    use crate::load_any_model;

    const X: [f64; 15] = [1.0, 2.0, 0.0, 2.0, 1.0, 5.0, 4.0, 3.0, 1.0, 0.0, 7.0, 2.0, 0.0, 3.0, 3.0];

    fn saved(kernel: Kernel) -> SavedNystrom {
        let x = Dense::row_major(&X, 5, 3).unwrap();
        let nystrom = Nystrom { kernel, landmarks: Landmarks::KMeansPlusPlus, ..Nystrom::new(3) };
        let map = nystrom.fit(&x, &Weights::default()).unwrap();
        SavedNystrom { map, feature_names: Some(["a", "", "ü \"quoted\""].map(str::to_owned).to_vec()) }
    }

    /// Writes and reads a map; both are the same.
    fn again(saved: &SavedNystrom) -> SavedNystrom {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.safetensors");
        save_nystrom(&path, saved).unwrap();
        let again = load_nystrom(&path).unwrap();
        assert_eq!(again.map.parts(), saved.map.parts());
        assert_eq!(again.feature_names, saved.feature_names);
        again
    }

    #[test]
    fn maps_come_back() {
        let x = Dense::row_major(&X, 5, 3).unwrap();
        for kernel in [Kernel::Linear, Kernel::Rbf { gamma: Gamma::Median }, Kernel::Cosine] {
            let saved = saved(kernel);
            let expected = saved.map.transform(&x).unwrap();
            assert_eq!(again(&saved).map.transform(&x).unwrap(), expected);
        }
        let single: Vec<f32> = X.iter().map(|x| *x as f32).collect();
        let single = Dense::row_major(&single, 5, 3).unwrap();
        let map = Nystrom::new(2).fit(&single, &Weights::default()).unwrap();
        again(&SavedNystrom { map, feature_names: None });
        let stored: Vec<usize> = (0..15).filter(|e| X[*e] != 0.0).collect();
        let values: Vec<f64> = stored.iter().map(|e| X[*e]).collect();
        let indices: Vec<u32> = stored.iter().map(|e| (e % 3) as u32).collect();
        let pointers: Vec<u64> =
            (0..=5).map(|i| stored.iter().filter(|e| **e < 3 * i).count() as u64).collect();
        let sparse = Sparse::csr(5, 3, &pointers, &indices, &values).unwrap();
        let map = Nystrom::new(4).fit(&sparse, &Weights::default()).unwrap();
        again(&SavedNystrom { map, feature_names: None });
    }

    #[test]
    fn no_file_cut_or_changed_in_one_byte_makes_a_panic() {
        let mut bytes = Vec::new();
        to_file(&saved(Kernel::default())).unwrap().write(&mut bytes).unwrap();
        let read = |bytes: Vec<u8>| -> Result<SavedNystrom> {
            let path = Path::new("m");
            from_file(path, ModelFile::read(&Input { path: path.into(), bytes: Bytes::Owned(bytes) })?)
        };
        assert!(read(bytes.clone()).is_ok());
        for length in 0..bytes.len() {
            assert!(read(bytes[..length].to_vec()).is_err(), "cut to {length} bytes");
        }
        for at in 0..bytes.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut changed = bytes.clone();
                changed[at] ^= flip;
                assert!(read(changed.clone()).is_err(), "byte {at}");
                // What is read all the same, with a checksum to match, can be used.
                if let Ok(saved) = read(sealed_again(changed)) {
                    let _ = saved.map.transform(&Dense::row_major(&X, 5, 3).unwrap());
                }
            }
        }
    }

    #[test]
    fn names_belong_to_columns_and_kinds_to_their_readers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m");
        let named = SavedNystrom { feature_names: Some(vec!["a".to_owned()]), ..saved(Kernel::default()) };
        let error = save_nystrom(&path, &named).unwrap_err().to_string();
        assert!(error.contains("the feature names: 1 name, but 3 are needed"), "{error}");
        save_nystrom(&path, &saved(Kernel::default())).unwrap();
        let error = load_any_model(&path).unwrap_err().to_string();
        assert!(error.contains("a Nyström feature map, which has no components"), "{error}");
        let error = crate::load_kernel(&path).unwrap_err().to_string();
        assert!(error.contains(KIND), "{error}");
    }
}
