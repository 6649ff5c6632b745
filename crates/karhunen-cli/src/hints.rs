//! Hints about columns that are probably not features, or whose variance dominates; each states a remedy. A fit
//! prints the hints, which change no result.

use std::collections::HashSet;

use karhunen::pca::{Centring, Scaling};
use karhunen::{Matrix, PcaModel, Scalar};
use karhunen_io::{Data, ObservedData, Values, shell_word, shortened};

use crate::figures::percent;

/// Minimum number of rows for a hint.
const FEWEST_ROWS: usize = 10;
/// Maximum number of distinct codes of a class column.
const MOST_CODES: usize = 20;
/// Maximum number of empty columns named in a note.
const MOST_EMPTY: usize = 4;
/// A dominant column has this fraction of the total variance, and this multiple of the others' average variance.
const DOMINANT: (f64, f64) = (0.95, 1000.0);

/// The remedy for a dominant column.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ScaleAdvice {
    /// The fit can scale the columns.
    Option,
    /// The data must be scaled before the fit.
    Before,
}

/// A table as the hints read it.
trait Columns {
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

/// Hints about the columns of a table; `names` are their names, if any.
pub(crate) fn of_table(data: &Data, names: Option<&[String]>) -> Vec<String> {
    match data {
        Data::F32(Values::Sparse(_)) | Data::F64(Values::Sparse(_)) => Vec::new(),
        Data::F32(values) => of_columns(values, names),
        Data::F64(values) => of_columns(values, names),
    }
}

/// As [`of_table`], for a table with missing values.
pub(crate) fn of_observed(data: &ObservedData, names: Option<&[String]>) -> Vec<String> {
    of_columns(data, names)
}

fn of_columns(columns: &dyn Columns, names: Option<&[String]>) -> Vec<String> {
    let (n, p) = columns.shape();
    if n < FEWEST_ROWS || p < 2 {
        return Vec::new();
    }
    (0..p).filter_map(|j| of_column(columns, names, j)).collect()
}

fn of_column(columns: &dyn Columns, names: Option<&[String]>, j: usize) -> Option<String> {
    let (n, p) = columns.shape();
    let name = names.map(|names| names[j].to_lowercase());
    let (is_id, is_class) = match &name {
        Some(name) => (is_id_name(name), is_class_name(name)),
        None => (false, j == 0 || j + 1 == p),
    };
    // A few rows exclude almost every column.
    let first = columns.column(j, FEWEST_ROWS.min(n))?;
    let counts =
        |values: &[f64]| values[0].fract() == 0.0 && values.windows(2).all(|pair| pair[1] == pair[0] + 1.0);
    if !(is_id || is_class || counts(&first)) || first.iter().any(|x| x.fract() != 0.0) {
        return None;
    }
    let values = columns.column(j, n)?;
    if values.iter().any(|x| x.fract() != 0.0) {
        return None;
    }
    let shown = match names {
        Some(names) => format!("`{}`", shortened(&names[j])),
        None => (j + 1).to_string(),
    };
    let label = names.map_or_else(|| (j + 1).to_string(), |names| shell_word(&names[j]));
    let different: HashSet<u64> = values.iter().map(|x| x.to_bits()).collect();
    if counts(&values) {
        return Some(format!(
            "column {shown} counts the rows and is fitted as a feature; if it only numbers them, say --label {label}"
        ));
    }
    if is_id && different.len() == n {
        return Some(format!(
            "column {shown} holds whole numbers that all differ and is fitted as a feature; if they are ids, say --label {label}"
        ));
    }
    let holds_codes = (2..=MOST_CODES).contains(&different.len()) && different.len() * 5 <= n;
    let is_coded = match names {
        Some(_) => is_class && holds_codes,
        None => {
            is_class
                && holds_codes
                && different.len() <= 10
                && codes_run(&different)
                && others_are_decimal(columns, j)
        }
    };
    is_coded.then(|| {
        format!(
            "column {shown} holds {} whole numbers and is fitted as a feature; if they stand for classes, say --label {label}",
            different.len()
        )
    })
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

fn is_id_name(name: &str) -> bool {
    const NAMES: [&str; 14] = [
        "id",
        "index",
        "idx",
        "row",
        "rowid",
        "rownum",
        "row number",
        "no",
        "nr",
        "number",
        "key",
        "unnamed: 0",
        "record",
        "observation",
    ];
    NAMES.contains(&name) || ["_id", ".id", " id", "-id"].iter().any(|end| name.ends_with(end))
}

fn is_class_name(name: &str) -> bool {
    const NAMES: [&str; 11] = [
        "class",
        "target",
        "label",
        "species",
        "group",
        "cluster",
        "category",
        "diagnosis",
        "outcome",
        "y",
        "classes",
    ];
    NAMES.contains(&name)
}

/// A hint about a column that determines the first component by its unit alone. The variance of a column is at
/// least the part that this component explains.
pub(crate) fn of_model(model: &PcaModel, names: Option<&[String]>) -> Option<String> {
    let options = model.options();
    let (total, p) = (model.total_variance(), model.n_features());
    let weighted = model.parts().feature_weights.is_some();
    let as_measured = options.scale == Scaling::None && options.center == Centring::Mean;
    if !as_measured || weighted || p < 2 || model.n_samples() < FEWEST_ROWS {
        return None;
    }
    let first = *model.explained_variance().first()?;
    let parts = (0..p).map(|j| first * model.components()[(0, j)].powi(2));
    let (j, part) = parts.enumerate().max_by(|a, b| a.1.total_cmp(&b.1))?;
    dominant(j, part, total, p, names, ScaleAdvice::Option)
}

/// As [`of_model`], from the variances of the columns of `n` rows.
pub(crate) fn of_variances(
    variances: &[f64],
    n: usize,
    names: Option<&[String]>,
    advice: ScaleAdvice,
) -> Option<String> {
    if n < FEWEST_ROWS {
        return None;
    }
    let (j, largest) = variances.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1))?;
    dominant(j, largest, variances.iter().sum(), variances.len(), names, advice)
}

fn dominant(
    j: usize,
    variance: f64,
    total: f64,
    p: usize,
    names: Option<&[String]>,
    advice: ScaleAdvice,
) -> Option<String> {
    let others = (total - variance) / (p as f64 - 1.0);
    let is_so = total.is_finite()
        && variance >= DOMINANT.0 * total
        && others > 0.0
        && variance >= DOMINANT.1 * others;
    let shown = match names {
        Some(names) => format!("`{}`", shortened(&names[j])),
        None => (j + 1).to_string(),
    };
    let advice = match advice {
        ScaleAdvice::Option => "say --scale",
        ScaleAdvice::Before => "divide the columns by their standard deviations before",
    };
    is_so.then(|| {
        format!(
            "column {shown} has {} of the variance, so that the others hardly count; if that is only its unit, {advice}",
            percent(variance / total)
        )
    })
}

/// The variances of the columns of observed entries; zero for columns with fewer than two.
pub(crate) fn variances(data: &ObservedData) -> Vec<f64> {
    let p = data.shape().1;
    match data {
        ObservedData::F32(observed) => {
            (0..p).map(|j| variance(observed.column(j).1.iter().map(|x| f64::from(*x)))).collect()
        }
        ObservedData::F64(observed) => {
            (0..p).map(|j| variance(observed.column(j).1.iter().copied())).collect()
        }
    }
}

/// Number of observed values of each column.
pub(crate) fn n_values(data: &ObservedData) -> Vec<usize> {
    let p = data.shape().1;
    match data {
        ObservedData::F32(observed) => (0..p).map(|j| observed.column(j).1.len()).collect(),
        ObservedData::F64(observed) => (0..p).map(|j| observed.column(j).1.len()).collect(),
    }
}

/// The note that names the columns without values (`empty`), which are nevertheless predicted.
pub(crate) fn of_empty_columns(empty: &[usize], names: Option<&[String]>) -> Option<String> {
    let shown = |j: &usize| match names {
        Some(names) => format!("{} (`{}`)", j + 1, names[*j]),
        None => (j + 1).to_string(),
    };
    let label = |j: &usize| names.map_or_else(|| (j + 1).to_string(), |names| shell_word(&names[*j]));
    let (columns, it) = match empty {
        [] => return None,
        [only] => (format!("column {} holds", shown(only)), "it"),
        several => {
            let listed: Vec<String> = several.iter().take(MOST_EMPTY).map(shown).collect();
            let more = match several.len() - listed.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            (format!("columns {}{more} hold", listed.join(", ")), "them")
        }
    };
    Some(format!(
        "{columns} no value: what fills {it} comes from the other columns (the mean of all entries, unless --mean or --mean-prior \
         say otherwise); set {it} aside with --label {}",
        label(&empty[0])
    ))
}

/// The variances of the columns of a dense table.
pub(crate) fn table_variances(data: &Data) -> Vec<f64> {
    let all = |columns: &dyn Columns| {
        let (n, p) = columns.shape();
        (0..p).filter_map(|j| Some(variance(columns.column(j, n)?.into_iter()))).collect()
    };
    match data {
        Data::F32(values) => all(values),
        Data::F64(values) => all(values),
    }
}

/// Welford's recurrence: no sums of squares that could overflow or cancel.
fn variance(values: impl Iterator<Item = f64>) -> f64 {
    let (mut n, mut mean, mut sum) = (0.0, 0.0, 0.0);
    for x in values {
        n += 1.0;
        let change = x - mean;
        mean += change / n;
        sum += change * (x - mean);
    }
    if n > 1.0 { sum / (n - 1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use karhunen_io::Buffer;

    use super::*;

    fn table(columns: &[&dyn Fn(usize) -> f64], n: usize) -> Data {
        let values = columns.iter().flat_map(|column| (0..n).map(column)).collect();
        let buffer = Buffer::Owned(values);
        Data::F64(Values::Dense { buffer, n_rows: n, n_cols: columns.len(), column_major: true })
    }

    fn names(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    fn x(i: usize) -> f64 {
        (i * i % 7) as f64 + 0.25
    }

    #[test]
    fn ids_and_classes_are_told_from_features() {
        let counter = |i: usize| i as f64 + 1.0;
        let scattered = |i: usize| (i * 7 % 31) as f64 * 1000.0;
        let codes = |i: usize| (i / 10 % 3) as f64;
        let hints = |second: &dyn Fn(usize) -> f64, called: Option<&str>| {
            let data = table(&[&x, second], 30);
            let names = called.map(|name| names(&format!("x {name}")));
            of_table(&data, names.as_deref())
        };
        let counts = "column `row` counts the rows and is fitted as a feature; if it only numbers them, say --label row";
        assert_eq!(hints(&counter, Some("row")), [counts]);
        assert_eq!(hints(&counter, Some("anything")).len(), 1);
        assert_eq!(hints(&counter, None).len(), 1);
        let ids = hints(&scattered, Some("patient_id"));
        assert!(ids[0].ends_with("if they are ids, say --label patient_id"), "{ids:?}");
        let classes = hints(&codes, Some("Class"));
        assert!(classes[0].ends_with("if they stand for classes, say --label Class"), "{classes:?}");
        assert!(hints(&codes, None)[0].ends_with("say --label 2"));
        // Counts and flags with other names are features.
        assert!(hints(&scattered, Some("steps")).is_empty());
        assert!(hints(&codes, Some("children")).is_empty());
        assert!(hints(&x, Some("id")).is_empty());
        let few = table(&[&x, &counter], 9);
        assert!(of_table(&few, None).is_empty());
        // A table of integers may hold ratings or counts.
        let whole = table(&[&|i| (i % 5) as f64, &codes], 30);
        assert!(of_table(&whole, None).is_empty());
    }

    #[test]
    fn one_unit_that_drowns_the_others_is_named() {
        let hint = of_variances(&[1.0, 4000.0, 2.0], 30, Some(&names("a b c")), ScaleAdvice::Before).unwrap();
        assert!(hint.starts_with("column `b` has 99.93% of the variance"), "{hint}");
        assert_eq!(of_variances(&[1.0, 4000.0, 2.0], 9, None, ScaleAdvice::Before), None);
        for variances in [&[1.0, 800.0][..], &[4000.0], &[0.0, 5.0], &[3000.0, 2.0, 900.0], &[f64::NAN, 1.0]]
        {
            assert_eq!(of_variances(variances, 30, None, ScaleAdvice::Option), None, "{variances:?}");
        }
    }
}
