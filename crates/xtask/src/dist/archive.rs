//! Archives (`.tar.gz`) that depend on the files alone: sorted names, one time, no owner.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use tar::{Archive, Builder, EntryType, Header};

/// Packs a folder under its own name. Every file bears the time `epoch` (seconds since 1970); files in folders named
/// `bin` are executable.
pub(super) fn pack(folder: &Path, archive: &Path, epoch: u64) -> Result<(), String> {
    let name = PathBuf::from(folder.file_name().unwrap_or_default());
    let written = || -> std::io::Result<()> {
        let mut builder = Builder::new(GzEncoder::new(File::create(archive)?, Compression::best()));
        for file in files(folder, Path::new(""))? {
            let bytes = fs::read(folder.join(&file))?;
            let executable = file.starts_with("bin");
            let mut header = Header::new_gnu();
            header.set_entry_type(EntryType::Regular);
            header.set_size(bytes.len() as u64);
            header.set_mode(if executable { 0o755 } else { 0o644 });
            header.set_mtime(epoch);
            builder.append_data(&mut header, name.join(&file), bytes.as_slice())?;
        }
        builder.into_inner()?.finish()?.sync_all()
    };
    written().map_err(|error| format!("{}: {error}", archive.display()))
}

/// Unpacks an archive into a folder.
pub(super) fn unpack(archive: &Path, folder: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", archive.display());
    Archive::new(GzDecoder::new(File::open(archive).map_err(failed)?)).unpack(folder).map_err(failed)
}

/// The files below `root/inside`, relative to `root`, sorted.
fn files(root: &Path, inside: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root.join(inside))? {
        let entry = entry?;
        let path = inside.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            found.extend(files(root, &path)?);
        } else {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_unpacked_and_depends_on_the_files_alone() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("thing-1.0");
        fs::create_dir_all(root.join("bin")).unwrap();
        fs::write(root.join("bin/thing"), "program").unwrap();
        fs::write(root.join("README"), "text").unwrap();
        let [first, second] = ["a", "b"].map(|name| folder.path().join(name));
        pack(&root, &first, 86_400).unwrap();
        fs::write(root.join("README"), "text").unwrap();
        pack(&root, &second, 86_400).unwrap();
        assert_eq!(fs::read(&first).unwrap(), fs::read(&second).unwrap());

        let mut archive = Archive::new(GzDecoder::new(File::open(&first).unwrap()));
        let headers = archive.entries().unwrap().map(|entry| {
            let entry = entry.unwrap();
            let header = entry.header();
            (entry.path().unwrap().display().to_string(), header.mode().unwrap(), header.mtime().unwrap())
        });
        let headers: Vec<_> = headers.collect();
        let wanted = [
            ("thing-1.0/README".to_owned(), 0o644, 86_400),
            ("thing-1.0/bin/thing".to_owned(), 0o755, 86_400),
        ];
        assert_eq!(headers, wanted);

        let other = folder.path().join("other");
        unpack(&first, &other).unwrap();
        assert_eq!(fs::read_to_string(other.join("thing-1.0/bin/thing")).unwrap(), "program");
        assert!(unpack(&root.join("README"), &other).is_err());
    }
}
