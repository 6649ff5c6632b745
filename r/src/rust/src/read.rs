//! Tables in files, by the rules of the command line and of Python.

use std::path::PathBuf;

use karhunen::Scalar;
use karhunen::error::{OptionValue, Surface};
use karhunen::matrix::{Major, Sparse};
use karhunen::source::Block;
use karhunen_io::{
    Cause, Comment, Content, Data, Error, ReadOptions, RowNames, SkippedLines, Table, Values, option_names,
    read_any, read_tables, suspects, symmetric_hint,
};
use savvy::{
    EnvironmentSexp, ListSexp, NotAvailableValue, OwnedIntegerSexp, OwnedListSexp, OwnedLogicalSexp,
    OwnedRealSexp, OwnedStringSexp, Sexp, savvy, savvy_err,
};

use crate::call::{Call, texts};
use crate::run::run;

/// Reads a table: a matrix, or a list of the parts of a sparse one. Its notes go to `aside`, because R would copy a matrix
/// that it takes out of a list or changes.
#[savvy]
fn kh_read_table(
    call: ListSexp,
    path: &str,
    options: ListSexp,
    aside: EnvironmentSexp,
) -> savvy::Result<Sexp> {
    let call = Call::read(&call)?;
    let (path, options) = (PathBuf::from(path), read_options(&options)?);
    let table = run(&call, f64::INFINITY, |run| {
        let options = ReadOptions { n_threads: run.n_threads, ..options };
        Ok(read_table(path, options))
    })?;
    let table = table.map_err(|error| call.file_error(&error))?;
    let notes = OwnedStringSexp::try_from_slice(notes(&call, &table))?;
    aside.set("notes", Sexp(notes.inner()))?;
    let read = match &table.data {
        Data::F32(values) => with_values(&call, values, &table),
        Data::F64(values) => with_values(&call, values, &table),
    }?;
    table.data.check_unchanged().map_err(|error| call.file_error(&error))?;
    Ok(read)
}

/// The arguments of the options of reading that errors may name.
#[savvy]
fn kh_read_arguments() -> savvy::Result<Sexp> {
    let call = Call { function: "kh_read".to_owned(), threads: None, columns: None };
    OwnedStringSexp::try_from_iter(option_names::ALL.iter().map(|option| call.argument(*option)))?.into()
}

/// Options of a list of texts with the names of the arguments of `kh_read`.
fn read_options(list: &ListSexp) -> savvy::Result<ReadOptions> {
    let words = |name: &str| {
        Ok::<Vec<String>, savvy::Error>(texts(list, name)?.into_iter().map(Into::into).collect())
    };
    let word = |name: &str| words(name).map(|words| words.into_iter().next());
    let sign = |name: &str| word(name).map(|word| word.and_then(|word| word.chars().next()));
    let numbers: Vec<u64> = words("skip")?.iter().map(|line| line.parse()).collect::<Result<_, _>>()?;
    Ok(ReadOptions {
        header: word("header")?.map(|header| header == "TRUE"),
        delimiter: word("delimiter")?,
        decimal: sign("decimal")?,
        thousands: sign("thousands")?,
        comment: match word("comment")?.as_deref().map(str::as_bytes) {
            Some(b"auto") => Comment::Default,
            Some([mark, ..]) => Comment::Mark(*mark),
            Some([]) | None => Comment::None,
        },
        skip: numbers.chunks_exact(2).map(|run| SkippedLines { first: run[0], last: run[1] }).collect(),
        na: words("na")?,
        row_names: match word("row_names")? {
            Some(name) if name == "auto" => RowNames::Auto,
            Some(name) => RowNames::Column(name),
            None => RowNames::None,
        },
        labels: words("labels")?,
        columns: words("columns")?,
        weights_column: word("weights")?,
        transpose: word("transpose")?.is_some_and(|transpose| transpose == "TRUE"),
        array: word("array")?,
        max_unpacked: word("max_unpacked")?
            .map(|bytes| bytes.parse::<f64>())
            .transpose()?
            .map(|bytes| bytes as u64),
        ..ReadOptions::default()
    })
}

/// Values may be missing. Entries that a sparse matrix holds twice are added, as R does.
fn read_table(path: PathBuf, options: ReadOptions) -> karhunen_io::Result<Table> {
    if path.is_dir() {
        return read_tables(&[path], &ReadOptions { missing: true, ..options });
    }
    match read_any(&path, &options)? {
        Content::Table(table) => Ok(*table),
        _ => {
            let message = "this is what a fit of karhunen wrote, not data; the program karhunen reads it";
            Err(Error::new(&path, Cause::Format(message.into())))
        }
    }
}

/// The values of a table, with its names, labels and weights.
fn with_values<T: Scalar>(call: &Call, values: &Values<T>, table: &Table) -> savvy::Result<Sexp> {
    let names = [table.sample_names.as_deref(), table.feature_names.as_deref()];
    let mut dimnames = OwnedListSexp::new(2, false)?;
    for (i, names) in names.into_iter().enumerate() {
        if let Some(names) = names {
            dimnames.set_value(i, OwnedStringSexp::try_from_slice(names)?)?;
        }
    }
    if let Values::Sparse(matrix) = values {
        return sparse(&matrix.view(), dimnames)?.into();
    }
    // The owner of a value protects it from R's collector until the attribute is set.
    let mut matrix = dense(call, values)?;
    if names != [None, None] {
        matrix.set_attrib("dimnames", Sexp(dimnames.inner()))?;
    }
    if !table.labels.is_empty() {
        let mut labels = OwnedListSexp::new(table.labels.len(), true)?;
        for (i, label) in table.labels.iter().enumerate() {
            labels.set_name_and_value(i, &label.name, OwnedStringSexp::try_from_slice(&label.values)?)?;
        }
        // R's compact form of the number of rows, which have no names.
        let rows = OwnedIntegerSexp::try_from_slice([i32::na(), -i32::try_from(values.shape().0)?])?;
        labels.set_attrib("row.names", Sexp(rows.inner()))?;
        labels.set_class(["data.frame"])?;
        matrix.set_attrib("labels", Sexp(labels.inner()))?;
    }
    if let Some(weights) = &table.weights {
        let weights = OwnedRealSexp::try_from_slice(weights)?;
        matrix.set_attrib("weights", Sexp(weights.inner()))?;
    }
    matrix.into()
}

/// The warnings of the reader, and hints about columns that are probably not features, and about symmetric tables.
fn notes(call: &Call, table: &Table) -> Vec<String> {
    let mut notes: Vec<String> = table.warnings.iter().map(|note| note.text_for(call)).collect();
    let names = table.feature_names.as_deref();
    let found = if table.is_numbered_as_its_file() { suspects(&table.data, names) } else { Vec::new() };
    for suspect in found {
        let number = (suspect.column + 1).to_string();
        let (column, label) = match names.map(|names| &names[suspect.column]) {
            Some(name) => (format!("column {number} ({name})"), name.clone()),
            None => (format!("column {number}"), number),
        };
        let labels = table.labels.iter().map(|given| given.name.clone()).chain([label]).collect();
        let label = call.setting(option_names::LABELS, &OptionValue::Texts(labels));
        notes.push(suspect.hint(&column, &format!("use {label}")));
    }
    notes.extend(symmetric_hint(&table.data, "use princomp(covmat = x)"));
    notes
}

/// The number that R has for a missing value.
fn or_na<T: Scalar>(value: T) -> f64 {
    let value = value.to_f64();
    if value.is_nan() { f64::na() } else { value }
}

/// Values as a matrix of R, whose order is by columns.
fn dense<T: Scalar>(call: &Call, values: &Values<T>) -> savvy::Result<OwnedRealSexp> {
    let (n, p) = values.shape();
    if i32::try_from(n).is_err() || i32::try_from(p).is_err() {
        return Err(savvy_err!(
            "the table has {n} rows and {p} columns, more than a matrix of R, which has at most {}",
            i32::MAX
        ));
    }
    let mut out = OwnedRealSexp::new(n * p)?;
    let all = out.as_mut_slice();
    let source = values.source().map_err(|error| call.error(&error))?;
    let copied = source.visit(&mut |first, block| {
        if let Block::Dense(rows) = block {
            for (j, column) in all.chunks_exact_mut(n.max(1)).enumerate() {
                for (i, value) in column[first..first + rows.n_rows()].iter_mut().enumerate() {
                    *value = or_na(rows.get(i, j));
                }
            }
        }
        Ok(())
    });
    copied.map_err(|error| call.error(&error))?;
    out.set_dim(&[n, p])?;
    Ok(out)
}

/// The parts of a `dgCMatrix`: of the transpose, if the matrix is compressed by rows.
fn sparse<T: Scalar>(matrix: &Sparse<'_, T>, dimnames: OwnedListSexp) -> savvy::Result<OwnedListSexp> {
    let integers = |numbers: &mut dyn Iterator<Item = usize>| {
        let numbers: Result<Vec<i32>, _> = numbers.map(i32::try_from).collect();
        let numbers = numbers.map_err(|_| {
            savvy_err!("the matrix has more entries than a sparse matrix of R, which holds {}", i32::MAX)
        })?;
        OwnedIntegerSexp::try_from_slice(numbers)
    };
    let values: Vec<f64> = matrix.values().iter().map(|value| or_na(*value)).collect();
    let mut parts = OwnedListSexp::new(6, true)?;
    parts.set_name_and_value(0, "p", integers(&mut matrix.pointers().iter().copied())?)?;
    parts.set_name_and_value(1, "i", integers(&mut (0..values.len()).map(|entry| matrix.index(entry)))?)?;
    parts.set_name_and_value(2, "x", OwnedRealSexp::try_from_slice(values)?)?;
    parts.set_name_and_value(3, "dim", integers(&mut [matrix.n_rows(), matrix.n_cols()].into_iter())?)?;
    parts.set_name_and_value(4, "names", dimnames)?;
    let by_rows = OwnedLogicalSexp::try_from_scalar(matrix.major() == Major::Rows)?;
    parts.set_name_and_value(5, "by_rows", by_rows)?;
    Ok(parts)
}
