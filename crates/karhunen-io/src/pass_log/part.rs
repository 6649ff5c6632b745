//! The part of the present pass, in a file of its own.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};

use karhunen::record::Record;

use crate::input::Input;
use crate::model_file;
use crate::pass_log::records::{PART, find_record};
use crate::pass_log::state::Facts;
use crate::{Cause, Error, Result};

/// Returns the path of the part of a pass of the log at `path`.
pub(super) fn beside(path: &Path) -> PathBuf {
    let mut part = OsString::from(path);
    part.push(".part");
    PathBuf::from(part)
}

/// Refuses a file at the place of parts of passes that holds anything else.
pub(super) fn check(path: &Path) -> Result<()> {
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
pub(super) fn remove(path: &Path) {
    let _ = std::fs::remove_file(path);
}

/// Makes the record of a part of pass `number` of a fit.
pub(super) fn record<'a>(
    facts: &Facts,
    number: usize,
    name: &str,
    part: &'a [f64],
) -> karhunen::Result<Record<'a>> {
    let mut record = Record::new(PART);
    record.put_json("fit", facts)?;
    record.put_json("number", &number)?;
    record.put_text("pass", name);
    record.put_row("part", part);
    Ok(record)
}

/// Reads the part of pass `number` of a fit. A damaged part, or one of another pass or fit, counts as none, and the
/// next one replaces it.
pub(super) fn read(
    path: &Path,
    fit: Option<&(String, Facts)>,
    number: usize,
    name: &str,
) -> karhunen::Result<Option<Vec<f64>>> {
    let part = path.exists().then(|| Input::load(path).and_then(|input| model_file::read(&input)));
    let Some(Ok(mut record)) = part else { return Ok(None) };
    let is_of_fit = fit.is_some_and(|(version, facts)| {
        *version == record.version && record.json::<Facts>("fit").is_ok_and(|found| found == *facts)
    });
    let is_of_pass = record.check_kind(PART).is_ok()
        && record.json::<usize>("number").is_ok_and(|found| found == number)
        && record.text("pass").is_ok_and(|pass| pass == name);
    if !(is_of_fit && is_of_pass) {
        return Ok(None);
    }
    let ([_], values) = record.take_with_holes::<f64, 1>("part")?;
    Ok(Some(values))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use karhunen::exec::PassLog;

    use super::*;
    use crate::PassLogFile;
    use crate::pass_log::tests::{begun, facts, first_values};

    /// A log whose present pass is the second, of which parts are kept at every opportunity.
    fn within_second(path: &Path, resume: bool) -> PassLogFile {
        let log = begun(path, resume).every(Duration::ZERO);
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
        let third = begun(&path, true);
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
        assert!(!begun(&path, false).wants_part());
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
