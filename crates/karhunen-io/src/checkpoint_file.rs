//! Checkpoints of fits of incomplete data as files, in the container of models.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use karhunen::{Checkpoint, Fingerprint, IncompletePca};

use crate::input::Input;
use crate::model_file::{ModelFile, Tensor, to_json};
use crate::replace::stage;
use crate::{Cause, Error, Result};

/// What the metadata calls a checkpoint.
pub(crate) const KIND: &str = "incomplete-pca-checkpoint";

/// Writes a checkpoint as a safetensors file, beside the target and renamed: a process that is killed leaves the one
/// before.
///
/// All arrays are `float64` on one axis, under the names that they have in the checkpoint. The metadata holds `karhunen` (the
/// version), `kind`, `format_version` and, as JSON, `options`, `data` and `iteration`.
///
/// # Errors
/// [`Cause::Io`], and the target is then as it was.
pub fn save_checkpoint(path: &Path, checkpoint: &Checkpoint) -> Result<()> {
    let refuse = |cause: Cause| Error::new(path, cause);
    let metadata = BTreeMap::from([
        ("options".to_owned(), to_json(&checkpoint.options).map_err(refuse)?),
        ("data".to_owned(), to_json(&checkpoint.data).map_err(refuse)?),
        ("iteration".to_owned(), checkpoint.iteration.to_string()),
    ]);
    let tensor = |(name, values): (&String, &Vec<f64>)| Tensor::new(name, &[values.len()], values);
    let file = ModelFile {
        version: checkpoint.version.clone(),
        kind: KIND.to_owned(),
        tensors: checkpoint.arrays.iter().map(tensor).collect(),
        metadata,
    };
    stage(path, |sink: &mut dyn Write| file.write(sink))?.commit()
}

/// Reads a checkpoint.
///
/// # Errors
/// [`Cause::Format`] for a file that is damaged or no checkpoint; [`Cause::Io`].
pub fn load_checkpoint(path: &Path) -> Result<Checkpoint> {
    let input = Input::load(path)?;
    // The length of a header, and the header.
    if input.as_slice().get(8) != Some(&b'{') {
        let message = "is no checkpoint; give a file that `karhunen fit --checkpoint` wrote, or one that is not there yet";
        return Err(Error::new(path, Cause::Format(message.to_owned())));
    }
    from_file(path, ModelFile::read(&input)?)
}

/// The checkpoint of a file of this kind.
pub(crate) fn from_file(path: &Path, file: ModelFile) -> Result<Checkpoint> {
    file.check_kind(path, KIND)?;
    let (options, data) =
        (file.json::<IncompletePca>(path, "options")?, file.json::<Fingerprint>(path, "data")?);
    let iteration = file.json(path, "iteration")?;
    let mut file = file;
    let names: Vec<String> = file.tensors.iter().map(|tensor| tensor.name.clone()).collect();
    let mut arrays = BTreeMap::new();
    for name in names {
        let ([_], values) = file.take_with_holes::<f64, 1>(path, &name)?;
        arrays.insert(name, values);
    }
    Ok(Checkpoint { version: file.version, options, data, iteration, arrays })
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use karhunen::{Checkpoints, Dense, Every, FitContext, Method, Observed, Regularization};

    use super::*;

    #[test]
    fn a_fit_goes_on_from_a_file() {
        let x: Vec<f32> =
            (0..120).map(|e| if e % 7 == 3 { f32::NAN } else { (e % 13) as f32 * (e / 6) as f32 }).collect();
        let data = Observed::from_dense(&Dense::row_major(&x, 20, 6).unwrap(), None).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.safetensors");
        let path_of_penalties = Some(Regularization::Path);
        for (method, regularization) in
            [(Method::Vb, None), (Method::Cg, None), (Method::Als, path_of_penalties)]
        {
            let early_stopping = Some(0.1);
            let pca = IncompletePca {
                method,
                regularization,
                early_stopping,
                max_iter: 9,
                ..IncompletePca::new(2)
            };
            let count = Mutex::new(0);
            let keep = |checkpoint: Checkpoint| {
                let mut count = count.lock().unwrap();
                *count += 1;
                // The file of the second stays.
                if *count <= 2 {
                    save_checkpoint(&path, &checkpoint)?;
                    assert_eq!(format!("{:?}", load_checkpoint(&path)?), format!("{checkpoint:?}"));
                }
                Ok(())
            };
            let checkpoints = Some(Checkpoints { every: Every::Iterations(3), keep: &keep });
            let whole = pca.fit_with(&data, &FitContext { checkpoints, ..FitContext::default() }).unwrap();
            let checkpoint = load_checkpoint(&path).unwrap();
            let again =
                pca.fit_with(&data, &FitContext { resume: Some(&checkpoint), ..FitContext::default() });
            let again = again.unwrap();
            assert_eq!(again.components(), whole.components());
            assert_eq!(again.scores(), whole.scores());
        }
    }

    #[test]
    fn other_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.safetensors");
        std::fs::write(&path, b"not a checkpoint").unwrap();
        assert!(load_checkpoint(&path).is_err());
        let file = ModelFile {
            version: "1".to_owned(),
            kind: "pca".to_owned(),
            tensors: Vec::new(),
            metadata: BTreeMap::new(),
        };
        stage(&path, |sink| file.write(sink)).unwrap().commit().unwrap();
        let message = load_checkpoint(&path).unwrap_err().to_string();
        assert!(message.contains("kind `pca`; `incomplete-pca-checkpoint` is what can be read"), "{message}");
    }
}
