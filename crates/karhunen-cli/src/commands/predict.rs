//! `karhunen predict`: predicts entries, given by row and column ids, with standard deviations.

use karhunen::{Matrix, Run};
use karhunen_io::{
    Cause, Ids, Label, NamedMatrix, Pairs, ReadOptions, SavedIncomplete, option_names, shell_word, shortened,
};

use crate::args::{PredictArgs, UnknownArg};
use crate::commands::loaded;
use crate::error::{Failure, Places, Result, with_flags};
use crate::figures::count;
use crate::names::visible;
use crate::outputs::{Outputs, print_aside, print_warnings};
use crate::overwrite::{self, Kind};
use crate::paths::{check_outputs, check_table_output, input_name, one_standard_input};
use crate::progress::{Progress, check_stop};

/// Reads a model and pairs, and writes the predictions.
pub(crate) fn run(args: PredictArgs) -> Result<()> {
    let inputs = [Some(&args.model), Some(&args.pairs)];
    one_standard_input(&inputs)?;
    check_outputs(&[("-o", Some(&args.output))], &inputs)?;
    check_table_output(&args.output)?;
    overwrite::check(&[("-o", Some(&args.output), Kind::Predictions)], args.force)?;
    let progress = Progress::new(args.quiet);
    let saved = loaded::incomplete(&args.model, "predict")?;
    if args.noise_free && saved.model.parts().score_covariances.is_none() {
        return Err(Failure::Usage(format!(
            "--noise-free: {} has no error bars, for it was fitted with --no-error-bars; leave it out",
            input_name(&args.model)
        )));
    }
    let options = saved.read_options(ReadOptions {
        delimiter: args.delimiter,
        header: args.header.option(),
        n_threads: args.threads.number(),
        ..ReadOptions::default()
    });
    let columns = columns(&args, &saved);
    let message = format!("reading {}", visible(&input_name(&args.pairs)));
    let pairs = progress.spin(message, || karhunen_io::read_pairs(&args.pairs, &options, &columns));
    let pairs = pairs.map_err(|error| columns_not_asked_for(&args, &columns, error))?;
    check_stop()?;
    print_warnings(&input_name(&args.pairs), &with_flags(&pairs.warnings));
    check_order(&args, &columns, &pairs)?;
    let prediction = Prediction { args: &args, saved: &saved, pairs: &pairs };
    let (values, n_unknown) = prediction.values(&args.threads.run(&progress))?;
    progress.clear();
    write(&args, &pairs, &values)?;
    if n_unknown > 0 && !args.quiet {
        let label = console::style("note:").for_stderr().bold();
        print_aside(&format!(
            "{label} {} of {} pairs have an id that the model does not know: NaN\n",
            count(n_unknown),
            count(pairs.rows.len())
        ));
    }
    Ok(())
}

/// The columns of ids: requested, recorded in the fit, or `row` and `column`.
fn columns(args: &PredictArgs, saved: &SavedIncomplete) -> [String; 2] {
    let fitted = saved.beside.triples.as_ref().map(|columns| [columns.row.clone(), columns.column.clone()]);
    args.columns.clone().or(fitted).unwrap_or_else(|| ["row", "column"].map(str::to_owned))
}

/// Adds to an error the origin of column names that no option gave.
fn columns_not_asked_for(
    args: &PredictArgs,
    [row, column]: &[String; 2],
    error: karhunen_io::Error,
) -> Failure {
    match &*error.cause {
        Cause::Column { option: option_names::PAIRS, .. } if args.columns.is_none() => {
            Failure::Usage(format!(
                "{}: there are no columns `{row}` and `{column}`, which hold the ids if nothing else is said; say which do, such \
             as --pairs 1,2",
                input_name(&args.pairs)
            ))
        }
        _ => error.into(),
    }
}

/// Checks the names of default columns, which were found by the column numbers of the fit.
///
/// # Errors
/// [`Failure::Usage`] if the columns are called `column` and `row`, in this order; other names cause a warning.
fn check_order(args: &PredictArgs, columns: &[String; 2], pairs: &Pairs) -> Result<()> {
    let by_number = columns.iter().all(|column| column.parse::<usize>().is_ok());
    let [row, column] = &pairs.names;
    // `row` and `column` are also the names used for a file without names.
    if args.columns.is_some() || !by_number || *columns == pairs.names || (row == "row" && column == "column")
    {
        return Ok(());
    }
    let file = input_name(&args.pairs);
    let [first, second] = columns;
    if row == "column" && column == "row" {
        return Err(Failure::Usage(format!(
            "{file}: the fit read the ids of rows from column {first}, which is called `column` here; say --pairs row,column, \
             or --pairs {first},{second} if the names are wrong"
        )));
    }
    let note = format!(
        "`{row}` was taken for the rows and `{column}` for the columns of the model, for these are columns {first} and {second}, as \
         in the fit; say --pairs {} if that is right, --pairs {} if not",
        joined(row, column),
        joined(column, row)
    );
    print_warnings(&file, &[note]);
    Ok(())
}

/// Two columns in the syntax of `--pairs`.
fn joined(first: &str, second: &str) -> String {
    format!("{},{}", shell_word(first), shell_word(second))
}

/// Pairs to be predicted.
struct Prediction<'a> {
    args: &'a PredictArgs,
    saved: &'a SavedIncomplete,
    pairs: &'a Pairs,
}

impl Prediction<'_> {
    /// Value and, if the model has error bars, standard deviation of each pair; and the number of unknown pairs.
    fn values(&self, run: &Run<'_>) -> Result<(Matrix, usize)> {
        let (model, pairs) = (&self.saved.model, self.pairs);
        let rows =
            self.places("row", &pairs.row_ids, self.saved.beside.row_ids.as_ref(), model.n_samples())?;
        let columns = self.places(
            "column",
            &pairs.column_ids,
            self.saved.beside.column_ids.as_ref(),
            model.n_features(),
        )?;
        let (mut known, mut known_rows, mut known_columns) = (Vec::new(), Vec::new(), Vec::new());
        for pair in 0..pairs.rows.len() {
            match (rows[pairs.rows[pair] as usize], columns[pairs.columns[pair] as usize]) {
                (Some(row), Some(column)) => {
                    known.push(pair);
                    known_rows.push(row as u64);
                    known_columns.push(column as u64);
                }
                (row, _) if self.args.unknown == UnknownArg::Refuse => {
                    return Err(self.unknown(pair, row.is_none()));
                }
                _ => {}
            }
        }
        let has_bars = model.parts().score_covariances.is_some();
        let noise = has_bars.then_some(!self.args.noise_free);
        let found = model.predict_pairs(&known_rows, &known_columns, noise, run);
        let file = input_name(&self.args.model);
        let explain = |error| Places { file: &file, samples: None, features: None }.explain(error);
        let found = found.map_err(explain)?;
        let n_unknown = pairs.rows.len() - known.len();
        if n_unknown == 0 {
            return Ok((found, 0));
        }
        let mut values = Matrix::from_fn(pairs.rows.len(), found.n_cols(), |_, _| f64::NAN);
        for (at, pair) in known.into_iter().enumerate() {
            values.row_mut(pair).copy_from_slice(found.row(at));
        }
        Ok((values, n_unknown))
    }

    /// The error for a pair whose row (`is_row`) or column is unknown to the model.
    fn unknown(&self, pair: usize, is_row: bool) -> Failure {
        let (pairs, unit) = (self.pairs, self.pairs.unit);
        let (axis, id) = if is_row {
            (0, pairs.row_ids.text(pairs.rows[pair] as usize))
        } else {
            (1, pairs.column_ids.text(pairs.columns[pair] as usize))
        };
        Failure::Data(format!(
            "{}: {unit} {}: the model does not know the {} `{}`; drop the {unit}, or say --unknown nan",
            input_name(&self.args.pairs),
            pairs.line(pair),
            pairs.names[axis],
            shortened(&id)
        ))
    }

    /// The position of each id in the model; a model without ids counts from one.
    fn places(&self, axis: &str, ids: &Ids, known: Option<&Ids>, n: usize) -> Result<Vec<Option<usize>>> {
        let all = 0..ids.len();
        let Some(known) = known else {
            let place =
                |id: usize| ids.text(id).parse::<usize>().ok()?.checked_sub(1).filter(|place| *place < n);
            return Ok(all.map(place).collect());
        };
        let repeated = || {
            Failure::Data(format!(
                "{}: several {axis}s of the model have the same name; rename them and fit again",
                input_name(&self.args.model)
            ))
        };
        let lookup = known.lookup().ok_or_else(repeated)?;
        Ok(all.map(|id| lookup.find(&ids.text(id))).collect())
    }
}

fn write(args: &PredictArgs, pairs: &Pairs, values: &Matrix) -> Result<()> {
    let texts =
        |ids: &Ids, places: &[u32]| places.iter().map(|id| ids.text(*id as usize).into_owned()).collect();
    let rows: Vec<String> = texts(&pairs.row_ids, &pairs.rows);
    let columns = Label { name: pairs.names[1].clone(), values: texts(&pairs.column_ids, &pairs.columns) };
    let names = ["value", "std"].map(str::to_owned);
    let table = NamedMatrix {
        matrix: values,
        row_names: Some(&rows),
        row_header: &pairs.names[0],
        labels: &[columns],
        column_names: &names[..values.n_cols()],
        numeric_ids: true,
    };
    let mut outputs = Outputs::new(args.force);
    outputs.table(&args.output, &table)?;
    outputs.commit()
}
