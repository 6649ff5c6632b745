//! A matrix in an HDF5 file or a Zarr store: in memory, or block by block from the file.

use std::ops::Range;
use std::path::{Path, PathBuf};

use karhunen::matrix::{Major, SparseMatrix};
use karhunen::{Scalar, memory};

use crate::file_rows::{BlockReader, FileRows, OwnedBlock, SparseCopy};
use crate::mapped::Mapped;
use crate::store::{Array, Store};
use crate::{Buffer, Cause, Data, Error, ReadOptions, Result, Values};

/// Entries that are read at once of a matrix that is compressed by columns.
const ENTRIES_AT_ONCE: usize = 1 << 20;

/// Share of the memory limit for chunks that are kept between reads.
const KEPT_SHARE: u64 = 16;

/// A matrix, not read yet, of shape (rows, columns).
pub(super) struct Stored {
    pub(super) shape: (usize, usize),
    place: String,
    layout: Layout,
}

enum Layout {
    /// An array of two axes.
    Dense(Array),
    /// Entries line by line.
    Compressed { major: Major, pointers: Vec<usize>, indices: Array, values: Array },
}

impl Stored {
    /// An array.
    ///
    /// # Errors
    /// [`Cause::Format`] for another number of axes than two.
    pub(super) fn dense(file: &Store, place: &str) -> Result<Self> {
        let array = file.array(place)?;
        match array.shape()?[..] {
            [n, p] => Ok(Self { shape: (n, p), place: place.to_owned(), layout: Layout::Dense(array) }),
            ref shape => {
                let found = shape.len();
                Err(array.refuse(&format!(
                    "has {found} axes, and a table two, rows and columns: reshape it, or fit maps with karhunen.xarray in \
                     Python"
                )))
            }
        }
    }

    /// The arrays `data`, `indices` and `indptr` of a group.
    ///
    /// # Errors
    /// [`Cause::Format`] for arrays that contradict each other.
    pub(super) fn compressed(file: &Store, group: &str, major: Major, shape: (usize, usize)) -> Result<Self> {
        let array = |name: &str| file.array(&format!("{group}/{name}"));
        let (values, indices, ends) = (array("data")?, array("indices")?, array("indptr")?);
        let n_lines = if major == Major::Rows { shape.0 } else { shape.1 };
        let (n_entries, n_pointers) = (values.len()?, ends.len()?);
        if indices.len()? != n_entries {
            let found = indices.len()?;
            return Err(indices
                .refuse(&format!("has {found} entries, but `data` has {n_entries}; the file is damaged")));
        }
        if n_pointers != n_lines + 1 {
            let message =
                format!("has {n_pointers} entries, but a matrix of shape {shape:?} needs {}", n_lines + 1);
            return Err(ends.refuse(&format!("{message}; the file is damaged")));
        }
        let pointers: Vec<usize> = ends.positions(0..n_pointers)?;
        let ordered =
            pointers.is_sorted() && pointers.first() == Some(&0) && pointers.last() == Some(&n_entries);
        if !ordered {
            let message =
                format!("does not rise from 0 to the number of entries, {n_entries}; the file is damaged");
            return Err(ends.refuse(&message));
        }
        if u32::try_from(shape.0.max(shape.1)).is_err() {
            return Err(ends.refuse("has more rows or columns than are read, 4,294,967,295"));
        }
        let layout = Layout::Compressed { major, pointers, indices, values };
        Ok(Self { shape, place: group.to_owned(), layout })
    }

    /// Reads the values, or leaves them in the file if they exceed the memory limit.
    ///
    /// # Errors
    /// [`Cause::Format`]; [`Cause::Library`] for positions out of range.
    pub(super) fn read(self, file: &Store, options: &ReadOptions) -> Result<Data> {
        let (Layout::Dense(values) | Layout::Compressed { values, .. }) = &self.layout;
        Ok(if values.is_single() {
            Data::F32(self.values(file, options)?)
        } else {
            Data::F64(self.values(file, options)?)
        })
    }

    fn values<T: Scalar>(mut self, file: &Store, options: &ReadOptions) -> Result<Values<T>> {
        let (n, p) = self.shape;
        let (place, mapped) = (self.place, file.mapped());
        let kept = options.most_held() / KEPT_SHARE;
        match &mut self.layout {
            Layout::Dense(array) => array.keep(kept),
            Layout::Compressed { indices, values, .. } => {
                indices.keep(kept / 2);
                values.keep(kept / 2);
            }
        }
        let failed = |error: karhunen::Error| Error::new(file.path(), error.into());
        let in_file = |reader: Box<dyn BlockReader<T>>, n_stored| {
            let of_file = (file.n_bytes(&place), mapped.clone());
            let rows = FileRows::new(reader, (n, p), of_file, options.most_held());
            Ok(Values::InFile(rows.with_columns(p, n_stored)))
        };
        let (major, pointers, indices, values) = match self.layout {
            Layout::Dense(array) if options.stay_in_file((n, p), size_of::<T>()) => {
                return in_file(Box::new(DenseRows { array, shape: (n, p), mapped: mapped.clone() }), None);
            }
            Layout::Dense(array) => {
                refuse_chunks(&array, n as f64 * p as f64 * size_of::<T>() as f64, options)?;
                ask(n as f64 * p as f64 * 2.0 * size_of::<T>() as f64).map_err(failed)?;
                let buffer = Buffer::Owned(array.numbers(&[0..n, 0..p])?);
                return Ok(Values::Dense { buffer, n_rows: n, n_cols: p, column_major: false });
            }
            Layout::Compressed { major, pointers, indices, values } => (major, pointers, indices, values),
        };
        let n_entries = pointers.last().copied().unwrap_or(0);
        let stays = options.stay_in_copy(n, n_entries, size_of::<T>());
        if stays && major == Major::Rows {
            let path = file.path().to_owned();
            let missing = options.missing;
            let rows =
                SparseRows { path, pointers, indices, values, n_cols: p, missing, mapped: mapped.clone() };
            return in_file(Box::new(rows), Some(n_entries));
        }
        if stays {
            let mut copy = SparseCopy::new(file.path(), (n, p), n_entries, false, options)?;
            for begin in (0..n_entries).step_by(ENTRIES_AT_ONCE) {
                let part = begin..n_entries.min(begin + ENTRIES_AT_ONCE);
                let rows: Vec<u32> = indices.positions(part.clone())?;
                refuse_beyond(&indices, &rows, n)?;
                copy.push(&rows, &lines(&pointers, part.clone()), &values.entries::<T>(part)?)?;
                refuse_lost(&values)?;
                mapped.iter().for_each(Mapped::release);
            }
            let (rows, n_repeated) = copy.finish(options)?;
            refuse_repeated(file.path(), &indices, n_repeated, options.missing)?;
            return Ok(Values::InFile(rows));
        }
        refuse_chunks(&values, n_entries as f64 * size_of::<T>() as f64, options)?;
        refuse_chunks(&indices, n_entries as f64 * size_of::<u64>() as f64, options)?;
        ask(n_entries as f64 * 2.0 * (size_of::<T>() + size_of::<u64>()) as f64).map_err(failed)?;
        let positions: Vec<u32> = indices.positions(0..n_entries)?;
        let entries: Vec<T> = values.entries(0..n_entries)?;
        refuse_lost(&values)?;
        let matrix = match major {
            Major::Rows => SparseMatrix::canonical(major, n, p, &pointers, &positions, &entries),
            Major::Columns => {
                SparseMatrix::from_triples(n, p, &positions, &lines(&pointers, 0..n_entries), &entries)
            }
        };
        let matrix = matrix.map_err(failed)?;
        refuse_repeated(file.path(), &indices, n_entries - matrix.view().n_stored(), options.missing)?;
        Ok(Values::Sparse(matrix))
    }
}

/// The line of each entry of a part.
fn lines(pointers: &[usize], part: Range<usize>) -> Vec<u32> {
    let mut line = pointers.partition_point(|&end| end <= part.start).saturating_sub(1);
    part.map(|entry| {
        while pointers[line + 1] <= entry {
            line += 1;
        }
        line as u32
    })
    .collect()
}

fn refuse_beyond(indices: &Array, positions: &[u32], bound: usize) -> Result<()> {
    match positions.iter().find(|&&position| position as usize >= bound) {
        Some(position) => Err(indices.refuse(&format!("holds {position}, but must be below {bound}"))),
        None => Ok(()),
    }
}

/// Refuses a part of the stored values that is absent: all of them would be zero, and zeros are not stored.
fn refuse_lost(values: &Array) -> Result<()> {
    if values.lacks_chunks() {
        return Err(values.refuse(
            "lacks chunks, whose values would all be zero; copy the store again, or write it without stored zeros",
        ));
    }
    Ok(())
}

/// Refuses two values in one place, if missing values are those that are not stored, or chunks of the positions are
/// absent. Positions of an absent chunk are all 0, which may be so; only where they repeat others, a chunk was lost.
fn refuse_repeated(path: &Path, indices: &Array, n_repeated: usize, missing: bool) -> Result<()> {
    if n_repeated > 0 && indices.lacks_chunks() {
        return Err(
            indices.refuse("lacks chunks that held positions other than 0; copy or write the store again")
        );
    }
    if n_repeated == 0 || !missing {
        return Ok(());
    }
    let message =
        format!("{n_repeated} entries repeat the place of another; give each place one observed value");
    Err(Error::new(path, Cause::value(message)))
}

fn ask(bytes: f64) -> karhunen::Result<()> {
    memory::ask("the matrix", bytes, || {
        vec![karhunen::error::Advice::RaiseLimit, "take fewer rows or columns".into()]
    })
}

/// Refuses an array whose values, of `n_bytes` bytes, fit the memory limit, but not its chunks, which are larger.
fn refuse_chunks(array: &Array, n_bytes: f64, options: &ReadOptions) -> Result<()> {
    let held = array.held();
    if held <= 2.0 * n_bytes + options.most_held() as f64 {
        return Ok(());
    }
    let message = format!(
        "has chunks larger than the memory that may be used: reading one takes {}; write it with smaller chunks",
        memory::size(held)
    );
    Err(array.refuse(&message))
}

/// Rows of an array.
struct DenseRows {
    array: Array,
    shape: (usize, usize),
    mapped: Option<Mapped>,
}

impl<T: Scalar> BlockReader<T> for DenseRows {
    fn each(
        &self,
        first: usize,
        rows_at_once: usize,
        reached: &mut usize,
        f: &mut dyn FnMut(OwnedBlock<T>) -> bool,
    ) -> Result<()> {
        let (n, p) = self.shape;
        // Whole chunks are decoded once.
        let chunk = self.array.chunk_rows();
        let height = if rows_at_once > chunk { rows_at_once / chunk * chunk } else { rows_at_once };
        let mut begin = first;
        while begin < n {
            let end = n.min((begin / height + 1) * height);
            let values = self.array.numbers(&[begin..end, 0..p])?;
            self.mapped.iter().for_each(Mapped::release);
            *reached = end;
            if !f(OwnedBlock::Dense { values, n_rows: end - begin, column_major: false }) {
                break;
            }
            begin = end;
        }
        Ok(())
    }

    fn held(&self, block_bytes: usize) -> f64 {
        // The decoded chunks, in the type of the file.
        2.0 * block_bytes as f64 + self.array.held()
    }
}

/// Rows of a matrix that is compressed by rows.
struct SparseRows {
    path: PathBuf,
    pointers: Vec<usize>,
    indices: Array,
    values: Array,
    n_cols: usize,
    /// True if missing values are those that are not stored.
    missing: bool,
    mapped: Option<Mapped>,
}

impl<T: Scalar> BlockReader<T> for SparseRows {
    fn each(
        &self,
        first: usize,
        rows_at_once: usize,
        reached: &mut usize,
        f: &mut dyn FnMut(OwnedBlock<T>) -> bool,
    ) -> Result<()> {
        let n = self.pointers.len() - 1;
        for first in (first..n).step_by(rows_at_once) {
            let end = n.min(first + rows_at_once);
            let (begin, stop) = (self.pointers[first], self.pointers[end]);
            let pointers: Vec<usize> =
                self.pointers[first..=end].iter().map(|pointer| pointer - begin).collect();
            let positions: Vec<u32> = self.indices.positions(begin..stop)?;
            let values: Vec<T> = self.values.entries(begin..stop)?;
            refuse_lost(&self.values)?;
            self.mapped.iter().for_each(Mapped::release);
            let rows = SparseMatrix::canonical(
                Major::Rows,
                end - first,
                self.n_cols,
                &pointers,
                &positions,
                &values,
            );
            let rows = rows.map_err(|error| Error::new(&self.path, error.into()))?;
            let n_repeated = positions.len() - rows.view().n_stored();
            refuse_repeated(&self.path, &self.indices, n_repeated, self.missing)?;
            *reached = end;
            if !f(OwnedBlock::Sparse(rows)) {
                break;
            }
        }
        Ok(())
    }

    fn held(&self, block_bytes: usize) -> f64 {
        // The pointers, and the decoded entries in their type in the file.
        let chunks = self.indices.held() + self.values.held();
        8.0 * self.pointers.len() as f64 + 3.0 * block_bytes as f64 + chunks
    }
}
