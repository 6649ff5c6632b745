//! `karhunen complete`: fills the missing values of a table by PCA of the completed table.

use karhunen::Matrix;
use karhunen::completion::{Completed, IterativePca, Shrinkage, choose_n_components};
use karhunen::error::Surface;
use karhunen_io::{ObservedData, Predicted, ReadOptions};

use crate::args::complete::{CompleteArgs, Number};
use crate::args::input::read_options;
use crate::data::weights::{column_or_file, sample_weights};
use crate::error::{Failure, Places, Result, with_flags};
use crate::figures::{count, share, significant};
use crate::files::outputs::{Outputs, print_aside, print_warnings};
use crate::files::overwrite;
use crate::files::paths::{check_outputs, check_table_output, input_name, is_standard, one_standard_input};
use crate::names::visible;
use crate::progress::{Progress, check_stop};

/// Reads a table, completes it, and writes it.
pub(crate) fn run(args: CompleteArgs) -> Result<()> {
    let (options, number) = args.pca.resolve()?;
    let (column, weights_file) = column_or_file(args.weights.weights.clone());
    if args.weights.weighting.is_some() {
        return Err(Failure::Usage(
            "--weighting has no effect on means and shares of variances; leave it out".to_owned(),
        ));
    }
    let names = [args.input.feature_names.as_ref(), args.input.sample_names.as_ref()];
    let inputs = [[Some(&args.data), weights_file.as_ref()], names].concat();
    one_standard_input(&inputs)?;
    check_outputs(&[("-o", Some(&args.output))], &inputs)?;
    check_table_output(&args.output)?;
    overwrite::check(&[("-o", Some(&args.output))], args.force)?;
    let progress = Progress::new(args.quiet);
    let read = ReadOptions { weights_column: column, ..read_options(&args.input, &args.threads) };
    let file = input_name(&args.data);
    let message = format!("reading {}", visible(&file));
    let with_missing = progress.spin(message, || karhunen_io::read_with_missing(&args.data, &read))?;
    check_stop()?;
    print_warnings(&file, &with_flags(&with_missing.table.warnings));
    let table = &with_missing.table;
    let explain = |error| Places::of(&file, table).explain(error);
    let (n, p) = table.data.shape();
    let run = args.threads.run(&progress);
    let x = entries(&table.data.observed(&run).map_err(explain)?);
    let columns = table.feature_names.iter().flatten().chain(table.labels.iter().map(|label| &label.name));
    let weights = (weights_file.as_deref(), read.weights_column.as_deref());
    let weights = sample_weights(weights, table.weights.clone(), (&file, n), columns)?;
    let weights = weights.as_ref().map(|(weights, _)| &weights[..]);
    let k = match number {
        Number::Given(k) => k,
        Number::Chosen(most) => {
            choose_n_components(&options, &x, weights, (0, most), &run).map_err(explain)?.n_components
        }
    };
    let options = IterativePca { n_components: k, ..options };
    let Completed { completed, n_iter, converged, far, .. } =
        options.complete(&x, weights, &run).map_err(explain)?;
    let predict = |first: usize, _: &ObservedData| -> karhunen::Result<Predicted<'_>> {
        let completed = &completed;
        Ok(Box::new(move |row, column| completed[(first + row, column)]))
    };
    let mut outputs = Outputs::new(args.force);
    outputs.stage_or(with_missing.stage_filled(&args.output, &predict, &run), explain)?;
    progress.clear();
    if let Some(far) = far {
        let places = Places::of(&file, table);
        let several = if far.count == 1 {
            "1 missing value is filled".to_owned()
        } else {
            format!("{} missing values are filled", count(far.count))
        };
        let advice = format!(
            "{several} far outside what was observed: {}, {} gets {}, {:.0} standard deviations beyond the values of its \
             column; {}",
            places.row(far.row),
            places.column(far.column),
            significant(far.value),
            far.deviations,
            if options.shrinkage == Shrinkage::Em {
                "lower -k, or leave --method em out"
            } else {
                "lower -k"
            }
        );
        print_warnings(&file, &[advice]);
    }
    if !converged {
        let advice = format!("iterative PCA stopped after {n_iter} iterations; raise --max-iter or --tol");
        print_warnings(&file, &[advice]);
    }
    outputs.commit()?;
    if !args.quiet {
        let n_missing = x.as_slice().iter().filter(|value| value.is_nan()).count();
        print_aside(&summary(&args, (n_missing, n, p), (k, number), n_iter));
    }
    Ok(())
}

/// What was filled, and how, in one line.
fn summary(
    args: &CompleteArgs,
    (n_missing, n, p): (usize, usize, usize),
    (k, number): (usize, Number),
    n_iter: usize,
) -> String {
    let name = if is_standard(Some(&args.output)) {
        input_name(&args.data)
    } else {
        args.output.display().to_string()
    };
    let values = if n_missing == 1 { "value" } else { "values" };
    let chosen =
        if matches!(number, Number::Chosen(_)) { ", chosen by generalized cross-validation" } else { "" };
    let how = match k {
        0 => format!("by the means of the columns{chosen}"),
        1 => format!("by 1 component{chosen}, in {n_iter} iterations"),
        k => format!("by {k} components{chosen}, in {n_iter} iterations"),
    };
    let share = share(n_missing, (n, p));
    format!(
        "{}: {} missing {values} filled ({share} of {} x {}) {how}\n",
        visible(&name),
        count(n_missing),
        count(n),
        count(p)
    )
}

/// The entries of a table, NaN where they are missing.
fn entries(data: &ObservedData) -> Matrix {
    let (n, p) = data.shape();
    let mut entries = Matrix::from_fn(n, p, |_, _| f64::NAN);
    for i in 0..n {
        let row = entries.row_mut(i);
        match data {
            ObservedData::F32(observed) => {
                let (columns, values) = observed.row(i);
                columns.iter().zip(values).for_each(|(j, value)| row[*j as usize] = f64::from(*value));
            }
            ObservedData::F64(observed) => {
                let (columns, values) = observed.row(i);
                columns.iter().zip(values).for_each(|(j, value)| row[*j as usize] = *value);
            }
        }
    }
    entries
}
