//! The bytes that begin a .bed file, and the files that accompany it.

use std::path::{Path, PathBuf};

use crate::packed;

/// The name of the format in [`crate::Table::format`].
pub const FORMAT: &str = "PLINK .bed";
/// The first two bytes of a .bed file.
pub(crate) const MAGIC: [u8; 2] = [0x6c, 0x1b];
/// The third byte if genotypes are ordered by variants.
pub(super) const BY_VARIANTS: u8 = 1;
/// The third byte if genotypes are ordered by samples.
pub(super) const BY_SAMPLES: u8 = 0;
/// Number of bytes before the genotypes.
pub(super) const HEADER: usize = 3;

/// The path of the file with the extension `extension` that belongs to a .bed file.
pub(crate) fn companion(bed: &Path, extension: &str) -> PathBuf {
    let ending = bed.extension().map(|end| format!(".{}", end.to_string_lossy()));
    let is_packed = ending.is_some_and(|ending| packed::ENDINGS.contains(&ending.as_str()));
    if is_packed { bed.with_extension("").with_extension(extension) } else { bed.with_extension(extension) }
}
