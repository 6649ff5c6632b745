//! Finds columns by the names that the user gives, or refuses them with the list of existing names.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use karhunen::error::OptionName;

use crate::{Cause, Error, ReadOptions, Result, option_names};

/// Maximum number of names listed in a message.
const LISTED: usize = 12;

/// Longer names are shortened in messages.
const MOST_LETTERS: usize = 80;

/// Index of the column that the option `option` names; counted from one if there are no names.
///
/// # Errors
/// [`Cause::Column`] for a name that does not exist or is not unique, with the closest or all names.
pub(crate) fn find_column(
    path: &Path,
    option: OptionName,
    wanted: &str,
    names: Option<&[String]>,
    n_columns: usize,
) -> Result<usize> {
    let refuse =
        |problem: String| Err(Error::new(path, Cause::Column { option, wanted: wanted.to_owned(), problem }));
    let Some(names) = names else {
        return match wanted.parse::<usize>() {
            Ok(number) if (1..=n_columns).contains(&number) => Ok(number - 1),
            _ => refuse(format!("the columns have no names; give a number from 1 to {n_columns}")),
        };
    };
    let mut matching = (0..names.len()).filter(|&column| names[column] == wanted);
    match (matching.next(), matching.next()) {
        (Some(column), None) => Ok(column),
        (Some(first), Some(second)) => {
            refuse(format!("columns {} and {} are both called so; rename one", first + 1, second + 1))
        }
        (None, _) => refuse(match closest(wanted, names) {
            Some(name) => {
                format!("there is no such column; did you mean `{}`?", shortened(name))
            }
            None => format!("there is no such column; there are {}", list(names)),
        }),
    }
}

/// The columns that [`ReadOptions::columns`] leaves out among those that `may_be_left_out`; none if it names none.
///
/// # Errors
/// As [`find_column`]; [`Cause::Column`] for a column that another option takes, if `is_free` is false.
pub(crate) fn unchosen(
    path: &Path,
    options: &ReadOptions,
    names: Option<&[String]>,
    is_free: &[bool],
) -> Result<Vec<usize>> {
    let mut wanted = vec![options.columns.is_empty(); is_free.len()];
    for name in &options.columns {
        let option = option_names::COLUMNS;
        let column = find_column(path, option, name, names, is_free.len())?;
        if !is_free[column] {
            let problem = "the column is already taken by another option".to_owned();
            return Err(Error::new(path, Cause::Column { option, wanted: name.clone(), problem }));
        }
        wanted[column] = true;
    }
    Ok((0..is_free.len()).filter(|column| is_free[*column] && !wanted[*column]).collect())
}

/// The position of each name, for many look-ups.
#[derive(Debug)]
pub(crate) struct NameTable<'a> {
    /// `None` for a name that repeats.
    places: HashMap<&'a str, Option<usize>>,
}

impl<'a> NameTable<'a> {
    /// Indexes these names.
    pub(crate) fn of(names: &'a [String]) -> Self {
        let mut places = HashMap::with_capacity(names.len());
        for (place, name) in names.iter().enumerate() {
            places.entry(name.as_str()).and_modify(|at| *at = None).or_insert(Some(place));
        }
        Self { places }
    }

    /// Index of the only column with this name.
    pub(crate) fn only(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied().flatten()
    }
}

/// A name as shown in messages: a longer one is cut after 80 characters and ends with an ellipsis.
///
/// ```
/// assert_eq!(karhunen_io::shortened("height"), "height");
/// assert_eq!(karhunen_io::shortened(&"x".repeat(12_000)), "x".repeat(80) + "…");
/// ```
pub fn shortened(name: &str) -> Cow<'_, str> {
    cut(name, MOST_LETTERS)
}

/// A text, cut after `most` characters with an ellipsis.
pub(crate) fn cut(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

/// As [`cut`], with characters that do not show escaped.
pub(crate) fn printable(text: &str, most: usize) -> String {
    let escaped = |c: char| match c {
        '\'' | '"' | '\\' => c.to_string(),
        c => c.escape_debug().to_string(),
    };
    cut(text, most).chars().map(escaped).collect()
}

/// The names in backquotes, at most twelve.
pub(crate) fn list(names: &[String]) -> String {
    let mut text: Vec<String> =
        names.iter().take(LISTED).map(|name| format!("`{}`", shortened(name))).collect();
    if names.len() > LISTED {
        text.push(format!("… ({} in all)", names.len()));
    }
    text.join(", ")
}

/// A name, quoted for a shell, and cut after a thousand characters.
///
/// ```
/// assert_eq!(karhunen_io::shell_word("x.csv"), "x.csv");
/// assert_eq!(karhunen_io::shell_word("my file's"), "\"my file's\"");
/// ```
pub fn shell_word(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-.:/…".contains(c);
    /// Most characters of a word that is to be copied.
    const MOST: usize = 1000;
    let name = cut(name, MOST);
    if !name.is_empty() && name.chars().all(plain) {
        name.into_owned()
    } else if name.contains('\'') && !name.contains(['"', '$', '`', '\\', '!']) {
        format!("\"{name}\"")
    } else {
        format!("'{}'", name.replace('\'', r"'\''"))
    }
}

/// The file next to one that does not exist with the closest name, if one is close.
pub fn similar_file(path: &Path) -> Option<PathBuf> {
    /// Most names that are compared.
    const MOST: usize = 10_000;
    let wanted = path.file_name()?.to_str()?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let entries = std::fs::read_dir(folder.unwrap_or(Path::new("."))).ok()?;
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.ok()?.file_name().into_string().ok();
    let names: Vec<String> = entries.take(MOST).filter_map(name).collect();
    closest(wanted, &names).map(|name| path.with_file_name(name))
}

/// The closest name to `wanted`, ignoring case, if at most a third of the characters differ.
fn closest<'a>(wanted: &str, names: &'a [String]) -> Option<&'a str> {
    let wanted: Vec<char> = wanted.to_lowercase().chars().collect();
    let limit = wanted.len() / 3;
    names
        .iter()
        .map(|name| (edit_distance(&wanted, &name.to_lowercase().chars().collect::<Vec<_>>()), name.as_str()))
        .filter(|&(distance, _)| distance <= limit)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, name)| name)
}

/// Levenshtein distance, computed one row of the table at a time.
fn edit_distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::option_names;

    #[test]
    fn columns_are_found_or_refused_with_what_exists() {
        let names = ["Murder", "Assault", "Rape", "Rape"].map(str::to_owned);
        let find = |wanted: &str| find_column(Path::new("f"), option_names::LABELS, wanted, Some(&names), 4);
        assert_eq!(find("Assault").unwrap(), 1);
        let cases = [
            ("murdr", "f: labels = murdr: there is no such column; did you mean `Murder`?"),
            ("1", "f: labels = 1: there is no such column; there are `Murder`, `Assault`, `Rape`, `Rape`"),
            ("Rape", "f: labels = Rape: columns 3 and 4 are both called so; rename one"),
        ];
        for (wanted, message) in cases {
            assert_eq!(find(wanted).unwrap_err().to_string(), message);
        }
        assert_eq!(find_column(Path::new("f"), option_names::LABELS, "4", None, 4).unwrap(), 3);
        for wanted in ["0", "5", "x"] {
            let error =
                find_column(Path::new("f"), option_names::LABELS, wanted, None, 4).unwrap_err().to_string();
            assert_eq!(
                error,
                format!("f: labels = {wanted}: the columns have no names; give a number from 1 to 4")
            );
        }
    }

    #[test]
    fn names_that_repeat_have_no_place() {
        let names = ["a", "b", "a", "c"].map(str::to_owned);
        let table = NameTable::of(&names);
        assert_eq!(["a", "b", "c", "d"].map(|name| table.only(name)), [None, Some(1), Some(3), None]);
    }

    #[test]
    fn distances_agree_with_levenshtein() {
        for (a, b, distance) in [("kitten", "sitting", 3), ("", "abc", 3), ("abc", "abc", 0), ("ab", "ba", 2)]
        {
            let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
            assert_eq!(edit_distance(&a, &b), distance);
        }
    }
}
