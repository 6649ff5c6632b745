//! Dense rows in memory with one or two bytes a value, beside a source whose visits are slow.

use std::sync::OnceLock;

use half::f16;
use half::slice::HalfFloatSliceExt;
use pulp::{Simd, WithSimd};

use crate::choice::{Choice, Named, plain_names};
use crate::error::Result;
use crate::exec::Exec;
use crate::linalg::{ColumnMap, Dense};
use crate::scalar::{Scalar, largest};
use crate::source::{Block, Pass, Passes, Source};

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

/// Dense rows, each value rounded to `pivot_j + unit_j code`. Pivots are the means of the first block of rows, units
/// follow from its largest deviations from them; deviations beyond the range of the codes are clipped.
pub(crate) struct RoundedRows {
    shape: (usize, usize),
    pivot: Vec<f64>,
    unit: Vec<f64>,
    /// `1 / unit_j`.
    per_unit: Vec<f64>,
    codes: Codes,
}

enum Codes {
    F16(Vec<f16>),
    Int8(Vec<i8>),
}

impl RoundedRows {
    /// No rows yet of `shape`.
    fn new(rounding: Rounding, shape: (usize, usize)) -> Self {
        let n_values = shape.0 * shape.1;
        let codes = match rounding {
            Rounding::F16 => Codes::F16(Vec::with_capacity(n_values)),
            Rounding::Int8 => Codes::Int8(Vec::with_capacity(n_values)),
        };
        Self { shape, pivot: Vec::new(), unit: Vec::new(), per_unit: Vec::new(), codes }
    }

    /// The rounding of the values.
    pub(crate) fn rounding(&self) -> Rounding {
        match self.codes {
            Codes::F16(_) => Rounding::F16,
            Codes::Int8(_) => Rounding::Int8,
        }
    }

    /// Appends the rows of a block.
    fn push<T: Scalar>(&mut self, rows: &Dense<'_, T>) {
        if self.pivot.is_empty() {
            self.set_units(rows);
        }
        let p = rows.n_cols();
        let (mut line, mut codes) = (vec![T::default(); p], vec![0.0; p]);
        for i in 0..rows.n_rows() {
            let values = rows.contiguous_row(i).unwrap_or_else(|| {
                line.iter_mut().enumerate().for_each(|(j, value)| *value = rows.get(i, j));
                &line
            });
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

    /// Sets pivots and units by the first block of rows.
    fn set_units<T: Scalar>(&mut self, rows: &Dense<'_, T>) {
        let (n, p) = (rows.n_rows(), rows.n_cols());
        let column = |j: usize| (0..n).map(move |i| rows.get(i, j).to_f64());
        self.pivot = (0..p).map(|j| column(j).sum::<f64>() / n as f64).collect();
        let most: Vec<f64> =
            (0..p).map(|j| largest(column(j).map(|value| (value - self.pivot[j]).abs()))).collect();
        let varying: Vec<f64> = most.iter().copied().filter(|most| *most > 0.0 && most.is_finite()).collect();
        // A column that is constant in the first block may vary later.
        let usual = if varying.is_empty() { 1.0 } else { varying.iter().sum::<f64>() / varying.len() as f64 };
        let unit = |most: f64| match self.codes {
            Codes::F16(_) => most.log2().ceil().exp2(),
            Codes::Int8(_) => most / LARGEST_INT8,
        };
        let unit = |most: &f64| {
            let unit = unit(if *most > 0.0 { *most } else { usual });
            // Also the inverse must be in range.
            if (1e-300..=1e300).contains(&unit) { unit } else { 1.0 }
        };
        self.unit = most.iter().map(unit).collect();
        self.per_unit = self.unit.iter().map(|unit| 1.0 / unit).collect();
    }

    /// Returns shift and factor of the columns of codes for which they equal the mapped values, up to rounding.
    pub(crate) fn map(&self, map: ColumnMap<'_>) -> (Vec<f64>, Vec<f64>) {
        let shift = map.shift.iter().zip(&self.pivot).zip(&self.unit);
        let factor = map.factor.iter().zip(&self.unit);
        (
            shift.map(|((shift, pivot), unit)| (shift - pivot) / unit).collect(),
            factor.map(|(factor, unit)| factor * unit).collect(),
        )
    }

    /// Returns the codes as a source, which the threads of `exec` decode.
    pub(crate) fn codes<'a>(&'a self, exec: &Exec<'a>) -> CodeRows<'a> {
        CodeRows { rows: self, exec: exec.unobserved() }
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
struct Decode<'a> {
    codes: &'a [i8],
    out: &'a mut [f32],
}

impl WithSimd for Decode<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.out.iter_mut().zip(self.codes).for_each(|(out, code)| *out = f32::from(*code));
    }
}

/// The codes of [`RoundedRows`] as numbers.
pub(crate) struct CodeRows<'a> {
    rows: &'a RoundedRows,
    exec: Exec<'a>,
}

impl Source<f32> for CodeRows<'_> {
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
    fn visit(&self, f: &mut dyn FnMut(usize, Block<'_, f32>) -> Result<()>) -> Result<()> {
        let (n, p) = self.rows.shape;
        let height = (DECODED / p.max(1)).next_multiple_of(ROWS).max(ROWS);
        let mut decoded = vec![0.0; height.min(n) * p];
        for first in (0..n).step_by(height) {
            let end = n.min(first + height);
            let decoded = &mut decoded[..(end - first) * p];
            self.exec.fill(decoded, PIECE, |piece, out| {
                let start = first * p + piece * PIECE;
                let codes = start..start + out.len();
                match &self.rows.codes {
                    Codes::F16(all) => all[codes].convert_to_f32_slice(out),
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
    /// Errors of the source.
    pub(crate) fn rounded(&self) -> Result<Option<&RoundedRows>> {
        if self.rounding.is_some() && self.rows.get().is_none() {
            self.visit(&mut |_, _| Ok(()))?;
        }
        Ok(self.rows.get())
    }
}

impl<T: Scalar> Source<T> for Copying<'_, T> {
    fn shape(&self) -> (usize, usize) {
        self.source.shape()
    }
    fn passes(&self) -> Passes {
        self.source.passes()
    }
    fn n_blocks(&self) -> Option<usize> {
        self.source.n_blocks()
    }
    fn n_stored(&self) -> usize {
        self.source.n_stored()
    }
    fn is_sparse(&self) -> bool {
        self.source.is_sparse()
    }
    fn pass(&self) -> Pass {
        self.source.pass()
    }
    fn keep(&self, bytes: f64) {
        self.source.keep(bytes);
    }
    fn fingerprint(&self) -> Option<u64> {
        self.source.fingerprint()
    }
    fn visit(&self, f: &mut dyn FnMut(usize, Block<'_, T>) -> Result<()>) -> Result<()> {
        self.visit_from(0, f)
    }
    fn visit_from(&self, row: usize, f: &mut dyn FnMut(usize, Block<'_, T>) -> Result<()>) -> Result<()> {
        let is_wanted = row == 0 && self.rows.get().is_none();
        let Some(rounding) = self.rounding.filter(|_| is_wanted) else {
            return self.source.visit_from(row, f);
        };
        let mut copy = RoundedRows::new(rounding, self.shape());
        self.source.visit(&mut |first, block| {
            f(first, block.clone())?;
            if let Block::Dense(rows) = &block {
                copy.push(rows);
            }
            Ok(())
        })?;
        // A visit on another thread may have filled it with the same values.
        let _ = self.rows.set(copy);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy_of(values: &[f64], p: usize, rounding: Rounding) -> RoundedRows {
        let rows = Dense::row_major(values, values.len() / p, p).unwrap();
        let copying = Copying::new(&rows, Some(rounding));
        copying.rounded().unwrap();
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
        copy.codes(&Exec::sequential())
            .visit(&mut |_, block| {
                let Block::Dense(rows) = block else { panic!("a copy is dense") };
                for i in 0..rows.n_rows() {
                    let value = |j: usize| (f64::from(rows.get(i, j)) - shift[j]) * factor[j];
                    values.extend((0..rows.n_cols()).map(value));
                }
                Ok(())
            })
            .unwrap();
        values
    }

    #[test]
    fn values_are_rounded_to_a_share_of_the_largest_deviation() {
        // A column far from zero, a small one, a constant one.
        let values: Vec<f64> =
            (0..3000).flat_map(|i| [1e8 + f64::from(i % 17), 1e-5 * f64::from(i % 5), 7.0]).collect();
        for (rounding, error) in [(Rounding::F16, 1.0 / 1024.0), (Rounding::Int8, 1.0 / 127.0)] {
            let copy = copy_of(&values, 3, rounding);
            for (at, (found, value)) in decoded(&copy).iter().zip(&values).enumerate() {
                let spread = [16.0, 4e-5, 0.0][at % 3];
                assert!(
                    (found - value).abs() <= error * spread + 1e-7 * spread,
                    "{rounding} {at}: {found} {value}"
                );
            }
        }
    }

    #[test]
    fn deviations_beyond_the_codes_are_clipped() {
        let mut rows = Dense::row_major(&[0.0, 1.0], 2, 1).unwrap();
        for (rounding, most) in [(Rounding::F16, 0.5 + 0.5 * LARGEST_F16), (Rounding::Int8, 1.0)] {
            let mut copy = RoundedRows::new(rounding, (3, 1));
            copy.push(&rows);
            rows = Dense::row_major(&[1e9], 1, 1).unwrap();
            copy.push(&rows);
            assert_eq!(decoded(&copy)[2], most, "{rounding}");
            rows = Dense::row_major(&[0.0, 1.0], 2, 1).unwrap();
        }
    }
}
