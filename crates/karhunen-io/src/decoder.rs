//! Runs decoders of other crates. On damaged files they may fail or panic; both become errors of the file.
//!
//! The panic hook of the process runs before a panic is caught. This crate installs no hook, since hooks belong to
//! programs: a program that prints its own errors prints nothing in its hook while [`is_decoding`] returns true.

use std::cell::Cell;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use crate::{Cause, Error, Result};

/// Maximum number of bytes of a decoder's own workspace.
const WORKSPACE: f64 = (3u64 << 20) as f64;

thread_local! {
    static DECODING: Cell<bool> = const { Cell::new(false) };
}

/// Returns true while this thread runs a decoder whose panics become errors: a panic hook need not print them.
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

/// Runs a decoder on this thread; an error or a panic becomes an error of the file.
///
/// # Errors
/// [`Cause::Format`]; [`karhunen::Error::Memory`] if memory was short, which few decoders report.
pub(crate) fn run<R, E: Display>(
    path: &Path,
    decode: impl FnOnce() -> std::result::Result<R, E>,
) -> Result<R> {
    caught(decode).and_then(|result| result.map_err(|error| error.to_string())).map_err(|error| {
        let advice = || vec![karhunen::error::Advice::RaiseLimit, "take fewer rows or columns".into()];
        match karhunen::memory::ask("decoding", WORKSPACE, advice) {
            Err(shortage) => Error::new(path, shortage.into()),
            Ok(()) => damaged(path, &error),
        }
    })
}

/// Runs a decoder on this thread; a panic becomes its message.
///
/// # Errors
/// The message of the panic.
pub(crate) fn caught<R>(decode: impl FnOnce() -> R) -> std::result::Result<R, String> {
    let before = DECODING.replace(true);
    let result = catch_unwind(AssertUnwindSafe(decode));
    DECODING.set(before);
    result.map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("the decoder gave up").to_owned()
    })
}

/// The error of a decoder as an error of the file.
pub(crate) fn damaged(path: &Path, error: &dyn Display) -> Error {
    // Some decoders return several lines.
    let error = error.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    Error::new(path, Cause::format(format!("is damaged or not supported ({error}); copy or write it again")))
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
        // A nested call resets only its own mark.
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
