//! Arrays: numbers and texts, converted while they are read, chunk by chunk.

use std::ops::Range;
use std::path::PathBuf;
use std::slice;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use karhunen::Scalar;

use super::codecs::{self, CHECKSUM, Codec};
use super::files::{Files, Found, ask};
use super::metadata::{Element, Layout, Shards};
use super::texts;
use crate::npy_elements::{F16, convert};
use crate::npy_header::{Dtype, Kind};
use crate::rounded::is_held;
use crate::{Cause, Error, Place, Result};

/// Most bytes of a decoded chunk of texts.
const MOST_TEXTS: usize = 256 << 20;

/// An open array.
pub(crate) struct Array {
    path: PathBuf,
    name: String,
    files: Arc<Files>,
    layout: Layout,
    /// Most bytes of chunks to keep between reads.
    most_kept: u64,
    kept: Mutex<Kept>,
    lacks_chunks: AtomicBool,
}

/// Parts of the file that the next read will use again.
#[derive(Default)]
struct Kept {
    /// Decoded chunks that reach beyond the end of the last part, by their places.
    chunks: Vec<([usize; 2], Bytes)>,
    /// The index of the last shard: the beginning and the length of each chunk.
    index: Option<([usize; 2], ShardIndex)>,
}

/// The beginning and the length of each chunk of a shard.
type ShardIndex = Arc<[[u64; 2]]>;

/// The beginning and the length of a chunk that no shard holds.
const ABSENT: [u64; 2] = [u64::MAX; 2];

impl Array {
    pub(super) fn new(path: PathBuf, name: &str, files: Arc<Files>, layout: Layout) -> Self {
        let (kept, lacks_chunks) = (Mutex::default(), AtomicBool::new(false));
        Self { path, name: name.to_owned(), files, layout, most_kept: 0, kept, lacks_chunks }
    }

    /// The lengths of its axes, one or two.
    ///
    /// # Errors
    /// None.
    pub(crate) fn shape(&self) -> Result<Vec<usize>> {
        Ok(self.axes().to_vec())
    }

    fn axes(&self) -> &[usize] {
        &self.layout.shape
    }

    /// Rows of a chunk.
    pub(crate) fn chunk_rows(&self) -> usize {
        self.layout.chunk[0]
    }

    /// Keeps at most `bytes` bytes of decoded chunks between reads.
    pub(crate) fn keep(&mut self, bytes: u64) {
        self.most_kept = bytes;
    }

    /// Bytes of memory that reading takes in addition to the values: a chunk, packed and decoded, and the chunks that
    /// are kept.
    pub(crate) fn held(&self) -> f64 {
        let chunk = self.layout.chunk_bytes().unwrap_or(0) as f64;
        let in_a_row = self.axes().get(1).map_or(1, |p| p.div_ceil(self.layout.chunk[1]));
        2.0 * chunk + (in_a_row as f64 * chunk).min(self.most_kept as f64)
    }

    /// True if a chunk that was read is absent: writers leave out chunks whose elements all have the fill value.
    pub(crate) fn lacks_chunks(&self) -> bool {
        self.lacks_chunks.load(Ordering::Relaxed)
    }

    /// True for single precision.
    pub(crate) fn is_single(&self) -> bool {
        matches!(self.layout.element, Element::Fixed(Dtype { kind: Kind::Float, size: 4, .. }, _))
    }

    /// An error of this array.
    pub(crate) fn refuse(&self, problem: &str) -> Error {
        self.fails(Cause::format(problem.to_owned()))
    }

    fn fails(&self, cause: Cause) -> Error {
        let name = (!self.name.is_empty()).then(|| self.name.clone());
        Error::at(&self.path, Place { name, ..Place::default() }, cause)
    }

    /// The numbers in a part, one range for each axis.
    ///
    /// # Errors
    /// [`Cause::Format`] for damage, text, and integers that `f64` does not represent.
    pub(crate) fn numbers<T: Scalar>(&self, part: &[Range<usize>]) -> Result<Vec<T>> {
        let dtype = self.dtype().ok_or_else(|| self.no_numbers())?;
        let big = dtype.big_endian;
        if dtype.kind == Kind::Float {
            let bytes = self.bytes(part)?;
            return Ok(match dtype.size {
                2 => convert(&bytes, big, |b| T::from_f64(F16::from_le_bytes(b).to_f64())),
                4 => convert(&bytes, big, |b| T::from_f64(f32::from_le_bytes(b).into())),
                _ => convert(&bytes, big, |b| T::from_f64(f64::from_le_bytes(b))),
            });
        }
        self.integers(part, |value| is_held::<f64>(value).then(|| T::from_f64(value as f64)))
    }

    /// The positions in a part of a vector: whole numbers that are not negative.
    ///
    /// # Errors
    /// [`Cause::Format`].
    pub(crate) fn positions<P: TryFrom<i128>>(&self, part: Range<usize>) -> Result<Vec<P>> {
        self.integers(&[part], |value| P::try_from(value).ok())
    }

    fn integers<R>(&self, part: &[Range<usize>], f: impl Fn(i128) -> Option<R>) -> Result<Vec<R>> {
        let Some(Dtype { kind, size, big_endian: big }) = self.dtype() else { return Err(self.no_numbers()) };
        if matches!(kind, Kind::Float | Kind::Bytes | Kind::Unicode) {
            return Err(self.no_numbers());
        }
        let bytes = self.bytes(part)?;
        let values = match (kind, size) {
            (Kind::Int, 1) => whole(&bytes, big, i8::from_le_bytes, f),
            (Kind::Int, 2) => whole(&bytes, big, i16::from_le_bytes, f),
            (Kind::Int, 4) => whole(&bytes, big, i32::from_le_bytes, f),
            (Kind::Int, _) => whole(&bytes, big, i64::from_le_bytes, f),
            (_, 1) => whole(&bytes, big, u8::from_le_bytes, f),
            (_, 2) => whole(&bytes, big, u16::from_le_bytes, f),
            (_, 4) => whole(&bytes, big, u32::from_le_bytes, f),
            _ => whole(&bytes, big, u64::from_le_bytes, f),
        };
        values.ok_or_else(|| self.refuse("holds an integer that is out of range"))
    }

    fn no_numbers(&self) -> Error {
        self.refuse("holds no numbers of a type that is read")
    }

    fn dtype(&self) -> Option<Dtype> {
        match &self.layout.element {
            Element::Fixed(dtype, _) => Some(*dtype),
            Element::Texts(_) => None,
        }
    }

    /// The texts of a vector; integers as they are written. Records, which have fields, exist in HDF5 alone.
    ///
    /// # Errors
    /// [`Cause::Format`].
    pub(crate) fn texts(&self, _: Option<&str>) -> Result<Vec<String>> {
        let &[n] = self.axes() else {
            return Err(self.refuse(&format!("has {} axes, expected one", self.axes().len())));
        };
        let dtype = match &self.layout.element {
            Element::Fixed(dtype, _) => *dtype,
            Element::Texts(fill) => return self.texts_of_any_length(n, fill),
        };
        match dtype.kind {
            Kind::Int | Kind::Uint => {
                Ok(self.integers(slice::from_ref(&(0..n)), Some)?.iter().map(i128::to_string).collect())
            }
            Kind::Bytes | Kind::Unicode => {
                let bytes = self.bytes(slice::from_ref(&(0..n)))?;
                // Elements of no bytes are empty texts.
                let size = dtype.size.max(1);
                let texts = (0..n).map(|i| texts::fixed(bytes.get(i * size..(i + 1) * size)?, dtype));
                let texts: Option<Vec<String>> = match dtype.size {
                    0 => Some(vec![String::new(); n]),
                    _ => texts.collect(),
                };
                texts.ok_or_else(|| self.refuse("holds a text that is not Unicode"))
            }
            Kind::Float | Kind::Bool => Err(self.refuse("holds no texts")),
        }
    }

    fn texts_of_any_length(&self, n: usize, fill: &str) -> Result<Vec<String>> {
        self.ask(n as f64 * size_of::<String>() as f64)?;
        let mut all = Vec::with_capacity(n);
        let length = self.layout.chunk[0];
        for place in 0..n.div_ceil(length) {
            let of_chunk = length.min(n - place * length);
            let Some(bytes) = self.chunk([place, 0])? else {
                self.ask(of_chunk as f64 * fill.len() as f64)?;
                all.extend(std::iter::repeat_n(fill.to_owned(), of_chunk));
                continue;
            };
            let found = texts::any_length(&bytes, of_chunk);
            all.extend(found.ok_or_else(|| self.damaged([place, 0], "holds no texts"))?);
        }
        Ok(all)
    }

    /// The truth values of a vector; `None` for other values. Records, which have fields, exist in HDF5 alone.
    ///
    /// # Errors
    /// [`Cause::Format`].
    pub(crate) fn flags(&self, _: Option<&str>) -> Result<Option<Vec<bool>>> {
        match (self.dtype(), self.axes()) {
            (Some(Dtype { kind: Kind::Bool, .. }), &[n]) => {
                Ok(Some(self.bytes(slice::from_ref(&(0..n)))?.iter().map(|&byte| byte != 0).collect()))
            }
            _ => Ok(None),
        }
    }

    /// The bytes of the elements in a part, row by row, one range for each axis.
    fn bytes(&self, part: &[Range<usize>]) -> Result<Vec<u8>> {
        let Element::Fixed(dtype, fill) = &self.layout.element else { return Err(self.no_numbers()) };
        let size = dtype.size;
        let [shape, chunk] = [&self.layout.shape, &self.layout.chunk].map(|axes| as_matrix(axes));
        let within = |(range, &axis): (&Range<usize>, &usize)| range.start <= range.end && range.end <= axis;
        if part.len() != self.axes().len() || !part.iter().zip(self.axes()).all(within) {
            return Err(
                self.refuse(&format!("has the shape {:?}, which lacks the part {part:?}", self.axes()))
            );
        }
        let [rows, columns] = match part {
            [entries] => [0..1, entries.clone()],
            [rows, columns] => [rows.clone(), columns.clone()],
            _ => return Err(self.no_numbers()),
        };
        let n_bytes = rows.len().checked_mul(columns.len()).and_then(|n| n.checked_mul(size));
        // The values that the bytes become take as much again.
        self.ask(n_bytes.map_or(f64::INFINITY, |n| 2.0 * n as f64))?;
        let mut out = vec![0; n_bytes.unwrap_or(0)];
        if out.is_empty() {
            return Ok(out);
        }
        let before = std::mem::take(&mut self.kept().chunks);
        let (mut next, mut n_kept) = (Vec::new(), 0);
        let is_vector = part.len() == 1;
        let strides = if self.layout.column_major { [1, chunk[0]] } else { [chunk[1], 1] };
        let target = Target { rows: rows.clone(), columns: columns.clone(), size };
        for i in rows.start / chunk[0]..rows.end.div_ceil(chunk[0]) {
            for j in columns.start / chunk[1]..columns.end.div_ceil(chunk[1]) {
                let of_chunk = [i * chunk[0], j * chunk[1]];
                let place = if is_vector { [j, 0] } else { [i, j] };
                let known = before.iter().find(|(known, _)| *known == place).map(|(_, bytes)| bytes.clone());
                let bytes = match known {
                    Some(bytes) => Some(bytes),
                    None => self.chunk(place)?,
                };
                let ends = [of_chunk[0] + chunk[0], of_chunk[1] + chunk[1]];
                match bytes {
                    Some(bytes) => {
                        target.copy(&mut out, &bytes, of_chunk, ends, strides);
                        let goes_on = if is_vector {
                            ends[1] > columns.end && columns.end < shape[1]
                        } else {
                            ends[0] > rows.end && rows.end < shape[0]
                        };
                        if goes_on && n_kept + bytes.len() as u64 <= self.most_kept {
                            n_kept += bytes.len() as u64;
                            next.push((place, bytes));
                        }
                    }
                    None => {
                        self.lacks_chunks.store(true, Ordering::Relaxed);
                        if fill.iter().any(|&byte| byte != 0) {
                            target.fill(&mut out, fill, of_chunk, ends);
                        }
                    }
                }
            }
        }
        self.kept().chunks = next;
        Ok(out)
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask(&self, bytes: f64) -> Result<()> {
        ask(bytes).map_err(|error| self.fails(error.into()))
    }

    /// The decoded bytes of a chunk; `None` if all its elements are the fill value.
    fn chunk(&self, place: [usize; 2]) -> Result<Option<Bytes>> {
        let Some((packed, n)) = self.packed(place)? else { return Ok(None) };
        let (most, exact) = match self.layout.element {
            Element::Fixed(..) => (n, Some(n)),
            Element::Texts(_) => (MOST_TEXTS, None),
        };
        let bytes = codecs::decode(&self.layout.codecs, packed, most)
            .map_err(|problem| self.damaged(place, &problem))?;
        match exact.filter(|&n| n != bytes.len()) {
            Some(n) => Err(self.damaged(place, &format!("holds {} bytes, not {n}", bytes.len()))),
            None => Ok(Some(bytes)),
        }
    }

    /// The bytes of a chunk as they are stored, and the number of decoded ones.
    fn packed(&self, place: [usize; 2]) -> Result<Option<(Bytes, usize)>> {
        let n = self.layout.chunk_bytes().unwrap_or(usize::MAX);
        let file = self.file_of(place);
        let file = if self.name.is_empty() { file } else { format!("{}/{file}", self.name) };
        let Some(found) = self.files.open(&file, &self.name)? else { return Ok(None) };
        let packed = match &self.layout.shards {
            None => Some(found.all()?),
            Some(shards) => self.packed_in(&found, shards, place)?,
        };
        if packed.is_some() {
            self.ask(n as f64)?;
        }
        Ok(packed.map(|packed| (packed, n)))
    }

    /// The bytes of a chunk of a shard.
    fn packed_in(&self, found: &Found, shards: &Shards, place: [usize; 2]) -> Result<Option<Bytes>> {
        let refuse = |problem: &str| self.damaged(place, problem);
        let (shard, n_chunks) = (self.shard_of(place), as_places(&shards.n_chunks));
        let number = place[0] % n_chunks[0] * n_chunks[1] + place[1] % n_chunks[1];
        let known = self.kept().index.clone().filter(|(known, _)| *known == shard);
        let index = match known {
            Some((_, index)) => index,
            None => {
                let entries = shards.n_chunks.iter().try_fold(16_u64, |n, &axis| n.checked_mul(axis as u64));
                let n_sums = shards.index.iter().filter(|&&codec| codec == Codec::Crc32c).count();
                let length = entries.and_then(|n| n.checked_add((n_sums * CHECKSUM) as u64));
                let length = length.filter(|&n| n <= found.n_bytes());
                let length = length.ok_or_else(|| refuse("is too short for its index"))?;
                let begin = if shards.index_at_start { 0 } else { found.n_bytes() - length };
                let bytes = found.read(begin..begin + length)?;
                let bytes = codecs::decode(&shards.index, bytes, length as usize)
                    .map_err(|problem| refuse(&format!("has a damaged index ({problem})")))?;
                let numbers = convert(&bytes, false, u64::from_le_bytes);
                let pairs: Arc<[[u64; 2]]> = numbers.as_chunks::<2>().0.into();
                self.kept().index = Some((shard, Arc::clone(&pairs)));
                pairs
            }
        };
        let [begin, n] = *index.get(number).ok_or_else(|| refuse("has an index that is too short"))?;
        if [begin, n] == ABSENT {
            return Ok(None);
        }
        let end = begin.checked_add(n).filter(|&end| end <= found.n_bytes());
        let end = end.ok_or_else(|| refuse("has a chunk beyond its end"))?;
        found.read(begin..end).map(Some)
    }

    /// The place of the shard of a chunk; the place of the chunk if there are no shards.
    fn shard_of(&self, place: [usize; 2]) -> [usize; 2] {
        self.layout.shards.as_ref().map_or(place, |shards| {
            let n_chunks = as_places(&shards.n_chunks);
            [place[0] / n_chunks[0], place[1] / n_chunks[1]]
        })
    }

    /// The name of the file of a chunk.
    fn file_of(&self, place: [usize; 2]) -> String {
        self.layout.names.of(&self.shard_of(place)[..self.axes().len()])
    }

    fn damaged(&self, place: [usize; 2], problem: &str) -> Error {
        let (kind, file) = (self.layout.shards.as_ref().map_or("chunk", |_| "shard"), self.file_of(place));
        self.refuse(&format!("its {kind} `{file}` is damaged: {problem}; copy or write the store again"))
    }
}

/// The axes of a matrix; a vector is the columns of one row.
fn as_matrix(axes: &[usize]) -> [usize; 2] {
    match *axes {
        [n] => [1, n],
        [n, p, ..] => [n, p],
        [] => [1, 1],
    }
}

/// Lengths for places, whose second is 0 in a vector.
fn as_places(axes: &[usize]) -> [usize; 2] {
    [axes.first().copied().unwrap_or(1), axes.get(1).copied().unwrap_or(1)]
}

/// The part of a matrix that is read.
struct Target {
    rows: Range<usize>,
    columns: Range<usize>,
    /// Bytes of an element.
    size: usize,
}

impl Target {
    /// The rows and the columns that a chunk has in common with the part.
    fn overlap(&self, begin: [usize; 2], end: [usize; 2]) -> [Range<usize>; 2] {
        let of = |axis: usize, part: &Range<usize>| part.start.max(begin[axis])..part.end.min(end[axis]);
        [of(0, &self.rows), of(1, &self.columns)]
    }

    /// The place of an element in the bytes of the part.
    fn at(&self, i: usize, j: usize) -> usize {
        ((i - self.rows.start) * self.columns.len() + j - self.columns.start) * self.size
    }

    /// Copies the elements of a chunk, which lie `strides` elements apart.
    fn copy(&self, out: &mut [u8], chunk: &[u8], begin: [usize; 2], end: [usize; 2], strides: [usize; 2]) {
        let [rows, columns] = self.overlap(begin, end);
        let size = self.size;
        let from = |i: usize, j: usize| ((i - begin[0]) * strides[0] + (j - begin[1]) * strides[1]) * size;
        for i in rows {
            if strides[1] == 1 {
                let n = columns.len() * size;
                let (to, from) = (self.at(i, columns.start), from(i, columns.start));
                out[to..to + n].copy_from_slice(&chunk[from..from + n]);
            } else {
                for j in columns.clone() {
                    let (to, from) = (self.at(i, j), from(i, j));
                    out[to..to + size].copy_from_slice(&chunk[from..from + size]);
                }
            }
        }
    }

    /// Sets the elements of a chunk to the fill value.
    fn fill(&self, out: &mut [u8], fill: &[u8], begin: [usize; 2], end: [usize; 2]) {
        let [rows, columns] = self.overlap(begin, end);
        for i in rows {
            let n = columns.len() * self.size;
            let to = self.at(i, columns.start);
            out[to..to + n].chunks_exact_mut(self.size).for_each(|element| element.copy_from_slice(fill));
        }
    }
}

/// Converts whole numbers; `None` if one is out of range.
fn whole<const N: usize, V: Into<i128>, R>(
    bytes: &[u8],
    big: bool,
    from_le: impl Fn([u8; N]) -> V,
    f: impl Fn(i128) -> Option<R>,
) -> Option<Vec<R>> {
    let (elements, _) = bytes.as_chunks::<N>();
    let value = |&(mut element): &[u8; N]| {
        if big {
            element.reverse();
        }
        f(from_le(element).into())
    };
    elements.iter().map(value).collect()
}
