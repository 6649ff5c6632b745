//! Checkpoints of fits of incomplete data as files, in the container of models.

use std::path::Path;

use karhunen::incomplete::Checkpoint;
use karhunen::record::{Record, Recorded};

use crate::input::Input;
use crate::model_file::{self, damaged, refused};
use crate::saved::stage_record;
use crate::{Cause, Error, Result};

/// Writes a checkpoint as a safetensors file next to the target and renames it: a process that is killed leaves the one
/// before.
///
/// All arrays are `float64` on one axis, under the names that they have in the checkpoint. The metadata holds `karhunen` (the
/// version), `kind`, `format_version` and, as JSON, `options`, `data` and `iteration`.
///
/// # Errors
/// [`Cause::Io`], and the target is then as it was.
pub fn save_checkpoint(path: &Path, checkpoint: &Checkpoint) -> Result<()> {
    stage_record(path, &checkpoint.to_record().map_err(|error| refused(path, error))?)?.commit()
}

/// Reads a checkpoint.
///
/// # Errors
/// [`Cause::Format`] for a file that is damaged or no checkpoint; [`Cause::Io`].
pub fn load_checkpoint(path: &Path) -> Result<Checkpoint> {
    let input = Input::load(path)?;
    // The length of a header, and the header.
    if input.as_slice().get(8) != Some(&b'{') {
        let message = "is not a checkpoint; give one written by `karhunen fit --checkpoint`, or a new name";
        return Err(Error::new(path, Cause::format(message.to_owned())));
    }
    of_record(path, model_file::read(&input)?)
}

/// The checkpoint of a file of this kind.
pub(crate) fn of_record(path: &Path, mut record: Record<'_>) -> Result<Checkpoint> {
    Checkpoint::from_record(&mut record).map_err(|error| damaged(path, error))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use karhunen::incomplete::{Checkpoints, Every, FitContext, Method, Regularization};
    use karhunen::{Dense, IncompletePca, Observed, Run};

    use super::*;

    #[test]
    fn a_fit_continues_from_a_file() {
        let x: Vec<f32> =
            (0..120).map(|e| if e % 7 == 3 { f32::NAN } else { (e % 13) as f32 * (e / 6) as f32 }).collect();
        let data = Observed::from_dense(&Dense::row_major(&x, 20, 6).unwrap()).unwrap();
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
            let context = FitContext { checkpoints, ..FitContext::default() };
            let whole = pca.fit_with(&data, &context, &Run::default()).unwrap();
            let checkpoint = load_checkpoint(&path).unwrap();
            let context = FitContext { resume: Some(&checkpoint), ..FitContext::default() };
            let again = pca.fit_with(&data, &context, &Run::default()).unwrap();
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
        stage_record(&path, &Record::new("pca")).unwrap().commit().unwrap();
        let message = load_checkpoint(&path).unwrap_err().to_string();
        assert!(message.contains("kind `pca`; `incomplete-pca-checkpoint` is what can be read"), "{message}");
    }
}
