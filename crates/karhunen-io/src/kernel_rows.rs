//! The rows stored in a kernel model, as arrays of its file.

use std::path::Path;

use karhunen::{KernelRows, Matrix};

use crate::model_file::{ModelFile, Tensor, tensor_error};
use crate::{Error, Result};

/// Rows as arrays whose names begin with `name`; `single` if the data were f32, which loses nothing.
pub(crate) fn row_tensors(name: &str, rows: &KernelRows, single: bool) -> Vec<Tensor> {
    match rows {
        KernelRows::Dense(rows) => {
            vec![values_tensor(name, &[rows.n_rows(), rows.n_cols()], rows.as_slice(), single)]
        }
        KernelRows::Sparse { pointers, indices, values, .. } => {
            let pointers: Vec<i64> = pointers.iter().map(|at| *at as i64).collect();
            vec![
                Tensor::new(&part(name, "pointers"), &[pointers.len()], &pointers),
                values_tensor(&part(name, "values"), &[values.len()], values, single),
                Tensor::new(&part(name, "columns"), &[indices.len()], indices),
            ]
        }
    }
}

fn part(name: &str, part: &str) -> String {
    format!("{name}_{part}")
}

/// Values in the type of the data: values of f32 data are exact in both types.
fn values_tensor(name: &str, shape: &[usize], values: &[f64], single: bool) -> Tensor {
    let narrow = || -> Option<Vec<f32>> {
        values.iter().map(|x| Some(*x as f32).filter(|narrow| f64::from(*narrow) == *x)).collect()
    };
    match if single { narrow() } else { None } {
        Some(values) => Tensor::new(name, shape, &values),
        None => Tensor::new(name, shape, values),
    }
}

/// Reads the rows from a file.
///
/// # Errors
/// [`crate::Cause::Format`] for damage.
pub(crate) fn take_rows(
    path: &Path,
    file: &mut ModelFile,
    name: &str,
    n_features: usize,
) -> Result<KernelRows> {
    let pointers_name = part(name, "pointers");
    if !file.has(&pointers_name) {
        let ([m, p], values) = take_values(path, file, name)?;
        let rows = Matrix::from_vec(m, p, values).map_err(|error| Error::new(path, error.into()))?;
        return Ok(KernelRows::Dense(rows));
    }
    let ([_], pointers) = file.take::<i64, 1>(path, &pointers_name)?;
    let damaged = |at: i64| {
        tensor_error(path, &pointers_name, format!("holds {at}; the model file is damaged, fit it again"))
    };
    let pointers: Result<Vec<u64>> =
        pointers.into_iter().map(|at| u64::try_from(at).map_err(|_| damaged(at))).collect();
    let ([stored], values) = take_values(path, file, &part(name, "values"))?;
    let indices = file.take_row(path, &part(name, "columns"), stored)?;
    Ok(KernelRows::Sparse { n_features, pointers: pointers?, indices, values })
}

/// Reads values of either type.
fn take_values<const N: usize>(
    path: &Path,
    file: &mut ModelFile,
    name: &str,
) -> Result<([usize; N], Vec<f64>)> {
    if file.holds::<f32>(name) {
        let (shape, values) = file.take::<f32, N>(path, name)?;
        return Ok((shape, values.into_iter().map(f64::from).collect()));
    }
    file.take(path, name)
}
