//! Results of the passes of a fit, in a file to which each result is appended after its pass.
//!
//! The file is a sequence of records in the container of models, each with its checksum: first the facts
//! that identify the fit, then one record for each pass. If the process is killed during a write, the last record is
//! incomplete; such a record is ignored and overwritten.
//!
//! The part of the present pass is one more record, in a file of its own beside the first (`FILE.part`), which is
//! written beside it and renamed: whenever the process is killed, the last part is complete. It holds the facts of the
//! fit and the number of its pass. The file is removed after the record of the pass is on the disk; if it is left
//! behind, its number tells that it is out of date.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use karhunen::exec::{Fact, PassLog};
use karhunen::record::Record;

use crate::input::{Bytes, Input};
use crate::model_file::{self, refused};
use crate::replace::Staged;
use crate::saved::stage_record;
use crate::{Cause, CheckpointNews, Error, Result};

/// The kind of the first record.
pub(crate) const KIND: &str = "pass-log";
/// The kind of the other records.
const PASS: &str = "pass";
/// The kind of the part of a pass.
pub(crate) const PART: &str = "pass-part";
/// Default time between two writes of parts of a pass.
const INTERVAL: Duration = Duration::from_secs(60);
/// Largest length of the header of a record.
const LONGEST_HEADER: u64 = 1 << 20;

/// Stores the passes of a fit in a file ([`PassLog`]), and every 60 seconds the part of the present pass, in a file
/// beside it whose name ends in `.part`. A failure to write a pass does not end the fit; later passes are not stored
/// then, because passes are stored in order. A part that cannot be written is tried again after the same time.
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
    /// The file that holds the part of the present pass.
    part: PathBuf,
    interval: Duration,
    state: Mutex<State>,
}

/// Names and values of the facts of a fit.
type Facts = Vec<(String, String)>;

#[derive(Debug)]
struct State {
    /// The version that made the file, and the facts of its fit; `None` before the file exists.
    fit: Option<(String, Facts)>,
    /// Byte offsets of the start and end of each record that was not taken yet.
    ahead: VecDeque<(u64, u64)>,
    /// End of the last complete record.
    end: u64,
    n_kept: usize,
    /// The file, locked against other processes from the begin of the fit.
    file: Option<LockedFile>,
    /// The write error after which no pass is stored.
    failure: Option<String>,
    /// True if the part of the present pass is stored.
    has_part: bool,
    /// The begin of the present pass, or the last attempt to store a part of it.
    since: Instant,
}

/// A file whose lock ends with it. Closing the file is not enough: a process that was forked meanwhile holds a copy of
/// the open file, and with it the lock.
#[derive(Debug)]
struct LockedFile(File);

impl Drop for LockedFile {
    fn drop(&mut self) {
        // Nothing is locked if the file system has no locks.
        let _ = self.0.unlock();
    }
}

impl PassLogFile {
    /// Creates an empty log, or opens the log at `path` if `resume` is true and the file exists.
    ///
    /// # Errors
    /// [`Cause::Io`]; [`Cause::Format`] for a file of another kind, also where the part of a pass would be written, and
    /// for a record that is damaged and not the last.
    pub fn new(path: &Path, resume: bool) -> Result<Self> {
        let mut state = State::default();
        let part = Self::part_of(path);
        check_part(&part)?;
        if resume && path.exists() {
            let mut file = File::open(path).map_err(|error| Error::io(path, "reading", error))?;
            state.read(path, &mut file)?;
        }
        Ok(Self { path: path.to_owned(), part, interval: INTERVAL, state: Mutex::new(state) })
    }

    /// Returns the path of the file that holds the part of a pass: `path` and `.part`.
    pub fn part_of(path: &Path) -> PathBuf {
        let mut part = OsString::from(path);
        part.push(".part");
        PathBuf::from(part)
    }

    /// Sets the least time between two writes of parts of a pass. The default is 60 seconds.
    #[must_use]
    pub fn every(self, interval: Duration) -> Self {
        Self { interval, ..self }
    }

    /// Returns true if the file holds a pass, or the part of one.
    pub fn holds_any(&self) -> bool {
        let state = self.state();
        state.n_kept > 0 || state.has_part
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

    /// Opens and locks the file for the time of the fit.
    ///
    /// # Errors
    /// [`karhunen::Error::Read`] if another process holds the lock, or has written another fit or another pass into it.
    fn lock(&self, state: &mut State) -> karhunen::Result<()> {
        if state.file.is_some() {
            return Ok(());
        }
        let opened = OpenOptions::new().read(true).write(true).open(&self.path);
        let mut file = match opened {
            Ok(file) => LockedFile(file),
            Err(error) => {
                state.failure = Some(Error::io(&self.path, "writing", error).to_string());
                return Ok(());
            }
        };
        let mut found = State::default();
        // File systems without locks are used without.
        let is_locked = matches!(file.0.try_lock(), Err(std::fs::TryLockError::WouldBlock));
        let is_other = is_locked
            || found.read(&self.path, &mut file.0).is_err()
            || (&found.fit, found.end) != (&state.fit, state.end);
        if is_other {
            let message = "is in use by another fit; wait for its end, or give another checkpoint";
            return Err(as_library(Error::new(&self.path, Cause::format(message.to_owned()))));
        }
        state.file = Some(file);
        Ok(())
    }

    fn read_record(&self, (begin, end): (u64, u64)) -> Result<Record<'static>> {
        let mut file = File::open(&self.path).map_err(|error| Error::io(&self.path, "reading", error))?;
        record_at(&self.path, &mut file, begin, end)
    }
}

impl Default for State {
    fn default() -> Self {
        let (fit, ahead, file, failure) = (None, VecDeque::new(), None, None);
        Self { fit, ahead, end: 0, n_kept: 0, file, failure, has_part: false, since: Instant::now() }
    }
}

impl State {
    /// Finds the records of a file.
    fn read(&mut self, path: &Path, file: &mut File) -> Result<()> {
        let io = |error| Error::io(path, "reading", error);
        let length = file.metadata().map_err(io)?.len();
        let mut begin = 0;
        while let Some((_, end)) = find_record(file, begin, length).map_err(io)? {
            match (record_at(path, file, begin, end), self.fit.is_some()) {
                (Ok(record), false) => {
                    record.check_kind(KIND).map_err(|error| refused(path, error))?;
                    let facts = record.json("fit").map_err(|error| refused(path, error))?;
                    self.fit = Some((record.version, facts));
                }
                (Ok(record), true) => {
                    record.check_kind(PASS).map_err(|error| refused(path, error))?;
                    self.ahead.push_back((begin, end));
                }
                // The last record may be incomplete behind its length.
                (Err(_), true) if end == length => break,
                (Err(error), _) => return Err(error),
            }
            begin = end;
        }
        if self.fit.is_none() {
            let message = "is no checkpoint of passes; give a file that --checkpoint wrote, or one that is not there yet";
            return Err(Error::new(path, Cause::format(message.to_owned())));
        }
        (self.end, self.n_kept) = (begin, self.ahead.len());
        Ok(())
    }
}

/// Returns the kind and the end of the record at byte `begin`; `None` if the record is incomplete.
fn find_record(file: &mut File, begin: u64, length: u64) -> std::io::Result<Option<(String, u64)>> {
    let mut word = [0; 8];
    if begin + 8 > length {
        return Ok(None);
    }
    file.seek(SeekFrom::Start(begin))?;
    file.read_exact(&mut word)?;
    let header = u64::from_le_bytes(word);
    if header > LONGEST_HEADER || begin + 8 + header > length {
        return Ok(None);
    }
    let mut bytes = word.to_vec();
    bytes.resize(8 + header as usize, 0);
    file.read_exact(&mut bytes[8..])?;
    let found = model_file::first_record(&bytes);
    let found = found.and_then(|(kind, n_bytes)| Some((kind, begin.checked_add(n_bytes)?)));
    Ok(found.filter(|(_, end)| *end <= length))
}

/// Refuses a file at the place of parts of passes that holds anything else.
fn check_part(path: &Path) -> Result<()> {
    let io = |error| Error::io(path, "reading", error);
    let mut file = match File::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        file => file.map_err(io)?,
    };
    let length = file.metadata().map_err(io)?.len();
    match find_record(&mut file, 0, length).map_err(io)? {
        Some((kind, _)) if kind == PART => Ok(()),
        _ if length == 0 => Ok(()),
        _ => {
            let message = "is in the way: the checkpoint keeps the part of a pass in a file of this name; move it, or \
                           give the checkpoint another name";
            Err(Error::new(path, Cause::format(message.to_owned())))
        }
    }
}

/// Removes the part of a pass, if there is one. A part that stays is out of date, which its number tells.
fn remove_part(path: &Path) {
    let _ = std::fs::remove_file(path);
}

fn record_at(path: &Path, file: &mut File, begin: u64, end: u64) -> Result<Record<'static>> {
    let io = |error| Error::io(path, "reading", error);
    file.seek(SeekFrom::Start(begin)).map_err(io)?;
    let mut bytes = vec![0; (end - begin) as usize];
    file.read_exact(&mut bytes).map_err(io)?;
    model_file::read(&Input { path: path.to_owned(), bytes: Bytes::Owned(bytes) })
}

/// Converts an error of the file to an error of the fit.
fn as_library(error: Error) -> karhunen::Error {
    karhunen::Error::Read { row: None, source: Box::new(error) }
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
                    self.lock(&mut state)?;
                }
                Err(error) => state.failure = Some(error.to_string()),
            }
            remove_part(&self.part);
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
        self.lock(&mut state)
    }

    fn take(&self, name: &'static str) -> karhunen::Result<Option<Vec<f64>>> {
        let next = {
            let mut state = self.state();
            state.since = Instant::now();
            state.ahead.pop_front()
        };
        let Some(place) = next else { return Ok(None) };
        let mut record = self.read_record(place).map_err(as_library)?;
        let found = record.text("pass")?;
        if found != name {
            let (what, found) = ("passes", found.to_owned());
            return Err(karhunen::Error::OtherFit { what, found, expected: name.to_owned() });
        }
        let ([_], values) = record.take_with_holes::<f64, 1>("result")?;
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
            Ok(end) => {
                (state.end, state.n_kept) = (end, state.n_kept + 1);
                if std::mem::take(&mut state.has_part) {
                    remove_part(&self.part);
                }
            }
            Err(error) => state.failure = Some(Error::io(&self.path, "writing", error).to_string()),
        }
        Ok(())
    }

    fn wants_part(&self) -> bool {
        let state = self.state();
        state.failure.is_none() && state.since.elapsed() >= self.interval
    }

    fn keep_part(&self, name: &'static str, part: &[f64]) -> karhunen::Result<()> {
        let mut state = self.state();
        let Some((_, facts)) = &state.fit else { return Ok(()) };
        let mut record = Record::new(PART);
        record.put_json("fit", facts)?;
        record.put_json("number", &state.n_kept)?;
        record.put_text("pass", name);
        record.put_row("part", part);
        let written = stage_record(&self.part, &record).and_then(Staged::commit);
        state.has_part |= written.is_ok();
        state.since = Instant::now();
        Ok(())
    }

    fn take_part(&self, name: &'static str) -> karhunen::Result<Option<Vec<f64>>> {
        let mut state = self.state();
        // A damaged part, or one of another pass or fit, counts as none, and the next one replaces it.
        let part =
            self.part.exists().then(|| Input::load(&self.part).and_then(|input| model_file::read(&input)));
        let Some(Ok(mut record)) = part else { return Ok(None) };
        let is_of_fit = state.fit.as_ref().is_some_and(|(version, facts)| {
            *version == record.version && record.json::<Facts>("fit").is_ok_and(|found| found == *facts)
        });
        let is_of_pass = record.check_kind(PART).is_ok()
            && record.json::<usize>("number").is_ok_and(|number| number == state.n_kept)
            && record.text("pass").is_ok_and(|pass| pass == name);
        if !(is_of_fit && is_of_pass) {
            return Ok(None);
        }
        let ([_], values) = record.take_with_holes::<f64, 1>("part")?;
        state.has_part = true;
        Ok(Some(values))
    }
}

/// Writes a record at `begin`, the end of the last complete record, and returns its end.
fn append(file: &mut File, begin: u64, record: &Record<'_>) -> std::io::Result<u64> {
    file.set_len(begin)?;
    file.seek(SeekFrom::Start(begin))?;
    let mut sink = std::io::BufWriter::with_capacity(1 << 20, &mut *file);
    let written = model_file::write(record, &mut sink).and_then(|()| sink.flush());
    drop(sink);
    if let Err(error) = written {
        // The incomplete record would be ignored anyway.
        let _ = file.set_len(begin);
        return Err(error);
    }
    file.sync_data()?;
    file.stream_position()
}

#[cfg(test)]
mod tests {
    use karhunen::error::options;

    use super::*;

    fn facts(seed: u64) -> Vec<Fact> {
        vec![Fact::Data("numbers of rows", "7".to_owned()), Fact::Option(options::SEED, seed.into())]
    }

    fn log(path: &Path, resume: bool) -> PassLogFile {
        let log = PassLogFile::new(path, resume).unwrap();
        log.begin(&facts(0)).unwrap();
        log
    }

    fn three_passes(path: &Path) -> Vec<u64> {
        let log = log(path, false);
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

    #[test]
    fn two_fits_do_not_share_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c");
        let first = log(&path, false);
        let second = PassLogFile::new(&path, true).unwrap();
        let error = second.begin(&facts(0)).unwrap_err().to_string();
        assert!(error.contains("is in use by another fit"), "{error}");
        assert_eq!(first.take("product").unwrap(), None);
        first.keep("product", &[1.0]).unwrap();
        drop(first);
        // It has grown since it was read.
        let error = second.begin(&facts(0)).unwrap_err().to_string();
        assert!(error.contains("is in use by another fit"), "{error}");
        assert_eq!(first_values(&log(&path, true)), [1.0]);
    }

    #[test]
    fn a_copy_of_the_open_file_does_not_keep_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c");
        let first = log(&path, false);
        // As in a process that was forked during the fit.
        let copy = first.state().file.as_ref().unwrap().0.try_clone().unwrap();
        drop(first);
        log(&path, true);
        drop(copy);
    }

    fn first_values(log: &PassLogFile) -> Vec<f64> {
        std::iter::from_fn(|| log.take("product").unwrap()).map(|values| values[0]).collect()
    }

    #[test]
    fn passes_are_taken_in_their_order_and_others_follow() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c");
        three_passes(&path);
        let again = log(&path, true);
        assert_eq!(again.n_kept(), 3);
        let bits = |values: Vec<f64>| values.into_iter().map(f64::to_bits).collect::<Vec<_>>();
        assert_eq!(bits(again.take("product").unwrap().unwrap()), bits(vec![0.0, f64::NAN, -0.0]));
        assert_eq!(first_values(&again), [1.0, 2.0]);
        again.keep("product", &[3.0]).unwrap();
        drop(again);
        assert_eq!(first_values(&log(&path, true)), [0.0, 1.0, 2.0, 3.0]);
        // Without `resume` the fit begins anew.
        assert_eq!(first_values(&log(&path, false)), [0.0; 0]);
    }

    #[test]
    fn a_file_that_ends_anywhere_gives_the_passes_that_are_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c");
        let ends = three_passes(&path);
        let bytes = std::fs::read(&path).unwrap();
        for length in (ends[0]..=ends[3]).step_by(7).chain(ends.clone()) {
            std::fs::write(&path, &bytes[..length as usize]).unwrap();
            let complete = ends[1..].iter().filter(|end| **end <= length).count();
            let log = log(&path, true);
            assert_eq!(first_values(&log), [0.0, 1.0, 2.0][..complete], "{length}");
            log.keep("product", &[9.0]).unwrap();
            let log = PassLogFile::new(&path, true).unwrap();
            assert_eq!(first_values(&log).last(), Some(&9.0), "{length}");
        }
        // A last record whose end was not written.
        let mut zeros = bytes[..ends[2] as usize].to_vec();
        zeros.resize(ends[3] as usize, 0);
        std::fs::write(&path, &zeros).unwrap();
        assert_eq!(first_values(&log(&path, true)), [0.0, 1.0]);
        for end in [0, ends[0] / 2] {
            std::fs::write(&path, &bytes[..end as usize]).unwrap();
            let message = PassLogFile::new(&path, true).unwrap_err().to_string();
            assert!(message.contains("is no checkpoint of passes"), "{message}");
        }
    }

    #[test]
    fn a_damaged_byte_is_an_error_or_ends_the_passes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c");
        let ends = three_passes(&path);
        let bytes = std::fs::read(&path).unwrap();
        for at in (0..bytes.len()).step_by(11) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 4;
            std::fs::write(&path, &damaged).unwrap();
            if let Ok(log) = PassLogFile::new(&path, true) {
                let n_whole = ends[1..].iter().filter(|end| **end <= at as u64).count();
                assert_eq!(log.n_kept(), n_whole, "byte {at}");
            }
        }
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
        assert!(message.contains("t.csv: is no checkpoint of passes"), "{message}");
        let message = crate::load_any_model(&path).unwrap_err().to_string();
        assert!(message.contains("holds the passes of a fit, not a model"), "{message}");
    }

    #[test]
    fn a_pass_that_cannot_be_written_is_reported_and_those_before_it_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c");
        let log = log(&path, false);
        log.keep("product", &[1.0]).unwrap();
        // A handle that cannot be written stands for a disk that is full.
        log.state().file = Some(LockedFile(File::open(&path).unwrap()));
        log.keep("product", &[2.0]).unwrap();
        log.state().file = Some(LockedFile(OpenOptions::new().write(true).open(&path).unwrap()));
        // The next pass would not follow the first.
        log.keep("product", &[3.0]).unwrap();
        let Some(CheckpointNews::Lost(message)) = log.news() else { panic!("a loss is told") };
        assert!(message.contains("holds the first 1 of the passes"), "{message}");
        assert_eq!(first_values(&PassLogFile::new(&path, true).unwrap()), [1.0]);
    }

    /// A log whose present pass is the second, of which parts are kept at every opportunity.
    fn within_second(path: &Path, resume: bool) -> PassLogFile {
        let log = log(path, resume).every(Duration::ZERO);
        if log.take("product").unwrap().is_none() {
            log.keep("product", &[1.0]).unwrap();
        }
        assert_eq!(log.take("product").unwrap(), None);
        log
    }

    #[test]
    fn a_part_is_replaced_by_the_next_one_and_by_its_pass() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c");
        let part = folder.path().join("c.part");
        assert!(within_second(&path, false).wants_part() && !part.exists());
        for values in [[2.0, f64::NAN], [3.0, -0.0]] {
            within_second(&path, true).keep_part("product", &values).unwrap();
            let again = within_second(&path, true);
            assert_eq!(again.take_part("scatter").unwrap(), None);
            let found = again.take_part("product").unwrap().unwrap();
            assert!(found.iter().zip(values).all(|(found, value)| found.to_bits() == value.to_bits()));
            assert!(again.holds_any());
        }
        // One that is left behind when its pass is complete is out of date.
        let left = std::fs::read(&part).unwrap();
        let log = within_second(&path, true);
        assert!(log.take_part("product").unwrap().is_some());
        log.keep("product", &[4.0]).unwrap();
        drop(log);
        assert!(!part.exists());
        std::fs::write(&part, &left).unwrap();
        let third = super::tests::log(&path, true);
        assert_eq!(first_values(&third), [1.0, 4.0]);
        assert_eq!(third.take_part("product").unwrap(), None);
        // So is that of another fit, which is removed when a fit begins anew.
        let other = PassLogFile::new(&path, false).unwrap();
        other.begin(&facts(1)).unwrap();
        assert!(!part.exists());
        std::fs::write(&part, &left).unwrap();
        other.keep("product", &[1.0]).unwrap();
        assert_eq!(other.take_part("product").unwrap(), None);
        // By default, parts are kept a minute apart.
        assert!(!super::tests::log(&path, false).wants_part());
    }

    #[test]
    fn files_that_end_anywhere_give_the_pass_or_its_part_or_neither() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c");
        let part = folder.path().join("c.part");
        within_second(&path, false).keep_part("product", &[2.0, 3.0]).unwrap();
        let (before, bytes) = (std::fs::read(&path).unwrap(), std::fs::read(&part).unwrap());
        for length in (0..=bytes.len()).step_by(3).chain([bytes.len()]) {
            std::fs::write(&part, &bytes[..length]).unwrap();
            let Ok(again) = PassLogFile::new(&path, true) else {
                assert!(length > 0 && length < bytes.len());
                continue;
            };
            drop(again);
            let found = within_second(&path, true).take_part("product").unwrap();
            assert_eq!(found.is_some(), length == bytes.len(), "{length}");
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 4;
            std::fs::write(&part, &damaged).unwrap();
            if PassLogFile::new(&path, true).is_ok() {
                assert_eq!(within_second(&path, true).take_part("product").unwrap(), None, "byte {at}");
            }
        }
        // While the result of the pass is written, its part stays.
        within_second(&path, true).keep("product", &[4.0]).unwrap();
        let complete = std::fs::read(&path).unwrap();
        for length in before.len()..complete.len() {
            std::fs::write(&path, &complete[..length]).unwrap();
            std::fs::write(&part, &bytes).unwrap();
            let again = within_second(&path, true);
            assert_eq!(again.take_part("product").unwrap(), Some(vec![2.0, 3.0]), "{length}");
        }
    }

    #[test]
    fn another_file_at_the_place_of_parts_is_refused_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (path, part) = (folder.path().join("c"), folder.path().join("c.part"));
        std::fs::write(&part, "mine").unwrap();
        let message = PassLogFile::new(&path, false).unwrap_err().to_string();
        assert!(message.contains("c.part: is in the way"), "{message}");
        assert_eq!(std::fs::read(&part).unwrap(), b"mine");
    }
}
