//! `docs/promises.md`: the promises of the documentation about data, with the test that checks each and its worst figure, from
//! the table `docs/promises.json`.

use std::fmt::Write;
use std::fs;

use serde_json::Value;

use crate::workspace::root;

const TABLE: &str = "docs/promises.json";
const PAGE: &str = "docs/promises.md";

/// A promise of a page.
struct Promise {
    /// The promise, in a few words.
    what: String,
    /// The page, and words of it.
    page: String,
    words: String,
    /// The test or simulation, `FILE::FUNCTION`.
    test: String,
    /// The worst figure that was found.
    worst: String,
    /// The processor and the date of that.
    on: String,
}

/// Writes the page; an error if a page or a test does not hold what the table says.
pub(crate) fn write() -> Result<usize, String> {
    let promises = read()?;
    promises.iter().try_for_each(Promise::check)?;
    fs::write(root().join(PAGE), page(&promises)).map_err(|error| format!("{PAGE}: {error}"))?;
    Ok(promises.len())
}

fn read() -> Result<Vec<Promise>, String> {
    let table: Value = serde_json::from_str(&text(TABLE)?).map_err(|error| format!("{TABLE}: {error}"))?;
    let rows = table.as_array().ok_or_else(|| format!("{TABLE}: is not a list"))?;
    rows.iter().map(Promise::of).collect()
}

fn text(path: &str) -> Result<String, String> {
    fs::read_to_string(root().join(path)).map_err(|error| format!("{path}: {error}"))
}

impl Promise {
    fn of(row: &Value) -> Result<Self, String> {
        let field = |name: &str| {
            let value = row[name].as_str().ok_or_else(|| format!("{TABLE}: a row lacks {name}: {row}"))?;
            Ok::<_, String>(value.to_owned())
        };
        Ok(Self {
            what: field("what")?,
            page: field("page")?,
            words: field("words")?,
            test: field("test")?,
            worst: field("worst")?,
            on: field("on")?,
        })
    }

    /// Checks that the page has the words and that the test exists.
    fn check(&self) -> Result<(), String> {
        let joined = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        if !joined(&text(&self.page)?).contains(&joined(&self.words)) {
            return Err(format!("{}: does not say `{}`", self.page, self.words));
        }
        let (file, function) =
            self.test.split_once("::").ok_or_else(|| format!("{}: names no function", self.test))?;
        let found = text(file)?;
        if ["fn", "def"].iter().any(|keyword| found.contains(&format!("{keyword} {function}("))) {
            Ok(())
        } else {
            Err(format!("{file}: has no test {function}"))
        }
    }
}

fn page(promises: &[Promise]) -> String {
    let mut out = String::from(
        "# Promises\n\nThe documentation makes these promises about data, in figures. Each has the test or simulation that checks it, and the \
         worst\nfigure that was found. Made by `cargo xtask promises` from `promises.json`, which fails if a page no longer says so or \
         a test is gone.\n\n| promise | page | test | worst | processor, date |\n|---|---|---|---|---|\n",
    );
    for Promise { what, page, test, worst, on, .. } in promises {
        let (file, function) = test.split_once("::").unwrap_or((test, ""));
        let _ =
            writeln!(out, "| {what} | [{page}](../{page}) | [`{function}`](../{file}) | {worst} | {on} |");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_matches_the_table_and_every_promise_has_words_and_a_test() {
        let promises = read().unwrap();
        promises.iter().try_for_each(Promise::check).unwrap();
        assert!(promises.len() > 15 && text(PAGE).unwrap() == page(&promises), "run cargo xtask promises");
    }
}
