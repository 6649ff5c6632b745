//! The sketch: the leading directions of the rows so far, and a probe that measures what they miss.

mod parts;
mod probe;
mod update;

use std::sync::Arc;

use crate::affine::{Affine, Standardization};
use crate::error::{Advice, Result};
use crate::exec::Exec;
use crate::incremental::held::{Held, Storage};
use crate::incremental::options::IncrementalPca;
use crate::incremental::pieces::PieceSize;
use crate::linalg::{ColumnMap, Matrix};
use crate::memory;
use crate::moments::{Aged, Columns, Cut, Moments};
use crate::operator::blocks;
use crate::scaling::Scales;
use crate::source::{Block, Source};
use crate::weights::Weighting;
use parts::{BlockRows, Directions, SketchRows};
use update::{Between, truncated};

pub(super) use probe::{Errors, PROBE, probe};

/// Fewest rows of an update that is not asked for: of dense rows, whose products are as large as the products of the
/// directions, and of sparse ones, whose products cost little in comparison.
const FEWEST_ROWS: usize = 64;
const FEWEST_SPARSE_ROWS: usize = 256;
/// Fewest directions beyond the components that are not asked for.
const FEWEST_OVERSAMPLES: usize = 32;

/// Returns `C' C Theta` of rows `C`.
type ProbeOf<'a> = dyn Fn(&Exec<'_>) -> Result<Matrix> + 'a;

/// The rules of a sketch, which do not change.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rules {
    pub(super) n_components: usize,
    /// `l`, the most directions.
    pub(super) n_directions: usize,
    /// The dense rows of an update, and the decay of their weights.
    cut: Cut,
    /// The sparse rows of an update.
    sparse_rows: usize,
    center: bool,
    scale: bool,
    weighting: Weighting,
    /// The rows whose standard deviations become the scales.
    warm: PieceSize,
}

/// The statistics of a sketch.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SketchState {
    /// Weights, means and squared deviations of the columns, exact and without scales.
    pub(super) moments: Moments,
    /// `V`, orthonormal columns, shape (p, m), m <= l.
    pub(super) directions: Matrix,
    /// The weighted sums of squares along the directions, descending.
    pub(super) squares: Vec<f64>,
    /// `T = sum_i w_i (x_i - mean)(x_i - mean)' Theta`, exact, shape (p, q).
    pub(super) probe: Matrix,
    /// `tau`, a bound on the spectral norm of the sums of squares that were cut off.
    pub(super) cut_off: f64,
    /// The scale of each column, once it is fixed.
    pub(super) scale: Option<Vec<f64>>,
    /// The number of rows that the scales were taken from; `None` if they were given, or not fixed.
    pub(super) warmed_by: Option<usize>,
}

/// An incremental singular value decomposition of weighted rows.
///
/// The rows so far are replaced by `diag(squares)^(1/2) V'`; new rows about their own mean and the difference
/// of the means are stacked below, and the leading directions of the stack are kept (Ross, Lim, Lin & Yang
/// 2008, doi:10.1007/s11263-007-0075-7, with weights). The sums of squares never exceed the exact ones, `S~
/// <= S`, and `||S - S~|| <= tau / s`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sketch {
    pub(super) rules: Rules,
    /// `Theta`, standard normal, shape (p, q); a function of the seed.
    theta: Arc<Matrix>,
    pub(super) state: SketchState,
}

impl Rules {
    /// For checked options with a number of components.
    pub(super) fn new(options: &IncrementalPca, n_components: usize, p: usize) -> Self {
        let more = options.n_oversamples.unwrap_or_else(|| (n_components + 10).max(FEWEST_OVERSAMPLES));
        let n_directions = n_components.saturating_add(more).min(p);
        let piece_rows = options.batch_size.unwrap_or_else(|| (2 * n_directions).max(FEWEST_ROWS));
        let sparse_rows = options.batch_size.unwrap_or_else(|| (4 * n_directions).max(FEWEST_SPARSE_ROWS));
        let half = options.memory_limit / 2;
        let most = |bytes: usize| usize::try_from(half).unwrap_or(usize::MAX) / bytes;
        let dense_rows = options.warm_rows.min(most(p.saturating_mul(8))).max(2);
        let warm = PieceSize { dense_rows, sparse_rows: options.warm_rows, sparse_entries: most(16).max(1) };
        let (center, scale, weighting) = (options.center, options.scale, options.weighting);
        let cut = Cut { piece_rows, half_life: options.half_life };
        Self { n_components, n_directions, cut, sparse_rows, center, scale, weighting, warm }
    }

    /// Checks that memory suffices for the state and for its next value, for `p` columns.
    pub(super) fn ask(&self, p: usize) -> Result<()> {
        let rows = self.cut.piece_rows as f64;
        let small =
            6.0 * ((self.n_directions + self.sparse_rows.max(self.cut.piece_rows)) as f64 + 1.0).powi(2);
        let values = p as f64 * (2.0 * self.n_directions as f64 + 4.0 * PROBE as f64 + rows) + small;
        memory::ask(&format!("a sketch of {p} columns"), 8.0 * values, || {
            vec![Advice::FewerComponents, Advice::RaiseLimit]
        })
    }
}

impl SketchState {
    pub(super) fn empty(p: usize) -> Self {
        Self {
            moments: Moments::empty(p),
            directions: Matrix::zeros(p, 0),
            squares: Vec::new(),
            probe: Matrix::zeros(p, PROBE),
            cut_off: 0.0,
            scale: None,
            warmed_by: None,
        }
    }
}

impl Sketch {
    /// A sketch of no rows.
    ///
    /// # Errors
    /// [`crate::Error::Memory`].
    pub(super) fn new(options: &IncrementalPca, n_components: usize, p: usize) -> Result<Self> {
        Rules::new(options, n_components, p).ask(p)?;
        let scale = options.column_scale.clone();
        Ok(Self::with_state(options, n_components, SketchState { scale, ..SketchState::empty(p) }))
    }

    /// A sketch in a state that belongs to these options.
    pub(super) fn with_state(options: &IncrementalPca, n_components: usize, state: SketchState) -> Self {
        let p = state.moments.mean.len();
        let rules = Rules::new(options, n_components, p);
        Self { rules, theta: Arc::new(probe(p, options.seed)), state }
    }

    /// The size of pieces, and of the first one if it differs.
    pub(super) fn piece_sizes(&self) -> (PieceSize, Option<PieceSize>) {
        let rows = self.rules.cut.piece_rows;
        let sparse_rows = self.rules.sparse_rows;
        let size = PieceSize { dense_rows: rows, sparse_rows, sparse_entries: usize::MAX };
        (size, self.needs_scale().then_some(self.rules.warm))
    }

    /// True while rows wait that will give the scales.
    pub(super) fn needs_scale(&self) -> bool {
        self.rules.scale && self.state.scale.is_none()
    }

    /// The sketch of the rows so far, whose weights are first multiplied by `forget`, and of `held`.
    ///
    /// # Errors
    /// [`crate::Error::Overflow`] and [`crate::Error::WeightSum`] for sums beyond f64; [`crate::Error::Stopped`].
    pub(super) fn added(&self, held: &Held, forget: f64, exec: &Exec<'_>) -> Result<Self> {
        let exec = exec.phase("sketch");
        // Rows of weight zero have no deviations.
        let weightless = held.weights.as_ref().is_some_and(|weights| weights.iter().all(|w| *w == 0.0));
        if !self.needs_scale() || weightless {
            return Ok(self.with(self.updated(held, forget, &exec)?));
        }
        let (scale, warmed_by) = (Some(self.scale_of(held, &exec)?), Some(held.n_rows));
        let mut next = self.with(SketchState { scale, warmed_by, ..self.state.clone() });
        let rows = match held.storage {
            Storage::Dense => self.rules.cut.piece_rows,
            Storage::Sparse { .. } => self.rules.sparse_rows,
        };
        for start in (0..held.n_rows).step_by(rows) {
            let part = held.rows(start..held.n_rows.min(start + rows));
            let forget = if start == 0 { forget } else { 1.0 };
            next.state = next.updated(&part, forget, &exec)?;
        }
        Ok(next)
    }

    /// Tests whether both have the same scales, or none.
    pub(super) fn has_scales_of(&self, other: &Self) -> bool {
        self.state.scale == other.state.scale
    }

    /// A sketch of no rows by these rules, with the scales of `other`.
    pub(super) fn like(&self, other: &Self) -> Self {
        let SketchState { scale, warmed_by, moments, .. } = &other.state;
        let (scale, warmed_by) = (scale.clone(), *warmed_by);
        self.with(SketchState { scale, warmed_by, ..SketchState::empty(moments.mean.len()) })
    }

    fn with(&self, state: SketchState) -> Self {
        Self { rules: self.rules.clone(), theta: self.theta.clone(), state }
    }

    /// The standard deviations of rows, with the divisor of the weighting; one for a constant column. Where the weights
    /// are too small for that divisor, as frequencies that sum to less than two are, it is their sum: later rows may weigh
    /// enough, and until then the model reports the error.
    fn scale_of(&self, held: &Held, exec: &Exec<'_>) -> Result<Vec<f64>> {
        let Aged { weights, .. } = self.rules.cut.aged(held.weights.as_deref(), held.n_rows);
        let moments = moments(&held.block()?, weights.as_deref(), exec)?;
        let correction = moments.totals().correction(self.rules.weighting).unwrap_or(1.0);
        // Later rows decide whether a column varies.
        let columns = Columns { lost: None, ..Columns::of_moments(&moments) };
        let (center, scales) = (&self.rules.center.into(), Scales::Deviation(correction));
        Ok(Affine::new(&columns, Standardization { center, scales, feature_weights: None })?.scale)
    }

    /// One update, with all rows of `held`.
    fn updated(&self, held: &Held, forget: f64, exec: &Exec<'_>) -> Result<SketchState> {
        let old = &self.state;
        let block = held.block()?;
        let aged = self.rules.cut.aged(held.weights.as_deref(), held.n_rows);
        let weights = aged.weights.as_deref();
        let kept = forget * aged.kept;
        let part = moments(&block, weights, &exec.part(0.0, 0.1))?;
        let factor = self.factor();
        let zeros = vec![0.0; factor.len()];
        let (shift, remainder) =
            if self.rules.center { (&part.mean, part.remainder()) } else { (&zeros, &[][..]) };
        let map = ColumnMap { shift, remainder, factor: &factor };
        let rows = BlockRows::new(&block, map, weights);
        let probe = |exec: &Exec<'_>| match &block {
            Block::Dense(x) => blocks::normal(x as &dyn Source<f64>, map, weights, &self.theta, exec),
            // The rows are few: two products take less memory than sums of each thread.
            Block::Sparse(_) => {
                let products = rows.apply(&self.theta, &exec.part(0.0, 0.5))?;
                rows.apply_t(&products, &exec.part(0.5, 1.0))
            }
        };
        let warm = (old.scale.clone(), old.warmed_by);
        self.joined(kept, (&part, &rows, &probe), 0.0, warm, &exec.part(0.1, 1.0))
    }

    /// The state of the rows so far, whose weights are first multiplied by `kept`, and of the rows of `part`:
    /// their moments, their products, and their probe. `cut_off` is what they have lost before.
    fn joined(
        &self,
        kept: f64,
        (part, rows, probe_of): (&Moments, &dyn SketchRows, &ProbeOf<'_>),
        cut_off: f64,
        (scale, warmed_by): (Option<Vec<f64>>, Option<usize>),
        exec: &Exec<'_>,
    ) -> Result<SketchState> {
        let old = &self.state;
        let mut moments = old.moments.clone();
        moments.fade(kept);
        // Weights that have left the range of f64 are forgotten.
        let kept = if moments.weight > 0.0 { kept } else { 0.0 };
        let before = moments.weight;
        moments.add(part);
        moments.check()?;
        let squares: Vec<f64> = old.squares.iter().map(|square| square * kept).collect();
        let mut probe = old.probe.clone();
        probe.scale(kept);
        let cut_off = old.cut_off * kept + cut_off;
        if part.weight == 0.0 {
            let directions = old.directions.clone();
            return Ok(SketchState { moments, directions, squares, probe, cut_off, scale, warmed_by });
        }
        let factor = self.factor();
        let apart = self.rules.center && before > 0.0;
        let between = apart.then(|| {
            let (delta, _) = old.moments.between(part);
            let delta = delta.iter().zip(&factor).map(|(delta, factor)| delta * factor).collect();
            Between::new(delta, before * (part.weight / (before + part.weight)))
        });
        let old = Directions { vectors: &old.directions, squares: &squares };
        let found = truncated(old, rows, between.as_ref(), self.rules.n_directions, &exec.part(0.0, 0.8))?;
        let added = probe_of(&exec.part(0.8, 1.0))?;
        crate::exec::Accumulate::merge(&mut probe, &added);
        if let Some(between) = &between {
            between.add_product(&self.theta, &mut probe);
        }
        let cut_off = cut_off + found.cut_off;
        let (directions, squares) = (found.vectors, found.squares);
        Ok(SketchState { moments, directions, squares, probe, cut_off, scale, warmed_by })
    }

    /// The sketch of the rows of both.
    ///
    /// # Errors
    /// As [`Sketch::added`].
    pub(super) fn merged(&self, other: &Self, exec: &Exec<'_>) -> Result<Self> {
        let exec = exec.phase("sketch");
        let SketchState { moments, directions, squares, probe, cut_off, .. } = &other.state;
        let rows = Directions { vectors: directions, squares };
        let probe = |_: &Exec<'_>| Ok(probe.clone());
        let warm = (self.state.scale.clone(), self.state.warmed_by);
        Ok(self.with(self.joined(1.0, (moments, &rows, &probe), *cut_off, warm, &exec)?))
    }

    /// The factor of each column: one over its scale.
    fn factor(&self) -> Vec<f64> {
        match &self.state.scale {
            Some(scale) => scale.iter().map(|scale| 1.0 / scale).collect(),
            None => vec![1.0; self.state.moments.mean.len()],
        }
    }

    /// The residuals of the first `k` directions, and bounds of them.
    pub(super) fn errors(&self, k: usize, exec: &Exec<'_>) -> Result<Errors> {
        probe::errors(&self.state, &self.theta, k, exec)
    }
}

/// The moments of the rows of a block.
fn moments(block: &Block<'_, f64>, weights: Option<&[f64]>, exec: &Exec<'_>) -> Result<Moments> {
    match block {
        Block::Dense(x) => Moments::within(x, weights, exec),
        Block::Sparse(x) => Moments::within(x, weights, exec),
    }
}
