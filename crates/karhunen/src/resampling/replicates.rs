//! The fits of all draws of a bootstrap, and the scores of rows by each.

use crate::error::{Advice, Error, Result};
use crate::exec::{Exec, Run};
use crate::linalg::Matrix;
use crate::linalg::decomp::orthonormal::orthonormalize;
use crate::linalg::decomp::polar::orthogonal_factor;
use crate::linalg::dense::small::multiply;
use crate::memory;
use crate::pca::{PcaModel, Transform};
use crate::scalar::{Scalar, compiled};
use crate::source::Source;

/// The fits of all draws, aligned with the fit of the data.
#[derive(Clone, Debug, PartialEq)]
pub struct Replicates {
    /// The fit of the data.
    pub model: PcaModel,
    /// Explained variances, shape (n_draws, n_components).
    pub variances: Matrix,
    /// Explained variance ratios, shape (n_draws, n_components).
    pub ratios: Matrix,
    /// Aligned loadings, shape (n_draws, n_features times n_components): of each draw the loadings of the first
    /// feature, then of the second.
    pub loadings: Matrix,
}

impl Replicates {
    /// Scores of rows `x`, shape (n_rows, n_features), on the aligned components of every draw: shape (n_draws, n_rows
    /// times n_components), of each draw the scores of the first row, then of the second. Rows are centred and scaled
    /// as in the fit of the data, so they stay fixed and only the components vary: the partial bootstrap (Lebart 2007,
    /// Which bootstrap for principal axes methods?; Josse, Wager & Husson 2016, doi:10.1080/10618600.2014.950871).
    ///
    /// The components of a draw are the orthonormal factor of its loadings, which keeps signs and rotations of the
    /// alignment. One pass over `x` per draw. Memory: 8 bytes per draw, row and component.
    ///
    /// # Errors
    /// [`Error::Shape`] unless `x` has `n_features` columns and all arrays the shapes of the model; [`Error::Memory`];
    /// errors of [`PcaModel::transform_with`].
    pub fn scores<T: Scalar>(&self, x: &dyn Source<T>, run: &Run<'_>) -> Result<Matrix> {
        let scores = compiled!(T, scores::<T>
            => fn(&Replicates, &dyn Source<T>, &Run<'_>) -> Result<Matrix>);
        scores(self, x, run)
    }
}

fn scores<T: Scalar>(replicates: &Replicates, x: &dyn Source<T>, run: &Run<'_>) -> Result<Matrix> {
    let Replicates { model, loadings, .. } = replicates;
    let (p, k) = (model.n_features(), model.n_components());
    let (n_draws, n) = (loadings.n_rows(), x.shape().0);
    if loadings.n_cols() != p * k {
        let (what, axis) = ("the loadings of the draws", "columns");
        return Err(Error::Shape { what, axis, found: loadings.n_cols(), expected: p * k });
    }
    let what = format!("the scores of {n} rows in {n_draws} draws");
    let advice = || vec!["give fewer rows, or make fewer draws".into(), Advice::RaiseLimit];
    memory::ask(&what, 8.0 * n_draws as f64 * n as f64 * k as f64, advice)?;
    let mut out = Matrix::try_zeros(&what, n_draws, n * k)?;
    Exec::run(run, |exec| {
        exec.phase("scores of draws").fill(out.as_mut_slice(), n * k, |draw, out| {
            let of_draw = Matrix::from_vec(p, k, loadings.row(draw).to_vec())?;
            let factors = orthonormalize(of_draw, 0, &Exec::sequential())?;
            let mut parts = model.parts().clone();
            parts.components = multiply(&factors.q, &orthogonal_factor(&factors.r)?).transposed();
            let alone = Run { n_threads: Some(1), ..Run::default() };
            let scores = PcaModel::try_from(parts)?.transform_with(x, Transform::default(), &alone)?;
            out.iter_mut().zip(scores.as_slice()).for_each(|(out, score)| *out = score.to_f64());
            Ok(())
        })
    })?;
    Ok(out)
}
