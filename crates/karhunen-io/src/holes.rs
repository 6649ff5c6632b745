//! Tables with missing values, and their completed copies.

use std::path::Path;

use karhunen::{Matrix, Observed, Run, Scalar};

use crate::csv::Form;
use crate::input::decompressed;
use crate::input::{Bytes, Input};
use crate::name_list::named;
use crate::read::{Format, read_input, sniff};
use crate::replace::{Staged, stage};
use crate::write::{Format as Written, format_of};
use crate::{Error, NamedMatrix, ObservedData, ReadOptions, Result, Table, csv, stage_table};

/// A table with missing values, and its text if it was read from one.
#[derive(Debug)]
pub struct HoledTable {
    /// The table: missing values are NaN, or not stored.
    pub table: Table,
    text: Option<(Input, Form)>,
}

/// Reads a table whose values may be missing; `-` reads standard input.
///
/// # Errors
/// As [`crate::read`].
pub fn read_holed(path: &Path, options: &ReadOptions) -> Result<HoledTable> {
    let options = &ReadOptions { missing: true, ..options.clone() };
    decompressed(Input::open_within(path, options.most_unpacked())?, options)?.through(|input| {
        if sniff(input.as_slice(), path) != Format::Text {
            return Ok(HoledTable { table: named(read_input(input, options)?, options)?, text: None });
        }
        // Copies the text, which is read a second time after the last check for changes.
        let input = Input { path: input.path, bytes: Bytes::Owned(input.bytes.into_owned()) };
        let (table, form) = csv::read_form(&input, options)?;
        Ok(HoledTable { table: named(table, options)?, text: Some((input, form)) })
    })
}

impl HoledTable {
    /// Prepares a file with the missing values replaced by `value(row, column)`, in the format of the extension of
    /// `path`. Observed values keep their bits. From text to text with the same delimiter (`-` accepts any), all
    /// other characters are unchanged; otherwise names and labels become the first columns, and other columns set
    /// aside are omitted.
    /// # Errors
    /// As [`stage_table`]; [`crate::Cause::Library`] for infinite values.
    pub fn stage_filled(&self, path: &Path, value: &dyn Fn(usize, usize) -> f64) -> Result<Staged> {
        let format = format_of(path)?;
        let same = |form: &Form| {
            let kept = path.as_os_str() == "-" || matches!(path.extension(), Some(csv) if csv == "csv");
            match (format, form.delimiter()) {
                (Written::Text { delimiter }, Some(found)) => found == delimiter || (kept && found != b'\t'),
                _ => false,
            }
        };
        match &self.text {
            Some((input, form)) if same(form) => {
                let text = form.fill(input, value)?;
                stage(path, |sink| sink.write_all(&text))
            }
            _ => {
                let observed = self.table.data.observed(&Run::default());
                let observed = observed.map_err(|error| Error::new(path, error.into()))?;
                self.table.data.check_unchanged()?;
                match observed {
                    ObservedData::F32(observed) => self.stage_matrix(path, &filled(&observed, value)),
                    ObservedData::F64(observed) => self.stage_matrix(path, &filled(&observed, value)),
                }
            }
        }
    }

    fn stage_matrix<T: Scalar>(&self, path: &Path, matrix: &Matrix<T>) -> Result<Staged> {
        let table = &self.table;
        let numbered = || (1..=matrix.n_cols()).map(|j| format!("x{j}")).collect();
        let table = NamedMatrix {
            matrix,
            row_names: table.sample_names.as_deref(),
            row_header: table.id_name.as_deref().unwrap_or("sample"),
            labels: &table.labels,
            column_names: &table.feature_names.clone().unwrap_or_else(numbered),
            numeric_ids: false,
        };
        stage_table(path, &table)
    }
}

/// The observed values, and `value` elsewhere.
fn filled<T: Scalar>(observed: &Observed<T>, value: &dyn Fn(usize, usize) -> f64) -> Matrix<T> {
    let (n, p) = observed.shape();
    let mut matrix = Matrix::zeros(n, p);
    for i in 0..n {
        let (columns, values) = observed.row(i);
        let mut seen = columns.iter().zip(values).peekable();
        for (j, x) in matrix.row_mut(i).iter_mut().enumerate() {
            *x = match seen.next_if(|(column, _)| **column as usize == j) {
                Some((_, value)) => *value,
                None => T::from_f64(value(i, j)),
            };
        }
    }
    matrix
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled_text(input: &str, name: &str, output: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join(name), folder.path().join(output));
        std::fs::write(&from, input).unwrap();
        let options = ReadOptions { labels: vec!["kind".to_owned()], ..ReadOptions::default() };
        let holed = read_holed(&from, &options).unwrap();
        holed.stage_filled(&to, &|row, column| (10 * row + column) as f64 + 0.25).unwrap().commit().unwrap();
        std::fs::read_to_string(to).unwrap()
    }

    #[test]
    fn text_keeps_every_letter_but_the_holes() {
        let cases = [
            (
                "id,a,kind,b\nx,1.50, k ,\ny, NA ,\"l\",2e0\n\n",
                "id,a,kind,b\nx,1.50, k ,1.25\ny, 10.25 ,\"l\",2e0\n\n",
            ),
            ("a;kind;b\r\n1,5;k;\r\n\"\";k;2,5", "a;kind;b\r\n1,5;k;1,25\r\n10,25;k;2,5"),
            ("\u{feff}a,kind\n1,k\n,k\n", "\u{feff}a,kind\n1,k\n10.25,k\n"),
        ];
        for (input, expected) in cases {
            assert_eq!(filled_text(input, "t.csv", "u.csv"), expected);
        }
    }

    #[test]
    fn another_format_keeps_names_and_labels() {
        let input = "city,a,kind,b\nx,1.50,k,\ny,,l,2\n";
        let expected = "city\tkind\ta\tb\nx\tk\t1.5\t1.25\ny\tl\t10.25\t2\n";
        assert_eq!(filled_text(input, "t.csv", "u.tsv"), expected);
    }

    #[test]
    fn parquet_keeps_bits_names_and_labels() {
        let folder = tempfile::tempdir().unwrap();
        let [csv, parquet] = ["t.csv", "t.parquet"].map(|name| folder.path().join(name));
        std::fs::write(&csv, "city,a,kind,b\nx,0.1,k,\ny,,l,2\n").unwrap();
        let options = ReadOptions { labels: vec!["kind".to_owned()], ..ReadOptions::default() };
        read_holed(&csv, &options)
            .unwrap()
            .stage_filled(&parquet, &|_, _| f64::NAN)
            .unwrap()
            .commit()
            .unwrap();
        let holed = read_holed(&parquet, &options).unwrap();
        assert_eq!(holed.table.id_name.as_deref(), Some("city"));
        let again = folder.path().join("u.csv");
        holed.stage_filled(&again, &|row, _| row as f64).unwrap().commit().unwrap();
        assert_eq!(std::fs::read_to_string(&again).unwrap(), "city,kind,a,b\nx,k,0.1,0\ny,l,1,2\n");
    }
}
