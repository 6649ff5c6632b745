//! Names of rows or columns from separate files.

use std::path::{Path, PathBuf};

use karhunen::error::{OptionValue, Phrase};

use crate::input::{Input, decompressed};
use crate::option_names;
use crate::{Cause, Error, Place, ReadOptions, Result, Table};

/// Adds to a table the names that the options take from separate files.
///
/// # Errors
/// Same errors as [`read_names`].
pub(crate) fn named(path: &Path, mut table: Table, options: &ReadOptions) -> Result<Table> {
    let (n, p) = table.data.shape();
    let (samples, features) = listed(options, n, p)?;
    let lists = [
        (&options.feature_names, "columns", features, &mut table.feature_names),
        (&options.sample_names, "rows", samples, &mut table.sample_names),
    ];
    for (path, what, list, names) in lists {
        let (Some(path), Some(list)) = (path, list) else { continue };
        if names.replace(list).is_some() {
            table.notes.push(format!("the {what} have the names of {}, not their own", path.display()));
        }
    }
    let fitted = options.fitted.as_ref().filter(|fitted| fitted.of_file.transposed && !options.transpose);
    if table.feature_names.is_none() && n == p && fitted.is_some_and(|fitted| fitted.n_features == p) {
        let question = Phrase::new(
            "the model was fitted to a file with its samples in columns, and this one has as many rows as columns, \
             without names; use ",
        );
        let advice = question.setting(option_names::TRANSPOSE, OptionValue::Flag(true));
        let message =
            advice.text(" if its samples are columns too; if they are rows, give its columns names");
        return Err(Error::new(path, Cause::option(message)));
    }
    Ok(table)
}

/// The names of the rows and of the columns, if the options take them from separate files.
type Lists = (Option<Vec<String>>, Option<Vec<String>>);

/// Reads the names of `n` rows and of `p` columns from the separate files that the options give.
///
/// # Errors
/// Same errors as [`read_names`].
pub(crate) fn listed(options: &ReadOptions, n: usize, p: usize) -> Result<Lists> {
    let read = |path: &Option<PathBuf>, what, n_expected| {
        path.as_ref().map(|path| read_names(path, what, n_expected, options)).transpose()
    };
    let features = read(&options.feature_names, "columns", p)?;
    Ok((read(&options.sample_names, "rows", n)?, features))
}

/// Reads `n_expected` names from a text file with one name per line; a line is a name in full. Empty lines at the
/// end are ignored; packed files are unpacked; `-` reads standard input. Messages call the names `what`.
///
/// # Errors
/// [`Cause::Io`] if the file cannot be read; [`Cause::Format`] if it is not text, has an empty line before the
/// last name, or another number of names.
fn read_names(path: &Path, what: &str, n_expected: usize, options: &ReadOptions) -> Result<Vec<String>> {
    decompressed(Input::open_within(path, options.most_unpacked())?, options)?.through(|input| {
        let bytes = input.as_slice();
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let at = |line: usize, message: String| {
            let line = Some(line as u64 + 1);
            Error::at(path, Place { line, ..Place::default() }, Cause::format(message))
        };
        let (mut names, mut n_found) = (Vec::with_capacity(n_expected.min(bytes.len())), 0);
        for (line, text) in bytes.trim_ascii_end().split(|&byte| byte == b'\n').enumerate() {
            let not_text = || at(line, "is not UTF-8 text; give one name on each line".to_owned());
            let name = std::str::from_utf8(text).map_err(|_| not_text())?.trim_end_matches('\r');
            if name.contains('\0') {
                return Err(not_text());
            }
            if name.trim().is_empty() {
                return Err(at(line, format!("is empty; give a name for each of the {what}")));
            }
            n_found += 1;
            if n_found <= n_expected {
                names.push(name.to_owned());
            }
        }
        if n_found != n_expected {
            let message = format!("holds {n_found} names, but the data have {n_expected} {what}");
            return Err(Error::new(path, Cause::format(message)));
        }
        Ok(names)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: &[u8], n: usize) -> std::result::Result<Vec<String>, String> {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        std::fs::write(&path, content).unwrap();
        read_names(&path, "columns", n, &ReadOptions::default())
            .map_err(|error| error.to_string().replace(&path.display().to_string(), "n"))
    }

    #[test]
    fn names_stand_on_lines() {
        let expected = Ok(vec!["a b".to_owned(), "c,\"d\"".to_owned()]);
        assert_eq!(read(b"a b\nc,\"d\"", 2), expected);
        assert_eq!(read(b"\xef\xbb\xbfa b\r\nc,\"d\"\r\n\r\n", 2), expected);
    }

    #[test]
    fn what_is_not_a_list_of_names_is_refused() {
        let refused: [(&[u8], &str); 5] = [
            (b"a\nb\nc\n", "n: holds 3 names, but the data have 2 columns"),
            (b"a\n", "n: holds 1 names, but the data have 2 columns"),
            (b"a\n\nb\n", "n: line 2: is empty; give a name for each of the columns"),
            (b"", "n: line 1: is empty; give a name for each of the columns"),
            (b"a\n\xff\n", "n: line 2: is not UTF-8 text; give one name on each line"),
        ];
        for (content, message) in refused {
            assert_eq!(read(content, 2), Err(message.to_owned()));
        }
    }
}
