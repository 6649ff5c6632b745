//! Names of scores and features, and the matching of columns to a model.

use std::borrow::Cow;
use std::collections::HashMap;

use karhunen_io::{shell_word, shortened};

use crate::error::{Failure, Result};

/// Maximum number of names listed in a message.
const LISTED: usize = 6;

/// The name of the row offset among scores.
pub(crate) const OFFSET: &str = "offset";

/// The names of features, or `x1`, `x2`, … without names.
pub(crate) fn of_features(names: Option<&[String]>, n: usize) -> Vec<String> {
    names.map_or_else(|| (1..=n).map(|j| format!("x{j}")).collect(), <[String]>::to_vec)
}

/// Escapes characters that would act on a terminal, such as those that begin a colour or change the text
/// direction, and invisible characters.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(acts) {
        return Cow::Borrowed(text);
    }
    let escaped = |c: char| if acts(c) { c.escape_default().to_string() } else { c.to_string() };
    Cow::Owned(text.chars().map(escaped).collect())
}

/// Tests for control characters, and for Unicode format characters and separators that reorder, hide or break
/// text. The joiners U+200C and U+200D are excluded: several scripts and emoji need them.
pub(crate) fn acts(c: char) -> bool {
    let formats = matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
    c.is_control() || formats
}

/// For each column of the data, the index of the model's feature; `None` if the order is the same. Columns are
/// matched by name if both have names, and by position otherwise.
///
/// # Errors
/// [`Failure::Data`] if a feature is missing, or if a column is not a feature of the model.
pub(crate) fn order(
    n_features: usize,
    known: Option<&[String]>,
    file: &str,
    columns: Option<&[String]>,
    n_columns: usize,
) -> Result<Option<Vec<usize>>> {
    let (Some(known), Some(columns)) = (known, columns) else {
        if n_columns != n_features {
            return Err(Failure::Data(format!(
                "{file}: {n_columns} columns, but the model was fitted to {n_features}; columns without names are \
                 matched by position"
            )));
        }
        return Ok(None);
    };
    if known == columns {
        return Ok(None);
    }
    let position = positions(known, file)?;
    let found = positions(columns, file)?;
    let missing: Vec<&String> = known.iter().filter(|name| !found.contains_key(name.as_str())).collect();
    let extra: Vec<&String> = columns.iter().filter(|name| !position.contains_key(name.as_str())).collect();
    if !missing.is_empty() {
        let unknown = if extra.is_empty() {
            String::new()
        } else {
            format!(", and holds {}, which the model does not know", list(&extra))
        };
        return Err(Failure::Data(format!(
            "{file}: lacks {}, which the model was fitted to{unknown}; every feature of the model is needed",
            list(&missing)
        )));
    }
    if !extra.is_empty() {
        let labels: Vec<String> =
            extra.iter().take(LISTED).map(|name| format!("--label {}", shell_word(name))).collect();
        return Err(Failure::Data(format!(
            "{file}: has columns that the model does not have ({}); exclude non-features with {}",
            list(&extra),
            labels.join(" ")
        )));
    }
    Ok(Some(columns.iter().map(|name| position[name.as_str()]).collect()))
}

/// The position of each name; repeated names are refused.
fn positions<'a>(names: &'a [String], file: &str) -> Result<HashMap<&'a str, usize>> {
    let mut positions = HashMap::with_capacity(names.len());
    for (j, name) in names.iter().enumerate() {
        if let Some(first) = positions.insert(name.as_str(), j) {
            return Err(Failure::Data(format!(
                "{file}: the columns cannot be matched with the model's features by name, for columns {} and {} are \
                 both named `{}`; bring the columns into the order of the fit, or rename one and fit again",
                first + 1,
                j + 1,
                shortened(name)
            )));
        }
    }
    Ok(positions)
}

/// The names in backquotes, at most six.
pub(crate) fn list(names: &[&String]) -> String {
    let mut text: Vec<String> =
        names.iter().take(LISTED).map(|name| format!("`{}`", shortened(name))).collect();
    if names.len() > LISTED {
        text.push(format!("… ({} in all)", names.len()));
    }
    text.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    fn refusal(columns: &str) -> String {
        let columns = names(columns);
        let known = names("a b c");
        let failure = order(3, Some(&known), "t.csv", Some(&columns), columns.len()).unwrap_err();
        assert_eq!(failure.exit_code(), 3);
        failure.to_string()
    }

    #[test]
    fn columns_in_another_order_are_found() {
        let (known, columns) = (names("a b c"), names("c a b"));
        let found = |columns: &[String]| order(3, Some(&known), "t.csv", Some(columns), 3).unwrap();
        assert_eq!(found(&columns), Some(vec![2, 0, 1]));
        assert_eq!(found(&known), None);
    }

    #[test]
    fn many_columns_are_matched() {
        let known: Vec<String> = (0..100_000).map(|j| format!("gene {j}")).collect();
        let columns: Vec<String> = known.iter().rev().cloned().collect();
        let found = order(known.len(), Some(&known), "t.csv", Some(&columns), columns.len()).unwrap();
        assert!(found.unwrap().into_iter().eq((0..known.len()).rev()));
    }

    #[test]
    fn columns_that_do_not_match_are_named() {
        assert_eq!(
            refusal("a b"),
            "t.csv: lacks `c`, which the model was fitted to; every feature of the model is needed"
        );
        assert_eq!(
            refusal("a b d"),
            "t.csv: lacks `c`, which the model was fitted to, and holds `d`, which the model does not know; every \
             feature of the model is needed"
        );
        assert_eq!(
            refusal("a class b c"),
            "t.csv: has columns that the model does not have (`class`); exclude non-features with \
             --label class"
        );
        assert_eq!(
            refusal("a b c a"),
            "t.csv: the columns cannot be matched with the model's features by name, for columns 1 and 4 are both \
             named `a`; bring the columns into the order of the fit, or rename one and fit again"
        );
    }

    #[test]
    fn what_acts_on_a_terminal_is_escaped() {
        assert_eq!(visible("height (µm)"), "height (µm)");
        assert_eq!(
            visible("me\u{301}tre \u{645}\u{6cc}\u{200c}\u{62e}"),
            "me\u{301}tre \u{645}\u{6cc}\u{200c}\u{62e}"
        );
        // U+202E reverses the text after it: a name may look like another.
        assert_eq!(visible("gpj.\u{202e}exe\u{2066}\u{feff}"), "gpj.\\u{202e}exe\\u{2066}\\u{feff}");
        assert_eq!(visible("a\u{1b}[31mb\tc\n\u{9b}"), "a\\u{1b}[31mb\\tc\\n\\u{9b}");
    }

    #[test]
    fn without_names_the_position_decides() {
        assert_eq!(order(3, None, "t.npy", Some(&names("x y z")), 3).unwrap(), None);
        assert_eq!(
            order(3, None, "t.npy", None, 2).unwrap_err().to_string(),
            "t.npy: 2 columns, but the model was fitted to 3; columns without names are matched by position"
        );
    }
}
