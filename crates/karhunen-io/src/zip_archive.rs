//! Rules and errors of zip archives.

use zip::result::ZipError;

use crate::Cause;

/// Deflate expands a byte to at most 1032 bytes; a member that declares more is damaged or hostile.
pub(crate) const MOST_INFLATED: u64 = 1032;

/// The cause of an error of the archive.
pub(crate) fn zip_cause(error: ZipError) -> Cause {
    Cause::format(match error {
        ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED) | ZipError::InvalidPassword => {
            "is encrypted; write it again without a password".to_owned()
        }
        ZipError::CompressionMethodNotSupported(method) => {
            format!(
                "is packed with zip method {method}; pack it again with deflate, in Python with numpy.savez_compressed"
            )
        }
        error => format!("is not a whole zip archive ({error}); copy or write it again"),
    })
}
