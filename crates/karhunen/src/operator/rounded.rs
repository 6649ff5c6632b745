//! Dense rows in memory with one or two bytes a value, beside a source whose visits are slow.

use std::marker::PhantomData;
use std::sync::OnceLock;

use half::f16;
use half::slice::HalfFloatSliceExt;
use pulp::{Simd, WithSimd};

use crate::choice::{Choice, Named, plain_names};
use crate::error::{Advice, Error, Result};
use crate::exec::Exec;
use crate::linalg::{ColumnMap, Dense};
use crate::memory;
use crate::scalar::{Scalar, is_single, largest};
use crate::source::{Block, Pass, Source, properties_of};

/// Number of rows from which pivots and units follow, whatever the blocks.
pub(crate) const FIRST: usize = 256;
/// Largest deviation for which codes have room, relative to that of the first rows: more rows deviate further.
const BEYOND_FIRST: f64 = 1.5;
/// The same, relative to the first deviation of a column that was constant before.
const BEYOND_ONE: f64 = 4.0;
/// Number of values that are decoded at a time.
const DECODED: usize = 4 << 20;
/// Number of rows of which a decoded block is a multiple.
const ROWS: usize = 1024;
/// Number of values that a thread decodes at a time.
const PIECE: usize = 1 << 16;
/// The largest code of a byte.
const LARGEST_INT8: f64 = 127.0;
/// The largest finite f16.
const LARGEST_F16: f64 = 65_504.0;

/// Rounding of the values of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Two bytes a value: 11 binary digits of the deviation from a reference value of the column.
    F16,
    /// One byte a value: a multiple of 1/127 of the largest deviation from a reference value of the column.
    Int8,
}

impl Choice for Rounding {
    const TABLE: &'static [Named<Self>] = &[
        Named::new(Self::F16, "f16", "Two bytes a value"),
        Named::new(Self::Int8, "int8", "One byte a value: one or two more passes"),
    ];
}

plain_names!(Rounding);

impl Rounding {
    /// Number of bytes of a value.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::F16 => 2,
            Self::Int8 => 1,
        }
    }

    /// The residual, relative to the largest eigenvalue, to which an uncorrected copy is worth solving.
    pub(crate) fn first_tol(self) -> f64 {
        match self {
            Self::F16 => 1e-5,
            Self::Int8 => 1e-3,
        }
    }

    /// Predicted number of passes over the rows that a corrected iteration takes to residuals of `tol`.
    pub(crate) fn predicted_passes(self, tol: f64) -> usize {
        let digits_of_a_pass = match self {
            Self::F16 => 2.7,
            Self::Int8 => 1.6,
        };
        (-tol.log10() / digits_of_a_pass).ceil().max(1.0) as usize
    }
}

/// Dense rows, each value rounded to `pivot_j + unit_j code`. Pivots are the means of the first [`FIRST`] rows, units
/// follow from the largest deviations among them; deviations beyond the range of the codes are clipped.
pub(crate) struct RoundedRows {
    shape: (usize, usize),
    pivot: Vec<f64>,
    /// One for a column that was constant so far.
    unit: Vec<f64>,
    /// `1 / unit_j`.
    per_unit: Vec<f64>,
    /// The columns that were constant so far: all their codes are zero.
    constant: Vec<usize>,
    codes: Codes,
}

enum Codes {
    F16(Vec<f16>),
    Int8(Vec<i8>),
}

impl RoundedRows {
    /// No rows yet of `shape`, with pivots and units by the rows `first`.
    ///
    /// # Errors
    /// [`Error::Memory`].
    fn new<T: Scalar>(rounding: Rounding, shape: (usize, usize), first: &Dense<'_, T>) -> Result<Self> {
        let (n_values, bytes) = (shape.0 * shape.1, rounding.bytes());
        let refused = |_| memory_error(n_values as f64 * bytes as f64);
        let codes = match rounding {
            Rounding::F16 => {
                let mut codes = Vec::new();
                memory::reserve(&mut codes, n_values).map_err(refused)?;
                Codes::F16(codes)
            }
            Rounding::Int8 => {
                let mut codes = Vec::new();
                memory::reserve(&mut codes, n_values).map_err(refused)?;
                Codes::Int8(codes)
            }
        };
        let (n, p) = (first.n_rows(), first.n_cols());
        let column = |j: usize| (0..n).map(move |i| first.get(i, j).to_f64());
        let pivot: Vec<f64> = (0..p).map(|j| column(j).sum::<f64>() / n as f64).collect();
        let mut rows =
            Self { shape, pivot, unit: vec![1.0; p], per_unit: vec![1.0; p], constant: Vec::new(), codes };
        for j in 0..p {
            let most = largest(column(j).map(|value| (value - rows.pivot[j]).abs()));
            if !rows.set_unit(j, BEYOND_FIRST * most) {
                // The value itself, not a mean of equal values that is rounded: codes stay zero.
                rows.pivot[j] = first.get(0, j).to_f64();
                rows.constant.push(j);
            }
        }
        Ok(rows)
    }

    /// Sets the unit of a column for deviations up to `most`; returns false if that is zero or out of range.
    fn set_unit(&mut self, j: usize, most: f64) -> bool {
        let unit = match self.codes {
            Codes::F16(_) => most.log2().ceil().exp2(),
            Codes::Int8(_) => most / LARGEST_INT8,
        };
        // Also the inverse must be in range.
        let is_in_range = (1e-300..=1e300).contains(&unit);
        if is_in_range {
            (self.unit[j], self.per_unit[j]) = (unit, 1.0 / unit);
        }
        is_in_range
    }

    /// The rounding of the values.
    pub(crate) fn rounding(&self) -> Rounding {
        match self.codes {
            Codes::F16(_) => Rounding::F16,
            Codes::Int8(_) => Rounding::Int8,
        }
    }

    /// Number of rows so far.
    fn n_rows(&self) -> usize {
        let n_values = match &self.codes {
            Codes::F16(all) => all.len(),
            Codes::Int8(all) => all.len(),
        };
        n_values / self.shape.1.max(1)
    }

    /// Appends rows.
    fn push<T: Scalar>(&mut self, rows: &Dense<'_, T>) {
        let p = rows.n_cols();
        let (mut line, mut codes) = (vec![T::default(); p], vec![0.0; p]);
        for i in 0..rows.n_rows() {
            let values = rows.contiguous_row(i).unwrap_or_else(|| {
                line.iter_mut().enumerate().for_each(|(j, value)| *value = rows.get(i, j));
                &line
            });
            self.find_units(values);
            let most = match self.codes {
                Codes::F16(_) => LARGEST_F16,
                Codes::Int8(_) => LARGEST_INT8,
            };
            let Self { pivot, per_unit, .. } = &*self;
            pulp::Arch::new().dispatch(Encode { values, pivot, per_unit, most, codes: &mut codes });
            match &mut self.codes {
                Codes::F16(all) => {
                    let first = all.len();
                    all.resize(first + p, f16::ZERO);
                    all[first..].convert_from_f32_slice(&codes);
                }
                Codes::Int8(all) => all.extend(codes.iter().map(|code| code.round_ties_even() as i8)),
            }
        }
    }

    /// Sets the units of columns that were constant before the row `values`, and vary with it.
    fn find_units<T: Scalar>(&mut self, values: &[T]) {
        let mut constant = std::mem::take(&mut self.constant);
        constant.retain(|&j| {
            let deviation = (values[j].to_f64() - self.pivot[j]).abs();
            !self.set_unit(j, BEYOND_ONE * deviation)
        });
        self.constant = constant;
    }

    /// Returns shift and factor of the columns of codes for which they equal the mapped values, up to rounding.
    pub(crate) fn map(&self, map: ColumnMap<'_>) -> (Vec<f64>, Vec<f64>) {
        let shift = map.shift.iter().zip(&self.pivot).zip(&self.per_unit);
        let factor = map.factor.iter().zip(&self.unit);
        (
            shift.map(|((shift, pivot), per_unit)| (shift - pivot) * per_unit).collect(),
            factor.map(|(factor, unit)| factor * unit).collect(),
        )
    }

    /// Returns the codes as a source of `T`, which the threads of `exec` decode.
    pub(crate) fn codes<'a, T: Scalar>(&'a self, exec: &Exec<'a>) -> CodeRows<'a, T> {
        CodeRows { rows: self, exec: exec.unobserved(), type_of_values: PhantomData }
    }
}

/// Sets `codes` to deviations from the pivots in units, at most `most` in magnitude.
struct Encode<'a, T> {
    values: &'a [T],
    pivot: &'a [f64],
    per_unit: &'a [f64],
    most: f64,
    codes: &'a mut [f32],
}

impl<T: Scalar> WithSimd for Encode<'_, T> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { values, pivot, per_unit, most, codes } = self;
        for (((code, value), pivot), per_unit) in codes.iter_mut().zip(values).zip(pivot).zip(per_unit) {
            *code = ((value.to_f64() - pivot) * per_unit).clamp(-most, most) as f32;
        }
    }
}

/// Sets `out` to codes of one byte.
struct Decode<'a, T> {
    codes: &'a [i8],
    out: &'a mut [T],
}

impl<T: Scalar> WithSimd for Decode<'_, T> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.out.iter_mut().zip(self.codes).for_each(|(out, code)| *out = T::from_f64(f64::from(*code)));
    }
}

/// Sets `out` to codes of two bytes.
fn decode_f16<T: Scalar>(codes: &[f16], out: &mut [T]) {
    if is_single::<T>() {
        codes.convert_to_f32_slice(bytemuck::cast_slice_mut(out));
    } else {
        codes.convert_to_f64_slice(bytemuck::cast_slice_mut(out));
    }
}

/// The codes of [`RoundedRows`] as numbers.
pub(crate) struct CodeRows<'a, T> {
    rows: &'a RoundedRows,
    exec: Exec<'a>,
    type_of_values: PhantomData<T>,
}

impl<T: Scalar> Source<T> for CodeRows<'_, T> {
    fn shape(&self) -> (usize, usize) {
        self.rows.shape
    }
    fn pass(&self) -> Pass {
        Pass::Memory
    }
    fn n_stored(&self) -> usize {
        self.rows.shape.0 * self.rows.shape.1
    }
    fn is_sparse(&self) -> bool {
        false
    }
    fn visit(&self, f: &mut dyn FnMut(usize, Block<'_, T>) -> Result<()>) -> Result<()> {
        let (n, p) = self.rows.shape;
        let height = (DECODED / p.max(1)).next_multiple_of(ROWS).max(ROWS);
        let mut decoded = vec![T::default(); height.min(n) * p];
        for first in (0..n).step_by(height) {
            let end = n.min(first + height);
            let decoded = &mut decoded[..(end - first) * p];
            self.exec.fill(decoded, PIECE, |piece, out| {
                let start = first * p + piece * PIECE;
                let codes = start..start + out.len();
                match &self.rows.codes {
                    Codes::F16(all) => decode_f16(&all[codes], out),
                    Codes::Int8(all) => pulp::Arch::new().dispatch(Decode { codes: &all[codes], out }),
                }
                Ok(())
            })?;
            f(first, Block::Dense(Dense::row_major(decoded, end - first, p)?))?;
        }
        Ok(())
    }
}

/// A source whose first visit of all rows fills a rounded copy, if one is wanted.
pub(crate) struct Copying<'a, T> {
    source: &'a dyn Source<T>,
    rounding: Option<Rounding>,
    rows: OnceLock<RoundedRows>,
}

impl<'a, T: Scalar> Copying<'a, T> {
    /// Views `source`, whose rows are dense if `rounding` is given.
    pub(crate) fn new(source: &'a dyn Source<T>, rounding: Option<Rounding>) -> Self {
        Self { source, rounding, rows: OnceLock::new() }
    }

    /// Returns the copy; visits the source if no visit has filled it. `None` if none is wanted.
    ///
    /// # Errors
    /// Errors of the source; [`Error::Memory`]; [`Error::Shape`] for a source with sparse rows, or fewer rows than it
    /// states; [`Error::Stopped`].
    pub(crate) fn rounded(&self, exec: &Exec<'_>) -> Result<Option<&RoundedRows>> {
        if self.rounding.is_some() && self.rows.get().is_none() {
            let n = self.source.shape().0.max(1) as f64;
            self.visit(&mut |first, block| exec.report((first + block.n_rows()) as f64 / n))?;
        }
        Ok(self.rows.get())
    }
}

/// Receives the rows of a source in order; begins with the first ones, from which pivots and units follow.
struct Filling<T> {
    rounding: Rounding,
    shape: (usize, usize),
    /// The first rows, until there are [`FIRST`] of them.
    first: Vec<T>,
    copy: Option<RoundedRows>,
}

impl<T: Scalar> Filling<T> {
    fn push(&mut self, rows: &Dense<'_, T>) -> Result<()> {
        let p = self.shape.1;
        let mut done = 0;
        if self.copy.is_none() {
            done = rows.n_rows().min(FIRST - self.first.len() / p.max(1));
            for i in 0..done {
                self.first.extend((0..p).map(|j| rows.get(i, j)));
            }
            if self.first.len() == FIRST * p {
                self.begin()?;
            }
        }
        if let Some(copy) = &mut self.copy {
            copy.push(&rows.rows(done..rows.n_rows()));
        }
        Ok(())
    }

    /// Begins the copy with the first rows.
    fn begin(&mut self) -> Result<()> {
        let values = std::mem::take(&mut self.first);
        let p = self.shape.1;
        let first = Dense::row_major(&values, values.len() / p.max(1), p)?;
        let mut copy = RoundedRows::new(self.rounding, self.shape, &first)?;
        copy.push(&first);
        self.copy = Some(copy);
        Ok(())
    }

    /// # Errors
    /// [`Error::Shape`] for fewer rows than stated.
    fn finish(mut self) -> Result<RoundedRows> {
        if self.copy.is_none() && !self.first.is_empty() {
            self.begin()?;
        }
        let (found, expected) = (self.copy.as_ref().map_or(0, RoundedRows::n_rows), self.shape.0);
        match self.copy {
            Some(copy) if found == expected => Ok(copy),
            _ => Err(Error::Shape { what: "the source", axis: "dense rows", found, expected }),
        }
    }
}

fn memory_error(bytes: f64) -> Error {
    let (what, advice) = ("a rounded copy of the rows".to_owned(), vec![Advice::RaiseLimit]);
    Error::Memory { what, bytes, available: memory::available(), advice }
}

impl<T: Scalar> Source<T> for Copying<'_, T> {
    properties_of!(|wrapper| wrapper.source);
    fn visit(&self, f: &mut dyn FnMut(usize, Block<'_, T>) -> Result<()>) -> Result<()> {
        self.visit_from(0, f)
    }
    fn visit_from(&self, row: usize, f: &mut dyn FnMut(usize, Block<'_, T>) -> Result<()>) -> Result<()> {
        let is_wanted = row == 0 && self.rows.get().is_none();
        let Some(rounding) = self.rounding.filter(|_| is_wanted) else {
            return self.source.visit_from(row, f);
        };
        let mut filling = Filling { rounding, shape: self.shape(), first: Vec::new(), copy: None };
        self.source.visit(&mut |first, block| {
            f(first, block.clone())?;
            match &block {
                Block::Dense(rows) => filling.push(rows),
                Block::Sparse(_) => Ok(()),
            }
        })?;
        // A visit on another thread may have filled it with the same values.
        let _ = self.rows.set(filling.finish()?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy_of(values: &[f64], p: usize, rounding: Rounding) -> RoundedRows {
        let rows = Dense::row_major(values, values.len() / p, p).unwrap();
        let copying = Copying::new(&rows, Some(rounding));
        copying.rounded(&Exec::sequential()).unwrap();
        copying.rows.into_inner().unwrap()
    }

    /// The values of a copy, each from its code.
    fn decoded(copy: &RoundedRows) -> Vec<f64> {
        let (shift, factor) = copy.map(ColumnMap {
            shift: &vec![0.0; copy.shape.1],
            remainder: &[],
            factor: &vec![1.0; copy.shape.1],
        });
        let mut values = Vec::new();
        copy.codes::<f64>(&Exec::sequential())
            .visit(&mut |_, block| {
                let Block::Dense(rows) = block else { panic!("a copy is dense") };
                for i in 0..rows.n_rows() {
                    let value = |j: usize| (rows.get(i, j) - shift[j]) * factor[j];
                    values.extend((0..rows.n_cols()).map(value));
                }
                Ok(())
            })
            .unwrap();
        values
    }

    #[test]
    fn values_are_rounded_to_a_share_of_the_largest_deviation() {
        // A column far from zero, a small one, one that varies late, a constant one.
        let late = |i: i32| if i < 2000 { 7.0 } else { 7.0 + 1e-3 * f64::from(i % 3) };
        let values: Vec<f64> = (0..3000)
            .flat_map(|i| [1e8 + f64::from(i % 17), 1e-5 * f64::from(i % 5), late(i), 7.0])
            .collect();
        for (rounding, error) in [(Rounding::F16, 1.0 / 1024.0), (Rounding::Int8, 4.0 / 127.0)] {
            let copy = copy_of(&values, 4, rounding);
            assert_eq!(copy.constant, [3]);
            for (at, (found, value)) in decoded(&copy).iter().zip(&values).enumerate() {
                let spread = [16.0, 4e-5, 2e-3, 0.0][at % 4];
                assert!((found - value).abs() <= (error + 1e-7) * spread, "{rounding} {at}: {found} {value}");
            }
        }
    }

    #[test]
    fn deviations_beyond_the_codes_are_clipped() {
        let values: Vec<f64> = (0..300).map(|i| if i == 299 { 1e9 } else { f64::from(i % 2) }).collect();
        // Deviations of 0.5 have room for half as much again.
        for (rounding, most) in [(Rounding::F16, 0.5 + LARGEST_F16), (Rounding::Int8, 0.5 + 0.75)] {
            assert_eq!(decoded(&copy_of(&values, 1, rounding))[299], most, "{rounding}");
        }
    }

    #[test]
    fn rows_that_do_not_come_are_an_error() {
        let rows = Dense::row_major(&[1.0, 2.0], 1, 2).unwrap();
        let mut filling = Filling { rounding: Rounding::Int8, shape: (3, 2), first: Vec::new(), copy: None };
        filling.push(&rows).unwrap();
        filling.push(&rows.rows(0..0)).unwrap();
        assert!(matches!(filling.finish(), Err(Error::Shape { found: 1, expected: 3, .. })));
    }
}
