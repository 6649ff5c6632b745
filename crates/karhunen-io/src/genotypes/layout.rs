//! The bytes that begin a .bed file, and the files beside it.

use std::path::{Path, PathBuf};

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
    let plain =
        if bed.extension().is_some_and(|end| end == "gz") { bed.with_extension("") } else { bed.to_owned() };
    plain.with_extension(extension)
}
