//! How Zarr stores are recognised, also by a program that does not read them.

use std::collections::BTreeSet;
use std::io::Cursor;
use std::path::Path;

use zip::ZipArchive;

/// The files of which each group or array has one.
const METADATA: [&str; 3] = ["zarr.json", ".zarray", ".zgroup"];

/// Returns true for a folder that is a store.
pub(crate) fn is_folder(path: &Path) -> bool {
    path.is_dir() && METADATA.iter().any(|name| path.join(name).is_file())
}

/// Returns true for a zip archive that holds a store.
pub(crate) fn is_archive(content: &[u8]) -> bool {
    let holds = |zip: ZipArchive<_>| !roots(zip.file_names().flatten()).is_empty();
    content.starts_with(b"PK") && ZipArchive::new(Cursor::new(content)).is_ok_and(holds)
}

/// The folders of stores among the names of an archive: the root if it has a file of metadata, otherwise those one below.
pub(crate) fn roots<N: AsRef<str>>(names: impl Iterator<Item = N>) -> Vec<String> {
    let folders: BTreeSet<String> = names
        .filter_map(|name| {
            let name = name.as_ref();
            let (folder, file) = name.split_at(name.rfind('/').map_or(0, |slash| slash + 1));
            (METADATA.contains(&file) && folder.matches('/').count() <= 1).then(|| folder.to_owned())
        })
        .collect();
    if folders.contains("") { vec![String::new()] } else { folders.into_iter().collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_may_be_one_folder_of_an_archive() {
        let of = |names: &[&str]| roots(names.iter().copied());
        assert_eq!(of(&[".zgroup", "X/.zarray"]), [""]);
        assert_eq!(of(&["c.zarr/X/zarr.json", "c.zarr/zarr.json"]), ["c.zarr/"]);
        assert_eq!(of(&["a.zarr/.zgroup", "a.zarr/X/.zarray", "b.zarr/.zgroup"]), ["a.zarr/", "b.zarr/"]);
        assert!(of(&["a/b/.zarray"]).is_empty());
        assert!(of(&["data.npy", "zarr.json.npy"]).is_empty());
    }
}
