//! The targets: each gives the bytes of an input to a part of karhunen and checks invariants of the result.

mod command;
mod list;
mod model;
mod options;
mod table;
mod trial;

use std::path::Path;

/// Outcome of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The input was read, and the results were computed.
    Accepted,
    /// The input was refused with an error.
    Refused,
}

/// Outcome of an input, or the invariant that it broke.
pub type Verdict = Result<Outcome, String>;

/// A part of karhunen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Readers of tables, sparse matrices and triples, and fits of their results.
    Table,
    /// Files of weights and of names.
    List,
    /// Model files and checkpoints.
    Model,
    /// Options of fits as JSON.
    Options,
    /// The command `karhunen`, several commands in sequence.
    Command,
    /// Breaks an invariant as the input says, to test the fuzzer itself.
    Trial,
}

impl Target {
    /// All targets of karhunen.
    pub const ALL: [Target; 5] =
        [Target::Table, Target::List, Target::Model, Target::Options, Target::Command];

    /// Name on the command line and of folders.
    pub fn name(self) -> &'static str {
        match self {
            Target::Table => "table",
            Target::List => "list",
            Target::Model => "model",
            Target::Options => "options",
            Target::Command => "command",
            Target::Trial => "trial",
        }
    }

    /// The target of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().chain([Target::Trial]).find(|target| target.name() == name)
    }

    /// Runs an input, which is stored at `path`.
    ///
    /// # Errors
    /// The invariant that was broken.
    pub fn run(self, path: &Path, bytes: &[u8]) -> Verdict {
        match self {
            Target::Table => table::run(path, bytes),
            Target::List => list::run(path),
            Target::Model => model::run(path),
            Target::Options => options::run(bytes),
            Target::Command => command::run(path, bytes),
            Target::Trial => trial::run(bytes),
        }
    }
}

pub use model::data as checkpoint_data;

/// A number below `n` from a hash of the content, by which a target chooses options.
fn choice(bytes: &[u8], n: usize) -> usize {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    ((hash >> 32) % n as u64) as usize
}

/// Returns the message `what` as an error unless `holds`.
fn hold(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}

/// Checks that numbers are finite.
fn all_finite<'a>(what: &str, values: impl IntoIterator<Item = &'a f64>) -> Result<(), String> {
    match values.into_iter().find(|value| !value.is_finite()) {
        Some(value) => Err(format!("{what}: {value}")),
        None => Ok(()),
    }
}

/// Checks that an error is one line of text of reasonable length.
fn check_error(message: &str) -> Result<(), String> {
    hold(!message.is_empty() && message.len() < 6000, || {
        format!("an error of {} bytes: {}", message.len(), message.chars().take(200).collect::<String>())
    })?;
    hold(!message.contains("panicked"), || format!("an error speaks of a panic: {message}"))
}

/// Ends a target if karhunen refuses the input.
macro_rules! accepted {
    ($result:expr) => {
        match $result {
            Ok(value) => value,
            Err(error) => {
                crate::targets::check_error(&error.to_string())?;
                return Ok(crate::targets::Outcome::Refused);
            }
        }
    };
}
use accepted;
