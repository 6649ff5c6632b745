//! Results of earlier fits: a start, and a log of passes; the sums of the first pass as values of such a log.

use crate::error::Result;
use crate::exec::{Exec, PassLog};
use crate::linalg::Matrix;
use crate::moments::{Moments, Scatter, n_packed};
use crate::operator::{FirstPass, logged_pass, moments_and_start};
use crate::scalar::Scalar;
use crate::source::{Counted, Source};

/// Results of earlier fits.
#[derive(Clone, Copy, Default)]
pub(crate) struct Before<'a> {
    /// Orthonormal columns from which block Krylov iteration starts, shape (n_features, l).
    pub(crate) start: Option<&'a Matrix>,
    /// Results of passes that were made, and receives those of later ones.
    pub(crate) log: Option<&'a dyn PassLog>,
}

/// As [`Scatter::within`].
pub(super) fn scatter<T: Scalar>(
    x: &Counted<'_, T>,
    shares: Option<&[f64]>,
    exec: &Exec<'_>,
) -> Result<Scatter> {
    if !exec.is_logged() {
        return Scatter::within(x, shares, exec);
    }
    let p = x.shape().1;
    let values = logged_pass(x, ("scatter", n_moments(p) + n_packed(p)), exec, || {
        let scatter = Scatter::within(x, shares, exec)?;
        let mut values = to_values(&scatter.moments);
        values.extend(scatter.packed());
        Ok(values)
    })?;
    let (moments, packed) = values.split_at(n_moments(p));
    let mut scatter = Scatter::of_packed(of_values(moments), packed)?;
    scatter.matrix.mirror_upper();
    Ok(scatter)
}

/// As [`Moments::within`].
pub(super) fn moments<T: Scalar>(
    x: &Counted<'_, T>,
    shares: Option<&[f64]>,
    exec: &Exec<'_>,
) -> Result<Moments> {
    let length = n_moments(x.shape().1);
    let make = || Ok(to_values(&Moments::within(x, shares, exec)?));
    Ok(of_values(&logged_pass(x, ("means and variances", length), exec, make)?))
}

/// As [`moments_and_start`].
pub(super) fn start<T: Scalar>(
    x: &Counted<'_, T>,
    shares: Option<&[f64]>,
    first_pass: FirstPass<'_>,
    exec: &Exec<'_>,
) -> Result<(Moments, Matrix)> {
    let p = x.shape().1;
    let width = first_pass.width.min(p);
    let values = logged_pass(x, ("first block", n_moments(p) + p * width), exec, || {
        let (moments, start) = moments_and_start(x, shares, first_pass, exec)?;
        let mut values = to_values(&moments);
        values.extend_from_slice(start.as_slice());
        Ok(values)
    })?;
    let (moments, start) = values.split_at(n_moments(p));
    Ok((of_values(moments), Matrix::from_vec(p, width, start.to_vec())?))
}

/// Number of values of the moments of `p` columns.
fn n_moments(p: usize) -> usize {
    4 + 2 * p
}

fn to_values(moments: &Moments) -> Vec<f64> {
    let Moments { n_samples, weight, weight_squared, mean, sum_of_squares, whole } = moments;
    let counts = [*n_samples as f64, *weight, *weight_squared, f64::from(u8::from(*whole))];
    counts.iter().chain(mean).chain(sum_of_squares).copied().collect()
}

fn of_values(values: &[f64]) -> Moments {
    let (counts, columns) = values.split_at(4);
    let (mean, sum_of_squares) = columns.split_at(columns.len() / 2);
    Moments {
        n_samples: counts[0] as usize,
        weight: counts[1],
        weight_squared: counts[2],
        mean: mean.to_vec(),
        sum_of_squares: sum_of_squares.to_vec(),
        whole: counts[3] != 0.0,
    }
}
