//! Data sets: numbers, texts and records, converted while they are read.

use std::ops::Range;
use std::path::{Path, PathBuf};

use hdf5_reader::error::Error as Refusal;
use hdf5_reader::{Datatype, SliceInfo, SliceInfoElem};
use karhunen::Scalar;

use super::at;
use super::element::Element;
use crate::{Cause, Error, Place, Result, decoder};

/// An open data set.
pub(crate) struct Dataset {
    path: PathBuf,
    name: String,
    found: Box<hdf5_reader::Dataset>,
}

/// A column of texts or truth values.
enum Field<'a> {
    /// A data set of its own.
    Whole(&'a Datatype),
    /// A part of each record.
    Part { datatype: &'a Datatype, offset: usize },
}

impl Dataset {
    pub(super) fn new(path: &Path, name: &str, found: hdf5_reader::Dataset) -> Self {
        Self { path: path.to_owned(), name: name.to_owned(), found: Box::new(found) }
    }

    /// The lengths of its axes.
    ///
    /// # Errors
    /// [`Cause::Format`] for a length beyond the address space.
    pub(crate) fn shape(&self) -> Result<Vec<usize>> {
        let sizes = self.found.shape().iter().map(|&size| usize::try_from(size));
        sizes.collect::<std::result::Result<_, _>>().map_err(|_| self.refuse("is too large for this machine"))
    }

    /// Number of entries of a vector.
    ///
    /// # Errors
    /// [`Cause::Format`] for another number of axes.
    pub(crate) fn len(&self) -> Result<usize> {
        match self.shape()?[..] {
            [n] => Ok(n),
            ref shape => Err(self.refuse(&format!("has {} axes, expected one", shape.len()))),
        }
    }

    /// Rows of a chunk; 1 if the data set is in one piece.
    pub(crate) fn chunk_rows(&self) -> usize {
        self.found.chunks().and_then(|chunks| chunks.first().map(|&rows| rows as usize)).unwrap_or(1).max(1)
    }

    /// True for single precision.
    pub(crate) fn is_single(&self) -> bool {
        matches!(self.found.dtype(), Datatype::FloatingPoint { size: 4, .. })
    }

    /// An error of this data set.
    pub(crate) fn refuse(&self, problem: &str) -> Error {
        let place = Place { name: Some(self.name.clone()), ..Place::default() };
        Error::at(&self.path, place, Cause::format(problem.to_owned()))
    }

    /// The numbers in a part, one range for each axis.
    ///
    /// # Errors
    /// [`Cause::Format`] for damage, text, and integers that `f64` does not represent.
    pub(crate) fn numbers<T: Scalar>(&self, part: &[Range<usize>]) -> Result<Vec<T>> {
        let whole = |value: i128| {
            let number = value as f64;
            (number as i128 == value && value.unsigned_abs() <= 1 << 53).then(|| T::from_f64(number))
        };
        match self.found.dtype() {
            Datatype::FloatingPoint { size: 4, .. } => {
                self.read(part, |value| Some(T::from_f64(f32::from_ne_bytes(value).into())))
            }
            Datatype::FloatingPoint { size: 8, .. } => {
                self.read(part, |value| Some(T::from_f64(f64::from_ne_bytes(value))))
            }
            _ => self.integers(part, whole),
        }
    }

    /// The positions in a part of a vector: whole numbers that are not negative.
    ///
    /// # Errors
    /// [`Cause::Format`].
    pub(crate) fn positions<P: TryFrom<i128>>(&self, part: Range<usize>) -> Result<Vec<P>> {
        self.integers(&[part], |value| P::try_from(value).ok())
    }

    fn integers<R>(&self, part: &[Range<usize>], convert: impl Fn(i128) -> Option<R>) -> Result<Vec<R>> {
        macro_rules! read {
            ($kind:ty) => {
                self.read(part, |value| convert(<$kind>::from_ne_bytes(value).into()))
            };
        }
        match self.found.dtype() {
            Datatype::FixedPoint { size: 1, signed: true, .. } => read!(i8),
            Datatype::FixedPoint { size: 1, signed: false, .. } => read!(u8),
            Datatype::FixedPoint { size: 2, signed: true, .. } => read!(i16),
            Datatype::FixedPoint { size: 2, signed: false, .. } => read!(u16),
            Datatype::FixedPoint { size: 4, signed: true, .. } => read!(i32),
            Datatype::FixedPoint { size: 4, signed: false, .. } => read!(u32),
            Datatype::FixedPoint { size: 8, signed: true, .. } => read!(i64),
            Datatype::FixedPoint { size: 8, signed: false, .. } => read!(u64),
            _ => {
                Err(self
                    .refuse("holds no numbers of a type that is read: integers, or floats of 4 or 8 bytes"))
            }
        }
    }

    fn read<const N: usize, R>(
        &self,
        part: &[Range<usize>],
        convert: impl Fn([u8; N]) -> Option<R>,
    ) -> Result<Vec<R>> {
        let values: Option<Vec<R>> = self.elements(part)?.into_iter().map(|Element(v)| convert(v)).collect();
        values.ok_or_else(|| self.refuse("holds an integer that is out of range"))
    }

    /// The elements in a part, in row order.
    fn elements<const N: usize>(&self, part: &[Range<usize>]) -> Result<Vec<Element<N>>> {
        let selections = part
            .iter()
            .map(|range| SliceInfoElem::Slice { start: range.start as u64, end: range.end as u64, step: 1 })
            .collect();
        let array = self.decode(|found| found.read_slice(&SliceInfo { selections }))?;
        Ok(array.into_raw_vec_and_offset().0)
    }

    /// The texts of a vector, or of a field of its records.
    ///
    /// # Errors
    /// [`Cause::Format`].
    pub(crate) fn texts(&self, field: Option<&str>) -> Result<Vec<String>> {
        match self.field(field)? {
            Field::Whole(Datatype::FixedPoint { .. }) => {
                let all = 0..self.len()?;
                let numbers = self.integers(&[all], Some)?;
                Ok(numbers.iter().map(i128::to_string).collect())
            }
            Field::Whole(_) => self.decode(hdf5_reader::Dataset::read_strings),
            Field::Part { datatype, offset } => {
                let n_bytes = match datatype {
                    Datatype::VarLen { .. } => self.found.vlen_reference_size(),
                    _ => size_of_text(datatype).ok_or_else(|| self.refuse("holds no texts"))?,
                };
                let is_reference = matches!(datatype, Datatype::VarLen { .. });
                self.records(offset, n_bytes, |bytes| {
                    let resolved = match is_reference {
                        true => self.decode(|found| found.resolve_vlen_reference_bytes(bytes, 1))?,
                        false => bytes.to_vec(),
                    };
                    let end = resolved.iter().position(|&byte| byte == 0).unwrap_or(resolved.len());
                    Ok(String::from_utf8_lossy(&resolved[..end]).into_owned())
                })
            }
        }
    }

    /// The truth values of a vector, or of a field of its records; `None` for other values.
    ///
    /// # Errors
    /// [`Cause::Format`].
    pub(crate) fn flags(&self, field: Option<&str>) -> Result<Option<Vec<bool>>> {
        let is_flag = |datatype: &Datatype| matches!(datatype, Datatype::Enum { base, .. } if matches!(**base, Datatype::FixedPoint { size: 1, .. }));
        match self.field(field)? {
            Field::Whole(datatype) if is_flag(datatype) => {
                let bytes = self.decode(hdf5_reader::Dataset::read_native_bytes)?;
                Ok(Some(bytes.iter().map(|&byte| byte != 0).collect()))
            }
            Field::Part { datatype, offset } if is_flag(datatype) => {
                self.records(offset, 1, |bytes| Ok(bytes[0] != 0)).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn field(&self, field: Option<&str>) -> Result<Field<'_>> {
        match (field, self.found.dtype()) {
            (Some(name), Datatype::Compound { fields, .. }) => {
                let found = fields.iter().find(|found| found.name == name);
                let found = found.ok_or_else(|| self.refuse(&format!("has no column `{name}`")))?;
                Ok(Field::Part { datatype: &found.datatype, offset: found.byte_offset as usize })
            }
            (_, datatype) => Ok(Field::Whole(datatype)),
        }
    }

    /// The names of the fields of records.
    pub(crate) fn field_names(&self) -> Vec<String> {
        match self.found.dtype() {
            Datatype::Compound { fields, .. } => fields.iter().map(|field| field.name.clone()).collect(),
            _ => Vec::new(),
        }
    }

    /// Calls `f` with the bytes of a field of every record.
    fn records<R>(&self, offset: usize, n_bytes: usize, f: impl Fn(&[u8]) -> Result<R>) -> Result<Vec<R>> {
        let bytes = self.decode(hdf5_reader::Dataset::read_raw_bytes)?;
        let size = self.decode(hdf5_reader::Dataset::raw_element_size)?;
        bytes
            .chunks_exact(size.max(1))
            .map(|record| f(record.get(offset..offset + n_bytes).ok_or_else(|| self.refuse("is damaged"))?))
            .collect()
    }

    fn decode<R>(
        &self,
        work: impl FnOnce(&hdf5_reader::Dataset) -> hdf5_reader::error::Result<R>,
    ) -> Result<R> {
        let mut filter = None;
        let decoded = decoder::run(&self.path, || {
            work(&self.found).inspect_err(|error| filter = unknown_filter(error))
        });
        match (decoded, filter) {
            (Err(_), Some(filter)) => Err(self.refuse(&format!(
                "is packed with a compression that is not read (HDF5 {filter}); write the file again with gzip, in Python \
                 adata.write_h5ad(path, compression=\"gzip\")"
            ))),
            (decoded, _) => decoded.map_err(|error| at(error, &self.name)),
        }
    }
}

/// Bytes of a text of fixed length.
fn size_of_text(datatype: &Datatype) -> Option<usize> {
    match datatype {
        Datatype::String { size: hdf5_reader::StringSize::Fixed(size), .. } => Some(*size as usize),
        _ => None,
    }
}

/// The filter that an error is about, if the decoder has none.
fn unknown_filter(error: &Refusal) -> Option<String> {
    match error {
        Refusal::UnsupportedFilter(filter) => Some(filter.clone()),
        Refusal::Context { source, .. } => unknown_filter(source),
        _ => None,
    }
}
