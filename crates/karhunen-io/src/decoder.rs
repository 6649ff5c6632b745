//! Decoders written by others. On damaged files they may panic as well as fail; both are errors of the file.
//!
//! A panic is printed by the panic hook of the process before it is caught. This crate installs no hook, for hooks belong
//! to programs: one that prints its own errors asks [`is_decoding`] in its hook and keeps silent where it says yes.

use std::cell::Cell;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use crate::{Cause, Error, Result};

/// Bytes that a decoder may take for itself.
const WORKSPACE: f64 = (3u64 << 20) as f64;

thread_local! {
    static DECODING: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether this thread is inside a decoder whose panics become errors: a panic hook need not print them.
///
/// ```
/// let print = std::panic::take_hook();
/// std::panic::set_hook(Box::new(move |panic| {
///     if !karhunen_io::is_decoding() {
///         print(panic);
///     }
/// }));
/// ```
pub fn is_decoding() -> bool {
    DECODING.get()
}

/// Runs a decoder on this thread; what it says, also by a panic, becomes an error of the file.
///
/// # Errors
/// [`Cause::Format`]; [`karhunen::Error::Memory`] where the decoder had too little memory, which few of them tell.
pub(crate) fn run<R, E: Display>(
    path: &Path,
    decode: impl FnOnce() -> std::result::Result<R, E>,
) -> Result<R> {
    caught(decode).and_then(|result| result.map_err(|error| error.to_string())).map_err(|error| {
        let advice = || "raise the limit of memory, or take fewer rows or columns".to_owned();
        match karhunen::memory::ask("decoding", WORKSPACE, advice) {
            Err(shortage) => Error::new(path, shortage.into()),
            Ok(()) => damaged(path, &error),
        }
    })
}

/// Runs a decoder on this thread; a panic becomes its text.
///
/// # Errors
/// The text of the panic.
pub(crate) fn caught<R>(decode: impl FnOnce() -> R) -> std::result::Result<R, String> {
    let before = DECODING.replace(true);
    let result = catch_unwind(AssertUnwindSafe(decode));
    DECODING.set(before);
    result.map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("the decoder gave up").to_owned()
    })
}

/// What a decoder says of the file.
pub(crate) fn damaged(path: &Path, error: &dyn Display) -> Error {
    // Some decoders answer in several lines.
    let error = error.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    Error::new(path, Cause::Format(format!("is damaged or not supported ({error}); copy or write it again")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_and_the_thread_is_marked_while_it_decodes() {
        let path = Path::new("x");
        let marked = || Ok::<_, String>(is_decoding());
        assert!(run(path, marked).unwrap() && !is_decoding());
        let message = |text: &'static str| -> Result<()> {
            run(path, || -> std::result::Result<(), String> { panic!("{text}") })
        };
        assert_eq!(
            message("too\n  deep").unwrap_err().to_string(),
            "x: is damaged or not supported (too deep); copy or write it again"
        );
        assert!(!is_decoding());
        // One in another ends with its own mark only.
        let both = run(path, || {
            let inner = caught(|| panic!("inner"));
            Ok::<_, String>((inner, is_decoding()))
        });
        assert_eq!(both.unwrap(), (Err::<(), _>("inner".to_owned()), true));
    }

    #[test]
    fn other_threads_are_not_marked() {
        let other = caught(|| std::thread::spawn(is_decoding).join().unwrap());
        assert_eq!(other, Ok(false));
    }
}
