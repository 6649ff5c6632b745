//! Kernel models and feature maps as records. They do not contain user-defined kernel functions.

use crate::error::{Error, Result};
use crate::kernel::function::Kernel;
use crate::kernel::model::{KernelBasis, KernelConvergence, KernelModel, KernelParts, PreImageParts};
use crate::kernel::nystrom::{NystromMap, NystromParts};
use crate::kernel::route::KernelRoute;
use crate::kernel::rows::KernelRows;
use crate::linalg::Matrix;
use crate::record::{Record, Recorded, damaged, shortened};

impl Recorded for NystromMap {
    const KIND: &'static str = "nystrom-map";

    fn to_record(&self) -> Result<Record<'_>> {
        let parts = self.parts();
        let mut record = Record::new(Self::KIND);
        put_rows(&mut record, "landmarks", &parts.landmarks, &parts.dtype);
        record.put_counts("indices", parts.indices.iter().copied());
        record.put_row("shift", &parts.shift);
        record.put_matrix("normalization", &parts.normalization);
        record.put_json("n_features", &parts.landmarks.shape().1)?;
        record.put_text("dtype", &parts.dtype);
        record.put_json("kernel", &parts.kernel)?;
        record.put_json("options", &parts.options)?;
        Ok(record)
    }

    fn from_record(record: &mut Record<'_>) -> Result<Self> {
        record.check_kind(Self::KIND)?;
        let n_features = record.json("n_features")?;
        let landmarks = take_rows(record, "landmarks", n_features)?;
        expect_columns("landmarks", landmarks.shape().1, n_features)?;
        Self::try_from(NystromParts {
            kernel: record.json("kernel")?,
            landmarks,
            indices: record.take_counts("indices")?,
            shift: record.take_any_row("shift")?,
            normalization: record.take_matrix("normalization")?,
            options: record.json("options")?,
            dtype: record.text("dtype")?.to_owned(),
        })
    }
}

impl Recorded for KernelModel {
    const KIND: &'static str = "kernel-pca";

    fn to_record(&self) -> Result<Record<'_>> {
        let parts = self.parts();
        let mut record = Record::new(Self::KIND);
        record.put_row("eigenvalues", &parts.eigenvalues);
        record.put_row("offsets", &parts.offsets);
        record.put_row("residuals", &parts.convergence.residuals);
        record.put_row("shift", &parts.shift);
        if let Some(total) = parts.total {
            record.put_scalar(name_of_total(&parts.kernel, parts.convergence.solver), total);
        }
        record.put_scalar("sum_of_weights", parts.sum_of_weights);
        record.put_matrix("coefficients", &parts.coefficients);
        record.put_matrix("eigenvectors", &parts.eigenvectors);
        let basis = basis_name(&parts.basis);
        match &parts.basis {
            KernelBasis::Rows(rows) | KernelBasis::Landmarks(rows) => {
                put_rows(&mut record, basis, rows, &parts.dtype);
            }
            KernelBasis::Frequencies(frequencies) => record.put_matrix(basis, frequencies),
            KernelBasis::Precomputed { .. } => {}
        }
        match &parts.pre_image {
            None => {}
            Some(PreImageParts::Ridge { scores, coefficients, centre }) => {
                record.put_matrix("pre_image_scores", scores);
                record.put_matrix("pre_image_coefficients", coefficients);
                if !centre.is_empty() {
                    record.put_row("pre_image_centre", centre);
                }
            }
            Some(PreImageParts::FixedPoint { shares }) => record.put_row("pre_image_shares", shares),
        }
        record.put_json("n_samples", &parts.n_samples)?;
        record.put_json("n_features", &parts.basis.n_features())?;
        record.put_text("dtype", &parts.dtype);
        record.put_text("basis", basis);
        record.put_json("kernel", &parts.kernel)?;
        record.put_json("options", &parts.options)?;
        // The residuals are an array, because JSON has no infinity.
        record.put_json_without("convergence", &parts.convergence, "residuals")?;
        Ok(record)
    }

    fn from_record(record: &mut Record<'_>) -> Result<Self> {
        record.check_kind(Self::KIND)?;
        let eigenvalues = record.take_any_row("eigenvalues")?;
        let k = eigenvalues.len();
        let kernel = record.json("kernel")?;
        let convergence = KernelConvergence {
            residuals: record.take_row("residuals", k)?,
            ..record.json_with_no("convergence", "residuals")?
        };
        let name = name_of_total(&kernel, convergence.solver);
        Self::try_from(KernelParts {
            kernel,
            basis: take_basis(record)?,
            shift: record.take_any_row("shift")?,
            coefficients: record.take_matrix("coefficients")?,
            offsets: record.take_row("offsets", k)?,
            eigenvalues,
            total: record.if_there(name, Record::take_scalar)?,
            n_samples: record.json("n_samples")?,
            eigenvectors: record.take_matrix("eigenvectors")?,
            pre_image: take_pre_image(record)?,
            sum_of_weights: record.take_scalar("sum_of_weights")?,
            options: record.json("options")?,
            dtype: record.text("dtype")?.to_owned(),
            convergence,
        })
    }
}

/// The name of [`KernelParts::total`]. Before version 0.3, `total` was the trace, which negative eigenvalues lower.
fn name_of_total(kernel: &Kernel, route: KernelRoute) -> &'static str {
    if kernel.is_positive() || route.approximates() { "total" } else { "total_positive" }
}

fn basis_name(basis: &KernelBasis) -> &'static str {
    match basis {
        KernelBasis::Rows(_) => "rows",
        KernelBasis::Landmarks(_) => "landmarks",
        KernelBasis::Frequencies(_) => "frequencies",
        KernelBasis::Precomputed { .. } => "precomputed",
    }
}

fn take_basis(record: &mut Record<'_>) -> Result<KernelBasis> {
    let n_features = record.json("n_features")?;
    let basis = match record.text("basis")? {
        "rows" => KernelBasis::Rows(take_rows(record, "rows", n_features)?),
        "landmarks" => KernelBasis::Landmarks(take_rows(record, "landmarks", n_features)?),
        "frequencies" => KernelBasis::Frequencies(record.take_matrix("frequencies")?),
        "precomputed" => KernelBasis::Precomputed { n_samples: n_features },
        other => {
            let other = shortened(other);
            return Err(damaged(format!(
                "compares new rows with `{other}`, which is unknown; fit the model again"
            )));
        }
    };
    expect_columns(basis_name(&basis), basis.n_features(), n_features)?;
    Ok(basis)
}

fn take_pre_image(record: &mut Record<'_>) -> Result<Option<PreImageParts>> {
    if record.has("pre_image_scores") {
        return Ok(Some(PreImageParts::Ridge {
            scores: record.take_matrix("pre_image_scores")?,
            coefficients: record.take_matrix("pre_image_coefficients")?,
            centre: record.if_there("pre_image_centre", Record::take_any_row)?.unwrap_or_default(),
        }));
    }
    let shares = record.if_there("pre_image_shares", Record::take_any_row)?;
    Ok(shares.map(|shares| PreImageParts::FixedPoint { shares }))
}

/// Adds rows as arrays whose names begin with `name`, in the type of the data.
fn put_rows<'a>(record: &mut Record<'a>, name: &str, rows: &'a KernelRows, dtype: &str) {
    match rows {
        KernelRows::Dense(rows) => {
            put_values(record, name, &[rows.n_rows(), rows.n_cols()], rows.as_slice(), dtype);
        }
        KernelRows::Sparse { pointers, indices, values, .. } => {
            let pointers: Vec<i64> = pointers.iter().map(|at| *at as i64).collect();
            record.put_row(&format!("{name}_pointers"), pointers);
            put_values(record, &format!("{name}_values"), &[values.len()], values, dtype);
            record.put_row(&format!("{name}_columns"), indices);
        }
    }
}

/// Adds values; as f32 if the data are f32 and f32 represents every value exactly.
fn put_values<'a>(record: &mut Record<'a>, name: &str, shape: &[usize], values: &'a [f64], dtype: &str) {
    let narrow = || -> Option<Vec<f32>> {
        values.iter().map(|x| Some(*x as f32).filter(|narrow| f64::from(*narrow) == *x)).collect()
    };
    match if dtype == "f32" { narrow() } else { None } {
        Some(values) => record.put(name, shape, values),
        None => record.put(name, shape, values),
    }
}

/// Takes the rows that [`put_rows`] added.
fn take_rows(record: &mut Record<'_>, name: &str, n_features: usize) -> Result<KernelRows> {
    let pointers = format!("{name}_pointers");
    if !record.has(&pointers) {
        let ([m, p], values) = take_values(record, name)?;
        return Ok(KernelRows::Dense(Matrix::from_vec(m, p, values)?));
    }
    let pointers = record.take_counts(&pointers)?;
    let ([stored], values) = take_values(record, &format!("{name}_values"))?;
    let indices = record.take_row(&format!("{name}_columns"), stored)?;
    Ok(KernelRows::Sparse { n_features, pointers, indices, values })
}

/// Takes values of type f32 or f64.
fn take_values<const N: usize>(record: &mut Record<'_>, name: &str) -> Result<([usize; N], Vec<f64>)> {
    if record.holds::<f32>(name) {
        let (shape, values) = record.take::<f32, N>(name)?;
        return Ok((shape, values.into_iter().map(f64::from).collect()));
    }
    record.take(name)
}

fn expect_columns(what: &'static str, found: usize, expected: usize) -> Result<()> {
    if found == expected { Ok(()) } else { Err(Error::Shape { what, axis: "columns", found, expected }) }
}
