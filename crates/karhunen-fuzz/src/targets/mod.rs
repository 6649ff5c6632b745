//! What is searched: each target takes the bytes of an input and holds what karhunen makes of it to the invariants.

mod command;
mod list;
mod model;
mod options;
mod table;
mod trial;

use std::path::Path;

/// Whether karhunen took an input or refused it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was read, and what follows from it was computed.
    Accepted,
    /// It was refused with an error.
    Refused,
}

/// What came of an input; the error is the invariant that was broken.
pub type Verdict = Result<Outcome, String>;

/// A part of karhunen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The readers of tables, sparse matrices and triples, and fits of what they read.
    Table,
    /// Files of weights and of names.
    List,
    /// Model files and checkpoints.
    Model,
    /// Options of fits as JSON.
    Options,
    /// The command `karhunen`, several commands in a row.
    Command,
    /// No part of karhunen: breaks as its input says, to try the search itself.
    Trial,
}

impl Target {
    /// All parts of karhunen.
    pub const ALL: [Target; 5] =
        [Target::Table, Target::List, Target::Model, Target::Options, Target::Command];

    /// As it is typed, and the name of its folders.
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

    /// Runs an input, which lies at `path`.
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

/// A number of the content, by which a target chooses among what it can do: the same for the same bytes.
fn choice(bytes: &[u8], n: usize) -> usize {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    ((hash >> 32) % n as u64) as usize
}

/// Refuses the first thing that does not hold.
fn hold(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}

/// Refuses numbers that are not finite.
fn all_finite<'a>(what: &str, values: impl IntoIterator<Item = &'a f64>) -> Result<(), String> {
    match values.into_iter().find(|value| !value.is_finite()) {
        Some(value) => Err(format!("{what}: {value}")),
        None => Ok(()),
    }
}

/// Errors are one line of text that says something, and not a book.
fn check_error(message: &str) -> Result<(), String> {
    hold(!message.is_empty() && message.len() < 6000, || {
        format!("an error of {} bytes: {}", message.len(), message.chars().take(200).collect::<String>())
    })?;
    hold(!message.contains("panicked"), || format!("an error speaks of a panic: {message}"))
}

/// Ends a target where karhunen refused the input.
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
