//! The calls that repeat a fit and its report.

use crate::Report;

/// The calls of one interface.
#[derive(serde::Serialize)]
pub(crate) struct Calls {
    heading: &'static str,
    text: String,
}

impl Calls {
    /// The calls without the fit, of a model of sums that the page does not have: they begin with the model file.
    pub(crate) fn without_fit(self, report: &Report<'_>) -> Self {
        let of_fit = ["karhunen fit ", "X = ", "pca = ", "pca.fit("];
        let rest = self.text.lines().filter(|line| !of_fit.iter().any(|start| line.starts_with(start)));
        let load = format!("pca = karhunen.PCA.load({:?})", report.model_name);
        let lines = rest.flat_map(|line| match line {
            "import karhunen" => vec![line, "", &load],
            "" => Vec::new(),
            line => vec![line],
        });
        Self { text: lines.collect::<Vec<_>>().join("\n"), ..self }
    }
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

/// A step between the fit and the report.
pub(crate) struct Step {
    /// Words of the command line between its input and its output: the command, and its options.
    pub(crate) command: &'static str,
    pub(crate) options: Vec<String>,
    /// The Python name of its result, and the expression.
    pub(crate) result: &'static str,
    pub(crate) expression: String,
}

/// The calls on the command line and in Python. `fit` are the options of the command, `estimator` is the expression of the
/// unfitted estimator, and `weights` are its arguments of the fit.
pub(crate) fn calls(
    report: &Report<'_>,
    given: Given,
    fit: &[String],
    (estimator, weights): (&str, &str),
    step: Option<&Step>,
) -> Vec<Calls> {
    let estimator = report.estimator.unwrap_or(estimator);
    let rows = match given {
        Given::Nothing => String::new(),
        Given::Rows => ", X".to_owned(),
        Given::Limited => {
            let weights = if report.sample_weights.is_some() { ", sample_weight=weights" } else { "" };
            format!(", X{weights}, level={}", report.level)
        }
    };
    let (step_line, reported) = match step {
        Some(Step { result, expression, .. }) => (format!("{result} = {expression}\n"), (*result).to_owned()),
        None => (String::new(), "pca".to_owned()),
    };
    let cells = cells(report);
    let python = format!(
        "import karhunen\n\n{cells}pca = karhunen.{estimator}\npca.fit(X{weights})\n{step_line}{reported}.report(\"report.html\"{rows})"
    );
    vec![
        Calls { heading: "On the command line", text: command_line(report, given, fit, step) },
        Calls { heading: "In Python", text: python },
    ]
}

/// The line of Python that reads counts and normalises them, if they were.
fn cells(report: &Report<'_>) -> String {
    let Some(sum) = report.log1p else { return String::new() };
    let value_of = |flag: &str| {
        let at = report.data_options.iter().position(|word| word == flag)?;
        report.data_options.get(at + 1)
    };
    let named = |name: &str| value_of(&format!("--{name}")).map(|value| format!("{name}={value:?}, "));
    let options: String = ["layer", "mask"].into_iter().filter_map(named).collect();
    format!("X = karhunen.anndata.Cells({:?}, {options}log1p={sum:?})\n", report.data_name)
}

/// The file of the model before a step.
const BEFORE: &str = "fitted.model";

fn command_line(report: &Report<'_>, given: Given, options: &[String], step: Option<&Step>) -> String {
    let (shown, data) = (word(report.model_name), word(report.data_name));
    let fitted = if step.is_some() { BEFORE } else { &shown };
    let mut input: Vec<String> = report.data_options.iter().map(|option| word(option)).collect();
    if let Some(sum) = report.log1p {
        // The model knows the sum, which `--log1p` alone would take from the rows.
        input.retain(|option| !option.starts_with("--log1p"));
        input.push(format!("--log1p={sum}"));
    }
    let mut fit = vec![format!("karhunen fit {data}")];
    fit.extend(input.iter().chain(options).cloned());
    fit.push(format!("-o {fitted}"));
    let mut lines = vec![fit.join(" ")];
    if let Some(Step { command, options, .. }) = step {
        lines.push(format!("karhunen {command} {BEFORE} {} -o {shown}", options.join(" ")));
    }
    let mut page = vec![format!("karhunen report {shown}")];
    if given != Given::Nothing {
        page.push(data);
        page.extend(input);
    }
    if given == Given::Limited {
        if report.sample_weights.is_some() {
            page.push("--weights WEIGHTS".to_owned());
        }
        page.push(format!("--level {}", report.level));
    }
    page.push("-o report.html".to_owned());
    lines.push(page.join(" "));
    lines.join("\n")
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
