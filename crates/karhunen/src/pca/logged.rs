//! Results of earlier fits: a start, and a log of passes; the first passes of a fit with such a log.

use crate::error::Result;
use crate::exec::{Exec, PassLog};
use crate::linalg::Matrix;
use crate::moments::ranges::Extremes;
use crate::moments::{Moments, Scatter};
use crate::operator::{FirstPass, logged_pass, moments_and_start};
use crate::scalar::Scalar;
use crate::source::{Counted, Source};

/// Results of earlier fits.
#[derive(Clone, Copy, Default)]
pub(crate) struct Before<'a> {
    /// Orthonormal columns from which block Krylov iteration starts, shape (n_features, l).
    pub(crate) start: Option<&'a Matrix>,
    /// True if the start comes from an incremental fit, which has no options of iterations.
    pub(crate) refines: bool,
    /// Holds the results of passes that were made, and receives the results of later ones.
    pub(crate) log: Option<&'a dyn PassLog>,
}

/// As [`Scatter::within`].
pub(super) fn scatter<T: Scalar>(
    x: &Counted<'_, T>,
    shares: Option<&[f64]>,
    exec: &Exec<'_>,
) -> Result<Scatter> {
    let empty = || Scatter::empty(x.shape().1);
    let mut scatter = logged_pass(x, "scatter", exec, empty, |exec| Scatter::within(x, shares, exec))?;
    if exec.is_logged() {
        // A log keeps the upper triangle.
        scatter.matrix.mirror_upper();
    }
    Ok(scatter)
}

/// As [`Moments::within`].
pub(super) fn moments<T: Scalar>(
    x: &Counted<'_, T>,
    shares: Option<&[f64]>,
    exec: &Exec<'_>,
) -> Result<Moments> {
    let empty = || Moments::empty(x.shape().1);
    logged_pass(x, "means and variances", exec, empty, |exec| Moments::within(x, shares, exec))
}

/// The range of each column.
///
/// # Errors
/// As [`Extremes::within`] and [`Extremes::ranges`].
pub(super) fn ranges<T: Scalar>(
    x: &Counted<'_, T>,
    shares: Option<&[f64]>,
    exec: &Exec<'_>,
) -> Result<Vec<f64>> {
    let empty = || Extremes::empty(x.shape().1);
    logged_pass(x, "ranges", exec, empty, |exec| Extremes::within(x, shares, exec))?.ranges()
}

/// As [`moments_and_start`].
pub(super) fn start<T: Scalar>(
    x: &Counted<'_, T>,
    shares: Option<&[f64]>,
    first_pass: FirstPass<'_>,
    exec: &Exec<'_>,
) -> Result<(Moments, Matrix)> {
    let p = x.shape().1;
    let empty = || (Moments::empty(p), Matrix::zeros(p, first_pass.width.min(p)));
    logged_pass(x, "first block", exec, empty, |exec| moments_and_start(x, shares, first_pass, exec))
}
