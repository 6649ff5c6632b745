//! Tables: a table that is read has one shape and finite values, and fits of it are finite.

use std::path::Path;

use karhunen::{NComponents, Observed, Pca, Scalar, Weights};
use karhunen_io::{
    Content, Data, ObserveOptions, ObservedData, ObservedTable, ReadOptions, RowNames, Table, TripleColumns,
    Values, open_pairs, read, read_any, read_observed,
};

use super::{Outcome, Verdict, accepted, all_finite, choice, hold};

/// Larger tables are read but not fitted.
const MOST_VALUES: usize = 4096;

pub(super) fn run(path: &Path, bytes: &[u8]) -> Verdict {
    let options = ReadOptions::default();
    let numbered = |columns: [usize; 3]| columns.map(|column| column.to_string());
    // Most options apply to text only.
    let is_text = !bytes.iter().take(64).any(|byte| *byte == 0 || *byte >= 0x80);
    let choices: &[usize] =
        if is_text { &[0, 0, 1, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14] } else { &[0, 0, 6, 10, 13, 14] };
    match choices[choice(bytes, choices.len())] {
        0..=3 => whole(path, &options),
        4 => whole(path, &ReadOptions { header: Some(true), ..options }),
        5 => whole(path, &ReadOptions { header: Some(false), row_names: RowNames::None, ..options }),
        6 => whole(path, &ReadOptions { transpose: true, ..options }),
        7 => whole(path, &ReadOptions { decimal: Some(','), ..options }),
        8 => whole(
            path,
            &ReadOptions { delimiter: Some(" ".to_owned()), labels: vec!["1".to_owned()], ..options },
        ),
        9 => whole(path, &ReadOptions { weights_column: Some("2".to_owned()), missing: true, ..options }),
        10 => {
            let [row, column, value] = numbered([1, 2, 3]);
            triples(path, TripleColumns { row, column, value, weight: None })
        }
        11 => {
            let [row, column, value] = ["user", "item", "rating"].map(str::to_owned);
            triples(path, TripleColumns { row, column, value, weight: Some("weight".to_owned()) })
        }
        12 => {
            let [row, column, _] = numbered([1, 2, 3]);
            let pairs = accepted!(open_pairs(path, &options, &[row, column]));
            let mut equal = true;
            accepted!(pairs.visit(&|ids| ids[0].len() == ids[1].len(), &mut |_, found| {
                equal &= found;
                Ok::<_, karhunen_io::Error>(())
            }));
            hold(equal, || "pairs of other lengths".to_owned())?;
            Ok(Outcome::Accepted)
        }
        13 => match accepted!(read_any(path, &options)) {
            Content::Table(table) => check(&table).map(|()| Outcome::Accepted),
            Content::Model { .. } | Content::Moments { .. } | Content::Checkpoint(_) => Ok(Outcome::Accepted),
        },
        _ => {
            let table = accepted!(read_observed(path, &options, &ObserveOptions::default()));
            observed(&table)
        }
    }
}

fn whole(path: &Path, options: &ReadOptions) -> Verdict {
    let table = accepted!(read(path, options));
    check(&table)?;
    let fitted = match &table.data {
        Data::F32(values) => fit(values),
        Data::F64(values) => fit(values),
    };
    fitted.map(|()| Outcome::Accepted)
}

/// Checks that names and weights agree with the shape of a table.
fn check(table: &Table) -> Result<(), String> {
    let (n, p) = table.data.shape();
    let lists = [
        ("names of rows", table.sample_names.as_ref().map(Vec::len), n),
        ("names of columns", table.feature_names.as_ref().map(Vec::len), p),
        ("weights", table.weights.as_ref().map(Vec::len), n),
    ];
    for (what, found, expected) in lists {
        hold(found.is_none_or(|found| found == expected), || {
            format!("{found:?} {what} for a table of {n} x {p}")
        })?;
    }
    for label in &table.labels {
        hold(label.values.len() == n, || format!("{} labels for {n} rows", label.values.len()))?;
    }
    let size = match &table.data {
        Data::F32(values) => size(values),
        Data::F64(values) => size(values),
    };
    hold(size.is_none_or(|size| Some(size) == n.checked_mul(p)), || format!("{size:?} values for {n} x {p}"))
}

/// Number of values of a dense table.
fn size<T: Scalar>(values: &Values<T>) -> Option<usize> {
    match values {
        Values::Dense { buffer, .. } => Some(buffer.as_slice().len()),
        Values::Blocks(blocks) => Some(blocks.iter().map(|block| block.as_slice().len()).sum()),
        Values::Sparse(_) | Values::InFile(_) => None,
    }
}

/// Checks that fits of finite values are finite and have their shape.
fn fit<T: Scalar>(values: &Values<T>) -> Result<(), String> {
    let (n, p) = values.shape();
    if n.saturating_mul(p) > MOST_VALUES || n == 0 || p == 0 {
        return Ok(());
    }
    let source =
        values.source().map_err(|error| format!("a table that was read is not a source: {error}"))?;
    let pca = Pca { n_components: NComponents::Count(2.min(n).min(p)), max_iter: 200, ..Pca::default() };
    let model = match pca.fit(&*source, &Weights::default()) {
        Ok(model) => model,
        Err(error) => return super::check_error(&error.to_string()),
    };
    hold((model.n_samples(), model.n_features()) == (n, p), || {
        format!("a model of {} x {} for {n} x {p}", model.n_samples(), model.n_features())
    })?;
    all_finite("explained variance", model.explained_variance())?;
    all_finite("components", model.components().as_slice())?;
    hold(model.explained_variance_ratio().iter().all(|ratio| (-1e-9..=1.0 + 1e-9).contains(ratio)), || {
        format!("shares of the variance: {:?}", model.explained_variance_ratio())
    })?;
    if let Ok(scores) = model.transform(&*source) {
        hold(scores.n_rows() == n, || format!("{} scores for {n} rows", scores.n_rows()))?;
        let finite = scores.as_slice().iter().all(|score| score.to_f64().is_finite());
        hold(finite, || "scores of the fitted rows that are not finite".to_owned())?;
    }
    Ok(())
}

fn triples(path: &Path, columns: TripleColumns) -> Verdict {
    let how = ObserveOptions { triples: Some(columns), ..ObserveOptions::default() };
    let table = accepted!(read_observed(path, &ReadOptions::default(), &how));
    observed(&table)
}

/// Checks that observed entries are within their shape, are finite, and have names.
fn observed(table: &ObservedTable) -> Verdict {
    let (n, p) = table.data.shape();
    let lists = [
        ("ids of rows", table.row_ids.as_ref().map(karhunen_io::Ids::len), n),
        ("ids of columns", table.column_ids.as_ref().map(karhunen_io::Ids::len), p),
        ("weights", table.weights.as_ref().map(Vec::len), n),
    ];
    for (what, found, expected) in lists {
        hold(found.is_none_or(|found| found == expected), || {
            format!("{found:?} {what} for observed entries of {n} x {p}")
        })?;
    }
    match &table.data {
        ObservedData::F32(data) => entries(data),
        ObservedData::F64(data) => entries(data),
    }?;
    Ok(Outcome::Accepted)
}

fn entries<T: Scalar>(data: &Observed<T>) -> Result<(), String> {
    let (n, p) = data.shape();
    let mut found = 0;
    for row in 0..n.min(MOST_VALUES) {
        let (columns, values) = data.row(row);
        hold(columns.windows(2).all(|pair| pair[0] < pair[1]), || format!("row {row} is out of order"))?;
        hold(columns.last().is_none_or(|last| (*last as usize) < p), || format!("row {row} is too long"))?;
        hold(values.iter().all(|value| value.to_f64().is_finite()), || format!("row {row} is not finite"))?;
        found += values.len();
    }
    hold(n > MOST_VALUES || found == data.n_observed(), || {
        format!("{found} entries in rows, {} said to be observed", data.n_observed())
    })
}
