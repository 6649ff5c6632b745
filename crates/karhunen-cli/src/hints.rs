//! Hints about columns that are probably not features, or whose variance dominates; each states a remedy. A fit
//! prints the hints, which change no result.

use karhunen::incremental::IncrementalFit;
use karhunen::moments::Scatter;
use karhunen::pca::{Centring, Scaling};
use karhunen::{PcaModel, Run};
use karhunen_io::{
    Columns, Data, ObservedData, Suspect, Table, shell_word, shortened, suspects, symmetric_hint,
};

use crate::figures::percent;

/// Minimum number of rows for a hint about variances.
const FEWEST_ROWS: usize = 10;
/// Maximum number of empty columns named in a note.
const MOST_EMPTY: usize = 4;
/// Dominant columns, a few at most, have this fraction of the total variance, and on average this multiple of the variance of
/// the others.
const DOMINANT: (f64, f64) = (0.95, 20.0);
/// Most dominant columns that are named.
const MOST_DOMINANT: usize = 4;

/// The remedy for a dominant column.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ScaleAdvice {
    /// The fit can scale the columns.
    Option,
    /// The data must be scaled before the fit.
    Before,
}

/// Hints about the columns of a table. They are called by the names or numbers of their file: without names there are none where
/// other columns of the file are not features.
pub(crate) fn of_table(table: &Table) -> Vec<String> {
    let names = table.feature_names.as_deref();
    if !table.is_numbered_as_its_file() {
        return Vec::new();
    }
    suspects(&table.data, names).iter().map(|suspect| of_suspect(*suspect, names)).collect()
}

/// As [`of_table`], for a table with missing values.
pub(crate) fn of_observed(data: &ObservedData, names: Option<&[String]>) -> Vec<String> {
    suspects(data, names).iter().map(|suspect| of_suspect(*suspect, names)).collect()
}

/// A hint about a table that is symmetric.
pub(crate) fn of_matrix(data: &Data) -> Option<String> {
    symmetric_hint(data, "use --from-covariance and --rows N, the number of rows that it was computed from")
}

/// A hint about rows that count once each, where those before had weights. Weights that decay hide which they had.
pub(crate) fn of_weights_before(state: &IncrementalFit, run: &Run<'_>) -> Option<String> {
    let options = state.options();
    let is_whole = options.half_life.is_none() && options.forget == 1.0;
    let moments = state.moments(run).ok().filter(|_| is_whole)?;
    let hint = "the rows before had weights, and these count once each; use --weights for theirs";
    // Weights of a survey may sum to the number of rows.
    let rows = moments.n_samples as f64;
    ((moments.weight, moments.weight_squared) != (rows, rows)).then(|| hint.to_owned())
}

/// A hint about correlations that are scaled once more, or given the means of other units.
pub(crate) fn of_correlations(scatter: &Scatter, is_scaled: bool) -> Option<String> {
    let moments = &scatter.moments;
    let rows = moments.n_samples as f64;
    let is_one = |squares: &f64| (squares / (rows - 1.0) - 1.0).abs() < 1e-9;
    let of_units = is_scaled || moments.mean.iter().any(|mean| *mean != 0.0);
    let hint = "the matrix has ones on its diagonal, as one of correlations has, whose columns are standardized already: given means \
                and scales do not fit them; for rows as they were measured multiply each correlation by both standard \
                deviations, and use --scale";
    (of_units && moments.sum_of_squares.iter().all(is_one)).then(|| hint.to_owned())
}

/// A hint about a model of covariances without means.
pub(crate) fn of_means() -> String {
    "the means are not known: transform takes rows that are centred, and standardized if these are correlations; \
     --center-values FILE gives the means"
        .to_owned()
}

fn of_suspect(suspect: Suspect, names: Option<&[String]>) -> String {
    let number = suspect.column + 1;
    let (shown, label) = match names.map(|names| &names[suspect.column]) {
        Some(name) => (format!("`{}`", shortened(name)), shell_word(name)),
        None => (number.to_string(), number.to_string()),
    };
    suspect.hint(&format!("column {shown}"), &format!("use --label {label}"))
}

/// A hint about a few columns that determine the first components by their units alone. The variance of a column is at least
/// the part that the components explain.
pub(crate) fn of_model(model: &PcaModel, names: Option<&[String]>) -> Option<String> {
    let options = model.options();
    let (total, p) = (model.total_variance(), model.n_features());
    let weighted = model.parts().feature_weights.is_some();
    let as_measured = options.scale == Scaling::None && options.center == Centring::Mean;
    if !as_measured || weighted || p < 2 || model.n_samples() < FEWEST_ROWS {
        return None;
    }
    let explained = model.explained_variance();
    let part = |j: usize| {
        explained.iter().enumerate().map(|(k, variance)| variance * model.components()[(k, j)].powi(2)).sum()
    };
    dominant(&(0..p).map(part).collect::<Vec<f64>>(), total, names, ScaleAdvice::Option)
}

/// A hint about a column that is constant as read, at a number so large that f64 rounds whole numbers.
pub(crate) fn of_rounded(model: &PcaModel, names: Option<&[String]>) -> Option<String> {
    const BEYOND_WHOLE: f64 = 9_007_199_254_740_992.0;
    let variances = model.parts().feature_variance.as_ref()?;
    let column =
        (0..variances.len()).find(|&j| variances[j] == 0.0 && model.mean()[j].abs() >= BEYOND_WHOLE)?;
    let shown =
        names.map_or_else(|| (column + 1).to_string(), |names| format!("`{}`", shortened(&names[column])));
    Some(format!(
        "column {shown} has no variance, and its numbers are of 2^53 and more, where f64 rounds whole numbers; if they \
         differ in their last digits, subtract a constant before"
    ))
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
    dominant(variances, variances.iter().sum(), names, advice)
}

fn dominant(variances: &[f64], total: f64, names: Option<&[String]>, advice: ScaleAdvice) -> Option<String> {
    let p = variances.len();
    let mut order: Vec<usize> = (0..p).collect();
    order.sort_by(|a, b| variances[*b].total_cmp(&variances[*a]));
    let share = |n: usize| order[..n].iter().map(|j| variances[*j]).sum::<f64>();
    let n = (1..=MOST_DOMINANT.min(p.saturating_sub(1))).find(|n| share(*n) >= DOMINANT.0 * total)?;
    let others = (total - share(n)) / (p - n) as f64;
    if !(total.is_finite() && others > 0.0 && share(n) / n as f64 >= DOMINANT.1 * others) {
        return None;
    }
    let shown = |j: &usize| match names {
        Some(names) => format!("`{}`", shortened(&names[*j])),
        None => (j + 1).to_string(),
    };
    let shown: Vec<String> = order[..n].iter().map(shown).collect();
    let advice = match advice {
        ScaleAdvice::Option => "use --scale",
        ScaleAdvice::Before => "divide the columns by their standard deviations before",
    };
    let (columns, units) = if n == 1 { ("column", "its unit") } else { ("columns", "their units") };
    let verb = if n == 1 { "has" } else { "have" };
    let percent = percent(share(n) / total);
    Some(format!(
        "{columns} {} {verb} {percent} of the variance, so that the others hardly count; if that is only {units}, {advice}",
        shown.join(", ")
    ))
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
         say otherwise); exclude {it} with --label {}",
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
        let hint = of_variances(&[1.0, 4000.0, 3000.0, 2.0, 1.0], 30, None, ScaleAdvice::Option).unwrap();
        assert!(hint.starts_with("columns 2, 3 have 99.94% of the variance"), "{hint}");
        for variances in [&[1.0, 15.0][..], &[4000.0], &[0.0, 5.0], &[3000.0, 900.0, 800.0], &[f64::NAN, 1.0]]
        {
            assert_eq!(of_variances(variances, 30, None, ScaleAdvice::Option), None, "{variances:?}");
        }
    }
}
