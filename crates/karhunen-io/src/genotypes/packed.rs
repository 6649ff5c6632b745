//! Genotypes of two bits, decoded at once or in every visit.

use karhunen::{Scalar, memory};
use rayon::prelude::*;

use crate::Result;
use crate::file_rows::{BlockReader, OwnedBlock};
use crate::genotypes::layout::HEADER;
use crate::input::Input;

/// Codes of two bits: two copies of the counted allele, missing, one copy, none.
const COPIES: [f64; 4] = [2.0, f64::NAN, 1.0, 0.0];
/// The code of a missing genotype.
const MISSING: usize = 1;
/// Columns that a thread decodes at a time.
const COLUMNS_AT_ONCE: usize = 64;

/// The genotypes of a variant.
pub(super) fn of_variant(bytes: &[u8], variant: usize, n_samples: usize) -> &[u8] {
    let n_bytes = n_samples.div_ceil(4);
    &bytes[HEADER + variant * n_bytes..][..n_bytes]
}

/// How often each genotype of a variant occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counts {
    /// Samples without the genotype.
    pub(super) missing: usize,
    /// Samples with one copy of the counted allele.
    pub(super) one: usize,
    /// Samples with two.
    pub(super) two: usize,
    /// Samples with none.
    pub(super) none: usize,
}

impl Counts {
    /// Counts the genotypes of `n_samples` samples. Bits behind the last sample do not count.
    pub(super) fn of(bytes: &[u8], n_samples: usize) -> Self {
        /// The lower bit of every code.
        const LOWER: u64 = 0x5555_5555_5555_5555;
        let (mut missing, mut one, mut none) = (0, 0, 0);
        for (number, part) in bytes.chunks(8).enumerate() {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            let n_codes = (n_samples - 32 * number).min(32);
            let valid = if n_codes == 32 { LOWER } else { LOWER & ((1 << (2 * n_codes)) - 1) };
            let word = u64::from_le_bytes(word);
            let (low, high) = (word & valid, (word >> 1) & valid);
            missing += (low & !high).count_ones() as usize;
            one += (high & !low).count_ones() as usize;
            none += (low & high).count_ones() as usize;
        }
        Self { missing, one, two: n_samples - missing - one - none, none }
    }

    /// Number of samples with a genotype.
    pub(super) fn observed(&self) -> usize {
        self.one + self.two + self.none
    }

    /// The mean number of copies of the counted allele, zero without any genotype.
    pub(super) fn mean(&self) -> f64 {
        (self.one + 2 * self.two) as f64 / self.observed().max(1) as f64
    }

    /// Returns true if there are two different genotypes.
    pub(super) fn varies(&self) -> bool {
        [self.none, self.one, self.two].iter().filter(|&&count| count > 0).count() > 1
    }
}

/// A column of values.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    /// The variant in the file; `None` for a constant.
    variant: Option<usize>,
    /// The value of every code.
    values: [f32; 4],
}

impl Column {
    /// The copies of the counted allele of a variant, or if `swapped` of the other allele; `fill` for missing
    /// genotypes.
    pub(super) fn of_variant(variant: usize, swapped: bool, fill: f64) -> Self {
        let mut values = COPIES.map(|copies| if swapped { 2.0 - copies } else { copies } as f32);
        values[MISSING] = fill as f32;
        Self { variant: Some(variant), values }
    }

    /// A value for every sample.
    pub(super) fn constant(value: f64) -> Self {
        Self { variant: None, values: [value as f32; 4] }
    }
}

/// The genotypes of a file.
pub(super) struct Packed {
    input: Input,
    n_samples: usize,
    columns: Vec<Column>,
}

impl Packed {
    /// `input` has the bytes that `n_samples` samples take.
    pub(super) fn new(input: Input, n_samples: usize, columns: Vec<Column>) -> Self {
        Self { input, n_samples, columns }
    }

    /// All values, column by column, decoded by the threads of the current pool.
    ///
    /// # Errors
    /// [`karhunen::Error::Memory`].
    pub(super) fn decoded(&self) -> karhunen::Result<Vec<f32>> {
        let (n, p) = (self.n_samples, self.columns.len());
        let what = format!("the genotypes of {n} samples and {p} variants");
        let advice = || vec!["set a lower memory limit, which leaves them packed".into()];
        memory::ask(&what, n as f64 * p as f64 * size_of::<f32>() as f64, advice)?;
        let mut values = vec![0.0; n * p];
        values
            .par_chunks_mut((n * COLUMNS_AT_ONCE).max(1))
            .zip(self.columns.par_chunks(COLUMNS_AT_ONCE))
            .for_each(|(out, columns)| self.decode(columns, 0, n, out));
        Ok(values)
    }

    /// Writes the values of the rows `first..first + n_rows` of these columns into `out`, column by column.
    fn decode<T: Scalar>(&self, columns: &[Column], first: usize, n_rows: usize, out: &mut [T]) {
        let arch = pulp::Arch::new();
        for (column, out) in columns.iter().zip(out.chunks_exact_mut(n_rows.max(1))) {
            let table = column.values.map(|value| T::from_f64(f64::from(value)));
            let Some(variant) = column.variant else {
                out.fill(table[0]);
                continue;
            };
            let bytes = &of_variant(self.input.as_slice(), variant, self.n_samples)[first / 4..];
            arch.dispatch(Decode { bytes, skipped: first % 4, table, out });
        }
    }
}

/// Decodes genotypes from code number `skipped` of the first byte on.
struct Decode<'a, T> {
    bytes: &'a [u8],
    skipped: usize,
    table: [T; 4],
    out: &'a mut [T],
}

/// A closure would not be compiled for the vector extensions.
impl<T: Scalar> pulp::NullaryFnOnce for Decode<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { bytes, skipped, table, out } = self;
        let whole = if skipped == 0 { out.len() / 16 } else { 0 };
        let (words, rest) = out.split_at_mut(16 * whole);
        let (of_words, of_rest) = bytes.split_at(4 * whole);
        for (values, word) in words.as_chunks_mut::<16>().0.iter_mut().zip(of_words.as_chunks::<4>().0) {
            let word = u32::from_le_bytes(*word);
            for (c, value) in values.iter_mut().enumerate() {
                *value = genotype(word >> (2 * c), table);
            }
        }
        for (i, out) in rest.iter_mut().enumerate() {
            let at = skipped + i;
            *out = genotype(u32::from(of_rest[at / 4]) >> (2 * (at % 4)), table);
        }
    }
}

/// The value of the code in the lowest two bits.
#[inline(always)]
fn genotype<T: Scalar>(code: u32, [two, fill, one, none]: [T; 4]) -> T {
    let (low, high) = (code & 1 != 0, code & 2 != 0);
    let upper = if low { none } else { one };
    let lower = if low { fill } else { two };
    if high { upper } else { lower }
}

impl<T: Scalar> BlockReader<T> for Packed {
    fn each(
        &self,
        first: usize,
        rows_at_once: usize,
        reached: &mut usize,
        f: &mut dyn FnMut(OwnedBlock<T>) -> bool,
    ) -> Result<()> {
        // Blocks that begin with a byte are decoded faster.
        let rows_at_once =
            if rows_at_once >= 4 { rows_at_once - rows_at_once % 4 } else { rows_at_once.max(1) };
        for first in (first..self.n_samples).step_by(rows_at_once) {
            let n_rows = rows_at_once.min(self.n_samples - first);
            let mut values = vec![T::default(); n_rows * self.columns.len()];
            self.decode(&self.columns, first, n_rows, &mut values);
            *reached = first + n_rows;
            if !f(OwnedBlock::Dense { values, n_rows, column_major: true }) {
                break;
            }
        }
        Ok(())
    }

    fn held(&self, _: usize) -> f64 {
        self.input.as_slice().len() as f64
    }
}
