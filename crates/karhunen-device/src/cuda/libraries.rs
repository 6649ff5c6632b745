//! Finds the libraries of CUDA. cudarc panics where one is missing, so each is looked for before its first
//! call.
#![allow(unsafe_code)]

use std::env;
use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::{Path, PathBuf};

use cudarc::get_lib_name_candidates;
use libloading::Library;

use crate::DeviceError;

/// A library, and what to do without it.
struct Wanted {
    what: &'static str,
    names: &'static [&'static str],
    /// The versions that a message names.
    versions: &'static [&'static str],
    way_out: &'static str,
}

const DRIVER: Wanted = Wanted {
    what: "the driver of CUDA",
    names: &["cuda", "nvcuda"],
    versions: &["1"],
    way_out: "install the driver of the GPU",
};
const BLAS: Wanted = Wanted {
    what: "cuBLAS",
    names: &["cublas"],
    versions: &["13", "12"],
    way_out: "install the CUDA toolkit 12 or 13 (pip install nvidia-cublas-cu12 for Python), or put its \
              folder into LD_LIBRARY_PATH",
};
const SPARSE: Wanted = Wanted {
    what: "cuSPARSE",
    names: &["cusparse"],
    versions: &["12"],
    way_out: "install the CUDA toolkit 12 or 13 (pip install nvidia-cusparse-cu12 for Python), or put its \
              folder into LD_LIBRARY_PATH",
};

/// Loads the driver and cuBLAS.
///
/// # Errors
/// [`DeviceError::Library`].
pub(super) fn load_dense(folders: &[PathBuf]) -> Result<(), DeviceError> {
    load(&DRIVER, folders)?;
    load(&BLAS, folders)
}

/// Loads cuSPARSE.
///
/// # Errors
/// [`DeviceError::Library`].
pub(super) fn load_sparse(folders: &[PathBuf]) -> Result<(), DeviceError> {
    load(&SPARSE, folders)
}

/// Loads a library for the rest of the process, so that it is found by its name afterwards.
fn load(wanted: &Wanted, folders: &[PathBuf]) -> Result<(), DeviceError> {
    let names: Vec<String> = wanted.names.iter().flat_map(|name| get_lib_name_candidates(name)).collect();
    let folders: Vec<PathBuf> = folders.iter().cloned().chain(toolkits()).filter(|f| f.is_dir()).collect();
    let known = names.iter().map(PathBuf::from);
    let placed = folders.iter().flat_map(|folder| names.iter().map(move |name| folder.join(name)));
    if known.chain(placed.filter(|path| path.exists())).any(|path| stays_loaded(&path)) {
        return Ok(());
    }
    let searched_names = wanted.names.iter().take(1).flat_map(|name| {
        let plain = format!("{DLL_PREFIX}{name}{DLL_SUFFIX}");
        let versioned =
            wanted.versions.iter().map(move |version| format!("{DLL_PREFIX}{name}{DLL_SUFFIX}.{version}"));
        std::iter::once(plain).chain(versioned)
    });
    let shown = searched_names.collect::<Vec<_>>().join(", ");
    let searched = folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(", ");
    Err(DeviceError::Library {
        library: wanted.what,
        names: shown,
        folders: if searched.is_empty() { searched } else { format!(" in {searched}") },
        way_out: wanted.way_out,
    })
}

/// Folders of toolkits that the loader of the system may not know.
fn toolkits() -> impl Iterator<Item = PathBuf> {
    let given = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(env::var_os).map(PathBuf::from);
    let roots = given.chain([PathBuf::from("/usr/local/cuda")]);
    roots.flat_map(|root| ["lib64", "lib", "bin"].map(|folder| root.join(folder)))
}

fn stays_loaded(path: &Path) -> bool {
    // SAFETY: the names belong to NVIDIA's libraries, whose initialisation has no requirements.
    match unsafe { Library::new(path) } {
        Ok(library) => {
            std::mem::forget(library);
            true
        }
        Err(_) => false,
    }
}
