//! The rows of a kernel's basis: as given, and packed for products.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::exec::Exec;
use crate::kernel::function::Kernel;
use crate::kernel::stored::StoredRows;
use crate::linalg::tiles::exp::Exp;
use crate::linalg::tiles::pairs::{Pairing, pair_sums, squared_distances, width};
use crate::linalg::{Dense, Matrix, Sparse};
use crate::operator::blocks;
use crate::scalar::{Scalar, largest_magnitude};
use crate::source::{Block, Source};

/// The basis rows of a model.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum KernelRows {
    /// Shape (n_rows, n_features).
    Dense(Matrix),
    /// Compressed rows, as CSR.
    Sparse {
        /// Number of columns.
        n_features: usize,
        /// Offsets of the rows: n_rows + 1 values.
        pointers: Vec<u64>,
        /// Column of each entry, increasing within a row.
        indices: Vec<u32>,
        /// The entries.
        values: Vec<f64>,
    },
}

impl KernelRows {
    /// Tests whether [`KernelRows::collect`] copies zeros too: of dense data, and of sparse data of which at least half is
    /// stored, which take no more memory so and can be shifted.
    pub(super) fn collects_dense<T: Scalar>(x: &dyn Source<T>) -> bool {
        let (n, p) = x.shape();
        !x.is_sparse() || x.n_stored() as f64 >= 0.5 * n as f64 * p as f64
    }

    /// Copies all rows of a source.
    pub(super) fn collect<T: Scalar>(x: &dyn Source<T>, exec: &Exec<'_>) -> Result<Self> {
        let (n, p) = x.shape();
        if Self::collects_dense(x) {
            let mut rows = Matrix::try_zeros("a copy of the rows", n, p)?;
            x.visit(&mut |first, block| {
                let here = &mut rows.as_mut_slice()[first * p..(first + block.n_rows()) * p];
                let chunk = (1 << 16) / p.max(1) + 1;
                exec.fill(here, chunk * p, |piece, out| {
                    lines(&block, piece * chunk..piece * chunk + out.len() / p.max(1), out)
                })
            })?;
            return Ok(Self::Dense(rows));
        }
        if u32::try_from(p).is_err() {
            return Err(Error::TooLarge { n_samples: n, n_features: p });
        }
        let all: Vec<usize> = (0..n).collect();
        Self::stored(x, &all)
    }

    /// The stored entries of the rows `rows`, ascending, of a source with sparse blocks.
    fn stored<T: Scalar>(x: &dyn Source<T>, rows: &[usize]) -> Result<Self> {
        let mut stored = StoredRows::new();
        let mut rest = rows;
        x.visit(&mut |first, block| {
            let (here, later) = rest.split_at(rest.partition_point(|&i| i < first + block.n_rows()));
            rest = later;
            let local: Vec<usize> = here.iter().map(|i| i - first).collect();
            stored.extend(&block, &local);
            Ok(())
        })?;
        let StoredRows { pointers, indices, values } = stored;
        Ok(Self::Sparse { n_features: x.shape().1, pointers, indices, values })
    }

    /// Copies the rows `rows`, ascending, of a source.
    pub(super) fn gather<T: Scalar>(x: &dyn Source<T>, rows: &[usize]) -> Result<Self> {
        let p = x.shape().1;
        if u32::try_from(p).is_err() {
            return Err(Error::TooLarge { n_samples: x.shape().0, n_features: p });
        }
        if x.is_sparse() {
            return Self::stored(x, rows);
        }
        let mut rest = rows.iter().copied().enumerate().peekable();
        let mut chosen = Matrix::try_zeros("a copy of some rows", rows.len(), p)?;
        x.visit(&mut |first, block| {
            while let Some((at, i)) = rest.next_if(|&(_, i)| i < first + block.n_rows()) {
                lines(&block, i - first..i - first + 1, chosen.row_mut(at))?;
            }
            Ok(())
        })?;
        Ok(Self::Dense(chosen))
    }

    /// Copies the rows `rows`.
    pub(super) fn select(&self, rows: &[usize]) -> Self {
        match self {
            Self::Dense(x) => {
                let mut values = Vec::with_capacity(rows.len() * x.n_cols());
                rows.iter().for_each(|&i| values.extend_from_slice(x.row(i)));
                let mut selected = Matrix::zeros(rows.len(), x.n_cols());
                selected.as_mut_slice().copy_from_slice(&values);
                Self::Dense(selected)
            }
            Self::Sparse { n_features, pointers, indices, values } => {
                let (mut p, mut at, mut v) = (vec![0], Vec::new(), Vec::new());
                for &i in rows {
                    let entries = pointers[i] as usize..pointers[i + 1] as usize;
                    at.extend_from_slice(&indices[entries.clone()]);
                    v.extend_from_slice(&values[entries]);
                    p.push(v.len() as u64);
                }
                Self::Sparse { n_features: *n_features, pointers: p, indices: at, values: v }
            }
        }
    }

    /// (n_rows, n_features).
    pub fn shape(&self) -> (usize, usize) {
        match self {
            Self::Dense(rows) => rows.shape(),
            Self::Sparse { n_features, pointers, .. } => (pointers.len().saturating_sub(1), *n_features),
        }
    }

    /// Calls `f` with the rows as a borrowed block.
    pub(super) fn with_block<R>(&self, f: impl FnOnce(&Block<'_, f64>) -> Result<R>) -> Result<R> {
        match self {
            Self::Dense(rows) => f(&Block::Dense(Dense::from(rows))),
            Self::Sparse { n_features, pointers, indices, values } => {
                let n = pointers.len().saturating_sub(1);
                f(&Block::Sparse(Sparse::csr(n, *n_features, pointers, indices, values)?))
            }
        }
    }
}

/// Writes the rows `rows` of a block, unprepared, zeros included.
pub(super) fn lines<T: Scalar>(block: &Block<'_, T>, rows: Range<usize>, out: &mut [f64]) -> Result<()> {
    blocks::rows(block, rows, out)
}

/// Shift and scaling of rows before the kernel is evaluated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Preparation<'a> {
    /// Subtracted from every row; empty for no shift.
    pub(super) shift: &'a [f64],
    /// Divide every row by its norm.
    pub(super) normalize: bool,
}

impl Preparation<'_> {
    fn apply(&self, line: &mut [f64]) {
        if !self.shift.is_empty() {
            line.iter_mut().zip(self.shift).for_each(|(x, shift)| *x -= shift);
        }
        if self.normalize {
            let largest = largest_magnitude(line);
            if largest > 0.0 {
                let sum: f64 = line.iter().map(|x| (x / largest).powi(2)).sum();
                let length = largest * sum.sqrt();
                line.iter_mut().for_each(|x| *x /= length);
            }
        }
    }
}

/// Rows in strips, the left operand of tiles.
#[derive(Clone, Debug)]
pub(super) struct PointPanel<E> {
    pub(super) strips: Vec<E>,
    /// Squared norms of the rows, if the kernel needs them; whole strips.
    pub(super) norms: Vec<E>,
}

impl<E: Exp> PointPanel<E> {
    pub(super) fn new() -> Self {
        Self { strips: Vec::new(), norms: Vec::new() }
    }

    /// Prepares and packs rows, row-major with `p` values each.
    pub(super) fn load(&mut self, lines: &mut [f64], p: usize, preparation: Preparation<'_>) {
        let (w, n) = (width::<E>(), lines.len() / p.max(1));
        let n_strips = n.div_ceil(w);
        self.strips.clear();
        self.strips.resize(n_strips * w * p, E::default());
        self.norms.clear();
        self.norms.resize(n_strips * w, E::default());
        for (i, line) in lines.chunks_exact_mut(p.max(1)).enumerate() {
            preparation.apply(line);
            pack_line(line, &mut self.strips[i / w * p * w..], i % w);
            self.norms[i] = E::from_f64(squared_norm::<E>(line));
        }
    }
}

fn pack_line<E: Exp>(line: &[f64], strip: &mut [E], at: usize) {
    for (x, to) in line.iter().zip(strip.chunks_exact_mut(width::<E>())) {
        to[at] = E::from_f64(*x);
    }
}

/// The squared norm of the row as packed, rounded to `E`.
fn squared_norm<E: Scalar>(line: &[f64]) -> f64 {
    line.iter().map(|x| E::from_f64(*x).to_f64().powi(2)).sum()
}

/// All rows of the basis, packed.
#[derive(Clone, Debug)]
pub(super) struct Points<E> {
    n: usize,
    p: usize,
    rows: Packed<E>,
    /// Squared norms of the rows; whole strips.
    norms: Vec<E>,
}

#[derive(Clone, Debug)]
enum Packed<E> {
    /// Strips of rows.
    Dense(Vec<E>),
    /// Compressed rows.
    Sparse { pointers: Vec<usize>, indices: Vec<u32>, values: Vec<E> },
}

impl<E: Exp> Points<E> {
    /// Prepares and packs rows. Sparse rows are never shifted.
    pub(super) fn new(rows: &KernelRows, preparation: Preparation<'_>, exec: &Exec<'_>) -> Result<Self> {
        let (n, p) = rows.shape();
        let w = width::<E>();
        let n_padded = n.next_multiple_of(w);
        let mut norms = vec![E::default(); n_padded];
        let rows = match rows {
            KernelRows::Dense(x) => {
                let mut strips = vec![E::default(); n_padded * p];
                exec.each(strips.chunks_mut(w * p).zip(norms.chunks_mut(w)), |strip, (values, norms)| {
                    let mut line = vec![0.0; p];
                    for i in (strip * w..n).take(w) {
                        line.copy_from_slice(x.row(i));
                        preparation.apply(&mut line);
                        pack_line(&line, values, i % w);
                        norms[i % w] = E::from_f64(squared_norm::<E>(&line));
                    }
                    Ok(())
                })?;
                Packed::Dense(strips)
            }
            KernelRows::Sparse { pointers, indices, values, .. } => {
                let pointers: Vec<usize> = pointers.iter().map(|p| *p as usize).collect();
                let mut packed = Vec::with_capacity(values.len());
                for (i, ends) in pointers.windows(2).enumerate() {
                    let mut line = values[ends[0]..ends[1]].to_vec();
                    Preparation { shift: &[], ..preparation }.apply(&mut line);
                    norms[i] = E::from_f64(squared_norm::<E>(&line));
                    packed.extend(line.iter().map(|x| E::from_f64(*x)));
                }
                Packed::Sparse { pointers, indices: indices.clone(), values: packed }
            }
        };
        Ok(Self { n, p, rows, norms })
    }

    /// Number of rows.
    pub(super) fn n(&self) -> usize {
        self.n
    }

    /// The rows `rows`, from the start of a strip to the end of one or the last row, as left operand of tiles.
    pub(super) fn panel<'a>(
        &'a self,
        rows: Range<usize>,
        buffer: &'a mut PointPanel<E>,
    ) -> (&'a [E], &'a [E]) {
        let w = width::<E>();
        let rows = rows.start..rows.end.next_multiple_of(w);
        let norms = &self.norms[rows.clone()];
        match &self.rows {
            Packed::Dense(strips) => (&strips[rows.start * self.p..rows.end * self.p], norms),
            Packed::Sparse { pointers, indices, values } => {
                buffer.strips.clear();
                buffer.strips.resize(rows.len() * self.p, E::default());
                for i in rows.start..rows.end.min(self.n) {
                    let strip = &mut buffer.strips[(i - rows.start) / w * self.p * w..];
                    for e in pointers[i]..pointers[i + 1] {
                        strip[indices[e] as usize * w + i % w] = values[e];
                    }
                }
                (&buffer.strips, norms)
            }
        }
    }

    /// Writes the kernel values of the rows of a panel with the rows `columns` (whole strips) to `tile`. `same`
    /// says that both begin with the same row.
    pub(super) fn tile(
        &self,
        kernel: &Kernel,
        (left, left_norms): (&[E], &[E]),
        columns: Range<usize>,
        same: bool,
        tile: &mut [E],
    ) {
        self.sums(kernel, left, left_norms.len(), columns.clone(), tile);
        kernel.finish(left_norms, &self.norms[columns], same, tile);
    }

    fn sums(&self, kernel: &Kernel, left: &[E], n_left: usize, columns: Range<usize>, tile: &mut [E]) {
        match &self.rows {
            Packed::Dense(strips) => {
                let right = &strips[columns.start * self.p..columns.end * self.p];
                pair_sums(kernel.pairing(), left, right, self.p, tile);
            }
            Packed::Sparse { pointers, indices, values } => {
                let sums = SparseSums { pairing: kernel.pairing(), p: self.p, pointers, indices, values };
                sums.tile(left, n_left, columns.start..columns.end.min(self.n), tile);
            }
        }
    }

    /// The squared norms of all rows, zero in the padding of the last strip.
    pub(super) fn squared_norms(&self) -> &[E] {
        &self.norms
    }

    /// Writes the distances of the rows `rows` (whole strips) from all rows to `tile`, for kernels of a distance.
    pub(super) fn distances(
        &self,
        kernel: &Kernel,
        rows: Range<usize>,
        panel: &mut PointPanel<E>,
        tile: &mut [E],
    ) {
        let (left, left_norms) = self.panel(rows, panel);
        self.sums(kernel, left, left_norms.len(), 0..self.norms.len(), tile);
        if kernel.pairing() == Pairing::Product {
            squared_distances(left_norms, &self.norms, tile);
        }
    }
}

/// Sums over the features of pairs of a dense row, in strips, and a compressed row.
struct SparseSums<'a, E> {
    pairing: Pairing,
    p: usize,
    pointers: &'a [usize],
    indices: &'a [u32],
    values: &'a [E],
}

impl<E: Exp> SparseSums<'_, E> {
    /// The term of an entry `y` of a compressed row, less the term of a zero in its place.
    #[inline(always)]
    fn term(&self, x: E, y: E) -> E {
        let (x, y) = (x.to_f64(), y.to_f64());
        E::from_f64(match self.pairing {
            Pairing::Product => x * y,
            Pairing::Difference => (x - y).abs() - x.abs(),
            Pairing::ChiSquared if x + y == 0.0 => 0.0,
            Pairing::ChiSquared => (x - y).powi(2) / (x + y) - x,
        })
    }

    fn tile(&self, left: &[E], n_left: usize, columns: Range<usize>, tile: &mut [E]) {
        const MOST: usize = 16;
        let w = width::<E>();
        tile.fill(E::default());
        for (strip, left) in left.chunks_exact(self.p * w).enumerate() {
            let mut alone = [E::default(); MOST];
            if self.pairing != Pairing::Product {
                // The sums of the pairs with a row of zeros.
                for x in left.chunks_exact(w) {
                    for (sum, x) in alone.iter_mut().zip(x) {
                        *sum = *sum + E::from_f64(x.to_f64().abs());
                    }
                }
            }
            for (c, j) in columns.clone().enumerate() {
                let mut sums = alone;
                for e in self.pointers[j]..self.pointers[j + 1] {
                    let x = &left[self.indices[e] as usize * w..][..w];
                    for (sum, x) in sums.iter_mut().zip(x) {
                        *sum = match self.pairing {
                            Pairing::Product => *sum + *x * self.values[e],
                            _ => *sum + self.term(*x, self.values[e]),
                        };
                    }
                }
                let out = &mut tile[(c / w * n_left + strip * w) * w + c % w..];
                for (out, sum) in out.iter_mut().step_by(w).zip(&sums[..w]) {
                    *out = *sum;
                }
            }
        }
    }
}
