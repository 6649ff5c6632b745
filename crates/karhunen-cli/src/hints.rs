//! Hints about columns that are probably not features, or whose variance dominates; each states a remedy. A fit
//! prints the hints, which change no result.

use karhunen::PcaModel;
use karhunen::pca::{Centring, Scaling};
use karhunen_io::{Columns, Data, ObservedData, Suspect, shell_word, shortened, suspects, suspects_of};

use crate::figures::percent;

/// Minimum number of rows for a hint about variances.
const FEWEST_ROWS: usize = 10;
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

/// Hints about the columns of a table; `names` are their names, if any.
pub(crate) fn of_table(data: &Data, names: Option<&[String]>) -> Vec<String> {
    suspects_of(data, names).iter().map(|suspect| of_suspect(*suspect, names)).collect()
}

/// As [`of_table`], for a table with missing values.
pub(crate) fn of_observed(data: &ObservedData, names: Option<&[String]>) -> Vec<String> {
    suspects(data, names).iter().map(|suspect| of_suspect(*suspect, names)).collect()
}

fn of_suspect(suspect: Suspect, names: Option<&[String]>) -> String {
    let number = suspect.column + 1;
    let (shown, label) = match names.map(|names| &names[suspect.column]) {
        Some(name) => (format!("`{}`", shortened(name)), shell_word(name)),
        None => (number.to_string(), number.to_string()),
    };
    suspect.hint(&format!("column {shown}"), &format!("use --label {label}"))
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
        ScaleAdvice::Option => "use --scale",
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
    use super::*;

    fn names(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
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
