//! A temporary copy of sparse rows, compressed block by block, of entries in any order.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use karhunen::Scalar;
use karhunen::matrix::SparseMatrix;

use super::positioned::{Positioned, read_at};
use super::{BlockReader, FileRows, OwnedBlock, block_bytes};
use crate::disk_space;
use crate::input::copying_failed;
use crate::{Error, ReadOptions, Result};

/// Bytes of an entry in a bucket: row, column and value.
fn triple_bytes<T>() -> usize {
    2 * size_of::<u32>() + size_of::<T>()
}

/// Entries of consecutive rows, in the order of the file.
#[derive(Default)]
struct Entries<T> {
    rows: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<T>,
}

impl<T: Scalar> Entries<T> {
    fn push(&mut self, row: u32, column: u32, value: T) {
        self.rows.push(row);
        self.columns.push(column);
        self.values.push(value);
    }

    fn clear(&mut self) {
        self.rows.clear();
        self.columns.clear();
        self.values.clear();
    }
}

/// A file without a name that stores entries and returns their rows in blocks.
pub(crate) struct SparseCopy<T> {
    /// The file whose entries are copied, for messages.
    path: PathBuf,
    folder: PathBuf,
    shape: (usize, usize),
    /// The most entries of a block, unless a row has more.
    block_entries: usize,
    /// Rows of a bucket; `None` for entries that arrive row by row.
    bucket_rows: Option<usize>,
    buckets: Vec<Bucket>,
    bucket_file: File,
    bucket_end: u64,
    written: Written,
    /// The entries of rows from `first` on, which were not written yet.
    pending: Entries<T>,
    first: usize,
    n_repeated: usize,
}

/// Entries of consecutive rows: some in memory, the others in parts of the bucket file.
#[derive(Default)]
struct Bucket {
    buffer: Vec<u8>,
    /// Offset and length of each part.
    parts: Vec<(u64, usize)>,
}

/// The compressed blocks.
struct Written {
    file: File,
    end: u64,
    blocks: Vec<Stored>,
    n_stored: usize,
}

/// A block in the file: pointers, then columns, then values.
#[derive(Clone, Copy)]
struct Stored {
    first: usize,
    n_rows: usize,
    n_entries: usize,
    offset: u64,
}

impl<T: Scalar> SparseCopy<T> {
    /// Creates an empty copy for about `n_entries` entries of a matrix of this shape, which arrive row by row if
    /// `ordered`.
    ///
    /// # Errors
    /// [`crate::Cause::Io`], also if the disk has no space for them.
    pub(crate) fn new(
        path: &Path,
        shape: (usize, usize),
        n_entries: usize,
        ordered: bool,
        options: &ReadOptions,
    ) -> Result<Self> {
        let folder = options.copies();
        let of_entry = size_of::<u32>() + size_of::<T>() + if ordered { 0 } else { triple_bytes::<T>() };
        disk_space::ask(path, &folder, of_entry as f64 * n_entries as f64 + 8.0 * shape.0 as f64)?;
        let new_file =
            || tempfile::tempfile_in(&folder).map_err(|source| copying_failed(path, &folder, source));
        let block_entries = (block_bytes(options.most_held()) / triple_bytes::<T>()).max(1);
        let n_buckets = n_entries.div_ceil(block_entries).clamp(1, shape.0.max(1));
        let bucket_rows = (!ordered).then(|| shape.0.div_ceil(n_buckets).max(1));
        let n_buckets = bucket_rows.map_or(0, |rows| shape.0.div_ceil(rows));
        let written = Written { file: new_file()?, end: 0, blocks: Vec::new(), n_stored: 0 };
        Ok(Self {
            path: path.to_owned(),
            bucket_file: new_file()?,
            folder,
            shape,
            block_entries,
            bucket_rows,
            buckets: std::iter::repeat_with(Bucket::default).take(n_buckets).collect(),
            bucket_end: 0,
            written,
            pending: Entries::default(),
            first: 0,
            n_repeated: 0,
        })
    }

    /// Adds entries. Returns false, with some entries left out, if the copy expects them row by row and they are in
    /// another order.
    ///
    /// # Errors
    /// [`crate::Cause::Io`], if the disk is full; [`crate::Cause::Library`].
    pub(crate) fn push(&mut self, rows: &[u32], columns: &[u32], values: &[T]) -> Result<bool> {
        for ((&row, &column), &value) in rows.iter().zip(columns).zip(values) {
            match self.bucket_rows {
                Some(bucket_rows) => self.push_to_bucket(row as usize / bucket_rows, row, column, value)?,
                None => {
                    let last = self.pending.rows.last().copied();
                    if (row as usize) < self.first || last.is_some_and(|last| row < last) {
                        return Ok(false);
                    }
                    if self.pending.rows.len() >= self.block_entries && last != Some(row) {
                        self.flush(row as usize)?;
                    }
                    self.pending.push(row, column, value);
                }
            }
        }
        Ok(true)
    }

    fn push_to_bucket(&mut self, bucket: usize, row: u32, column: u32, value: T) -> Result<()> {
        /// Bytes of all buckets in memory, and the least of each.
        const BUFFERS: (usize, usize) = (16 << 20, 4 << 10);
        let most = (BUFFERS.0 / self.buckets.len().max(1)).max(BUFFERS.1);
        let buffer = &mut self.buckets[bucket].buffer;
        buffer.extend_from_slice(bytemuck::bytes_of(&row));
        buffer.extend_from_slice(bytemuck::bytes_of(&column));
        buffer.extend_from_slice(bytemuck::bytes_of(&value));
        if buffer.len() >= most {
            let part = (self.bucket_end, buffer.len());
            let written = self.bucket_file.write_all(buffer);
            buffer.clear();
            self.buckets[bucket].parts.push(part);
            self.bucket_end += part.1 as u64;
            written.map_err(|source| copying_failed(&self.path, &self.folder, source))?;
        }
        Ok(())
    }

    /// Compresses and writes the pending entries, of the rows before `end`.
    fn flush(&mut self, end: usize) -> Result<()> {
        // Many rows without entries are blocks of their own, whose pointers are no larger than in other blocks.
        let most = self.block_entries.max(1);
        let mut begin = 0;
        while self.first < end {
            let until = end.min(self.first + most);
            let n = self.pending.rows[begin..].partition_point(|&row| (row as usize) < until);
            let here = begin..begin + n;
            let rows: Vec<u32> =
                self.pending.rows[here.clone()].iter().map(|&row| row - self.first as u32).collect();
            let (columns, values) = (&self.pending.columns[here.clone()], &self.pending.values[here.clone()]);
            self.n_repeated += self
                .written
                .block(self.first, (until - self.first, self.shape.1), &rows, columns, values)
                .map_err(|failed| match failed {
                    Failed::Disk(source) => copying_failed(&self.path, &self.folder, source),
                    Failed::Matrix(error) => Error::new(&self.path, error.into()),
                })?;
            (self.first, begin) = (until, here.end);
        }
        self.pending.clear();
        Ok(())
    }

    /// The copied rows, and the number of entries that were added to another at their place.
    ///
    /// # Errors
    /// [`crate::Cause::Io`]; [`crate::Cause::Library`].
    pub(crate) fn finish(mut self, options: &ReadOptions) -> Result<(FileRows<T>, usize)> {
        if let Some(bucket_rows) = self.bucket_rows {
            for (number, bucket) in std::mem::take(&mut self.buckets).into_iter().enumerate() {
                let begin = number * bucket_rows;
                self.take_bucket(&bucket, begin..(begin + bucket_rows).min(self.shape.0))?;
            }
        }
        self.flush(self.shape.0)?;
        let Self { path, shape, written, n_repeated, .. } = self;
        let Written { file, blocks, n_stored, end, .. } = written;
        let reader = SparseBlocks { path, file: Positioned::new(file, end), blocks, n_cols: shape.1 };
        let rows = FileRows::of_reader(Box::new(reader), shape, Some(n_stored));
        Ok((rows.within(options.most_held()), n_repeated))
    }

    /// Writes the rows of a bucket, a few at a time if they have many entries.
    fn take_bucket(&mut self, bucket: &Bucket, rows: std::ops::Range<usize>) -> Result<()> {
        let mut counts = vec![0; rows.len()];
        self.each_of(bucket, &mut |row, _, _| counts[row as usize - rows.start] += 1)?;
        let mut begin = rows.start;
        while begin < rows.end {
            let (mut end, mut n_entries) = (begin, 0);
            while end < rows.end
                && (end == begin || n_entries + counts[end - rows.start] <= self.block_entries)
            {
                n_entries += counts[end - rows.start];
                end += 1;
            }
            let mut some = Entries::default();
            self.each_of(bucket, &mut |row, column, value| {
                if (begin..end).contains(&(row as usize)) {
                    some.push(row, column, value);
                }
            })?;
            // In the order of the rows; within a row in the order of the file.
            let mut order: Vec<usize> = (0..some.rows.len()).collect();
            order.sort_by_key(|&entry| some.rows[entry]);
            for entry in order {
                self.pending.push(some.rows[entry], some.columns[entry], some.values[entry]);
            }
            self.flush(end)?;
            begin = end;
        }
        Ok(())
    }

    /// Calls `f` with the entries of a bucket, in the order in which they arrived.
    fn each_of(&self, bucket: &Bucket, f: &mut dyn FnMut(u32, u32, T)) -> Result<()> {
        let mut of_part = |bytes: &[u8]| {
            for entry in bytes.chunks_exact(triple_bytes::<T>()) {
                let (row, rest) = entry.split_at(size_of::<u32>());
                let (column, value) = rest.split_at(size_of::<u32>());
                let number = bytemuck::pod_read_unaligned::<u32>;
                f(number(row), number(column), bytemuck::pod_read_unaligned(value));
            }
        };
        let mut bytes = Vec::new();
        for &(offset, len) in &bucket.parts {
            bytes.resize(len, 0);
            let read = read_at(&self.bucket_file, offset, &mut bytes);
            read.map_err(|source| Error::io(&self.path, "reading", source))?;
            of_part(&bytes);
        }
        of_part(&bucket.buffer);
        Ok(())
    }
}

/// Cause of a failure to write a block.
enum Failed {
    Disk(std::io::Error),
    Matrix(karhunen::Error),
}

impl Written {
    /// Writes rows, given by their entries with rows counted from the first; returns the number of repeated entries.
    fn block<T: Scalar>(
        &mut self,
        first: usize,
        (n_rows, n_cols): (usize, usize),
        rows: &[u32],
        columns: &[u32],
        values: &[T],
    ) -> std::result::Result<usize, Failed> {
        let matrix =
            SparseMatrix::from_triples(n_rows, n_cols, rows, columns, values).map_err(Failed::Matrix)?;
        let (pointers, indices, compressed) =
            matrix.into_csr().expect("triples are compressed by rows, and have indices of 32 bits");
        let n_entries = compressed.len();
        let parts: [&[u8]; 3] = [
            bytemuck::cast_slice(&pointers),
            bytemuck::cast_slice(&indices),
            bytemuck::cast_slice(&compressed),
        ];
        self.blocks.push(Stored { first, n_rows, n_entries, offset: self.end });
        for part in parts {
            self.file.write_all(part).map_err(Failed::Disk)?;
            self.end += part.len() as u64;
        }
        self.n_stored += n_entries;
        Ok(values.len() - n_entries)
    }
}

/// The compressed blocks, which are read again in every visit.
struct SparseBlocks {
    path: PathBuf,
    file: Positioned,
    blocks: Vec<Stored>,
    n_cols: usize,
}

impl SparseBlocks {
    fn read<V: bytemuck::Pod>(&self, offset: &mut u64, n: usize) -> Result<Vec<V>> {
        let mut values = vec![V::zeroed(); n];
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut values);
        self.file.read(*offset, bytes).map_err(|source| Error::io(&self.path, "reading", source))?;
        *offset += bytes.len() as u64;
        Ok(values)
    }

    /// Reads the rows of a block from row `first` of the block on.
    fn block<T: Scalar>(&self, stored: Stored, first: usize) -> Result<SparseMatrix<T>> {
        let Stored { n_rows, n_entries, mut offset, .. } = stored;
        let mut pointers: Vec<usize> = self.read(&mut offset, n_rows + 1)?;
        let mut indices = self.read(&mut offset, n_entries)?;
        let mut values = self.read(&mut offset, n_entries)?;
        if first > 0 {
            pointers.drain(..first);
            let begin = pointers[0];
            pointers.iter_mut().for_each(|pointer| *pointer -= begin);
            indices.drain(..begin);
            values.drain(..begin);
        }
        let matrix = SparseMatrix::from_csr(n_rows - first, self.n_cols, pointers, indices, values);
        matrix.map_err(|error| Error::new(&self.path, error.into()))
    }
}

impl<T: Scalar> BlockReader<T> for SparseBlocks {
    fn each(
        &self,
        first: usize,
        _: usize,
        reached: &mut usize,
        f: &mut dyn FnMut(OwnedBlock<T>) -> bool,
    ) -> Result<()> {
        for &stored in self.blocks.iter().filter(|stored| stored.first + stored.n_rows > first) {
            let rows = self.block(stored, first.saturating_sub(stored.first))?;
            *reached = stored.first + stored.n_rows;
            if !f(OwnedBlock::Sparse(rows)) {
                break;
            }
        }
        Ok(())
    }

    fn held(&self, _: usize) -> f64 {
        self.file.held()
    }

    fn read_again(&self) {
        self.file.read_again();
    }
}

#[cfg(test)]
mod tests {
    use karhunen::Source;
    use karhunen::source::Block;

    use super::*;

    /// Pseudorandom entries, some of them repeated.
    fn entries(n: usize, (n_rows, n_cols): (usize, usize)) -> (Vec<u32>, Vec<u32>, Vec<f64>) {
        let mut state = 7_u64;
        let mut next = |bound: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % bound as u64) as u32
        };
        (0..n)
            .map(|e| (next(n_rows) / 2 * 2, next(n_cols), e as f64 + 0.5))
            .collect::<Vec<_>>()
            .into_iter()
            .fold(
                Default::default(),
                |(mut rows, mut columns, mut values): (Vec<u32>, Vec<u32>, Vec<f64>),
                 (row, column, value)| {
                    rows.push(row);
                    columns.push(column);
                    values.push(value);
                    (rows, columns, values)
                },
            )
    }

    /// The dense values of all rows.
    fn dense(x: &dyn Source<f64>) -> Vec<f64> {
        let (n, p) = x.shape();
        let mut all = vec![0.0; n * p];
        let mut reached = 0;
        x.visit(&mut |first, block| {
            let Block::Sparse(rows) = &block else { panic!("dense") };
            assert_eq!(first, reached);
            reached += rows.n_rows();
            let unit = |j: usize| (0..p).map(move |k| if k == j { 1.0 } else { 0.0 });
            let identity: Vec<f64> = (0..p).flat_map(unit).collect();
            let observed = karhunen::Observed::from_sparse(rows, None)?;
            assert_eq!(identity.len(), p * p);
            for i in 0..rows.n_rows() {
                let (columns, values) = observed.row(i);
                columns.iter().zip(values).for_each(|(j, value)| all[(first + i) * p + *j as usize] = *value);
            }
            Ok(())
        })
        .unwrap();
        assert_eq!(reached, n);
        all
    }

    #[test]
    fn entries_in_any_order_give_the_rows_of_the_whole_matrix() {
        let shape = (3000, 40);
        let (rows, columns, values) = entries(60_000, shape);
        let whole = SparseMatrix::from_triples(shape.0, shape.1, &rows, &columns, &values).unwrap();
        // Blocks of 1 MiB hold 65,536 entries at most; fewer are asked for here.
        let options = ReadOptions { memory_limit: Some(1 << 20), ..ReadOptions::default() };
        let mut copy = SparseCopy::new(Path::new("x.mtx"), shape, values.len(), false, &options).unwrap();
        copy.block_entries = 1000;
        copy.bucket_rows = Some(100);
        copy.buckets = std::iter::repeat_with(Bucket::default).take(30).collect();
        for part in 0..6 {
            let here = part * 10_000..(part + 1) * 10_000;
            assert!(copy.push(&rows[here.clone()], &columns[here.clone()], &values[here]).unwrap());
        }
        let (copied, n_repeated) = copy.finish(&options).unwrap();
        assert_eq!(n_repeated, values.len() - whole.view().n_stored());
        assert_eq!((copied.n_stored(), copied.is_sparse()), (whole.view().n_stored(), true));
        assert_eq!(dense(&copied), dense(&whole.view()));
    }

    #[test]
    fn entries_by_rows_are_written_at_once_and_others_are_refused() {
        let shape = (3000, 40);
        let (mut rows, columns, values) = entries(5000, shape);
        rows.sort_unstable();
        let whole = SparseMatrix::from_triples(shape.0, shape.1, &rows, &columns, &values).unwrap();
        let options = ReadOptions { memory_limit: Some(1 << 20), ..ReadOptions::default() };
        let new = || {
            let mut copy = SparseCopy::new(Path::new("x.mtx"), shape, values.len(), true, &options).unwrap();
            copy.block_entries = 300;
            copy
        };
        let mut copy = new();
        assert!(copy.push(&rows, &columns, &values).unwrap());
        assert_eq!(copy.bucket_end, 0);
        assert_eq!(dense(&copy.finish(&options).unwrap().0), dense(&whole.view()));
        let mut copy = new();
        assert!(copy.push(&[5, 7], &[0, 0], &[1.0, 2.0]).unwrap());
        assert!(!copy.push(&[6], &[0], &[1.0]).unwrap());
    }
}
