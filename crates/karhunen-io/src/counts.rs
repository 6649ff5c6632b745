//! Normalisation of counts, and the choice of columns, of values in memory or in a file.

use std::path::{Path, PathBuf};

use karhunen::error::Phrase;
use karhunen::matrix::SparseMatrix;
use karhunen::{Matrix, Scalar};

use crate::file_rows::{BlockReader, FileRows, OwnedBlock};
use crate::option_names;
use crate::options::Log1p;
use crate::{Buffer, Cause, Data, Error, Place, ReadOptions, Result, Table, Values};

/// The number for names that a table does not keep.
const LEFT_OUT: u32 = u32::MAX;

/// The normalisation of rows, and the columns to keep.
struct Preparation {
    path: PathBuf,
    /// Number of columns of the file.
    n_cols: usize,
    /// The columns that are kept, in order; `None` for all.
    columns: Option<Columns>,
    /// The divisor of every row.
    divisors: Option<Vec<f64>>,
    /// True if the counts must be whole numbers.
    whole: bool,
}

struct Columns {
    kept: Vec<usize>,
    /// The place of each column among those kept.
    places: Vec<u32>,
}

/// Normalises the values of a table as the options say, and keeps the columns of a mask, with their names. Sums of rows
/// are over all columns.
///
/// # Errors
/// [`Cause::Value`] for a value that is not a count; [`Cause::Option`] for a target out of range.
pub(crate) fn prepared(
    mut table: Table,
    path: &Path,
    mask: Option<&[bool]>,
    options: &ReadOptions,
) -> Result<Table> {
    let log1p = options.log1p_of_fit(path)?;
    if log1p.is_none() && mask.is_none() {
        return Ok(table);
    }
    let p = table.data.shape().1;
    let columns = mask.map(|mask| {
        let kept: Vec<usize> = (0..p).filter(|&j| mask[j]).collect();
        let mut places = vec![LEFT_OUT; p];
        kept.iter().enumerate().for_each(|(place, &j)| places[j] = place as u32);
        Columns { kept, places }
    });
    if let (Some(names), Some(columns)) = (&mut table.feature_names, &columns) {
        *names = columns.kept.iter().map(|&j| std::mem::take(&mut names[j])).collect();
    }
    let whole = matches!(log1p, Some(Log1p::OfFit(_)));
    let preparation = Preparation { path: path.to_owned(), n_cols: p, columns, divisors: None, whole };
    let (data, target) = match table.data {
        Data::F32(values) => {
            let (values, target) = preparation.of(values, log1p)?;
            (Data::F32(values), target)
        }
        Data::F64(values) => {
            let (values, target) = preparation.of(values, log1p)?;
            (Data::F64(values), target)
        }
    };
    if let (Some(Log1p::Median), Some(target)) = (log1p, target) {
        table.notes.push(format!("counts normalised to {target}, the median of the sums of rows"));
    }
    Ok(Table { data, log1p: target, ..table })
}

impl ReadOptions {
    /// The normalisation, with the target of the fit if the table is read for a model.
    ///
    /// # Errors
    /// [`Cause::Option`] for a target out of range, another target than in the fit, or missing values.
    pub(crate) fn log1p_of_fit(&self, path: &Path) -> Result<Option<Log1p>> {
        let refuse = |message: Phrase| Err(Error::new(path, Cause::option(message)));
        let given = Phrase::default().option(option_names::LOG1P);
        if let Some(Log1p::To(target)) =
            self.log1p.filter(|log1p| !matches!(log1p, Log1p::To(t) if *t > 0.0 && t.is_finite()))
        {
            return refuse(given.text(format!(" needs a positive target, not {target}")));
        }
        let of_fit = self.fitted.as_ref().map(|fitted| fitted.log1p);
        let log1p =
            match (self.log1p, of_fit) {
                (Some(Log1p::To(target)), Some(Some(fitted))) if target != fitted => {
                    return refuse(given.text(format!(
                        " is {target}, but the model was fitted to rows of {fitted}; leave it out"
                    )));
                }
                (Some(_), Some(None)) => {
                    return refuse(given.text(
                        " does not apply, for the model was fitted to values as they are; leave it out",
                    ));
                }
                (Some(_), Some(Some(fitted))) => Some(Log1p::To(fitted)),
                (None, Some(Some(fitted))) => Some(Log1p::OfFit(fitted)),
                (given, _) => given,
            };
        if log1p.is_some() && self.missing {
            return refuse(
                given.text(" normalises counts, and does not apply where values are missing; leave it out"),
            );
        }
        Ok(log1p)
    }
}

impl Preparation {
    fn of<T: Scalar>(mut self, values: Values<T>, log1p: Option<Log1p>) -> Result<(Values<T>, Option<f64>)> {
        let n_kept = self.columns.as_ref().map_or(self.n_cols, |columns| columns.kept.len());
        let shape = values.shape();
        // One pass for the sums of the rows, and for the number of entries that stay.
        let (mut sums, mut n_stored) = (Vec::new(), 0);
        let mut look = |block: &OwnedBlock<T>| -> Result<()> {
            n_stored += self.n_stored(block);
            if log1p.is_some() {
                self.add_sums(block, &mut sums)?;
            }
            Ok(())
        };
        let blocks = match values {
            Values::InFile(rows) => {
                let is_sparse = karhunen::Source::is_sparse(&rows);
                if is_sparse || log1p.is_some() {
                    let mut outcome = Ok(());
                    rows.each(0, rows.rows_at_once(), &mut 0, &mut |block| {
                        outcome = look(&block);
                        outcome.is_ok()
                    })?;
                    outcome?;
                }
                let target = self.set_divisors(sums, log1p)?;
                let n_stored = is_sparse.then_some(n_stored);
                let rows = rows.through(|rows| Box::new(Prepared { rows, preparation: self }));
                return Ok((Values::InFile(rows.with_columns(n_kept, n_stored)), target));
            }
            Values::Sparse(rows) => vec![OwnedBlock::Sparse(rows)],
            Values::Dense { buffer, n_rows, column_major, .. } => {
                let values = match buffer {
                    Buffer::Owned(values) => values,
                    mapped @ Buffer::Mapped { .. } => mapped.as_slice().to_vec(),
                };
                vec![OwnedBlock::Dense { values, n_rows, column_major }]
            }
            Values::Blocks(blocks) => blocks
                .into_iter()
                .map(|block| {
                    let n_rows = block.n_rows();
                    OwnedBlock::Dense { values: block.into_vec(), n_rows, column_major: false }
                })
                .collect(),
        };
        blocks.iter().try_for_each(&mut look)?;
        let target = self.set_divisors(sums, log1p)?;
        let mut first = 0;
        let mut prepared = Vec::with_capacity(blocks.len());
        for block in blocks {
            let n_rows = block.n_rows();
            prepared.push(self.apply(first, block)?);
            first += n_rows;
        }
        let values = match (prepared.pop(), prepared.is_empty()) {
            (Some(OwnedBlock::Sparse(rows)), true) => Values::Sparse(rows),
            (Some(OwnedBlock::Dense { values, n_rows, column_major }), true) => {
                Values::Dense { buffer: Buffer::Owned(values), n_rows, n_cols: n_kept, column_major }
            }
            (last, _) => {
                let all = prepared.into_iter().chain(last).filter_map(|block| match block {
                    OwnedBlock::Dense { values, n_rows, .. } => {
                        Some(Matrix::from_vec(n_rows, n_kept, values))
                    }
                    OwnedBlock::Sparse(_) => None,
                });
                let all: karhunen::Result<Vec<Matrix<T>>> = all.collect();
                Values::Blocks(all.map_err(|error| Error::new(&self.path, error.into()))?)
            }
        };
        debug_assert_eq!(values.shape(), (shape.0, n_kept));
        Ok((values, target))
    }

    /// Sets the divisors of the rows; returns the target.
    fn set_divisors(&mut self, mut sums: Vec<f64>, log1p: Option<Log1p>) -> Result<Option<f64>> {
        let target = match log1p {
            None => return Ok(None),
            Some(Log1p::To(target) | Log1p::OfFit(target)) => target,
            Some(Log1p::Median) => {
                let mut positive: Vec<f64> = sums.iter().copied().filter(|&sum| sum > 0.0).collect();
                positive.sort_unstable_by(f64::total_cmp);
                let half = positive.len() / 2;
                match positive.len() {
                    0 => {
                        let message = "every row is zero: there are no counts to normalise".to_owned();
                        return Err(Error::new(&self.path, Cause::value(message)));
                    }
                    n if n % 2 == 1 => positive[half],
                    _ => f64::midpoint(positive[half - 1], positive[half]),
                }
            }
        };
        sums.iter_mut().for_each(|sum| *sum = if *sum > 0.0 { *sum / target } else { 1.0 });
        self.divisors = Some(sums);
        Ok(Some(target))
    }

    /// Number of stored entries of a block that stay.
    fn n_stored<T: Scalar>(&self, block: &OwnedBlock<T>) -> usize {
        match (block, &self.columns) {
            (OwnedBlock::Dense { .. }, _) => 0,
            (OwnedBlock::Sparse(rows), None) => rows.view().n_stored(),
            (OwnedBlock::Sparse(rows), Some(columns)) => match rows.as_csr() {
                Some((_, indices, _)) => {
                    indices.iter().filter(|&&j| columns.places[j as usize] != LEFT_OUT).count()
                }
                None => 0,
            },
        }
    }

    /// Appends the sums of rows.
    fn add_sums<T: Scalar>(&self, block: &OwnedBlock<T>, sums: &mut Vec<f64>) -> Result<()> {
        let first = sums.len();
        sums.resize(first + block.n_rows(), 0.0);
        let mut add = |i: usize, j: usize, value: T| {
            let value = value.to_f64();
            sums[first + i] += value;
            let is_count = value >= 0.0 && value.is_finite();
            match is_count && !(self.whole && value.fract() != 0.0) {
                true => Ok(()),
                false => Err(self.no_count(first + i, j, value)),
            }
        };
        match block {
            OwnedBlock::Dense { values, n_rows, column_major } => {
                let p = self.n_cols;
                for (k, &value) in values.iter().enumerate() {
                    let (i, j) = if *column_major { (k % n_rows, k / n_rows) } else { (k / p, k % p) };
                    add(i, j, value)?;
                }
            }
            OwnedBlock::Sparse(rows) => {
                let (pointers, indices, values) = rows.as_csr().ok_or_else(|| self.by_columns())?;
                for i in 0..pointers.len() - 1 {
                    for entry in pointers[i]..pointers[i + 1] {
                        add(i, indices[entry] as usize, values[entry])?;
                    }
                }
            }
        }
        Ok(())
    }

    fn no_count(&self, row: usize, column: usize, value: f64) -> Error {
        let place = Place { row: Some(row as u64 + 1), column: Some(column as u64 + 1), ..Place::default() };
        let log1p = option_names::LOG1P;
        let message = match self.whole {
            true => Phrase::new(format!(
                "{value} is not a whole number, and the model normalises counts: give counts, by "
            ))
            .option(option_names::LAYER)
            .text(" if a layer holds them; with ")
            .option(log1p)
            .text(", as in the fit, counts may be fractions"),
            false => Phrase::new(format!("{value} is not a count; leave out "))
                .option(log1p)
                .text(" if the values were normalised before"),
        };
        Error::at(&self.path, place, Cause::value(message))
    }

    fn by_columns(&self) -> Error {
        let message = "the matrix is compressed by columns; write it by rows, in Python x.tocsr()".to_owned();
        Error::new(&self.path, Cause::format(message))
    }

    /// The prepared rows from row `first` on.
    fn apply<T: Scalar>(&self, first: usize, block: OwnedBlock<T>) -> Result<OwnedBlock<T>> {
        let normal = |i: usize, value: T| match &self.divisors {
            Some(divisors) => T::from_f64((value.to_f64() / divisors[first + i]).ln_1p()),
            None => value,
        };
        let n_kept = self.columns.as_ref().map_or(self.n_cols, |columns| columns.kept.len());
        match block {
            OwnedBlock::Dense { values, n_rows, column_major } => {
                let p = self.n_cols;
                let at = |i: usize, j: usize| if column_major { j * n_rows + i } else { i * p + j };
                let kept = |j: usize| self.columns.as_ref().map_or(j, |columns| columns.kept[j]);
                let value = |i: usize, j: usize| normal(i, values[at(i, kept(j))]);
                let values = if column_major {
                    (0..n_kept)
                        .flat_map(|j| (0..n_rows).map(move |i| (i, j)))
                        .map(|(i, j)| value(i, j))
                        .collect()
                } else {
                    (0..n_rows)
                        .flat_map(|i| (0..n_kept).map(move |j| (i, j)))
                        .map(|(i, j)| value(i, j))
                        .collect()
                };
                Ok(OwnedBlock::Dense { values, n_rows, column_major })
            }
            OwnedBlock::Sparse(rows) => {
                let n_rows = rows.view().n_rows();
                let (mut pointers, mut indices, mut values) =
                    rows.into_csr().ok_or_else(|| self.by_columns())?;
                let (mut begin, mut n) = (0, 0);
                for i in 0..n_rows {
                    let end = std::mem::replace(&mut pointers[i + 1], 0);
                    for entry in begin..end {
                        let place = match &self.columns {
                            Some(columns) => columns.places[indices[entry] as usize],
                            None => indices[entry],
                        };
                        if place != LEFT_OUT {
                            indices[n] = place;
                            values[n] = normal(i, values[entry]);
                            n += 1;
                        }
                    }
                    begin = end;
                    pointers[i + 1] = n;
                }
                indices.truncate(n);
                values.truncate(n);
                let rows = SparseMatrix::from_csr(n_rows, n_kept, pointers, indices, values);
                rows.map(OwnedBlock::Sparse).map_err(|error| Error::new(&self.path, error.into()))
            }
        }
    }
}

/// Rows of a file that are prepared in every visit.
struct Prepared<T> {
    rows: FileRows<T>,
    preparation: Preparation,
}

impl<T: Scalar> BlockReader<T> for Prepared<T> {
    fn each(
        &self,
        first: usize,
        rows_at_once: usize,
        reached: &mut usize,
        f: &mut dyn FnMut(OwnedBlock<T>) -> bool,
    ) -> Result<()> {
        let (mut at, mut failure) = (first, None);
        self.rows.each(first, rows_at_once, reached, &mut |block| {
            let begin = at;
            at += block.n_rows();
            match self.preparation.apply(begin, block) {
                Ok(block) => f(block),
                Err(error) => {
                    failure = Some(error);
                    false
                }
            }
        })?;
        failure.map_or(Ok(()), Err)
    }

    fn held(&self, block_bytes: usize) -> f64 {
        let divisors = self.preparation.divisors.as_ref().map_or(0, Vec::len);
        // A block as it is in the file, with all columns, and the prepared block.
        let (wide, narrow) = (self.preparation.n_cols, self.rows_kept());
        let widening = wide as f64 / narrow.max(1) as f64;
        8.0 * divisors as f64 + widening * block_bytes as f64 + self.rows.held_to_read(block_bytes)
    }

    fn read_again(&self) {
        self.rows.read_again();
    }

    fn check_unchanged(&self) -> Result<()> {
        self.rows.check_unchanged()
    }
}

impl<T> Prepared<T> {
    /// Number of columns that are kept.
    fn rows_kept(&self) -> usize {
        self.preparation.columns.as_ref().map_or(self.preparation.n_cols, |columns| columns.kept.len())
    }
}
