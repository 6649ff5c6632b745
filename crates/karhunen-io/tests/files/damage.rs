//! Damaged model files are refused, wherever the damage is; files of earlier versions still load.

use std::path::{Path, PathBuf};

#[cfg(feature = "columnar")]
use crate::values::visited;
use karhunen::Dense;
use karhunen::kernel::NystromMap;
use karhunen_io::{
    AnyModel, ReadOptions, Result, SavedNystrom, load_any_model, load_checkpoint, load_model, load_moments,
    read_any, save_checkpoint, save_model,
};

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden_0_1_0")
}

/// Files of every kind, written by versions 0.1.0 and 0.2.0.
fn files() -> Vec<PathBuf> {
    let kinds = ["model", "checkpoint", "state", "scatter"];
    let mut files: Vec<PathBuf> = [golden(), golden().join("library"), golden().join("../golden_0_2_0")]
        .iter()
        .flat_map(|folder| std::fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|kind| kinds.iter().any(|known| kind == *known)))
        .collect();
    files.sort();
    assert_eq!(files.len(), 17);
    files
}

/// Reads a file with the reader of its kind, and writes it again.
fn rewrite(from: &Path, to: &Path) -> Result<()> {
    if from.extension().is_some_and(|kind| kind == "checkpoint") {
        return save_checkpoint(to, &load_checkpoint(from)?);
    }
    if from.extension().is_some_and(|kind| kind == "scatter") {
        return save_model(to, &load_moments(&[from.to_owned()])?);
    }
    if from.file_stem().is_some_and(|name| name == "nystrom") {
        return save_model::<NystromMap>(to, &load_model(from)?);
    }
    match load_any_model(from)? {
        AnyModel::Complete(saved) => save_model(to, &saved),
        AnyModel::Incomplete(saved) => save_model(to, &saved),
        AnyModel::Kernel(saved) => save_model(to, &saved),
        AnyModel::Categorical(saved) => save_model(to, &saved),
        AnyModel::Incremental(saved) => save_model(to, &saved),
        AnyModel::Rotated(saved) => save_model(to, &saved),
        AnyModel::RotatedIncomplete(saved) => save_model(to, &saved),
    }
}

#[test]
fn no_flipped_bit_passes() {
    let folder = tempfile::tempdir().unwrap();
    let (to, again) = (folder.path().join("m"), folder.path().join("again"));
    let refused = |from: &Path, bytes: &[u8], what: &str| {
        std::fs::write(&to, bytes).unwrap();
        let name = from.display();
        // The name determines the reader.
        let path = to.with_extension(from.extension().unwrap());
        std::fs::rename(&to, &path).unwrap();
        assert!(rewrite(&path, &again).is_err(), "{name}: {what} was not noticed");
        assert!(
            read_any(&path, &ReadOptions::default()).is_err(),
            "{name}: {what} was not noticed by inspect"
        );
    };
    for from in files().iter().filter(|from| from.file_stem().is_none_or(|name| name != "nystrom")) {
        rewrite(from, &to).unwrap();
        let whole = std::fs::read(&to).unwrap();
        assert!(whole[8..].starts_with(br#"{"__metadata__":{"checksum":"xxh3-128:"#));
        // Every byte of two files, some bytes of the others: unit tests damage all bytes of all kinds in memory.
        let name = from.file_name().unwrap().display().to_string();
        let step = if ["pca.model", "als.checkpoint"].contains(&name.as_str()) { 1 } else { 23 };
        for byte in (0..whole.len()).step_by(step) {
            let mut bytes = whole.clone();
            bytes[byte] ^= 1 << (byte % 8);
            refused(from, &bytes, &format!("bit {} of byte {byte}", byte % 8));
        }
    }
}

#[test]
fn files_of_earlier_versions_load_and_come_back_the_same() {
    let folder = tempfile::tempdir().unwrap();
    for from in files() {
        let to = folder.path().join(from.file_name().unwrap());
        rewrite(&from, &to).unwrap();
        let again = to.with_extension(format!("again.{}", to.extension().unwrap().display()));
        rewrite(&to, &again).unwrap();
        assert_eq!(std::fs::read(&again).unwrap(), std::fs::read(&to).unwrap(), "{}", from.display());
    }
}

#[test]
fn kinds_that_only_the_library_writes_give_what_version_0_1_0_gave() {
    let library = golden().join("library");
    let x: Vec<f64> = (0..24).map(|e| f64::from(e * e % 17) - 0.25 * f64::from(e % 5)).collect();
    let x = Dense::row_major(&x, 8, 3).unwrap();
    let close = |found: &karhunen::Matrix, name: &str| {
        let text = std::fs::read_to_string(library.join(name)).unwrap();
        let cells = text.lines().skip(1).flat_map(|line| line.split(','));
        let expected: Vec<f64> = cells.map(|cell| cell.parse().unwrap()).collect();
        assert_eq!(expected.len(), found.as_slice().len());
        for (a, b) in found.as_slice().iter().zip(expected) {
            assert!((a - b).abs() <= 1e-12 * b.abs().max(1.0), "{name}: {a} {b}");
        }
    };
    let map: SavedNystrom = load_model(&library.join("nystrom.model")).unwrap();
    close(&map.model.transform(&x).unwrap(), "nystrom.csv");
    let AnyModel::Complete(saved) = load_any_model(&library.join("about_mean.model")).unwrap() else {
        panic!("another kind")
    };
    close(&saved.model.transform(&x).unwrap(), "about_mean.csv");
    let about_mean = saved.model.parts().about_mean.clone().unwrap();
    assert_eq!((about_mean.variance, about_mean.ratio), (vec![1.5, 0.25], vec![0.75, 0.125]));
}

#[cfg(feature = "columnar")]
#[test]
fn checksums_of_parquet_pages_are_verified() {
    use karhunen_io::read;
    let sound = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/binary/page_checksums.parquet");
    let mut bytes = std::fs::read(&sound).unwrap();
    assert_eq!(
        visited(&read(&sound, &ReadOptions::default()).unwrap()).unwrap(),
        [1.5, 4.0, -2.0, 5.25, 3.0, -6.0]
    );
    // Neither the least nor the largest value, which the header of the page holds too.
    let value = bytes.windows(8).position(|bytes| bytes == 1.5_f64.to_le_bytes()).unwrap();
    bytes[value + 6] ^= 1;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.parquet");
    std::fs::write(&path, bytes).unwrap();
    for memory_limit in [None, Some(1)] {
        let options = ReadOptions { memory_limit, ..ReadOptions::default() };
        let outcome = read(&path, &options).map_err(|error| error.to_string());
        let message = outcome.and_then(|table| visited(&table)).unwrap_err();
        assert!(message.contains("CRC"), "{message}");
    }
}
