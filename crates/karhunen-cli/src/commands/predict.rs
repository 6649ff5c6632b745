//! `karhunen predict`: predicts entries, given by row and column ids, with standard deviations and intervals.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use karhunen::{Matrix, Observer, Run};
use karhunen_io::{
    Cause, IdLookup, Ids, PairBlock, PairTable, PairWriter, Pairs, PairsToWrite, ReadOptions,
    SavedIncomplete, option_names, shell_word, shortened,
};

use crate::args::{PredictArgs, UnknownArg};
use crate::commands::loaded;
use crate::error::{Failure, Places, Result, with_flags};
use crate::figures::count;
use crate::files::outputs::{Outputs, print_aside, print_warnings};
use crate::files::overwrite;
use crate::files::paths::{check_outputs, check_table_output, input_name, one_standard_input};
use crate::names::visible;
use crate::progress::{Progress, check_stop};

/// Reads a model and pairs, and writes the predictions.
pub(crate) fn run(args: PredictArgs) -> Result<()> {
    let inputs = [Some(&args.model), Some(&args.pairs)];
    one_standard_input(&inputs)?;
    check_outputs(&[("-o", Some(&args.output))], &inputs)?;
    check_table_output(&args.output)?;
    overwrite::check(&[("-o", Some(&args.output))], args.force)?;
    let progress = Progress::new(args.quiet);
    let saved = loaded::incomplete(&args.model, "predict")?;
    if args.noise_free && saved.model.parts().score_covariances.is_none() {
        return Err(Failure::Usage(format!(
            "--noise-free: {} has no error bars, for it was fitted with --no-error-bars; leave it out",
            input_name(&args.model)
        )));
    }
    let factor = interval_factor(&args, &saved)?;
    let options = args.memory.within(saved.read_options(ReadOptions {
        delimiter: args.delimiter.clone(),
        header: args.header.option(),
        n_threads: args.threads.number(),
        ..ReadOptions::default()
    }));
    let columns = columns(&args, &saved);
    let message = format!("reading {}", visible(&input_name(&args.pairs)));
    let pairs = progress.spin(message.clone(), || karhunen_io::open_pairs(&args.pairs, &options, &columns));
    let pairs = pairs.map_err(|error| columns_not_asked_for(&args, &columns, error))?;
    check_stop()?;
    print_warnings(&input_name(&args.pairs), &with_flags(&pairs.warnings));
    check_order(&args, &columns, &pairs)?;
    let prediction = Prediction::new((&args, factor), &saved, &pairs, &progress)?;
    let survey = progress.spin(message, || prediction.survey())?;
    prediction.write(&survey)?;
    if survey.n_unknown > 0 && !args.quiet {
        let label = console::style("note:").for_stderr().bold();
        print_aside(&format!(
            "{label} {} of {} pairs have an id that the model does not know: NaN\n",
            count(survey.n_unknown),
            count(survey.n_pairs)
        ));
    }
    Ok(())
}

/// The number of standard deviations from a value to the ends of its interval, if any was requested.
///
/// # Errors
/// [`Failure::Usage`] for a model without error bars, and for a level that its errors cannot give.
fn interval_factor(args: &PredictArgs, saved: &SavedIncomplete) -> Result<Option<f64>> {
    let Some(level) = args.interval else { return Ok(None) };
    let file = input_name(&args.model);
    if saved.model.parts().score_covariances.is_none() {
        return Err(Failure::Usage(format!(
            "--interval: {file} keeps no error bars; fit without --no-error-bars, or leave --interval out"
        )));
    }
    let explain = |error| match error {
        karhunen::Error::Option { rule, .. } => Failure::Usage(format!("--interval {level}: {rule}")),
        error => Places::of_file(&file).explain(error),
    };
    Ok(Some(saved.model.interval_factor(level).map_err(explain)?))
}

/// The columns of ids: requested, recorded in the fit, or `row` and `column`.
fn columns(args: &PredictArgs, saved: &SavedIncomplete) -> [String; 2] {
    let fitted = saved.extras.triples.as_ref().map(|columns| [columns.row.clone(), columns.column.clone()]);
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
            "{file}: the fit read the ids of rows from column {first}, which is called `column` here; use --pairs row,column, \
             or --pairs {first},{second} if the names are wrong"
        )));
    }
    let note = format!(
        "`{row}` was taken for the rows and `{column}` for the columns of the model, for these are columns {first} and {second}, as \
         in the fit; use --pairs {} if that is right, --pairs {} if not",
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

/// The ids of the rows or of the columns of a model.
struct Axis<'a> {
    /// `None` for a model without ids, which counts from one.
    known: Option<IdLookup<'a>>,
    n: usize,
}

impl<'a> Axis<'a> {
    /// # Errors
    /// [`Failure::Data`] if ids repeat; `axis` is their name in the message.
    fn new(axis: &str, ids: Option<&'a Ids>, n: usize, model: &Path) -> Result<Self> {
        let repeated = || {
            Failure::Data(format!(
                "{}: several {axis}s of the model have the same name; rename them and fit again",
                input_name(model)
            ))
        };
        let known = ids.map(|ids| ids.lookup().ok_or_else(repeated)).transpose()?;
        Ok(Self { known, n })
    }

    /// The position of an id in the model.
    fn place(&self, ids: &Ids, index: usize) -> Option<usize> {
        match &self.known {
            Some(known) => known.find_of(ids, index),
            None => ids.text(index).parse::<usize>().ok()?.checked_sub(1).filter(|place| *place < self.n),
        }
    }
}

/// The first reading of the pairs.
#[derive(Default)]
struct Survey {
    n_pairs: usize,
    /// Number of pairs with an id that the model does not know.
    n_unknown: usize,
    /// For rows and columns, true if an id is not an integer.
    has_texts: [bool; 2],
}

/// Known pairs of a block: their positions in it, and their rows and columns in the model.
#[derive(Default)]
struct Known {
    at: Vec<usize>,
    rows: Vec<u64>,
    columns: Vec<u64>,
    /// The first pair of the block that is unknown, and true if its row is.
    first_unknown: Option<(usize, bool)>,
}

/// Pairs that are predicted while they are written.
struct Prediction<'a> {
    args: &'a PredictArgs,
    /// Standard deviations from a value to the ends of its interval.
    factor: Option<f64>,
    saved: &'a SavedIncomplete,
    pairs: &'a Pairs,
    progress: &'a Progress,
    rows: Axis<'a>,
    columns: Axis<'a>,
}

impl<'a> Prediction<'a> {
    fn new(
        (args, factor): (&'a PredictArgs, Option<f64>),
        saved: &'a SavedIncomplete,
        pairs: &'a Pairs,
        progress: &'a Progress,
    ) -> Result<Self> {
        let (model, ids) = (&saved.model, &saved.extras);
        let rows = Axis::new("row", ids.row_ids.as_ref(), model.n_samples(), &args.model)?;
        let columns = Axis::new("column", ids.column_ids.as_ref(), model.n_features(), &args.model)?;
        Ok(Self { args, factor, saved, pairs, progress, rows, columns })
    }

    /// Finds the ids of a block in the model.
    fn known(&self, [rows, columns]: &[Ids; 2]) -> Known {
        let mut known = Known::default();
        for pair in 0..rows.len() {
            match (self.rows.place(rows, pair), self.columns.place(columns, pair)) {
                (Some(row), Some(column)) => {
                    known.at.push(pair);
                    known.rows.push(row as u64);
                    known.columns.push(column as u64);
                }
                (row, _) if known.first_unknown.is_none() => {
                    known.first_unknown = Some((pair, row.is_none()))
                }
                _ => {}
            }
        }
        known
    }

    /// Reads all pairs before the first is predicted: a text that is not an integer makes its column text.
    ///
    /// # Errors
    /// Same errors as [`Pairs::visit`]; [`Failure::Data`] for an id that the model does not know, if it is refused.
    fn survey(&self) -> Result<Survey> {
        let mut survey = Survey::default();
        let count = |ids: &[Ids; 2]| {
            let known = self.known(ids);
            (known.at.len(), known.first_unknown)
        };
        self.pairs.visit(&count, &mut |block, (n_known, first_unknown)| {
            check_stop()?;
            if let Some((pair, is_row)) = first_unknown.filter(|_| self.args.unknown == UnknownArg::Refuse) {
                return Err(self.unknown(&block, pair, is_row));
            }
            survey.n_pairs += block.len();
            survey.n_unknown += block.len() - n_known;
            for (has_texts, ids) in survey.has_texts.iter_mut().zip(&block.ids) {
                *has_texts |= matches!(ids, Ids::Texts(_));
            }
            Ok(())
        })?;
        Ok(survey)
    }

    /// The error for a pair whose row (`is_row`) or column is unknown to the model.
    fn unknown(&self, block: &PairBlock, pair: usize, is_row: bool) -> Failure {
        let (pairs, axis) = (self.pairs, usize::from(!is_row));
        let unit = pairs.unit;
        Failure::Data(format!(
            "{}: {unit} {}: the model does not know the {} `{}`; drop the {unit}, or use --unknown nan",
            input_name(&self.args.pairs),
            block.line(pair),
            pairs.names[axis],
            shortened(&block.ids[axis].text(pair))
        ))
    }

    /// True if the model has error bars: each value has a standard deviation.
    fn has_bars(&self) -> bool {
        self.saved.model.parts().score_covariances.is_some()
    }

    /// The names of the numbers of each pair.
    fn names(&self) -> &'static [&'static str] {
        match (self.factor, self.has_bars()) {
            (Some(_), _) => &["value", "std", "lower", "upper"],
            (None, true) => &["value", "std"],
            (None, false) => &["value"],
        }
    }

    /// The numbers of each of `n` pairs, of [`Prediction::names`]; NaN for unknown ones.
    fn values(&self, n: usize, known: &Known) -> Result<Matrix> {
        let noise = self.has_bars().then_some(!self.args.noise_free);
        // On the threads of the visit. The bar shows the pairs of all blocks.
        let found = self.saved.model.predict_pairs(&known.rows, &known.columns, noise, &Run::default());
        let file = input_name(&self.args.model);
        let found = found.map_err(|error| Places::of_file(&file).explain(error))?;
        let n_found = found.n_cols();
        if known.at.len() == n && n_found == self.names().len() {
            return Ok(found);
        }
        let mut values = Matrix::from_fn(n, self.names().len(), |_, _| f64::NAN);
        for (at, pair) in known.at.iter().enumerate() {
            let (found, row) = (found.row(at), values.row_mut(*pair));
            row[..n_found].copy_from_slice(found);
            if let Some(factor) = self.factor {
                row[2] = found[0] - factor * found[1];
                row[3] = found[0] + factor * found[1];
            }
        }
        Ok(values)
    }

    /// Reads the pairs again, and writes them with their predictions.
    fn write(&self, survey: &Survey) -> Result<()> {
        let names: Vec<String> = self.names().iter().map(|name| (*name).to_owned()).collect();
        let pairs = Predicted { prediction: self, n_pairs: survey.n_pairs, failure: Mutex::new(None) };
        let table = PairTable {
            pairs: &pairs,
            n_pairs: survey.n_pairs,
            id_names: &self.pairs.names,
            whole: survey.has_texts.map(|has_texts| !has_texts),
            column_names: &names,
        };
        let staged = karhunen_io::stage_pairs(&self.args.output, &table);
        self.progress.clear();
        let mut outputs = Outputs::new(self.args.force);
        match (staged, pairs.failure.into_inner().unwrap_or_else(PoisonError::into_inner)) {
            (Err(_), Some(failure)) => return Err(failure),
            (staged, _) => outputs.stage(staged)?,
        }
        outputs.commit()
    }
}

/// The second reading of the pairs.
struct Predicted<'a> {
    prediction: &'a Prediction<'a>,
    n_pairs: usize,
    /// The failure that ended the writing, unless the writer failed.
    failure: Mutex<Option<Failure>>,
}

/// The end of the second reading.
enum Stop {
    Failure(Failure),
    Writing(std::io::Error),
}

impl From<karhunen_io::Error> for Stop {
    fn from(error: karhunen_io::Error) -> Self {
        Stop::Failure(error.into())
    }
}

impl PairsToWrite for Predicted<'_> {
    fn each(&self, f: &mut PairWriter<'_>) -> std::io::Result<()> {
        let (prediction, mut n_done) = (self.prediction, 0);
        let written = prediction.pairs.visit(&|ids| prediction.known(ids), &mut |block, known| {
            let values = prediction.values(block.len(), &known).map_err(Stop::Failure)?;
            f(&block.ids, &values).map_err(Stop::Writing)?;
            n_done += block.len();
            // A request to stop is found by `check_stop`.
            let _ = prediction.progress.update("predictions", n_done as f64 / self.n_pairs as f64);
            check_stop().map_err(Stop::Failure)
        });
        written.map_err(|stop| match stop {
            Stop::Writing(error) => error,
            Stop::Failure(failure) => {
                let message = failure.to_string();
                *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
                std::io::Error::other(message)
            }
        })
    }
}
