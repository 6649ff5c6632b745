//! The seed files of mutation: valid files of every format, and inputs that once broke an invariant.

use std::path::{Path, PathBuf};

use crate::targets::Target;

/// Larger files take longer and find no more.
const MOST_BYTES: u64 = 16 << 10;

/// Multiplicity of the valid files in the list, compared with refused ones.
const GOOD_TIMES: usize = 12;

/// A file to mutate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seed {
    /// Name, for messages.
    pub name: String,
    /// Extension, by which some readers choose a format.
    pub extension: String,
    /// Content.
    pub bytes: Vec<u8>,
}

/// The folder of this crate.
pub fn home() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The files from which inputs for `target` are mutated, in the same order on every machine.
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
    // Valid files reach more code than refused ones, so they come several times.
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

/// The files of a folder up to the size limit, by name; none if the folder does not exist.
fn files(folder: &Path) -> Result<Vec<Seed>, String> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let message = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(message)? {
        let entry = entry.map_err(message)?;
        let metadata = entry.metadata().map_err(message)?;
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
    // As in the readers: `mtx.gz` is `gz` here, because the content is unpacked first.
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_owned()).unwrap_or_default();
    let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(Seed { name, extension, bytes })
}
