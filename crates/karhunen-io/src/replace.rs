//! Files that appear whole or not at all: written beside the target, then renamed into its place.

use std::fs::{File, Permissions};
use std::io::{BufWriter, Write};
use std::path::Path;

use crate::{Error, Result};

/// Writes a file through `content`. The target keeps its old content until all of the new one is written, and its
/// permissions if it exists. `-` is the standard output; what is no ordinary file, such as a pipe, is written directly.
///
/// # Errors
/// [`crate::Cause::Io`]; the target is then as it was.
pub(crate) fn write_file(
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<()> {
    let writing = |source| Error::io(path, "writing", source);
    if path.as_os_str() == "-" {
        return write_all(std::io::stdout().lock(), content).map_err(writing);
    }
    // A link stays a link: its target is replaced.
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let existing = std::fs::metadata(&target).ok();
    if existing.as_ref().is_some_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
        let file = File::options().write(true).open(&target).map_err(writing)?;
        return write_all(file, content).map_err(writing);
    }
    if existing.as_ref().is_some_and(|metadata| metadata.is_dir()) {
        return Err(writing(std::io::ErrorKind::IsADirectory.into()));
    }
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let permissions = existing.map(|metadata| metadata.permissions());
    let beside = beside(folder, permissions).map_err(writing)?;
    write_all(beside.as_file(), content).map_err(writing)?;
    beside.persist(&target).map_err(|error| writing(error.error))?;
    Ok(())
}

fn write_all(
    sink: impl Write,
    content: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let mut sink = BufWriter::with_capacity(1 << 16, sink);
    content(&mut sink)?;
    sink.flush()
}

/// A new file in `folder`, with the permissions of the file that it will replace or those of any new file.
fn beside(folder: &Path, existing: Option<Permissions>) -> std::io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".karhunen-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Less what the user's mask takes away.
        builder.permissions(Permissions::from_mode(0o666));
    }
    let file = builder.tempfile_in(folder).map_err(without_temporary_name)?;
    if let Some(permissions) = existing {
        file.as_file().set_permissions(permissions)?;
    }
    Ok(file)
}

/// The system's error alone, without the name that the user never gave.
fn without_temporary_name(error: std::io::Error) -> std::io::Error {
    let system = error.get_ref().and_then(|wrapped| wrapped.source()?.downcast_ref::<std::io::Error>());
    match system.and_then(std::io::Error::raw_os_error) {
        Some(code) => std::io::Error::from_raw_os_error(code),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("scores.csv");
        write_file(&path, |sink| sink.write_all(b"old")).unwrap();
        let error = write_file(&path, |sink| {
            sink.write_all(&[0; 1 << 17])?;
            Err(std::io::Error::other("disk full"))
        });
        let message = format!("{}: writing failed: disk full", path.display());
        assert_eq!(error.unwrap_err().to_string(), message);
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn permissions_are_those_of_a_new_file_or_of_the_old_one() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let (plain, written) = (folder.path().join("plain"), folder.path().join("written"));
        File::create(&plain).unwrap();
        write_file(&written, |sink| sink.write_all(b"1")).unwrap();
        assert_eq!(mode(&written), mode(&plain));
        std::fs::set_permissions(&written, Permissions::from_mode(0o640)).unwrap();
        write_file(&written, |sink| sink.write_all(b"2")).unwrap();
        assert_eq!(mode(&written), 0o640);
    }

    #[cfg(unix)]
    #[test]
    fn links_and_special_files_stay_what_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        std::fs::write(&target, b"old").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        write_file(&link, |sink| sink.write_all(b"new")).unwrap();
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(std::fs::read(&target).unwrap(), b"new");
        write_file(Path::new("/dev/null"), |sink| sink.write_all(b"gone")).unwrap();
        assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
    }

    #[test]
    fn a_folder_that_does_not_exist_is_an_error() {
        let path = Path::new("no/such/folder/scores.csv");
        let message = write_file(path, |_| Ok(())).unwrap_err().to_string();
        assert!(message.starts_with("no/such/folder/scores.csv: writing failed: "), "{message}");
        assert!(!message.contains(".karhunen-"), "{message}");
    }
}
