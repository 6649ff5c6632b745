//! Results of the passes of a fit, in a file to which each result is appended after its pass.
//!
//! The file is a sequence of records in the container of models, each with its checksum: first the facts
//! that identify the fit, then one record for each pass. If the process is killed during a write, the last record is
//! incomplete; such a record is ignored and overwritten.
//!
//! [`records`] reads and writes the records, [`state`] finds the passes and locks the file.

mod records;
mod state;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use karhunen::exec::{Fact, PassLog};
use karhunen::record::Record;

pub(crate) use records::KIND;

use crate::pass_log::records::{PASS, append, record_at};
use crate::pass_log::state::{Facts, LockedFile, State, as_library};
use crate::saved::stage_record;
use crate::{CheckpointNews, Error, Result};

/// Stores the passes of a fit in a file ([`PassLog`]). A failure to write a pass does not end the fit; later passes are not
/// stored then, because passes are stored in order.
///
/// ```
/// use karhunen::{Dense, Pca, Run, Weights};
/// use karhunen::pca::Route;
/// use karhunen_io::PassLogFile;
/// # let folder = tempfile::tempdir()?;
/// let x: Vec<f64> = (0..60).map(|e| ((e * e) % 17) as f64).collect();
/// let x = Dense::row_major(&x, 20, 3)?;
/// let pca = Pca { solver: Some(Route::Covariance), ..Pca::new(2) };
/// let path = folder.path().join("fit.checkpoint");
/// let model = pca.fit_logged(&x, &Weights::default(), &PassLogFile::new(&path, false)?, &Run::default())?;
/// let log = PassLogFile::new(&path, true)?;
/// assert_eq!(log.n_kept(), 1);
/// assert_eq!(pca.fit_logged(&x, &Weights::default(), &log, &Run::default())?, model);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PassLogFile {
    path: PathBuf,
    state: Mutex<State>,
}

impl PassLogFile {
    /// Creates an empty log, or opens the log at `path` if `resume` is true and the file exists.
    ///
    /// # Errors
    /// [`crate::Cause::Io`]; [`crate::Cause::Format`] for a file of another kind, and for a record that is damaged and not the
    /// last.
    pub fn new(path: &Path, resume: bool) -> Result<Self> {
        let mut state = State::default();
        if resume && path.exists() {
            let mut file = File::open(path).map_err(|error| Error::io(path, "reading", error))?;
            state.read(path, &mut file)?;
        }
        Ok(Self { path: path.to_owned(), state: Mutex::new(state) })
    }

    /// Returns the number of passes in the file.
    pub fn n_kept(&self) -> usize {
        self.state().n_kept
    }

    /// Returns a message if a pass could not be written. To be called at the end of the fit.
    pub fn news(&self) -> Option<CheckpointNews> {
        let state = self.state();
        let lost = |failure: &String| {
            CheckpointNews::Lost(format!(
                "the checkpoint holds the first {} of the passes, not the later ones: {failure}",
                state.n_kept
            ))
        };
        state.failure.as_ref().map(lost)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read_record(&self, (begin, end): (u64, u64)) -> Result<Record<'static>> {
        let mut file = File::open(&self.path).map_err(|error| Error::io(&self.path, "reading", error))?;
        record_at(&self.path, &mut file, begin, end)
    }
}

impl PassLog for PassLogFile {
    fn begin(&self, fit: &[Fact]) -> karhunen::Result<()> {
        let mut state = self.state();
        let Some((version, before)) = &state.fit else {
            let mut record = Record::new(KIND);
            let facts: Facts = fit.iter().map(|fact| (fact.name().to_owned(), fact.value())).collect();
            record.put_json("fit", &facts)?;
            let written = stage_record(&self.path, &record).and_then(|staged| {
                staged.commit()?;
                std::fs::metadata(&self.path).map_err(|error| Error::io(&self.path, "writing", error))
            });
            state.fit = Some((record.version, facts));
            match written {
                Ok(metadata) => {
                    state.end = metadata.len();
                    state.lock(&self.path)?;
                }
                Err(error) => state.failure = Some(error.to_string()),
            }
            return Ok(());
        };
        // Other versions may make other passes.
        let here = env!("CARGO_PKG_VERSION");
        if version != here {
            let (what, found, expected) = ("versions of karhunen", version.clone(), here.to_owned());
            return Err(karhunen::Error::OtherFit { what, found, expected });
        }
        if !before.iter().map(|(name, _)| name.as_str()).eq(fit.iter().map(Fact::name)) {
            let (what, found, expected) = ("kinds of fits", "another".to_owned(), "this one".to_owned());
            return Err(karhunen::Error::OtherFit { what, found, expected });
        }
        let other = before.iter().zip(fit).find(|((_, found), fact)| *found != fact.value());
        other.map_or(Ok(()), |((_, found), fact)| Err(fact.differs_from(found)))?;
        state.lock(&self.path)
    }

    fn take(&self, name: &'static str) -> karhunen::Result<Option<Vec<f64>>> {
        let next = self.state().ahead.pop_front();
        let Some(place) = next else { return Ok(None) };
        let mut record = self.read_record(place).map_err(as_library)?;
        let found = record.text("pass")?;
        if found != name {
            let (what, found) = ("passes", found.to_owned());
            return Err(karhunen::Error::OtherFit { what, found, expected: name.to_owned() });
        }
        let ([_], values) = record.take_with_missing::<f64, 1>("result")?;
        Ok(Some(values))
    }

    fn keep(&self, name: &'static str, result: &[f64]) -> karhunen::Result<()> {
        let mut state = self.state();
        if state.failure.is_some() {
            return Ok(());
        }
        let mut record = Record::new(PASS);
        record.put_text("pass", name);
        record.put_row("result", result);
        let begin = state.end;
        let Some(LockedFile(file)) = &mut state.file else { return Ok(()) };
        match append(file, begin, &record) {
            Ok(end) => (state.end, state.n_kept) = (end, state.n_kept + 1),
            Err(error) => state.failure = Some(Error::io(&self.path, "writing", error).to_string()),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;

    use karhunen::error::options;

    use super::*;

    pub(super) fn facts(seed: u64) -> Vec<Fact> {
        vec![Fact::Data("numbers of rows", "7".to_owned()), Fact::Option(options::SEED, seed.into())]
    }

    /// A log with which a fit has begun.
    pub(super) fn begun(path: &Path, resume: bool) -> PassLogFile {
        let log = PassLogFile::new(path, resume).unwrap();
        log.begin(&facts(0)).unwrap();
        log
    }

    /// Stores three passes, and returns the length of the file before each of them and behind the last.
    pub(super) fn three_passes(path: &Path) -> Vec<u64> {
        let log = begun(path, false);
        let length = || std::fs::metadata(path).unwrap().len();
        let mut ends = vec![length()];
        for pass in 0..3 {
            assert_eq!(log.take("product").unwrap(), None);
            log.keep("product", &[f64::from(pass), f64::NAN, -0.0]).unwrap();
            ends.push(length());
        }
        assert_eq!((log.n_kept(), log.news()), (3, None));
        ends
    }

    /// The first value of each pass that is left to take.
    pub(super) fn first_values(log: &PassLogFile) -> Vec<f64> {
        std::iter::from_fn(|| log.take("product").unwrap()).map(|values| values[0]).collect()
    }

    #[test]
    fn passes_are_taken_in_their_order_and_others_follow() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c");
        three_passes(&path);
        let again = begun(&path, true);
        assert_eq!(again.n_kept(), 3);
        let bits = |values: Vec<f64>| values.into_iter().map(f64::to_bits).collect::<Vec<_>>();
        assert_eq!(bits(again.take("product").unwrap().unwrap()), bits(vec![0.0, f64::NAN, -0.0]));
        assert_eq!(first_values(&again), [1.0, 2.0]);
        again.keep("product", &[3.0]).unwrap();
        drop(again);
        assert_eq!(first_values(&begun(&path, true)), [0.0, 1.0, 2.0, 3.0]);
        // Without `resume` the fit begins again.
        assert_eq!(first_values(&begun(&path, false)), [0.0; 0]);
    }

    #[test]
    fn another_fit_is_refused_by_what_differs() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c");
        three_passes(&path);
        let again = PassLogFile::new(&path, true).unwrap();
        let message = again.begin(&facts(5)).unwrap_err().to_string();
        assert!(message.contains("made with seed = 0, now there is seed = 5"), "{message}");
        let message = again.begin(&facts(0)[..1]).unwrap_err().to_string();
        assert!(message.contains("other kinds of fits"), "{message}");
        let message = again.take("scatter").unwrap_err().to_string();
        assert!(message.contains("made with other passes (product, now scatter)"), "{message}");
        let text = folder.path().join("t.csv");
        std::fs::write(&text, "a,b\n1,2\n").unwrap();
        let message = PassLogFile::new(&text, true).unwrap_err().to_string();
        assert!(message.contains("t.csv: is not a checkpoint of passes"), "{message}");
        let message = crate::load_any_model(&path).unwrap_err().to_string();
        assert!(message.contains("holds the passes of a fit, not a model"), "{message}");
    }

    #[test]
    fn a_pass_that_cannot_be_written_is_reported_and_those_before_it_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c");
        let log = begun(&path, false);
        log.keep("product", &[1.0]).unwrap();
        // A handle that cannot be written represents a disk that is full.
        log.state().file = Some(LockedFile(File::open(&path).unwrap()));
        log.keep("product", &[2.0]).unwrap();
        log.state().file = Some(LockedFile(OpenOptions::new().write(true).open(&path).unwrap()));
        // The next pass would not follow the first.
        log.keep("product", &[3.0]).unwrap();
        let Some(CheckpointNews::Lost(message)) = log.news() else { panic!("a loss is told") };
        assert!(message.contains("holds the first 1 of the passes"), "{message}");
        assert_eq!(first_values(&PassLogFile::new(&path, true).unwrap()), [1.0]);
    }
}
