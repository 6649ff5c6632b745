//! A fit of rows that can be read again, started from an incremental fit.

use crate::error::{Advice, Error, Result, options};
use crate::exec::{Exec, Run};
use crate::incremental::fit::{Engine, IncrementalFit};
use crate::linalg::Matrix;
use crate::memory;
use crate::pca::{Before, NComponents, Pca, PcaModel, Route};
use crate::scalar::Scalar;
use crate::source::Source;
use crate::weights::Weights;

impl IncrementalFit {
    /// Fits `x` by block Krylov iteration that starts from the directions of this fit: the components of `x`
    /// to the tolerance, in fewer passes than [`Pca::fit`] takes. `x` should hold the rows of the fit, or
    /// rows like them; moments and scales are taken from `x`, and weights do not decay. `weights` holds one
    /// weight for each row of `x`; `tol` as in [`Pca`].
    ///
    /// Memory: a basis of about `2 k + 6 (l + 8)` vectors of n_features values, for k components and l
    /// directions.
    ///
    /// ```
    /// use karhunen::incremental::IncrementalPca;
    /// use karhunen::source::Block;
    /// use karhunen::{Dense, Run};
    /// let x = Dense::row_major(&[3.0, 0.0, -3.0, 0.0, 0.0, 1.0, 0.0, -1.0], 4, 2)?;
    /// let run = Run::default();
    /// let mut fit = IncrementalPca::new(1).start(2)?;
    /// fit.push(&Block::Dense(x), None, &run)?;
    /// let model = fit.refine(&x, None, None, &run)?;
    /// assert!((model.explained_variance()[0] - 6.0).abs() < 1e-12);
    /// # Ok::<(), karhunen::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Empty`] for a fit of no rows; [`Error::Option`] unless the number of components is given, and
    /// for column scales; [`Error::Shape`] for another number of columns; [`Error::OnePass`] for a source
    /// that can be visited once; as [`Pca::fit`].
    pub fn refine<T: Scalar>(
        &self,
        x: &dyn Source<T>,
        weights: Option<&[f64]>,
        tol: Option<f64>,
        run: &Run<'_>,
    ) -> Result<PcaModel> {
        let (n_samples, found) = x.shape();
        let p = self.n_features;
        if self.n_samples == 0 {
            return Err(Error::Empty { n_samples: 0, n_features: p });
        }
        if found != p {
            return Err(Error::Shape { what: "the source", axis: "columns", found, expected: p });
        }
        let NComponents::Count(k) = self.options.n_components else {
            let rule = "an iteration from known directions needs the number of components";
            return Err(Error::option(options::N_COMPONENTS, crate::error::OptionValue::NotGiven, rule));
        };
        if self.options.column_scale.is_some() {
            let rule = "a fit of all rows takes the scales from them: start without given scales";
            return Err(Error::option(options::COLUMN_SCALE, crate::error::OptionValue::Given, rule));
        }
        let start = self.directions(run)?;
        let basis = (2 * k + 6 * (start.n_cols() + 8)).min(p);
        memory::ask(
            "block Krylov iteration from known directions",
            8.0 * p as f64 * 1.5 * basis as f64,
            || vec![Advice::FewerComponents, Advice::RaiseLimit],
        )?;
        let n_components = NComponents::Count(k.min(n_samples));
        let pca = Pca { solver: Some(Route::BlockKrylov), tol, ..self.options.pca(n_components) };
        let start = Some(&start).filter(|start| start.n_cols() > 0);
        let weights = Weights { samples: weights, features: None };
        pca.fit_after(x, &weights, Before { start, refines: true, log: None }, run)
    }

    /// The directions of the fit as orthonormal columns.
    fn directions(&self, run: &Run<'_>) -> Result<Matrix> {
        if let Engine::Sketch(_) = self.engine {
            let flushed = Exec::run(run, |exec| self.flushed(exec))?;
            if let Engine::Sketch(sketch) = flushed.into_owned() {
                return Ok(sketch.state.directions);
            }
        }
        Ok(self.model(run)?.into_pca().components().transposed())
    }
}
