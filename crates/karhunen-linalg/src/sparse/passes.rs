//! One pass over the lines of a sparse matrix with a block of vectors, in parallel.
//!
//! A is the matrix whose rows are the stored lines. Either lines are cut into pieces with private sums, or the
//! columns of A into blocks that a piece owns, see [`Extent`].

use std::ops::Range;

use pulp::{Simd, WithSimd};

use crate::error::Result;
use crate::exec::{Accumulate, Exec};
use crate::scalar::Scalar;
use crate::simd::{Lane, dispatch};
use crate::sparse::cursors::{Cursors, map_block};
use crate::sparse::lanes::{self as kernels, Middle, Scale};
use crate::sparse::lines::{Group, TypedPanel};
use crate::sparse::plan::{BlockPlan, Extent};
use crate::{Matrix, Sparse};

/// The output of a product.
pub enum Target<'a, U> {
    /// Columns of a row-major matrix.
    Columns {
        /// The rows of the matrix.
        out: &'a mut [U],
        /// Distance between rows in values.
        stride: usize,
        /// The columns of the product.
        columns: Range<usize>,
    },
    /// Rows of a row-major matrix: the transposed product.
    Rows {
        /// The rows of the matrix.
        out: &'a mut [U],
        /// Number of values of a row.
        len: usize,
    },
}

impl<'a, U> Target<'a, U> {
    /// All columns of rows as wide as a panel.
    fn whole(out: &'a mut [U], width: usize) -> Self {
        Self::Columns { out, stride: width, columns: 0..width }
    }

    /// Cuts the output into pieces of `n` rows of the product; the last may be shorter.
    fn pieces(self, n: usize) -> Vec<Piece<'a, U>> {
        match self {
            Self::Columns { out, stride, columns } => out
                .chunks_mut((n * stride).max(1))
                .map(|rows| Piece::Columns { rows, stride, columns: columns.clone() })
                .collect(),
            Self::Rows { out, len } => {
                let n_rows = out.len() / len.max(1);
                let mut pieces: Vec<Vec<&mut [U]>> =
                    (0..len.div_ceil(n)).map(|_| Vec::with_capacity(n_rows)).collect();
                for row in out.chunks_exact_mut(len.max(1)) {
                    pieces.iter_mut().zip(row.chunks_mut(n)).for_each(|(piece, part)| piece.push(part));
                }
                pieces.into_iter().map(Piece::Rows).collect()
            }
        }
    }
}

/// Some rows of a product, in its output.
enum Piece<'a, U> {
    Columns { rows: &'a mut [U], stride: usize, columns: Range<usize> },
    Rows(Vec<&'a mut [U]>),
}

impl<U: Scalar> Piece<'_, U> {
    /// Number of rows of the product.
    fn len(&self) -> usize {
        match self {
            Self::Columns { rows, stride, .. } => rows.len() / stride,
            Self::Rows(rows) => rows.first().map_or(0, |row| row.len()),
        }
    }

    /// Stores mapped `sums`, `width` for each row: row `at` of this piece is the first, row `first` of the product.
    fn store(&mut self, at: usize, first: usize, sums: &[f64], width: usize, finish: &Middle<'_>) {
        dispatch(Store { piece: self, at, first, sums, width, finish });
    }
}

/// See [`Piece::store`].
struct Store<'a, 'b, U> {
    piece: &'a mut Piece<'b, U>,
    at: usize,
    first: usize,
    sums: &'a [f64],
    width: usize,
    finish: &'a Middle<'a>,
}

impl<U: Scalar> WithSimd for Store<'_, '_, U> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { piece, at, first, sums, width, finish } = self;
        match piece {
            Piece::Columns { rows, stride, columns } => {
                let rows = rows[at * *stride..].chunks_exact_mut(*stride);
                for (i, (sums, row)) in (first..).zip(sums.chunks_exact(width).zip(rows)) {
                    finish.store(i, sums, &mut row[columns.clone()]);
                }
            }
            Piece::Rows(rows) => {
                /// Number of rows of the output written at a time: a cache line of sums.
                const LINES: usize = 8;
                let n = sums.len() / width;
                for (c, rows) in (0..).step_by(LINES).zip(rows.chunks_mut(LINES)) {
                    for (i, sums) in sums.chunks_exact(width).enumerate() {
                        let mut mapped = [U::default(); LINES];
                        finish.store_from(c, first + i, &sums[c..c + LINES], &mut mapped);
                        for (row, value) in rows.iter_mut().zip(mapped) {
                            row[at..at + n][i] = value;
                        }
                    }
                }
            }
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
pub fn weighted_sum<C: Lane>(panel: &TypedPanel<C>, scale: Scale<'_>, exec: &Exec<'_>) -> Result<Vec<f64>> {
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
pub fn finish_group(
    out: &mut Matrix,
    group: &Group,
    sums: Vec<f64>,
    finish: &Middle<'_>,
    exec: &Exec<'_>,
) -> Result<()> {
    let stride = out.n_cols();
    let target = Target::Columns { out: out.as_mut_slice(), stride, columns: group.columns.clone() };
    store_all(&sums, group.width, target, finish, exec)
}

/// Stores mapped `sums`, `width` for each row.
fn store_all<U: Scalar>(
    sums: &[f64],
    width: usize,
    target: Target<'_, U>,
    finish: &Middle<'_>,
    exec: &Exec<'_>,
) -> Result<()> {
    const PIECE: usize = 4096;
    exec.each(target.pieces(PIECE).into_iter(), |piece, mut out| {
        let first = piece * PIECE;
        out.store(0, first, &sums[first * width..(first + out.len()) * width], width, finish);
        Ok(())
    })
}

/// Stores the mapped `A q`.
pub fn gather_into<C: Lane, U: Scalar>(
    x: &Sparse<'_, C>,
    q: &TypedPanel<C>,
    target: Target<'_, U>,
    finish: &Middle<'_>,
    exec: &Exec<'_>,
) -> Result<()> {
    // Few enough lines that their sums stay in the first-level cache until they are stored.
    const STEP: usize = 32;
    const PIECE: usize = 16 * STEP;
    exec.each(target.pieces(PIECE).into_iter(), |piece, mut out| {
        let mut sums = TypedPanel::<f64>::zeros(STEP, q.width());
        for at in (0..out.len()).step_by(STEP) {
            let (first, n) = (piece * PIECE + at, STEP.min(out.len() - at));
            let sums = &mut sums.values_mut()[..n * q.width()];
            kernels::gather(x, first..first + n, q, sums);
            out.store(at, first, sums, q.width(), finish);
        }
        Ok(())
    })
}

/// Stores the mapped `A' u`.
pub fn spread_into<C: Lane, U: Scalar>(
    x: &Sparse<'_, C>,
    u: &TypedPanel<C>,
    target: Target<'_, U>,
    finish: &Middle<'_>,
    exec: &Exec<'_>,
) -> Result<()> {
    let (width, extent) = (u.width(), Extent::of(x));
    if let Some(piece) = extent.private_piece(width * size_of::<C>()) {
        let sum = fold_lines(extent, piece, width, &exec.part(0.0, 0.95), &|range, sum: &mut Sum<C>| {
            kernels::spread(x, range, u, &mut sum.recent);
        })?;
        let (sums, _) = sum.finish();
        return store_all(&sums, width, target, finish, &exec.part(0.95, 1.0));
    }
    let BlockPlan { block, blocks_per_piece } = extent.owners(width * size_of::<C>());
    let per_piece = block * blocks_per_piece;
    exec.each(target.pieces(per_piece).into_iter(), |piece, mut out| {
        let mut cursors = Cursors::at(x, piece * per_piece);
        let (mut sums, mut wide) =
            (TypedPanel::<C>::zeros(block, width), TypedPanel::<f64>::zeros(block, width));
        for at in (0..out.len()).step_by(block) {
            let (first, len) = (piece * per_piece + at, block.min(out.len() - at) * width);
            let (sums, wide) = (&mut sums.values_mut()[..len], &mut wide.values_mut()[..len]);
            wide.fill(0.0);
            for lines in (0..extent.lines).step_by(SUMMED) {
                sums.fill(C::default());
                cursors.spread(x, lines..extent.lines.min(lines + SUMMED), u, first, sums);
                kernels::add_wide(wide, sums);
            }
            out.store(at, first, wide, width, finish);
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
pub fn chain_lines<C: Lane>(
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
pub fn chain_blocks<C: Lane>(
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
