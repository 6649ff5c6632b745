//! Moments and scatter of wide dense rows, in one visit of a source.
//!
//! Products and sums of rows are taken about a pivot, the mean of the first piece of rows, and moved to the mean at the
//! end: `S = P - W d d'`, where `d` is the mean less the pivot and `W` the weight. This loses digits only if the pivot of
//! a column lies far out. Then a source is visited once more, about the mean; rows that come once are tested before they
//! are added, and begin another sum if they lie far from the pivot.

use crate::error::Result;
use crate::exec::Exec;
use crate::linalg::dense::pack::Mapped;
use crate::linalg::dense::rank_k::{STRIP, bands};
use crate::linalg::{ColumnMap, Dense, Matrix};
use crate::moments::dense_scatter::{is_near, move_to_mean};
use crate::moments::row_sums::{self, RowSums};
use crate::moments::scatter::Scatter;
use crate::moments::{Moments, dense_sums};
use crate::scalar::Scalar;
use crate::source::{Block, Passes, Source, Stream};

/// The upper triangle of the scatter of a source of dense rows.
pub(super) fn of_source<T: Scalar>(
    x: &dyn Source<T>,
    weights: Option<&[f64]>,
    exec: &Exec<'_>,
) -> Result<Scatter> {
    let p = x.shape().1;
    let again = x.passes() == Passes::Many;
    let mut sums = WideScatter { guarded: !again, ..WideScatter::new() };
    loop {
        // Continues in the second visit if an earlier run was interrupted there.
        row_sums::add_source(&mut sums, x, weights, exec)?;
        let about_mean = sums.about_mean;
        let (scatter, near) = sums.finish(p);
        scatter.moments.check()?;
        if near || !again || about_mean {
            return Ok(scatter);
        }
        let Scatter { moments, mut matrix } = scatter;
        matrix.as_mut_slice().fill(0.0);
        let about = AboutPivot::new(moments.mean, matrix);
        sums = WideScatter { about: Some(about), about_mean: true, ..WideScatter::new() };
    }
}

/// The upper triangle of the scatter of a stream.
pub(super) fn of_stream<T: Scalar>(stream: &mut dyn Stream<T>, exec: &Exec<'_>) -> Result<Scatter> {
    let mut sums = WideScatter { guarded: true, ..WideScatter::new() };
    row_sums::add_stream(&mut sums, stream, exec)?;
    Ok(sums.finish(stream.n_features()).0)
}

/// Sums over wide rows.
struct WideScatter {
    /// Sums about the pivot; `None` before the first dense row.
    about: Option<AboutPivot>,
    /// The scatter of sparse blocks, and of rows about earlier pivots.
    others: Option<Scatter>,
    /// True if rows come once, so that their distance from the pivot is tested before they are added.
    guarded: bool,
    /// True in the second visit, about the mean.
    about_mean: bool,
}

impl WideScatter {
    fn new() -> Self {
        Self { about: None, others: None, guarded: false, about_mean: false }
    }

    /// The upper triangle of the scatter, and whether every pivot was near the mean.
    fn finish(self, n_features: usize) -> (Scatter, bool) {
        match (self.about.map(AboutPivot::finish), self.others) {
            (Some(finished), None) => finished,
            (Some((part, near)), mut others) => {
                row_sums::add(&mut others, part);
                (others.unwrap_or_else(|| Scatter::empty(n_features)), near)
            }
            (None, others) => (others.unwrap_or_else(|| Scatter::empty(n_features)), true),
        }
    }

    /// Begins another sum if the rows of `x` lie far from the pivot: about their first piece, or about their mean if that
    /// piece lies far from the others.
    fn guard<T: Scalar>(&mut self, x: &Dense<'_, T>, weights: Option<&[f64]>, exec: &Exec<'_>) -> Result<()> {
        let mut rows = None;
        Moments::add_dense(&mut rows, x, weights, exec)?;
        // Values that are not finite are found after they were added.
        let Some(rows) = rows.filter(|rows| rows.first_overflow().is_none()) else { return Ok(()) };
        if self.about.as_ref().is_some_and(|about| about.stays_near(&rows)) {
            return Ok(());
        }
        if let Some(about) = self.about.take() {
            row_sums::add(&mut self.others, about.finish().0);
        }
        let p = x.n_cols();
        let first = AboutPivot::new(mean_of_first_piece(x, weights), Matrix::zeros(p, p));
        self.about =
            Some(if first.stays_near(&rows) { first } else { AboutPivot { pivot: rows.mean, ..first } });
        Ok(())
    }
}

impl RowSums for WideScatter {
    fn is_finite(&self) -> bool {
        let others = self.others.as_ref().is_none_or(|others| others.moments.first_overflow().is_none());
        others && self.about.as_ref().is_none_or(AboutPivot::is_finite)
    }

    fn piece_rows(n_cols: usize) -> usize {
        bands::piece_rows(n_cols)
    }

    fn add_rows<T: Scalar>(
        &mut self,
        block: &Block<'_, T>,
        weights: Option<&[f64]>,
        exec: &Exec<'_>,
    ) -> Result<()> {
        let x = match block {
            Block::Dense(x) => x,
            Block::Sparse(_) => {
                row_sums::add(&mut self.others, Scatter::of_block(block, weights, exec)?);
                return Ok(());
            }
        };
        // Rows without weight add nothing to the sums, whatever their pivot.
        if let Some(about) = self.about.as_mut().filter(|about| about.counts.weight == 0.0)
            && !self.about_mean
        {
            about.pivot = mean_of_first_piece(x, weights);
        }
        if self.guarded {
            self.guard(x, weights, &exec.part(0.0, 0.1))?;
        }
        let about = self.about.get_or_insert_with(|| {
            let p = x.n_cols();
            AboutPivot::new(mean_of_first_piece(x, weights), Matrix::zeros(p, p))
        });
        about.add(x, weights, &exec.part(0.1, 1.0))
    }
}

/// The weighted mean of the first piece of rows that has weight; the first row if none has. The first of the rows begins
/// a piece.
fn mean_of_first_piece<T: Scalar>(x: &Dense<'_, T>, weights: Option<&[f64]>) -> Vec<f64> {
    let (n, p) = (x.n_rows(), x.n_cols());
    let height = bands::piece_rows(p);
    let rows_from = |start: usize| start..n.min(start + height);
    let has_weight = |start: &usize| weights.is_none_or(|w| w[rows_from(*start)].iter().any(|w| *w > 0.0));
    let rows = rows_from((0..n).step_by(height).find(has_weight).unwrap_or(0));
    let (piece, weights) = (x.rows(rows.clone()), weights.map(|w| &w[rows]));
    let mut mean = vec![0.0; p];
    dense_sums::mean_near(&piece, weights, &dense_sums::heaviest_row(&piece, weights), &mut mean);
    mean
}

/// Sums of rows about a pivot.
struct AboutPivot {
    pivot: Vec<f64>,
    /// Numbers of rows and sums of their weights; means and squares are not used.
    counts: Moments,
    /// `sum_i w_i (x_i - pivot)`, padded to whole strips.
    sums: Vec<f64>,
    /// `sum_i w_i (x_i - pivot) (x_i - pivot)'`, its upper triangle.
    products: Matrix,
}

impl AboutPivot {
    /// The sum of no rows; `products` is zero, shape (p, p).
    fn new(pivot: Vec<f64>, products: Matrix) -> Self {
        let sums = vec![0.0; pivot.len().next_multiple_of(STRIP)];
        Self { pivot, counts: Moments::empty(0), sums, products }
    }

    fn is_finite(&self) -> bool {
        let squares = (0..self.pivot.len()).all(|j| self.products[(j, j)].is_finite());
        squares && self.sums.iter().all(|sum| sum.is_finite())
    }

    /// Adds the rows of `x`, the first of which begins a piece.
    fn add<T: Scalar>(&mut self, x: &Dense<'_, T>, weights: Option<&[f64]>, exec: &Exec<'_>) -> Result<()> {
        let piece = bands::piece_rows(x.n_cols());
        for start in (0..x.n_rows()).step_by(piece) {
            let rows = start..x.n_rows().min(start + piece);
            let weights = weights.map(|w| &w[rows.clone()]);
            self.counts.add(&Moments::of_weights(weights, rows.len()));
        }
        let roots: Option<Vec<f64>> = weights.map(|w| w.iter().map(|w| w.sqrt()).collect());
        let factor = vec![1.0; self.pivot.len()];
        let map = ColumnMap { shift: &self.pivot, remainder: &[], factor: &factor };
        let rows = Mapped::new(*x, map, roots.as_deref());
        bands::add_with_rows(&mut self.products, &mut self.sums, &rows, roots.as_deref(), exec)
    }

    /// Tests that the pivot stays near the mean of all rows if rows with the given moments are added.
    fn stays_near(&self, rows: &Moments) -> bool {
        let weight = self.counts.weight + rows.weight;
        (0..self.pivot.len()).all(|j| {
            let distance = rows.mean[j] - self.pivot[j];
            let sum = self.sums[j] + rows.weight * distance;
            let squares = self.products[(j, j)] + rows.sum_of_squares[j] + rows.weight * distance * distance;
            rows.weight == 0.0 || is_near(squares, squares - sum / weight * sum)
        })
    }

    /// The upper triangle of the scatter, and whether the pivot is near the mean.
    fn finish(self) -> (Scatter, bool) {
        let Self { pivot, counts, sums, products: mut matrix } = self;
        let zeros = || vec![0.0; pivot.len()];
        let mut moments = Moments { mean: zeros(), mean_rest: zeros(), sum_of_squares: zeros(), ..counts };
        let weight = moments.weight;
        let near = move_to_mean(&pivot, &sums, weight, (&mut moments.columns_mut(), &mut matrix));
        (Scatter { moments, matrix }, near)
    }
}
