//! The outcome of each package.

use std::fmt;

/// The outcome of one package.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Made; the text says its size, what it needs and what was tried.
    Made(String),
    /// Not made, or not tried, for this reason.
    Skipped(String),
    Failed(String),
}

/// A line of the report.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) package: String,
    pub(super) outcome: Outcome,
}

impl Line {
    /// The line of a package; an error is a failure.
    pub(super) fn of(package: &str, outcome: Result<Outcome, String>) -> Self {
        Self { package: package.to_owned(), outcome: outcome.unwrap_or_else(Outcome::Failed) }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (state, text) = match &self.outcome {
            Outcome::Made(text) => ("made", text),
            Outcome::Skipped(text) => ("skipped", text),
            Outcome::Failed(text) => ("FAILED", text),
        };
        write!(f, "{state:<8} {}: {text}", self.package)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_failures() {
        let line = Line::of("a.whl", Err("why".to_owned()));
        assert_eq!(line.to_string(), "FAILED   a.whl: why");
        let line = Line::of("b", Ok(Outcome::Skipped("no std".to_owned())));
        assert_eq!(line.to_string(), "skipped  b: no std");
    }
}
