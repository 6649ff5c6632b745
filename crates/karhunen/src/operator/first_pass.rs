//! The first pass over rows that every pass reads again: their moments, and a start for block Krylov iteration.
//!
//! A random block is multiplied by `X'X` about the running means, in units of the running deviations if the data are
//! scaled. The product of the rows since the last window becomes the next block after 1/64, 2/64, 4/64, .. 32/64 of the
//! rows: as many steps of an iteration over samples of the data, in the pass that the moments take anyway.

use std::borrow::Cow;
use std::ops::Range;

use crate::affine::{Affine, Standardization};
use crate::error::Result;
use crate::exec::Exec;
use crate::linalg::decomp::orthonormal::orthonormalize;
use crate::linalg::normals::gaussian;
use crate::linalg::{Dense, Matrix};
use crate::moments::{Columns, Moments};
use crate::operator::blocks::{NormalSum, normal_pieces};
use crate::random::Purpose;
use crate::scalar::Scalar;
use crate::source::{Block, Source, visit_pieces};

/// Number of parts of the rows; windows end after 1, 2, 4, .. of them.
const PARTS: usize = 64;
/// Number of pieces of dense rows after which the running means are renewed.
const PIECES: usize = 16;
/// Number of the stream of the random block; iteration uses small numbers.
const STREAM: u64 = 1 << 32;

/// The map of the fit, and the start that is wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FirstPass<'a> {
    pub(crate) standardization: Standardization<'a>,
    /// Columns of the start.
    pub(crate) width: usize,
    pub(crate) seed: u64,
}

/// Reads `x` once. Returns the moments, and orthonormal columns near the leading right singular vectors, shape (p, width).
///
/// # Errors
/// As [`Moments::of`].
pub(crate) fn moments_and_start<T: Scalar>(
    x: &dyn Source<T>,
    shares: Option<&[f64]>,
    first_pass: FirstPass<'_>,
    exec: &Exec<'_>,
) -> Result<(Moments, Matrix)> {
    let (n, p) = x.shape();
    let width = first_pass.width.min(p);
    let random = gaussian(p, width, Purpose::KrylovStart.of(first_pass.seed).number(STREAM));
    let mut sums = Sums {
        first_pass,
        n,
        shares,
        moments: None,
        affine: None,
        product: NormalSum::new::<T>(n, Cow::Owned(random), shares),
        window: 1,
    };
    let pieces = |rows: &Dense<'_, T>| normal_pieces(rows, n, width);
    visit_pieces(x, &pieces, exec, |Range { start: first, .. }, block, _| {
        let Block::Dense(rows) = block else { return sums.add_sparse(first, block, exec) };
        let piece = normal_pieces(rows, n, width).n_rows;
        let mut done = 0;
        while done < rows.n_rows() {
            let end = rows.n_rows().min(sums.next_cut(first + done, piece) - first);
            sums.add_dense(first + done, &rows.rows(done..end), piece, exec)?;
            done = end;
        }
        Ok(())
    })?;
    let moments = sums.moments.unwrap_or_else(|| Moments::empty(p));
    moments.check()?;
    Ok((moments, basis_of(sums.product, first_pass.seed, exec)?))
}

/// An orthonormal basis of the columns of the product, or of the columns that it multiplies if it is beyond f64.
fn basis_of(product: NormalSum<'_>, seed: u64, exec: &Exec<'_>) -> Result<Matrix> {
    let (before, product) = product.finish();
    let is_finite = product.as_slice().iter().all(|value| value.is_finite());
    let columns = if is_finite { product } else { before.into_owned() };
    Ok(orthonormalize(columns, seed, &exec.part(1.0, 1.0))?.q)
}

/// Sums over the rows read so far.
struct Sums<'a> {
    first_pass: FirstPass<'a>,
    n: usize,
    shares: Option<&'a [f64]>,
    moments: Option<Moments>,
    /// The map by the moments at the last cut, at first by the moments of the first piece; `None` while no row has
    /// weight.
    affine: Option<Affine>,
    /// The product of the rows of the present window.
    product: NormalSum<'a>,
    /// The present window ends after so many of the [`PARTS`].
    window: usize,
}

impl Sums<'_> {
    /// The row at which window `window` ends, for pieces of `piece` rows.
    fn end_of(&self, window: usize, piece: usize) -> usize {
        (self.n * window).div_ceil(PARTS).next_multiple_of(piece)
    }

    /// The first row after `row` at which the map is renewed or a window ends.
    fn next_cut(&self, row: usize, piece: usize) -> usize {
        let cut = (row + 1).next_multiple_of(piece * PIECES);
        if self.window < PARTS { cut.min(self.end_of(self.window, piece)) } else { cut }
    }

    /// Adds rows up to a cut at most: about the means at the last cut, so that the bits do not depend on the blocks.
    fn add_dense<T: Scalar>(
        &mut self,
        first: usize,
        rows: &Dense<'_, T>,
        piece: usize,
        exec: &Exec<'_>,
    ) -> Result<()> {
        let end = first + rows.n_rows();
        let exec = exec.part(first as f64 / self.n as f64, end as f64 / self.n as f64);
        if first == 0 {
            let mut moments = None;
            self.add_moments(
                &mut moments,
                first,
                rows.rows(0..piece.min(rows.n_rows())),
                &exec.part(0.0, 0.0),
            )?;
            self.affine = self.affine_of(moments.as_ref());
        }
        if let Some(affine) = &self.affine {
            self.product.add(first..end, &Block::Dense(*rows), affine.map(), &exec.part(0.0, 0.9))?;
        }
        let mut moments = self.moments.take();
        for start in (0..rows.n_rows()).step_by(piece) {
            let piece = rows.rows(start..rows.n_rows().min(start + piece));
            self.add_moments(&mut moments, first + start, piece, &exec.part(1.0, 1.0))?;
        }
        self.moments = moments;
        if end == self.next_cut(end - 1, piece) {
            self.affine = self.affine_of(self.moments.as_ref());
            self.end_window::<T>(end, piece, &exec)?;
        }
        Ok(())
    }

    fn add_moments<T: Scalar>(
        &self,
        moments: &mut Option<Moments>,
        first: usize,
        rows: Dense<'_, T>,
        exec: &Exec<'_>,
    ) -> Result<()> {
        let weights = self.shares.map(|v| &v[first..first + rows.n_rows()]);
        Moments::add_block(moments, first, &Block::Dense(rows), weights, exec)
    }

    /// Adds a block about the means of the rows up to its end.
    fn add_sparse<T: Scalar>(&mut self, first: usize, block: &Block<'_, T>, exec: &Exec<'_>) -> Result<()> {
        let rows = first..first + block.n_rows();
        let exec = exec.part(rows.start as f64 / self.n as f64, rows.end as f64 / self.n as f64);
        let weights = self.shares.map(|v| &v[rows.clone()]);
        Moments::add_block(&mut self.moments, first, block, weights, &exec.part(0.0, 0.2))?;
        if let Some(affine) = self.affine_of(self.moments.as_ref()) {
            self.product.add(rows.clone(), block, affine.map(), &exec.part(0.2, 1.0))?;
        }
        self.end_window::<T>(rows.end, 1, &exec)
    }

    /// The map by the moments, unless they have no weight or a column is beyond f64.
    fn affine_of(&self, moments: Option<&Moments>) -> Option<Affine> {
        let moments = moments.filter(|moments| moments.weight > 0.0)?;
        // Means rounded to f64 are near enough for a start.
        let columns = Columns { remainder: Vec::new(), lost: None, ..Columns::of_moments(moments) };
        Affine::new(&columns, self.first_pass.standardization).ok()
    }

    /// Makes the product of a window the next block, if `row` ends one.
    fn end_window<T: Scalar>(&mut self, row: usize, piece: usize, exec: &Exec<'_>) -> Result<()> {
        if self.window >= PARTS || row < self.end_of(self.window, piece) || row >= self.n {
            return Ok(());
        }
        while self.window < PARTS && row >= self.end_of(self.window, piece) {
            self.window *= 2;
        }
        let none = NormalSum::new::<T>(self.n, Cow::Owned(Matrix::zeros(0, 0)), self.shares);
        let product = std::mem::replace(&mut self.product, none);
        let block = basis_of(product, self.first_pass.seed, exec)?;
        self.product = NormalSum::new::<T>(self.n, Cow::Owned(block), self.shares);
        Ok(())
    }
}
