//! The state of an incremental fit: rows come in, models and merged fits come out.

use std::borrow::Cow;
use std::ops::{Range, RangeInclusive};

use crate::error::{Error, Result};
use crate::exec::{Exec, Flow, Run};
use crate::incremental::exact;
use crate::incremental::held::Held;
use crate::incremental::model::{IncrementalModel, Note};
use crate::incremental::options::{IncrementalMethod, IncrementalPca};
use crate::incremental::pieces::{Division, Rows};
use crate::incremental::sketch::{Errors, Sketch};
use crate::linalg::finite::all_within;
use crate::moments::{Moments, Scatter, check_finite};
use crate::pca::evidence::most_probable_dimension;
use crate::pca::fit_scatter;
use crate::pca::{NComponents, PcaModel};
use crate::scalar::{Scalar, compiled};
use crate::source::{Batch, Block, Source};
use crate::weights::check_weights;

/// A fit of the rows so far, which takes more rows at any time. Made by [`IncrementalPca::start`].
///
/// A method that returns an error leaves the state as it was. Equal sequences of rows give equal bits: for
/// any number of threads, and without `forget` for any division into batches.
///
/// Memory: with the method scatter a matrix of shape (n_features, n_features), three more of them while rows
/// come in, and 992 rows; with the method sketch `8 n_features (l + 42)` bytes for `l` directions, about
/// `8 n_features (3 l + 220)` while rows come in, and the rows of an update.
#[derive(Clone, Debug, PartialEq)]
pub struct IncrementalFit {
    pub(super) options: IncrementalPca,
    pub(super) n_features: usize,
    /// Rows so far, those held included.
    pub(super) n_samples: usize,
    /// Batches so far.
    pub(super) n_batches: usize,
    pub(super) held: Held,
    pub(super) engine: Engine,
}

/// Largest magnitude of a value whose sums and sums of squares are far within the range of f64.
const MODERATE: f64 = 1e75;

/// The blocks of one batch.
#[derive(Clone, Copy)]
struct Visit {
    /// The number of the first row of the next block, for errors.
    first: usize,
    /// The factor of the weights of all earlier rows, until the first piece of the batch is added; then one.
    forget: f64,
    /// The batch ends with the next block.
    close: bool,
}

/// The statistics that are kept of the rows.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Engine {
    /// The sums over all rows; `None` before the first. Only the upper triangle of the matrix is valid.
    Scatter(Option<Scatter>),
    Sketch(Box<Sketch>),
}

impl IncrementalPca {
    /// Begins a fit of rows with `n_features` columns.
    ///
    /// # Errors
    /// [`Error::Option`] for options outside their rules or that exclude each other; [`Error::Empty`] without
    /// columns;
    /// [`Error::Shape`] for another number of column scales; [`Error::Memory`] if the state does not fit.
    pub fn start(&self, n_features: usize) -> Result<IncrementalFit> {
        IncrementalFit::new(self.clone(), n_features)
    }
}

impl IncrementalFit {
    fn new(options: IncrementalPca, n_features: usize) -> Result<Self> {
        options.check(n_features)?;
        let engine = match (options.method_for(n_features), options.n_components) {
            (IncrementalMethod::Sketch, NComponents::Count(k)) => {
                Engine::Sketch(Box::new(Sketch::new(&options, k, n_features)?))
            }
            _ => Engine::Scatter(None),
        };
        let held = Held::new(n_features);
        Ok(Self { options, n_features, n_samples: 0, n_batches: 0, held, engine })
    }

    /// The options of the fit.
    pub fn options(&self) -> &IncrementalPca {
        &self.options
    }

    /// Number of columns.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// Number of rows so far, including rows of weight zero and forgotten ones.
    pub fn n_samples_seen(&self) -> usize {
        self.n_samples
    }

    /// The engine: scatter or sketch.
    pub fn method(&self) -> IncrementalMethod {
        match self.engine {
            Engine::Scatter(_) => IncrementalMethod::Scatter,
            Engine::Sketch(_) => IncrementalMethod::Sketch,
        }
    }

    /// Number of dense rows of one update: `batch_size` or the choice of a sketch; with the method scatter, the rows of
    /// a piece.
    pub fn batch_size(&self) -> usize {
        match &self.engine {
            Engine::Scatter(_) => exact::piece_size(self.n_features).dense_rows,
            Engine::Sketch(sketch) => sketch.piece_sizes().0.dense_rows,
        }
    }

    /// Number of directions that a sketch keeps at most; the number of columns with the method scatter.
    pub fn n_directions(&self) -> usize {
        match &self.engine {
            Engine::Scatter(_) => self.n_features,
            Engine::Sketch(sketch) => sketch.rules.n_directions,
        }
    }

    /// Adds a batch of rows, any number of them, dense or sparse. `weights` holds one finite weight >= 0 for
    /// each row; all are one if `None`. A batch without rows changes nothing.
    ///
    /// ```
    /// use karhunen::incremental::IncrementalPca;
    /// use karhunen::source::Block;
    /// use karhunen::{Run, Sparse};
    /// let run = Run::default();
    /// // Of the second row every older row weighs half.
    /// let mut fit = IncrementalPca { half_life: Some(1.0), ..IncrementalPca::new(1) }.start(3)?;
    /// let rows = Sparse::csr(2, 3, &[0, 1, 2], &[0, 2], &[4.0, 1.0])?;
    /// fit.push(&Block::Sparse(rows), Some(&[2.0, 1.0]), &run)?;
    /// assert_eq!(fit.moments(&run)?.weight, 2.0);
    /// assert_eq!(fit.moments(&run)?.mean, [2.0, 0.0, 0.5]);
    /// # Ok::<(), karhunen::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::BlockColumns`]; [`Error::NonFinite`], [`Error::WeightValue`] with the row counted from the
    /// first row of the fit; [`Error::WeightLength`]; [`Error::Overflow`] and [`Error::WeightSum`] for sums
    /// beyond f64;
    /// [`Error::Memory`]; [`Error::Stopped`] if the observer cancels.
    pub fn push<T: Scalar>(
        &mut self,
        rows: &Block<'_, T>,
        weights: Option<&[f64]>,
        run: &Run<'_>,
    ) -> Result<()> {
        let first = self.n_samples;
        let mut visit = Visit { first, forget: self.options.forget, close: true };
        self.push_block(rows, weights, &mut visit, run)
    }

    /// Adds the rows of a source as one batch: `forget` counts it once, however many blocks it has. `weights`
    /// holds one weight for each row of the source. A source of several blocks is added to a copy of the state.
    ///
    /// ```
    /// use karhunen::incremental::IncrementalPca;
    /// use karhunen::source::{Block, RowBlocks};
    /// use karhunen::{Dense, Run};
    /// let run = Run::default();
    /// let mut fit = IncrementalPca { forget: 0.5, ..IncrementalPca::new(1) }.start(2)?;
    /// let (top, bottom) = ([1.0, 2.0, 3.0, 4.0], [5.0, 7.0]);
    /// let blocks = [Dense::row_major(&top, 2, 2)?, Dense::row_major(&bottom, 1, 2)?].map(Block::Dense);
    /// let batch = RowBlocks::new(blocks.into())?;
    /// fit.push_source(&batch, None, &run)?;
    /// fit.push_source(&batch, None, &run)?;
    /// assert_eq!(fit.moments(&run)?.weight, 0.5 * 3.0 + 3.0);
    /// # Ok::<(), karhunen::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`IncrementalFit::push`], with rows counted from the first row of the source; errors of the source.
    pub fn push_source<T: Scalar>(
        &mut self,
        x: &dyn Source<T>,
        weights: Option<&[f64]>,
        run: &Run<'_>,
    ) -> Result<()> {
        let (n_samples, found) = x.shape();
        if found != self.n_features {
            let expected = self.n_features;
            return Err(Error::Shape { what: "the batch", axis: "columns", found, expected });
        }
        check_weights(weights, n_samples)?;
        let of_rows = |rows: Range<usize>| weights.map(|weights| &weights[rows]);
        let forget = self.options.forget;
        if x.n_blocks() == Some(1) {
            return x.visit(&mut |first, rows| {
                let mut visit = Visit { first, forget, close: true };
                self.push_block(&rows, of_rows(first..first + rows.n_rows()), &mut visit, run)
            });
        }
        let mut next = self.clone();
        let mut visit = Visit { first: 0, forget, close: false };
        x.visit(&mut |first, rows| {
            visit.first = first;
            next.push_block(&rows, of_rows(first..first + rows.n_rows()), &mut visit, run)
        })?;
        if forget < 1.0 {
            let (engine, held) = (&next.engine, Rows::<f64>::Held(&next.held));
            let half_life = next.options.half_life;
            if next.held.n_rows > 0 {
                next.engine = Exec::run(run, |exec| {
                    Engine::added(Cow::Borrowed(engine), held, visit.forget, half_life, exec)
                })?;
                next.held = Held::new(next.n_features);
            }
        }
        next.n_batches = self.n_batches + usize::from(n_samples > 0);
        *self = next;
        Ok(())
    }

    fn push_block<T: Scalar>(
        &mut self,
        rows: &Block<'_, T>,
        weights: Option<&[f64]>,
        visit: &mut Visit,
        run: &Run<'_>,
    ) -> Result<()> {
        type Push<T> =
            fn(&mut IncrementalFit, &Block<'_, T>, Option<&[f64]>, &mut Visit, &Run<'_>) -> Result<()>;
        let push = compiled!(T, IncrementalFit::push_rows::<T> => Push<T>);
        push(self, rows, weights, visit, run)
    }

    fn push_rows<T: Scalar>(
        &mut self,
        rows: &Block<'_, T>,
        weights: Option<&[f64]>,
        visit: &mut Visit,
        run: &Run<'_>,
    ) -> Result<()> {
        Batch { rows: rows.clone(), weights }.check(self.n_features, self.n_batches, visit.first)?;
        if rows.n_rows() == 0 {
            return Ok(());
        }
        // Sums show values that are not finite or too large: only rows that will wait are tested before.
        let waiting = match (rows, &self.engine) {
            (Block::Dense(x), Engine::Scatter(_)) => {
                let n = x.n_rows();
                Block::Dense(x.rows(n - n.min(self.held.n_waiting(n, exact::PIECE_ROWS))..n))
            }
            _ => rows.clone(),
        };
        if is_moderate(&waiting, weights) {
            let mut next = *visit;
            match self.push_checked(rows, weights, MODERATE, &mut next, run) {
                Ok(()) => {
                    *visit = next;
                    return Ok(());
                }
                Err(Error::Overflow { .. } | Error::WeightSum { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        check_finite(rows, visit.first, weights)?;
        // Sums may leave the range of f64, also sums over rows that wait: a trial shows it before anything
        // changes.
        let mut trial = self.clone();
        trial.push_checked(rows, weights, f64::MAX, visit, run)?;
        Exec::run(run, |exec| trial.flushed(exec).map(|_| ()))?;
        *self = trial;
        Ok(())
    }

    /// Adds a block that has rows and valid weights. With the method scatter, [`Error::Overflow`] refuses means
    /// beyond `largest` and sums of squares beyond its square.
    fn push_checked<T: Scalar>(
        &mut self,
        rows: &Block<'_, T>,
        weights: Option<&[f64]>,
        largest: f64,
        visit: &mut Visit,
        run: &Run<'_>,
    ) -> Result<()> {
        let (size, first, runs) = match &self.engine {
            Engine::Scatter(_) => (exact::piece_size(self.n_features), None, true),
            Engine::Sketch(sketch) => {
                let (size, first) = sketch.piece_sizes();
                (size, first, false)
            }
        };
        let close = visit.close && self.options.forget < 1.0;
        let division = Division { size, first, runs, close };
        let (engine, half_life) = (&self.engine, self.options.half_life);
        let mut next: Option<Engine> = None;
        self.held.push(rows, weights, division, &mut |rows| {
            // An observer that cancels the push here, before it takes effect, leaves the state as it was.
            let Some(rows) = rows else { return ask_to_continue(run) };
            let forget = std::mem::replace(&mut visit.forget, 1.0);
            let current = next.take().map_or(Cow::Borrowed(engine), Cow::Owned);
            let added = Exec::run(run, |exec| Engine::added(current, rows, forget, half_life, exec))?;
            if let Engine::Scatter(Some(scatter)) = &added {
                scatter.moments.check_within(largest)?;
            }
            next = Some(added);
            Ok(())
        })?;
        if let Some(next) = next {
            self.engine = next;
        }
        self.n_samples += rows.n_rows();
        self.n_batches += 1;
        Ok(())
    }

    /// True while rows wait that will give the scales of a sketch.
    pub(super) fn is_warming(&self) -> bool {
        matches!(&self.engine, Engine::Sketch(sketch) if sketch.needs_scale())
    }

    /// The engine once the rows held are added.
    pub(super) fn flushed(&self, exec: &Exec<'_>) -> Result<Cow<'_, Engine>> {
        let engine = Cow::Borrowed(&self.engine);
        if self.held.n_rows == 0 {
            return Ok(engine);
        }
        let rows = Rows::<f64>::Held(&self.held);
        Ok(Cow::Owned(Engine::added(engine, rows, 1.0, self.options.half_life, exec)?))
    }

    /// Weights, means and squared deviations of the columns of the rows so far, with decayed weights.
    ///
    /// # Errors
    /// [`Error::Overflow`] and [`Error::WeightSum`] for sums beyond f64; [`Error::Memory`];
    /// [`Error::Stopped`].
    pub fn moments(&self, run: &Run<'_>) -> Result<Moments> {
        Exec::run(run, |exec| {
            Ok(match self.flushed(exec)?.as_ref() {
                Engine::Scatter(Some(scatter)) => scatter.moments.clone(),
                Engine::Scatter(None) => Moments::empty(self.n_features),
                Engine::Sketch(sketch) => sketch.state.moments.clone(),
            })
        })
    }

    /// The scatter of the rows so far, with decayed weights; `None` for the method sketch.
    ///
    /// # Errors
    /// As [`IncrementalFit::moments`].
    pub fn scatter(&self, run: &Run<'_>) -> Result<Option<Scatter>> {
        Exec::run(run, |exec| match self.flushed(exec)?.into_owned() {
            Engine::Scatter(Some(scatter)) => scatter.finished().map(Some),
            Engine::Scatter(None) => Ok(Some(Scatter::empty(self.n_features))),
            Engine::Sketch(_) => Ok(None),
        })
    }

    /// The components of the rows so far. The state does not change.
    ///
    /// # Errors
    /// [`Error::Empty`] without rows; [`Error::WeightsAllZero`]; errors of the weighting, such as
    /// [`Error::OneSample`];
    /// [`Error::Option`] for a number of components that these rows do not allow; [`Error::Memory`];
    /// [`Error::Stopped`].
    pub fn model(&self, run: &Run<'_>) -> Result<IncrementalModel> {
        if self.n_samples == 0 {
            return Err(Error::Empty { n_samples: 0, n_features: self.n_features });
        }
        let flushed = Exec::run(run, |exec| self.flushed(exec))?;
        let (method, requested) = (self.method(), self.options.n_components.given());
        let mut notes = Vec::new();
        let (pca, moments, bounds) = match flushed.into_owned() {
            Engine::Scatter(scatter) => {
                let scatter = scatter.unwrap_or_else(|| Scatter::empty(self.n_features)).finished()?;
                let pca = self.model_of_scatter(&scatter, run)?;
                let bounds = pca.convergence().residuals.clone();
                (pca, scatter.moments, bounds)
            }
            Engine::Sketch(sketch) => {
                let (pca, bounds) = self.model_of_sketch(&sketch, run)?;
                notes.extend(sketch.state.warmed_by.map(|n_samples| Note::ScaleFrozen { n_samples }));
                (pca, sketch.state.moments, bounds)
            }
        };
        let pca =
            if self.decays() { pca.with_effective_samples(Some(moments.totals().effective())) } else { pca };
        let found = pca.n_components();
        if let Some(requested) = requested.filter(|&requested| found < requested) {
            notes.push(Note::FewerComponents { found, requested });
        }
        let residual_bounds = bounds[..found].to_vec();
        Ok(IncrementalModel { pca, method, moments, residual_bounds, notes })
    }

    fn model_of_scatter(&self, scatter: &Scatter, run: &Run<'_>) -> Result<PcaModel> {
        let most = scatter.moments.n_samples.min(self.n_features);
        let n_components = match self.options.n_components {
            NComponents::Count(k) => NComponents::Count(k.min(most)),
            NComponents::Mle if self.decays() => {
                let all = self.options.pca(NComponents::All).fit_scatter_with(scatter, None, run)?;
                let n = scatter.moments.totals().effective();
                return all.leading(most_probable_dimension(all.explained_variance(), n));
            }
            other => other,
        };
        self.options.pca(n_components).fit_scatter_with(scatter, None, run)
    }

    /// True for weights that decay, which are not counts, whatever the weights of the rows mean.
    fn decays(&self) -> bool {
        self.options.forget < 1.0 || self.options.half_life.is_some()
    }

    fn model_of_sketch(&self, sketch: &Sketch, run: &Run<'_>) -> Result<(PcaModel, Vec<f64>)> {
        let state = &sketch.state;
        let weight = state.moments.weight;
        let k = sketch.rules.n_components.min(state.squares.len());
        Exec::run(run, |exec| {
            let Errors { residuals, bounds } = sketch.errors(k, exec)?;
            let spectrum = fit_scatter::SpectrumParts {
                variances: state.squares[..k].iter().map(|square| square / weight).collect(),
                components: state.directions.columns(0..k).transposed_by(exec)?,
                residuals,
                reason: format!("an incremental sketch of {} directions", sketch.rules.n_directions),
            };
            let options = self.options.pca(NComponents::Count(k));
            let model = fit_scatter::model_of_spectrum(
                &options,
                &state.moments,
                state.scale.as_deref(),
                spectrum,
                exec,
            )?;
            Ok((model.with_variance(), bounds))
        })
    }
}

impl Engine {
    /// The engine once rows are added; the weights of all earlier rows are first multiplied by `forget`.
    fn added<T: Scalar>(
        current: Cow<'_, Self>,
        rows: Rows<'_, T>,
        forget: f64,
        half_life: Option<f64>,
        exec: &Exec<'_>,
    ) -> Result<Self> {
        if let Self::Sketch(sketch) = current.as_ref() {
            let Rows::Held(held) = rows else { unreachable!("a sketch asks for no runs") };
            return sketch.added(held, forget, exec).map(Box::new).map(Self::Sketch);
        }
        match current.into_owned() {
            Self::Scatter(total) => exact::added(total, rows, (forget, half_life), exec).map(Self::Scatter),
            sketch @ Self::Sketch(_) => Ok(sketch),
        }
    }
}

/// # Errors
/// [`Error::Stopped`] if the observer cancels.
fn ask_to_continue(run: &Run<'_>) -> Result<()> {
    const PHASE: &str = "rows";
    match run.observer.update(PHASE, 1.0) {
        Flow::Continue => Ok(()),
        Flow::Stop => Err(Error::Stopped { phase: PHASE }),
    }
}

/// Tests that sums over these rows and their squares are far within the range of f64.
fn is_moderate<T: Scalar>(rows: &Block<'_, T>, weights: Option<&[f64]>) -> bool {
    const WEIGHTS: RangeInclusive<f64> = 1e-100..=1e30;
    let values_are = match rows {
        Block::Dense(x) => {
            let lines = if x.is_column_major() { x.t() } else { *x };
            let mut all = (0..lines.n_rows()).map(|i| lines.contiguous_row(i));
            match lines.contiguous() {
                [] => all.all(|row| row.is_some_and(|row| all_within(row, MODERATE))),
                values => all_within(values, MODERATE),
            }
        }
        Block::Sparse(x) => all_within(x.values(), MODERATE),
    };
    values_are && weights.is_none_or(|weights| weights.iter().all(|w| *w == 0.0 || WEIGHTS.contains(w)))
}
