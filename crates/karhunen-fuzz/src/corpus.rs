//! What mutation begins with: good files of every format, and files that were trouble before.

use std::path::{Path, PathBuf};

use crate::targets::Target;

/// Larger files take longer and find no more.
const MOST_BYTES: u64 = 16 << 10;

/// How often the files that are good stand in the list, beside those that are refused.
const GOOD_TIMES: usize = 12;

/// A file to mutate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seed {
    /// Its name, for messages.
    pub name: String,
    /// Its extension, which some readers look at.
    pub extension: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// The folder of this crate.
pub fn home() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The files that mutation of inputs for `target` begins with, in the same order everywhere.
///
/// # Errors
/// A folder or a file that cannot be read.
pub fn seeds(target: Target) -> Result<Vec<Seed>, String> {
    let io = home().join("../karhunen-io/tests");
    let own = home().join("corpus").join(target.name());
    let regressions = home().join("tests/regressions").join(target.name());
    let of_io = [
        "data/binary",
        "data/text",
        "malformed/text",
        "malformed/triples",
        "malformed/matrix_market",
        "malformed/npy",
        "malformed/npz",
        "malformed/parquet",
        "malformed/arrow",
    ];
    // Files that are read go further into the code than files that are refused: they come several times.
    let mut folders = vec![own.clone(), own, regressions];
    match target {
        Target::Table => {
            for _ in 0..GOOD_TIMES {
                folders.extend(of_io[..2].iter().map(|folder| io.join(folder)));
            }
            folders.extend(of_io[2..].iter().map(|folder| io.join(folder)));
        }
        Target::Command => {
            folders.extend(of_io[..2].iter().map(|folder| io.join(folder)));
            folders.push(home().join("corpus/model"));
        }
        Target::Model => {
            folders.extend((0..6).map(|_| home().join("corpus/model")));
            folders.push(io.join("malformed/model"));
        }
        Target::List | Target::Options | Target::Trial => {}
    }
    let mut seeds = Vec::new();
    for folder in folders {
        seeds.extend(files(&folder)?);
    }
    if seeds.is_empty() { Err(format!("no files to begin with for {}", target.name())) } else { Ok(seeds) }
}

/// The files of a folder that are not too large, by name; none where there is no folder.
fn files(folder: &Path) -> Result<Vec<Seed>, String> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let told = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(told)? {
        let entry = entry.map_err(told)?;
        let metadata = entry.metadata().map_err(told)?;
        let described = matches!(entry.path().extension().and_then(|e| e.to_str()), Some("md"))
            || entry.file_name() == "expected.tsv";
        if metadata.is_file() && metadata.len() <= MOST_BYTES && !described {
            paths.push(entry.path());
        }
    }
    paths.sort();
    paths.iter().map(|path| seed(path)).collect()
}

fn seed(path: &Path) -> Result<Seed, String> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    // As the readers see it: `mtx.gz` is `gz` here, for its content is unpacked first.
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_owned()).unwrap_or_default();
    let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(Seed { name, extension, bytes })
}
