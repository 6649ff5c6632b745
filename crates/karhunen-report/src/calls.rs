//! The calls that repeat a fit and its report.

use crate::Report;

/// The calls of one interface.
#[derive(serde::Serialize)]
pub(crate) struct Calls {
    heading: &'static str,
    text: String,
}

/// The rows of a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Given {
    /// There are none.
    Nothing,
    /// Rows without limits.
    Rows,
    /// Rows with limits of a level.
    Limited,
}

impl Given {
    /// Rows with limits, if there are rows.
    pub(crate) fn limited(with_rows: bool) -> Self {
        if with_rows { Self::Limited } else { Self::Nothing }
    }
}

/// The calls on the command line and in Python. `fit` are the options of the command, `estimator` is the expression of the
/// unfitted estimator, and `weights` are its arguments of the fit.
pub(crate) fn calls(
    report: &Report<'_>,
    given: Given,
    fit: &[String],
    (estimator, weights): (&str, &str),
) -> Vec<Calls> {
    let estimator = report.estimator.unwrap_or(estimator);
    let rows = match given {
        Given::Nothing => String::new(),
        Given::Rows => ", X".to_owned(),
        Given::Limited => format!(", X, level={}", report.level),
    };
    let python = format!(
        "import karhunen\n\npca = karhunen.{estimator}\npca.fit(X{weights})\npca.report(\"report.html\"{rows})"
    );
    vec![
        Calls { heading: "On the command line", text: command_line(report, given, fit) },
        Calls { heading: "In Python", text: python },
    ]
}

fn command_line(report: &Report<'_>, given: Given, options: &[String]) -> String {
    let (fitted, data) = (word(report.model_name), word(report.data_name));
    let input: Vec<String> = report.data_options.iter().map(|option| word(option)).collect();
    let mut fit = vec![format!("karhunen fit {data}")];
    fit.extend(input.iter().chain(options).cloned());
    fit.push(format!("-o {fitted}"));
    let mut page = vec![format!("karhunen report {fitted}")];
    if given != Given::Nothing {
        page.push(data);
        page.extend(input);
    }
    if given == Given::Limited {
        page.push(format!("--level {}", report.level));
    }
    page.push("-o report.html".to_owned());
    format!("{}\n{}", fit.join(" "), page.join(" "))
}

/// A word of a shell command, in quotes where it needs them.
fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/+,:@%=".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_shell_are_quoted() {
        assert_eq!([word("a.csv"), word("a b"), word("it's")], ["a.csv", "'a b'", "'it'\\''s'"]);
    }
}
