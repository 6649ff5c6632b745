//! Rank-k updates of wide matrices: panels packed once, by all threads together, then bands of rows of the result, each
//! with one owner.

use pulp::{Simd, WithSimd};

use crate::Matrix;
use crate::dense::pack::Mapped;
use crate::dense::rank_k::{PANEL, STRIP, Sweep, pack};
use crate::error::Result;
use crate::exec::Exec;
use crate::scalar::Scalar;
use crate::simd::dispatch;

/// Largest number of bytes of a panel, unless a row has more.
const PANEL_BYTES: usize = 10 << 20;
/// Bytes of the panels that are packed at a time, for each thread: every band reads all of them, from the last cache.
const BYTES_OF_THREAD: usize = 8 << 20;
/// Largest number of bytes of the panels that are packed at a time, unless one panel has more.
const SHARED_BYTES: usize = 40 << 20;

/// Number of rows of a piece, which is a panel. Every run of rows but the last must hold whole pieces.
pub fn piece_rows(n_cols: usize) -> usize {
    PANEL.min((PANEL_BYTES / (n_cols.next_multiple_of(STRIP) * size_of::<f64>())).max(1))
}

/// Bytes of the panels that `n_threads` threads pack at a time, unless one panel has more.
fn shared_bytes(n_threads: usize) -> usize {
    SHARED_BYTES.min(n_threads.saturating_mul(BYTES_OF_THREAD))
}

/// Memory estimate in bytes of packed panels.
pub(super) fn need(n_threads: usize) -> f64 {
    shared_bytes(n_threads).max(PANEL_BYTES) as f64
}

/// Adds `A'A` to the upper triangle of `sum`, shape (p, p).
///
/// # Errors
/// [`crate::Error::Stopped`].
pub(super) fn add<T: Scalar>(sum: &mut Matrix, a: &Mapped<'_, T>, exec: &Exec<'_>) -> Result<()> {
    by_panels(sum, a, None, exec)
}

/// Adds `A'A` to the upper triangle of `sum`, shape (p, p), and the rows of `A`, multiplied by `factors` (default one),
/// to `row_sum`, whose length is a multiple of [`STRIP`]. The bits do not depend on the number of pieces in a run.
///
/// # Errors
/// [`crate::Error::Stopped`].
pub fn add_with_rows<T: Scalar>(
    sum: &mut Matrix,
    row_sum: &mut [f64],
    a: &Mapped<'_, T>,
    factors: Option<&[f64]>,
    exec: &Exec<'_>,
) -> Result<()> {
    by_panels(sum, a, Some((row_sum, factors)), exec)
}

fn by_panels<T: Scalar>(
    sum: &mut Matrix,
    a: &Mapped<'_, T>,
    mut row_sum: Option<(&mut [f64], Option<&[f64]>)>,
    exec: &Exec<'_>,
) -> Result<()> {
    let (n, p) = (a.n_rows(), a.n_cols());
    let width = p.next_multiple_of(STRIP);
    let panel = piece_rows(p);
    let n_panels = (shared_bytes(exec.n_threads()) / (panel * width * size_of::<f64>())).max(1);
    let rows_at_once = n_panels * panel;
    let band = if p < 1024 { 64 } else { 128 };
    let mut packed = vec![0.0; rows_at_once.min(n) * width];
    let mut panel_sums = vec![0.0; rows_at_once.min(n).div_ceil(panel) * width];
    for start in (0..n).step_by(rows_at_once) {
        let rows = start..n.min(start + rows_at_once);
        let (from, to) = (rows.start as f64 / n as f64, rows.end as f64 / n as f64);
        let packed = &mut packed[..rows.len() * width];
        let panels = packed.chunks_mut(panel * width).zip(panel_sums.chunks_mut(width));
        let factors = row_sum.as_ref().map(|(_, factors)| *factors);
        exec.part(from, from).each(panels, |piece, (values, sums)| {
            let first = rows.start + piece * panel;
            let rows = first..first + values.len() / width;
            pack(a, rows.clone(), values);
            if let Some(factors) = factors {
                sums.fill(0.0);
                add_rows(values, factors.map(|f| &f[rows]), sums);
            }
            Ok(())
        })?;
        if let Some((total, _)) = &mut row_sum {
            for sums in panel_sums.chunks(width).take(rows.len().div_ceil(panel)) {
                total.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum);
            }
        }
        exec.part(from, to).fill(sum.as_mut_slice(), band * p, |piece, out| {
            for panel in packed.chunks(panel * width) {
                dispatch(Sweep {
                    packed: panel,
                    n_rows: panel.len() / width,
                    n_cols: p,
                    first: piece * band,
                    out: &mut *out,
                    ahead: &[],
                });
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Adds the rows of a packed panel, multiplied by `factors` (default one), to `sums`, whose length is a multiple of
/// [`STRIP`].
pub fn add_rows(packed: &[f64], factors: Option<&[f64]>, sums: &mut [f64]) {
    dispatch(AddRows { packed, factors, sums });
}

/// See [`add_rows`].
struct AddRows<'a> {
    packed: &'a [f64],
    factors: Option<&'a [f64]>,
    sums: &'a mut [f64],
}

impl WithSimd for AddRows<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let sums = self.sums.as_chunks_mut::<STRIP>().0;
        let n_rows = self.packed.len() / STRIP / sums.len();
        for (strip, sum) in self.packed.chunks_exact(n_rows * STRIP).zip(sums) {
            let rows = strip.as_chunks::<STRIP>().0;
            match self.factors {
                None => add_strip(rows, |_| 1.0, sum),
                Some(factors) => add_strip(rows, |row| factors[row], sum),
            }
        }
    }
}

/// Adds the rows of a strip, multiplied by their factors, to `sum`.
#[inline(always)]
fn add_strip(rows: &[[f64; STRIP]], factor: impl Fn(usize) -> f64, sum: &mut [f64; STRIP]) {
    /// Number of independent partial sums, so that additions overlap.
    const LANES: usize = 4;
    let mut lanes = [[0.0; STRIP]; LANES];
    let (groups, rest) = rows.as_chunks::<LANES>();
    let add = |lane: &mut [f64; STRIP], row: &[f64; STRIP], factor: f64| {
        for c in 0..STRIP {
            lane[c] += factor * row[c];
        }
    };
    for (g, group) in groups.iter().enumerate() {
        for r in 0..LANES {
            add(&mut lanes[r], &group[r], factor(g * LANES + r));
        }
    }
    for (r, (row, lane)) in rest.iter().zip(&mut lanes).enumerate() {
        add(lane, row, factor(groups.len() * LANES + r));
    }
    for lane in &lanes {
        for c in 0..STRIP {
            sum[c] += lane[c];
        }
    }
}
