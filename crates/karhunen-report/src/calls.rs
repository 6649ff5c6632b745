//! The calls that repeat a fit and its report.

use crate::Report;

/// The calls of one interface.
#[derive(serde::Serialize)]
pub(crate) struct Calls {
    heading: &'static str,
    text: String,
}

/// The calls on the command line and in Python. `fit` are the options of the command, `estimator` is the expression of the
/// unfitted estimator, `name` its variable, and `weights` its arguments of the fit.
pub(crate) fn calls(
    report: &Report<'_>,
    with_rows: bool,
    fit: &[String],
    (name, estimator, weights): (&str, &str, &str),
) -> Vec<Calls> {
    let estimator = report.estimator.unwrap_or(estimator);
    let rows = if with_rows { format!(", X, level={}", report.level) } else { String::new() };
    let python = format!(
        "import karhunen\n\n{name} = karhunen.{estimator}\n{name}.fit(X{weights})\n{name}.report(\"report.html\"{rows})"
    );
    vec![
        Calls { heading: "On the command line", text: command_line(report, with_rows, fit) },
        Calls { heading: "In Python", text: python },
    ]
}

fn command_line(report: &Report<'_>, with_rows: bool, options: &[String]) -> String {
    let (fitted, data) = (word(report.model_name), word(report.data_name));
    let input: Vec<String> = report.data_options.iter().map(|option| word(option)).collect();
    let mut fit = vec![format!("karhunen fit {data}")];
    fit.extend(input.iter().chain(options).cloned());
    fit.push(format!("-o {fitted}"));
    let mut page = vec![format!("karhunen report {fitted}")];
    if with_rows {
        page.push(data);
        page.extend(input);
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
