//! Columns that are probably no features: counters of rows, ids and classes. Fits name them; results do not change.

use std::collections::HashSet;

use karhunen::{Dense, Matrix, Scalar};

use crate::{Data, ObservedData, Values};

/// Minimum number of rows of a table with suspects.
const FEWEST_ROWS: usize = 10;
/// Maximum number of distinct codes of a class column.
const MOST_CODES: usize = 20;

/// A column that is probably no feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suspect {
    /// Its index.
    pub column: usize,
    /// Its content.
    pub content: SuspectContent,
}

/// The content of a suspect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuspectContent {
    /// Each value is the value of the row before plus one.
    Counter,
    /// Whole numbers that all differ, in a column with the name of ids.
    Ids,
    /// Few whole numbers, in a column with the name of classes, or by its place and the decimals of all others.
    Classes {
        /// Number of different values.
        n_classes: usize,
    },
}

impl Suspect {
    /// The hint, with the column (`` column `id` ``) and the remedy (`use --label id`) as the surface writes them.
    pub fn hint(&self, column: &str, remedy: &str) -> String {
        let (holds, condition) = match self.content {
            SuspectContent::Counter => ("counts the rows".to_owned(), "if it only numbers them"),
            SuspectContent::Ids => ("holds whole numbers that all differ".to_owned(), "if they are ids"),
            SuspectContent::Classes { n_classes } => {
                (format!("holds {n_classes} whole numbers"), "if they denote classes")
            }
        };
        format!("{column} {holds} and is fitted as a feature; {condition}, {remedy}")
    }
}

/// A table of which single columns are read.
pub trait Columns {
    /// (rows, columns).
    fn shape(&self) -> (usize, usize);
    /// The first `rows` values of a column; `None` if one is missing.
    fn column(&self, j: usize, rows: usize) -> Option<Vec<f64>>;
}

impl<T: Scalar> Columns for Values<T> {
    fn shape(&self) -> (usize, usize) {
        Values::shape(self)
    }

    fn column(&self, j: usize, rows: usize) -> Option<Vec<f64>> {
        match self {
            Values::Dense { buffer, n_rows, n_cols, column_major } => {
                let values = buffer.as_slice();
                let (start, step) = if *column_major { (j * n_rows, 1) } else { (j, *n_cols) };
                Some((0..rows).map(|i| values[start + i * step].to_f64()).collect())
            }
            Values::Blocks(blocks) => {
                let block = |block: &Matrix<T>| {
                    (0..block.n_rows()).map(|i| block[(i, j)].to_f64()).collect::<Vec<_>>()
                };
                Some(blocks.iter().flat_map(block).take(rows).collect())
            }
            Values::Sparse(_) | Values::InFile(_) => None,
        }
    }
}

impl<T: Scalar> Columns for Dense<'_, T> {
    fn shape(&self) -> (usize, usize) {
        (self.n_rows(), self.n_cols())
    }

    fn column(&self, j: usize, rows: usize) -> Option<Vec<f64>> {
        Some((0..rows).map(|i| self.get(i, j).to_f64()).collect())
    }
}

impl Columns for ObservedData {
    fn shape(&self) -> (usize, usize) {
        ObservedData::shape(self)
    }

    fn column(&self, j: usize, rows: usize) -> Option<Vec<f64>> {
        let (found, values): (_, Vec<f64>) = match self {
            ObservedData::F32(observed) => {
                let (found, values) = observed.column(j);
                (found, values[..rows.min(values.len())].iter().map(|x| f64::from(*x)).collect())
            }
            ObservedData::F64(observed) => {
                let (found, values) = observed.column(j);
                (found, values[..rows.min(values.len())].to_vec())
            }
        };
        let all_are_there =
            values.len() == rows && found[..rows].iter().enumerate().all(|(i, row)| *row as usize == i);
        all_are_there.then_some(values)
    }
}

impl Columns for Data {
    fn shape(&self) -> (usize, usize) {
        Data::shape(self)
    }

    fn column(&self, j: usize, rows: usize) -> Option<Vec<f64>> {
        match self {
            Data::F32(values) => values.column(j, rows),
            Data::F64(values) => values.column(j, rows),
        }
    }
}

/// A hint about a table in memory that is symmetric, as matrices of correlations and covariances are; `remedy` fits it as one.
pub fn symmetric_hint(table: &dyn Columns, remedy: &str) -> Option<String> {
    /// Most columns that are compared.
    const MOST: usize = 2000;
    let (n, p) = table.shape();
    if n != p || !(3..=MOST).contains(&n) {
        return None;
    }
    let x: Vec<Vec<f64>> = (0..p).map(|j| table.column(j, n)).collect::<Option<_>>()?;
    let alike = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(b.abs());
    let is_symmetric = (0..p).all(|j| (0..j).all(|i| alike(x[i][j], x[j][i])));
    is_symmetric.then(|| {
        format!(
            "the table is symmetric, as a matrix of correlations or covariances is, and its rows are fitted as \
             observations; if it is one, {remedy}"
        )
    })
}

/// Finds the suspects among columns; `names` are their names, if any. Reads a few rows of most, all rows of those alone that may
/// be suspects. Tables that stay in their file and sparse ones have none.
pub fn suspects(columns: &dyn Columns, names: Option<&[String]>) -> Vec<Suspect> {
    let (n, p) = columns.shape();
    if n < FEWEST_ROWS || p < 2 {
        return Vec::new();
    }
    let content = |j| content_of(columns, names, j).map(|content| Suspect { column: j, content });
    (0..p).filter_map(content).collect()
}

fn content_of(columns: &dyn Columns, names: Option<&[String]>, j: usize) -> Option<SuspectContent> {
    let (n, p) = columns.shape();
    let (is_id, is_class) = match names {
        Some(names) => (is_id_name(&names[j]), is_class_name(&names[j], names)),
        None => (false, j == 0 || j + 1 == p),
    };
    // A few rows exclude almost every column.
    let first = columns.column(j, FEWEST_ROWS)?;
    let counts =
        |values: &[f64]| values[0].fract() == 0.0 && values.windows(2).all(|pair| pair[1] == pair[0] + 1.0);
    if !(is_id || is_class || counts(&first)) || first.iter().any(|x| x.fract() != 0.0) {
        return None;
    }
    let values = columns.column(j, n)?;
    if values.iter().any(|x| x.fract() != 0.0) {
        return None;
    }
    if counts(&values) {
        return Some(SuspectContent::Counter);
    }
    let different: HashSet<u64> = values.iter().map(|x| x.to_bits()).collect();
    if is_id && different.len() == n {
        return Some(SuspectContent::Ids);
    }
    let holds_codes = (2..=MOST_CODES).contains(&different.len()) && different.len() * 5 <= n;
    let is_coded = is_class
        && holds_codes
        && (names.is_some()
            || (different.len() <= 10 && codes_run(&different) && others_are_decimal(columns, j)));
    is_coded.then_some(SuspectContent::Classes { n_classes: different.len() })
}

/// Tests whether the codes are 0, 1, 2, … or 1, 2, 3, ….
fn codes_run(codes: &HashSet<u64>) -> bool {
    let mut codes: Vec<f64> = codes.iter().map(|bits| f64::from_bits(*bits)).collect();
    codes.sort_by(f64::total_cmp);
    [0.0, 1.0].contains(&codes[0]) && codes.windows(2).all(|pair| pair[1] == pair[0] + 1.0)
}

/// Tests whether all columns but `j` have decimals in their first rows: a column of codes then differs in kind.
fn others_are_decimal(columns: &dyn Columns, j: usize) -> bool {
    let (n, p) = columns.shape();
    let is_decimal = |k: usize| {
        columns.column(k, FEWEST_ROWS.min(n)).is_some_and(|values| values.iter().any(|x| x.fract() != 0.0))
    };
    (0..p).filter(|k| *k != j).all(is_decimal)
}

/// Tests for names such as `class`; a `y` next to an `x` is a coordinate.
fn is_class_name(name: &str, all: &[String]) -> bool {
    const NAMES: [&str; 10] = [
        "class",
        "target",
        "label",
        "species",
        "group",
        "cluster",
        "category",
        "diagnosis",
        "outcome",
        "classes",
    ];
    let plain = plain(name);
    NAMES.contains(&plain.as_str())
        || (plain == "y" && !all.iter().any(|name| name.eq_ignore_ascii_case("x")))
}

/// Tests for names such as `id`, `row_number`, `patientId`, and the `Unnamed: 0` of an index that pandas wrote.
fn is_id_name(name: &str) -> bool {
    const NAMES: [&str; 19] = [
        "id",
        "idx",
        "rowid",
        "rownum",
        "row number",
        "unnamed: 0",
        "index",
        "row",
        "no",
        "nr",
        "number",
        "key",
        "record",
        "observation",
        "code",
        "zip",
        "zipcode",
        "zip code",
        "postcode",
    ];
    let plain = plain(name);
    let camel = name.strip_suffix("Id").or_else(|| name.strip_suffix("ID"));
    NAMES.contains(&plain.as_str())
        || plain.ends_with(" id")
        || camel.is_some_and(|before| before.ends_with(|c: char| c.is_lowercase()))
}

/// The name in lower case, with spaces between its words.
fn plain(name: &str) -> String {
    name.to_lowercase().replace(['_', '.', '-'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Buffer;

    fn found(columns: &[&dyn Fn(usize) -> f64], n: usize, names: Option<&str>) -> Vec<SuspectContent> {
        let values = columns.iter().flat_map(|column| (0..n).map(column)).collect();
        let buffer = Buffer::Owned(values);
        let (n_rows, n_cols) = (n, columns.len());
        let data = Data::F64(Values::Dense { buffer, n_rows, n_cols, column_major: true });
        let names: Option<Vec<String>> = names.map(|names| names.split(' ').map(str::to_owned).collect());
        let found = suspects(&data, names.as_deref());
        assert!(found.iter().all(|suspect| suspect.column == 1), "{found:?}");
        found.into_iter().map(|suspect| suspect.content).collect()
    }

    fn x(i: usize) -> f64 {
        (i * i % 7) as f64 + 0.25
    }

    #[test]
    fn ids_and_classes_are_told_from_features() {
        let counter = |i: usize| i as f64 + 1.0;
        let scattered = |i: usize| (i * 7 % 31) as f64 * 1000.0;
        let codes = |i: usize| (i / 10 % 3) as f64;
        let of = |second: &dyn Fn(usize) -> f64, names: Option<&str>| found(&[&x, second], 30, names);
        for names in [Some("x row"), Some("x anything"), None] {
            assert_eq!(of(&counter, names), [SuspectContent::Counter]);
        }
        for name in ["patient_id", "patient.ID", "patientId", "zip", "Code", "id"] {
            assert_eq!(of(&scattered, Some(&format!("x {name}"))), [SuspectContent::Ids], "{name}");
        }
        let classes = [SuspectContent::Classes { n_classes: 3 }];
        assert_eq!(of(&codes, Some("a Class")), classes);
        assert_eq!(of(&codes, Some("a y")), classes);
        assert_eq!(of(&codes, None), classes);
        // Coordinates, counts, flags and measures are features.
        assert_eq!(of(&codes, Some("X y")), []);
        assert_eq!(of(&codes, Some("a id")), []);
        assert_eq!(of(&codes, Some("a children")), []);
        for name in ["steps", "fluid", "VALID"] {
            assert_eq!(of(&scattered, Some(&format!("x {name}"))), [], "{name}");
        }
        assert_eq!(of(&x, Some("x id")), []);
        assert_eq!(of(&|i| if i == 20 { f64::NAN } else { counter(i) }, Some("x id")), []);
        assert_eq!(found(&[&x, &counter], 9, None), []);
        // A table of integers may hold ratings or counts.
        assert_eq!(found(&[&|i| (i % 5) as f64, &codes], 30, None), []);
    }

    #[test]
    fn hints_say_the_content_and_the_remedy() {
        let hint = |content| Suspect { column: 1, content }.hint("column `a`", "leave it out");
        let hints = [
            (SuspectContent::Counter, "counts the rows and is fitted as a feature; if it only numbers them"),
            (
                SuspectContent::Ids,
                "holds whole numbers that all differ and is fitted as a feature; if they are ids",
            ),
            (
                SuspectContent::Classes { n_classes: 3 },
                "holds 3 whole numbers and is fitted as a feature; if they denote classes",
            ),
        ];
        for (content, text) in hints {
            assert_eq!(hint(content), format!("column `a` {text}, leave it out"));
        }
    }

    #[test]
    fn strided_views_are_read_as_tables_are() {
        let values: Vec<f32> = (0..40).map(|i| if i % 2 == 0 { i as f32 / 2.0 } else { 0.5 }).collect();
        let view = Dense::row_major(&values, 20, 2).unwrap();
        assert_eq!(suspects(&view, None), [Suspect { column: 0, content: SuspectContent::Counter }]);
    }
}
