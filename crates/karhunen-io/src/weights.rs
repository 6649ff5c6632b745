//! Reads weights of rows or columns from a separate file.

use std::path::Path;

use karhunen::Scalar;

use crate::input::Input;
use crate::input::decompressed;
use crate::read::{Format, read_input, sniff};
use crate::{Cause, Data, Error, Place, ReadOptions, Result, Values};

/// Reads weights: a text file of one column, with or without a header, or an NPY file of one dimension.
///
/// # Errors
/// Those of [`crate::read`]; [`Cause::Format`] for more than one column, or a number of weights other than
/// `n_expected`; [`Cause::Value`] for a negative weight, with its line.
pub fn read_weights(path: &Path, n_expected: Option<usize>) -> Result<Vec<f64>> {
    let options = &ReadOptions::default();
    decompressed(Input::open_within(path, options.most_unpacked())?, options)?.through(|input| {
        let is_text = sniff(input.as_slice(), path) == Format::Text;
        let leading_lines = input.as_slice().iter().take_while(|byte| byte.is_ascii_whitespace());
        let n_leading = leading_lines.filter(|&&byte| byte == b'\n').count();
        let table = read_input(input, options).map_err(in_weights)?;
        let refuse = |message: String| Err(Error::new(path, Cause::format(message)));
        let (n_rows, n_cols) = table.data.shape();
        if table.sample_names.is_some() || (n_cols != 1 && (is_text || n_rows != 1)) {
            let n_found = n_cols + usize::from(table.sample_names.is_some());
            return refuse(format!(
                "{n_found} columns, but a file of weights has one; keep the weights alone"
            ));
        }
        let weights = match table.data {
            Data::F64(values) => flatten(values, path)?,
            Data::F32(values) => flatten(values, path)?.into_iter().map(f64::from).collect(),
        };
        if let Some(index) = weights.iter().position(|weight| *weight < 0.0) {
            let n_before = n_leading + usize::from(table.feature_names.is_some()) + index;
            let line = is_text.then_some(n_before as u64 + 1);
            let message =
                format!("the weight {} is negative; weights must be finite and not negative", weights[index]);
            return Err(Error::at(path, Place { line, ..Place::default() }, Cause::value(message)));
        }
        match n_expected {
            Some(n) if n != weights.len() => {
                let header = if table.feature_names.is_some() { " below a header" } else { "" };
                refuse(format!("{} weights{header}, but {n} are needed", weights.len()))
            }
            _ => Ok(weights),
        }
    })
}

/// Replaces advice for tables of data, which does not apply to weights.
fn in_weights(mut error: Error) -> Error {
    let message = match &*error.cause {
        Cause::Missing(what) => format!("{what}; give a weight: zero leaves the row or column out"),
        Cause::Text(what, _) => format!(
            "{what}; a file of weights has one column of numbers, with or without a name: keep the weights alone"
        ),
        _ => return error,
    };
    *error.cause = Cause::value(message);
    error
}

fn flatten<T: Scalar>(values: Values<T>, path: &Path) -> Result<Vec<T>> {
    match values {
        Values::Dense { buffer, .. } => Ok(buffer.as_slice().to_vec()),
        Values::Blocks(blocks) => Ok(blocks.into_iter().flat_map(karhunen::Matrix::into_vec).collect()),
        Values::InFile(_) | Values::Sparse(_) => {
            let message = "a sparse matrix, but weights are read from one column of text or an NPY array";
            Err(Error::new(path, Cause::format(message.to_owned())))
        }
    }
}
