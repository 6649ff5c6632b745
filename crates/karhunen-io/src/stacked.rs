//! Tables of several files, one below the other.

use karhunen::Scalar;
use karhunen::matrix::check_places;
use karhunen::source::Block;

use crate::file_rows::{BlockReader, FileRows, OwnedBlock};
use crate::moved::{moved, placed};
use crate::{Data, Error, Result, Values};

/// A part, and the place of each of its columns in the stack; `None` if all have their own.
struct Part {
    data: Data,
    places: Option<Vec<usize>>,
}

/// Parts with the same columns.
struct Stacked {
    parts: Vec<Part>,
}

/// Stacks the values of tables, each with the places of its columns. The result has single precision if all have.
pub(crate) fn stack_values(parts: Vec<(Data, Option<Vec<usize>>)>, memory_limit: u64) -> Data {
    let n_rows = parts.iter().map(|(data, _)| data.shape().0).sum();
    let shape = (n_rows, parts.first().map_or(0, |(data, _)| data.shape().1));
    let single = parts.iter().all(|(data, _)| matches!(data, Data::F32(_)));
    let n_bytes = (shape.0 as u64).saturating_mul(shape.1 as u64).saturating_mul(if single { 4 } else { 8 });
    let parts = parts.into_iter().map(|(data, places)| Part { data, places }).collect();
    let (stacked, of_files) = (Box::new(Stacked { parts }), (n_bytes, None));
    if single {
        Data::F32(Values::InFile(FileRows::new(stacked, shape, of_files, memory_limit)))
    } else {
        Data::F64(Values::InFile(FileRows::new(stacked, shape, of_files, memory_limit)))
    }
}

impl Part {
    /// Calls `f` with the rows from `first` on, until it returns false, which is also the result.
    fn each<T: Scalar, U: Scalar>(
        &self,
        values: &Values<T>,
        (first, rows_at_once): (usize, usize),
        reached: &mut usize,
        f: &mut dyn FnMut(OwnedBlock<U>) -> bool,
    ) -> Result<bool> {
        let mut goes_on = true;
        if let Values::InFile(rows) = values {
            rows.each(first, rows_at_once, reached, &mut |rows| {
                // Sparse parts are refused.
                if let OwnedBlock::Dense { values, n_rows, column_major } = rows {
                    goes_on = f(self.placed(&values, n_rows, column_major));
                }
                goes_on
            })?;
            return Ok(goes_on);
        }
        let stopped = || karhunen::Error::Stopped { phase: "reading" };
        let outcome = values.source().and_then(|source| {
            source.visit(&mut |start, block| {
                let Block::Dense(block) = block else { return Ok(()) };
                let begin = first.saturating_sub(start).min(block.n_rows());
                for begin in (begin..block.n_rows()).step_by(rows_at_once) {
                    let end = block.n_rows().min(begin + rows_at_once);
                    let rows = block.rows(begin..end);
                    let values: Vec<T> = (begin..end)
                        .flat_map(|i| (0..rows.n_cols()).map(move |j| rows.get(i - begin, j)))
                        .collect();
                    *reached += end - begin;
                    goes_on = f(self.placed(&values, end - begin, false));
                    if !goes_on {
                        return Err(stopped());
                    }
                }
                Ok(())
            })
        });
        match outcome {
            Err(error) if goes_on => Err(Error::new("-".as_ref(), error.into())),
            _ => Ok(goes_on),
        }
    }

    /// The rows in the type and with the columns of the stack.
    fn placed<T: Scalar, U: Scalar>(&self, values: &[T], n_rows: usize, column_major: bool) -> OwnedBlock<U> {
        match &self.places {
            Some(places) => placed(values, n_rows, column_major, places),
            None => {
                let values = values.iter().map(|value| U::from_f64(value.to_f64())).collect();
                OwnedBlock::Dense { values, n_rows, column_major }
            }
        }
    }
}

impl Data {
    /// Moves column `j` to `places[j]`. Dense values in memory are copied block by block, in blocks that suit
    /// `memory_limit`.
    ///
    /// # Errors
    /// [`karhunen::Error::Shape`] unless `places` holds every column once.
    pub fn with_columns_at(self, places: Vec<usize>, memory_limit: Option<u64>) -> karhunen::Result<Self> {
        check_places(&places, self.shape().1)?;
        Ok(match self {
            Data::F32(Values::Sparse(rows)) => Data::F32(Values::Sparse(rows.with_columns_at(&places)?)),
            Data::F64(Values::Sparse(rows)) => Data::F64(Values::Sparse(rows.with_columns_at(&places)?)),
            Data::F32(Values::InFile(rows)) => Data::F32(Values::InFile(moved(rows, places))),
            Data::F64(Values::InFile(rows)) => Data::F64(Values::InFile(moved(rows, places))),
            dense => stack_values(vec![(dense, Some(places))], memory_limit.unwrap_or(u64::MAX)),
        })
    }
}

impl<U: Scalar> BlockReader<U> for Stacked {
    fn each(
        &self,
        first: usize,
        rows_at_once: usize,
        reached: &mut usize,
        f: &mut dyn FnMut(OwnedBlock<U>) -> bool,
    ) -> Result<()> {
        let mut begin = 0;
        for part in &self.parts {
            let end = begin + part.data.shape().0;
            if first < end {
                let mut here = first.saturating_sub(begin);
                let rows = (here, rows_at_once);
                let outcome = match &part.data {
                    Data::F32(values) => part.each(values, rows, &mut here, f),
                    Data::F64(values) => part.each(values, rows, &mut here, f),
                };
                *reached = begin + here;
                if !outcome? {
                    break;
                }
            }
            begin = end;
        }
        Ok(())
    }

    fn read_again(&self) {
        for part in &self.parts {
            match &part.data {
                Data::F32(Values::InFile(rows)) => rows.read_again(),
                Data::F64(Values::InFile(rows)) => rows.read_again(),
                Data::F32(_) | Data::F64(_) => {}
            }
        }
    }

    fn held(&self, block_bytes: usize) -> f64 {
        BlockReader::<U>::held_within(self, block_bytes, None)
    }

    fn held_within(&self, block_bytes: usize, limit: Option<u64>) -> f64 {
        let (mut in_memory, mut reading) = (0.0, 0.0);
        // As the parts of a stack are read: each within its share of the limit.
        let share = limit.map_or(0.0, |limit| (limit / self.parts.len() as u64) as f64);
        for Part { data, .. } in &self.parts {
            let (n_rows, n_cols) = data.shape();
            let n_bytes =
                n_rows as f64 * n_cols as f64 * if matches!(data, Data::F32(_)) { 4.0 } else { 8.0 };
            // One part is read at a time; parts in memory stay there.
            let of_reading = match data {
                Data::F32(Values::InFile(rows)) => Some(rows.held_to_read(block_bytes)),
                Data::F64(Values::InFile(rows)) => Some(rows.held_to_read(block_bytes)),
                Data::F32(_) | Data::F64(_) => None,
            };
            match of_reading.filter(|_| n_bytes > share) {
                Some(held) => reading = held.max(reading),
                None => in_memory += n_bytes,
            }
        }
        // A block of the part, and the block of the stack.
        block_bytes as f64 + in_memory + reading
    }

    fn check_unchanged(&self) -> Result<()> {
        self.parts.iter().try_for_each(|part| part.data.check_unchanged())
    }
}
