//! One pass over the lines of a sparse matrix with a block of vectors, in parallel.
//!
//! A is the matrix whose rows are the stored lines. Either lines are cut into pieces with private sums, or the
//! columns of A into blocks that a piece owns, see [`Extent`].

use std::ops::Range;

use pulp::{Simd, WithSimd};

use crate::error::Result;
use crate::exec::{Accumulate, Exec};
use crate::linalg::simd::{Lane, dispatch};
use crate::linalg::sparse::cursors::{Cursors, map_block};
use crate::linalg::sparse::lanes::{self as kernels, Middle, Scale};
use crate::linalg::sparse::lines::{Group, TypedPanel};
use crate::linalg::sparse::plan::{BlockPlan, Extent};
use crate::linalg::{Matrix, Sparse};
use crate::scalar::Scalar;

/// Columns of a row-major output.
pub(crate) struct Target<'a, U> {
    pub(crate) out: &'a mut [U],
    /// Distance between rows in values.
    pub(crate) stride: usize,
    pub(crate) columns: Range<usize>,
}

impl<'a, U> Target<'a, U> {
    /// All columns of rows as wide as a panel.
    fn whole(out: &'a mut [U], width: usize) -> Self {
        Self { out, stride: width, columns: 0..width }
    }
}

/// Writes rows of sums to an output.
struct Store<'a, U> {
    /// Index of the first row.
    first: usize,
    sums: &'a [f64],
    /// Number of sums of a row.
    width: usize,
    /// Map of the sums.
    finish: &'a Middle<'a>,
    out: &'a mut [U],
    /// Distance between rows of the output in values.
    stride: usize,
    /// Columns of the output.
    columns: &'a Range<usize>,
}

impl<U: Scalar> WithSimd for Store<'_, U> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let rows = self.sums.chunks_exact(self.width).zip(self.out.chunks_exact_mut(self.stride));
        for (i, (sums, row)) in (self.first..).zip(rows) {
            self.finish.store(i, sums, &mut row[self.columns.clone()]);
        }
    }
}

/// A sum in f64.
struct Total(Vec<f64>);

impl Accumulate for Total {
    fn reset(&mut self) {
        self.0.fill(0.0);
    }
    fn merge(&mut self, other: &Self) {
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a += b;
        }
    }
}

/// The sum of all rows; row `i` is multiplied by entry `i` of `scale`.
pub(crate) fn weighted_sum<C: Lane>(
    panel: &TypedPanel<C>,
    scale: Scale<'_>,
    exec: &Exec<'_>,
) -> Result<Vec<f64>> {
    const PIECE: usize = 4096;
    let width = panel.width();
    let sum = exec.fold(
        panel.len().div_ceil(PIECE),
        || Total(vec![0.0; width]),
        |piece, sum| {
            let range = piece * PIECE..panel.len().min((piece + 1) * PIECE);
            let values = &panel.values()[range.start * width..range.end * width];
            for (i, row) in range.zip(values.chunks_exact(width)) {
                let scale = scale.at(i);
                for (sum, value) in sum.0.iter_mut().zip(row) {
                    *sum += scale * value.to_f64();
                }
            }
            Ok(())
        },
    )?;
    Ok(sum.0)
}

/// Stores the mapped `sums` in the columns of `group`.
pub(crate) fn finish_group(
    out: &mut Matrix,
    group: &Group,
    sums: Vec<f64>,
    finish: &Middle<'_>,
    exec: &Exec<'_>,
) -> Result<()> {
    const PIECE: usize = 4096;
    let (stride, width) = (out.n_cols(), group.width);
    exec.fill(out.as_mut_slice(), PIECE * stride, |piece, out| {
        let first = piece * PIECE;
        let sums = &sums[first * width..(first + out.len() / stride) * width];
        dispatch(Store { first, sums, width, finish, out, stride, columns: &group.columns });
        Ok(())
    })
}

/// Stores the mapped `A q`.
pub(crate) fn gather_into<C: Lane, U: Scalar>(
    x: &Sparse<'_, C>,
    q: &TypedPanel<C>,
    target: Target<'_, U>,
    finish: &Middle<'_>,
    exec: &Exec<'_>,
) -> Result<()> {
    // Few enough lines that their sums stay in the first-level cache until they are stored.
    const STEP: usize = 32;
    const PIECE: usize = 16 * STEP;
    let Target { out, stride, columns } = target;
    exec.fill(out, PIECE * stride, |piece, out| {
        let mut sums = TypedPanel::<f64>::zeros(STEP, q.width());
        for (first, out) in (piece * PIECE..).step_by(STEP).zip(out.chunks_mut(STEP * stride)) {
            let n = out.len() / stride;
            let sums = &mut sums.values_mut()[..n * q.width()];
            kernels::gather(x, first..first + n, q, sums);
            dispatch(Store { first, sums, width: q.width(), finish, out, stride, columns: &columns });
        }
        Ok(())
    })
}

/// Stores the mapped `A' u`.
pub(crate) fn spread_into<C: Lane, U: Scalar>(
    x: &Sparse<'_, C>,
    u: &TypedPanel<C>,
    target: Target<'_, U>,
    finish: &Middle<'_>,
    exec: &Exec<'_>,
) -> Result<()> {
    let (width, extent) = (u.width(), Extent::of(x));
    let Target { out, stride, columns } = target;
    if let Some(piece) = extent.private_piece(width * size_of::<C>()) {
        const PIECE: usize = 4096;
        let sum = fold_lines(extent, piece, width, &exec.part(0.0, 0.95), &|range, sum: &mut Sum<C>| {
            kernels::spread(x, range, u, &mut sum.recent);
        })?;
        let (sums, _) = sum.finish();
        return exec.part(0.95, 1.0).fill(out, PIECE * stride, |piece, out| {
            let first = piece * PIECE;
            let sums = &sums[first * width..(first + out.len() / stride) * width];
            dispatch(Store { first, sums, width, finish, out, stride, columns: &columns });
            Ok(())
        });
    }
    let BlockPlan { block, blocks_per_piece } = extent.owners(width * size_of::<C>());
    exec.fill(out, block * blocks_per_piece * stride, |piece, out| {
        let first = piece * block * blocks_per_piece;
        let mut cursors = Cursors::at(x, first);
        let (mut sums, mut wide) =
            (TypedPanel::<C>::zeros(block, width), TypedPanel::<f64>::zeros(block, width));
        for (first, out) in (first..).step_by(block).zip(out.chunks_mut(block * stride)) {
            let len = out.len() / stride * width;
            let (sums, wide) = (&mut sums.values_mut()[..len], &mut wide.values_mut()[..len]);
            wide.fill(0.0);
            for lines in (0..extent.lines).step_by(SUMMED) {
                sums.fill(C::default());
                cursors.spread(x, lines..extent.lines.min(lines + SUMMED), u, first, sums);
                kernels::add_wide(wide, sums);
            }
            dispatch(Store { first, sums: wide, width, finish, out, stride, columns: &columns });
        }
        Ok(())
    })
}

/// Number of lines whose products are summed in the element type, before f64.
const SUMMED: usize = 4096;

/// A sum of blocks of vectors: the last piece in the element type, earlier ones in f64.
struct Sum<C> {
    recent: TypedPanel<C>,
    /// Empty until a second piece is added.
    total: Vec<f64>,
    moment: Vec<f64>,
}

impl<C: Lane> Sum<C> {
    fn zeros(len: usize, width: usize) -> Self {
        Self { recent: TypedPanel::zeros(len, width), total: Vec::new(), moment: vec![0.0; width] }
    }

    fn settle(&mut self) {
        if self.total.is_empty() {
            self.total.extend(self.recent.values().iter().map(|value| value.to_f64()));
        }
    }

    fn finish(mut self) -> (Vec<f64>, Vec<f64>) {
        self.settle();
        (self.total, self.moment)
    }
}

impl<C: Lane> Accumulate for Sum<C> {
    fn reset(&mut self) {
        self.recent.values_mut().fill(C::default());
        self.total.clear();
        self.moment.fill(0.0);
    }

    fn merge(&mut self, other: &Self) {
        self.settle();
        kernels::add_wide(&mut self.total, other.recent.values());
        for (a, b) in self.moment.iter_mut().zip(&other.moment) {
            *a += b;
        }
    }
}

/// Sums `work` over pieces of `piece` lines, each with a private sum.
fn fold_lines<C: Lane>(
    extent: Extent,
    piece: usize,
    width: usize,
    exec: &Exec<'_>,
    work: &(dyn Fn(Range<usize>, &mut Sum<C>) + Sync),
) -> Result<Sum<C>> {
    exec.fold(
        extent.lines.div_ceil(piece),
        || Sum::zeros(extent.minors, width),
        |index, sum| {
            work(index * piece..extent.lines.min((index + 1) * piece), sum);
            Ok(())
        },
    )
}

/// `A' D (A q - shift offset')` and the moment of the middle, see [`Middle`]; D and shift belong to the lines.
pub(crate) fn chain_lines<C: Lane>(
    x: &Sparse<'_, C>,
    q: &TypedPanel<C>,
    middle: &Middle<'_>,
    exec: &Exec<'_>,
) -> Result<(Vec<f64>, Vec<f64>)> {
    let (width, extent) = (q.width(), Extent::of(x));
    if let Some(piece) = extent.private_piece(width * size_of::<C>()) {
        let sum = fold_lines(extent, piece, width, exec, &|range, sum: &mut Sum<C>| {
            kernels::chain(x, range, q, middle, &mut sum.recent, &mut sum.moment);
        })?;
        return Ok(sum.finish());
    }
    let mut y = TypedPanel::<C>::zeros(extent.lines, width);
    gather_into(x, q, Target::whole(y.values_mut(), width), middle, &exec.part(0.0, 0.5))?;
    let moment = weighted_sum(&y, middle.moment_weights(), &exec.part(0.5, 0.5))?;
    let mut out = vec![0.0; extent.minors * width];
    spread_into(x, &y, Target::whole(&mut out, width), &Middle::none(), &exec.part(0.5, 1.0))?;
    Ok((out, moment))
}

/// `A D (A' u - shift offset')` and the moment of the middle, see [`Middle`]; D and shift belong to the columns of
/// A.
pub(crate) fn chain_blocks<C: Lane>(
    x: &Sparse<'_, C>,
    u: &TypedPanel<C>,
    middle: &Middle<'_>,
    exec: &Exec<'_>,
) -> Result<(Vec<f64>, Vec<f64>)> {
    let (width, extent) = (u.width(), Extent::of(x));
    if let Some(plan) = extent.chained(width * size_of::<C>()) {
        return fused_blocks(x, u, middle, &plan, exec);
    }
    let mut t = TypedPanel::<C>::zeros(extent.minors, width);
    spread_into(x, u, Target::whole(t.values_mut(), width), middle, &exec.part(0.0, 0.5))?;
    let moment = weighted_sum(&t, middle.moment_weights(), &exec.part(0.5, 0.5))?;
    let mut out = vec![0.0; extent.lines * width];
    gather_into(x, &t, Target::whole(&mut out, width), &Middle::none(), &exec.part(0.5, 1.0))?;
    Ok((out, moment))
}

/// [`chain_blocks`] in one pass.
fn fused_blocks<C: Lane>(
    x: &Sparse<'_, C>,
    u: &TypedPanel<C>,
    middle: &Middle<'_>,
    plan: &BlockPlan,
    exec: &Exec<'_>,
) -> Result<(Vec<f64>, Vec<f64>)> {
    let (width, extent) = (u.width(), Extent::of(x));
    let per_piece = plan.block * plan.blocks_per_piece;
    let wide_len = if extent.lines > SUMMED { plan.block * width } else { 0 };
    let sum = exec.fold(
        extent.minors.div_ceil(per_piece),
        || Sum::<C>::zeros(extent.lines, width),
        |piece, sum| {
            let columns = piece * per_piece..extent.minors.min((piece + 1) * per_piece);
            let mut cursors = Cursors::at(x, columns.start);
            let mut t = TypedPanel::<C>::zeros(plan.block, width);
            let mut wide = vec![0.0; wide_len];
            for first in columns.clone().step_by(plan.block) {
                let len = plan.block.min(columns.end - first) * width;
                let t = &mut t.values_mut()[..len];
                wide.fill(0.0);
                for lines in (0..extent.lines).step_by(SUMMED) {
                    t.fill(C::default());
                    cursors.spread(x, lines..extent.lines.min(lines + SUMMED), u, first, t);
                    kernels::add_wide(&mut wide, t);
                }
                map_block(middle, first, &wide, t, &mut sum.moment);
                cursors.gather(x, t, first, &mut sum.recent);
            }
            Ok(())
        },
    )?;
    Ok(sum.finish())
}
