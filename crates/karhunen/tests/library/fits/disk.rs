//! Rows that every visit reads again, as from a file, and rows that come once.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use karhunen::source::{Batch, Block, Pass, PassKind, VisitMemory};
use karhunen::{Dense, Result, Scalar, Source, Sparse, Stream};
use karhunen_testkit::SparseArrays;

/// A source of row-major blocks of `height` rows that counts its visits and records what it may keep.
pub(crate) struct Disk<'a, T> {
    rows: Dense<'a, T>,
    height: usize,
    held: f64,
    /// Bytes that a visit holds for each byte of the memory limit, and that limit.
    share: (f64, f64),
    n_visits: AtomicUsize,
    /// Calls that permit rows to be kept: the visits before, and the bytes.
    kept: Mutex<Vec<(usize, f64)>>,
}

impl<'a, T: Scalar> Disk<'a, T> {
    pub(crate) fn new(values: &'a [T], n: usize, p: usize, height: usize) -> Self {
        Self::holding(0.0, values, (n, p), height)
    }

    /// Visits hold `held` bytes at a time.
    pub(crate) fn holding(held: f64, values: &'a [T], (n, p): (usize, usize), height: usize) -> Self {
        let rows = Dense::row_major(values, n, p).unwrap();
        Self {
            rows,
            height,
            held,
            share: (0.0, 0.0),
            n_visits: AtomicUsize::new(0),
            kept: Mutex::new(Vec::new()),
        }
    }

    /// Visits hold `share` of a memory limit of `limit` bytes more.
    pub(crate) fn within(self, limit: f64, share: f64) -> Self {
        Self { share: (share, limit), ..self }
    }

    pub(crate) fn visits(&self) -> usize {
        self.n_visits.load(Ordering::Relaxed)
    }

    /// The bytes that it was permitted to keep, before the first visit.
    pub(crate) fn kept(&self) -> Vec<f64> {
        let bytes = |&(visits, bytes): &(usize, f64)| {
            assert_eq!(visits, 0, "memory is granted before the first visit");
            bytes
        };
        self.kept.lock().unwrap().iter().map(bytes).collect()
    }
}

impl<T: Scalar> Source<T> for Disk<'_, T> {
    fn shape(&self) -> (usize, usize) {
        self.rows.shape()
    }
    fn pass(&self) -> Pass {
        let bytes = (Source::n_stored(&self.rows) * size_of::<T>()) as f64;
        Pass::Costly { bytes, kind: PassKind::Dense, held: self.memory_within(1.0).held }
    }
    fn memory_within(&self, factor: f64) -> VisitMemory {
        let (share, limit) = self.share;
        VisitMemory { held: self.held + share * limit * factor, block: self.block_bytes() }
    }
    fn keep(&self, bytes: f64) {
        self.kept.lock().unwrap().push((self.visits(), bytes));
    }
    fn fingerprint(&self) -> Option<u64> {
        Some(14)
    }
    fn n_stored(&self) -> usize {
        Source::n_stored(&self.rows)
    }
    fn is_sparse(&self) -> bool {
        false
    }
    fn visit(&self, f: &mut dyn FnMut(usize, Block<'_, T>) -> Result<()>) -> Result<()> {
        self.n_visits.fetch_add(1, Ordering::Relaxed);
        let n = self.rows.n_rows();
        (0..n).step_by(self.height).try_for_each(|first| {
            let rows = first..n.min(first + self.height);
            f(first, Block::Dense(self.rows.rows(rows)))
        })
    }
}

/// Blocks of rows of a sparse matrix, read in every visit.
pub(crate) struct SparseDisk<'a> {
    pub(crate) arrays: &'a SparseArrays,
    pub(crate) height: usize,
}

impl Source<f64> for SparseDisk<'_> {
    fn shape(&self) -> (usize, usize) {
        (self.arrays.n_rows, self.arrays.n_cols)
    }
    fn pass(&self) -> Pass {
        Pass::Costly { bytes: 12.0 * self.arrays.values.len() as f64, kind: PassKind::Sparse, held: 0.0 }
    }
    fn n_stored(&self) -> usize {
        self.arrays.values.len()
    }
    fn is_sparse(&self) -> bool {
        true
    }
    fn visit(&self, f: &mut dyn FnMut(usize, Block<'_, f64>) -> Result<()>) -> Result<()> {
        let SparseArrays { n_rows, n_cols, indptr, indices, values } = self.arrays;
        (0..*n_rows).step_by(self.height).try_for_each(|first| {
            let end = (*n_rows).min(first + self.height);
            let pointers: Vec<usize> = indptr[first..=end].iter().map(|at| at - indptr[first]).collect();
            let entries = indptr[first]..indptr[end];
            let rows =
                Sparse::csr(end - first, *n_cols, &pointers, &indices[entries.clone()], &values[entries])?;
            f(first, Block::Sparse(rows))
        })
    }
}

/// A stream of batches of `height` rows.
pub(crate) struct Batches<'a, T> {
    values: &'a [T],
    weights: Option<&'a [f64]>,
    p: usize,
    height: usize,
    next: usize,
}

impl<'a, T> Batches<'a, T> {
    pub(crate) fn new(values: &'a [T], p: usize, height: usize) -> Self {
        Self::weighted(values, None, p, height)
    }

    pub(crate) fn weighted(values: &'a [T], weights: Option<&'a [f64]>, p: usize, height: usize) -> Self {
        Self { values, weights, p, height, next: 0 }
    }
}

impl<T: Scalar> Stream<T> for Batches<'_, T> {
    fn n_features(&self) -> usize {
        self.p
    }
    fn next(&mut self) -> Result<Option<Batch<'_, T>>> {
        let (first, n) = (self.next, self.values.len() / self.p);
        if first == n {
            return Ok(None);
        }
        self.next = n.min(first + self.height);
        let rows = &self.values[first * self.p..self.next * self.p];
        let rows = Block::Dense(Dense::row_major(rows, self.next - first, self.p)?);
        Ok(Some(Batch { rows, weights: self.weights.map(|w| &w[first..self.next]) }))
    }
}
