//! Triples in Parquet and Arrow files: ids of any type, columns decoded in parallel.

use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Schema};
use karhunen::Scalar;

use super::batches::{Batches, first_rounded};
use super::conversions;
use super::roles::{is_number, place};
use crate::rounded::Rounded;
use crate::triples::interner::{Interner, Numbered, TakesIds};
use crate::triples::lines::LineNumbers;
use crate::triples::pair_block::{PairBlock, Visitor};
use crate::triples::{Chunk, Entries, Role, Wanted, axes, infinite};
use crate::{Cause, Error, Ids, Result};

/// A file of triples and the content of its header.
pub(crate) struct File<'a> {
    pub(crate) path: &'a Path,
    pub(crate) schema: &'a Schema,
    pub(crate) n_rows: usize,
    pub(crate) batches: &'a dyn Batches,
}

impl File<'_> {
    /// Reads the requested columns.
    ///
    /// # Errors
    /// Columns that do not exist or have an unsupported type; missing ids and infinite values, with their rows.
    pub(crate) fn entries<T: Scalar>(&self, wanted: &Wanted) -> Result<Entries<T>> {
        let names: Vec<String> = self.schema.fields().iter().map(|field| field.name().clone()).collect();
        let roles = wanted.roles(self.path, Some(&names), names.len())?;
        let column = |role| roles.iter().position(|other| *other == role);
        let ids =
            |role| column(role).map_or_else(|| Ok((Vec::new(), Interner::default())), |at| self.ids(at));
        let numbers = |role| column(role).map_or_else(|| Ok((Vec::new(), None)), |at| self.numbers(at, role));
        let ((rows, columns), (values, weights)) = rayon::join(
            || rayon::join(|| ids(Role::Row), || ids(Role::Column)),
            || rayon::join(|| numbers(Role::Value), || numbers(Role::Weight)),
        );
        let ((rows, row_ids), (columns, column_ids)) = (rows?, columns?);
        let ((values, rounded), (weights, _)) = (values?, weights?);
        let chunk = Chunk { worker: 0, rows, columns, values, weights };
        let mut lines = LineNumbers::default();
        lines.push(chunk.rows.len(), 1, None);
        let ids = [vec![row_ids], vec![column_ids]];
        let mut entries = Entries::assemble(vec![chunk], ids, axes(&roles, Some(&names)), lines);
        entries.unit = "row";
        entries.warnings.extend(rounded.map(|rounded| rounded.warning::<T>()));
        Ok(entries)
    }

    /// Visits a column in parts, with the number of the first row of each.
    fn visit(&self, column: usize, mut f: impl FnMut(usize, &ArrayRef) -> Result<()>) -> Result<()> {
        let mut begin = 0;
        self.batches.visit(&[column], &mut |batch| {
            f(begin, batch.column(0))?;
            begin += batch.num_rows();
            Ok(true)
        })?;
        self.check_count(begin)
    }

    fn check_count(&self, found: usize) -> Result<()> {
        if found == self.n_rows {
            return Ok(());
        }
        let message = format!("{} rows are declared, {found} are there; the file is damaged", self.n_rows);
        Err(Error::new(self.path, Cause::format(message)))
    }

    fn refuse(&self, row: usize, column: usize, cause: Cause) -> Error {
        Error::at(self.path, place(self.schema, Some(row), column), cause)
    }

    /// An empty vector with capacity for one value per row, as many as the file declares.
    fn empty<V>(&self) -> Result<Vec<V>> {
        let mut values = Vec::new();
        karhunen::memory::reserve(&mut values, self.n_rows).map_err(|_| {
            let message = format!(
                "{} rows are declared, more than there is memory for; if there are not so many, the file is \
                         damaged",
                self.n_rows
            );
            Error::new(self.path, Cause::format(message))
        })?;
        Ok(values)
    }

    fn ids(&self, column: usize) -> Result<(Vec<u32>, Interner)> {
        let mut interner = Interner::default();
        let mut ids = Numbered { interner: &mut interner, numbers: self.empty()? };
        self.visit(column, |begin, array| self.take(column, begin, array, &mut ids))?;
        let numbers = ids.numbers;
        Ok((numbers, interner))
    }

    /// Takes the ids of an array, whose first row is row `begin` of the file.
    fn take(&self, column: usize, begin: usize, array: &ArrayRef, ids: &mut impl TakesIds) -> Result<()> {
        let kind = self.schema.field(column).data_type();
        // Integers beyond 64 signed bits become text, like all other types.
        let integers = kind.is_integer().then(|| conversions::integers(array));
        let exact = match integers.filter(|found| found.null_count() == array.null_count()) {
            Some(integers) => integers,
            None => Arc::new(conversions::text(self.path, array)?),
        };
        for row in 0..exact.len() {
            if exact.is_null(row) {
                let message = "the id is missing; give each row the id of a row and of a column";
                return Err(self.refuse(begin + row, column, Cause::value(message)));
            }
            let taken = match exact.as_primitive_opt::<Int64Type>() {
                Some(integers) => ids.integer(integers.value(row)),
                None => ids.text(whole(exact.as_string::<i64>().value(row), kind)),
            };
            let too_many = || self.refuse(begin + row, column, Cause::value("more than 2^32 - 1 ids"));
            taken.ok_or_else(too_many)?;
        }
        Ok(())
    }

    /// Reads pairs of ids from the columns at positions `[rows, columns]`, in blocks of at most `most` rows.
    ///
    /// # Errors
    /// Missing ids, with their rows; damaged files; errors of the visitor.
    pub(crate) fn visit_pairs<X, E: From<Error>>(
        &self,
        [rows, columns]: [usize; 2],
        most: usize,
        visitor: &mut Visitor<'_, X, E>,
        release: &dyn Fn(),
    ) -> std::result::Result<(), E> {
        let (mut begin, mut failure) = (0, None);
        let ascending = [rows.min(columns), rows.max(columns)];
        let mut block = |first: usize, batch: &RecordBatch| {
            let at = |column| batch.column(usize::from(column == ascending[1]));
            let ids = |column| {
                let mut ids = Ids::Integers(Vec::with_capacity(batch.num_rows()));
                self.take(column, first, at(column), &mut ids).map(|()| ids)
            };
            let (rows, columns) = rayon::join(|| ids(rows), || ids(columns));
            let ids = [rows?, columns?];
            let found = (visitor.map)(&ids);
            (visitor.take)(PairBlock::new(ids, (batch.num_rows(), first as u64 + 1, None)), found)
        };
        self.batches.visit(&ascending, &mut |batch| {
            for start in (0..batch.num_rows()).step_by(most) {
                let part = batch.slice(start, most.min(batch.num_rows() - start));
                failure = block(begin + start, &part).err();
                if failure.is_some() {
                    return Ok(false);
                }
            }
            begin += batch.num_rows();
            release();
            Ok(true)
        })?;
        match failure {
            Some(failure) => Err(failure),
            None => Ok(self.check_count(begin)?),
        }
    }

    /// The numbers of a column, and the first integer that was rounded.
    fn numbers<T: Scalar>(&self, column: usize, role: Role) -> Result<(Vec<T>, Option<Rounded>)> {
        let kind = self.schema.field(column).data_type();
        if !is_number(kind) {
            let message = format!("holds {kind} values, not numbers");
            return Err(Error::at(self.path, place(self.schema, None, column), Cause::value(message)));
        }
        let (mut values, mut rounded) = (self.empty()?, None);
        self.visit(column, |begin, array| {
            if rounded.is_none()
                && let Some((row, text)) = first_rounded::<T>(array)
            {
                rounded = Some(Rounded { text, place: place(self.schema, Some(begin + row), column) });
            }
            let mut found = vec![0.0; array.len()];
            conversions::copy(self.path, array, &mut found)?;
            for (row, value) in found.into_iter().enumerate() {
                let converted = T::from_f64(value);
                let refused = match role {
                    Role::Weight => !(value >= 0.0 && converted.to_f64().is_finite()),
                    _ => converted.to_f64().is_infinite(),
                };
                if refused {
                    let cause = if role == Role::Weight {
                        Cause::value(format!("`{value:?}`: weights are finite and not negative"))
                    } else {
                        infinite(value)
                    };
                    return Err(self.refuse(begin + row, column, cause));
                }
                values.push(converted);
            }
            Ok(())
        })?;
        Ok((values, rounded))
    }
}

/// The id without a fraction of zero: pandas stores integers with missing values as floating-point numbers.
fn whole<'a>(text: &'a str, kind: &DataType) -> &'a str {
    if kind.is_floating() { text.strip_suffix(".0").unwrap_or(text) } else { text }
}

#[cfg(test)]
mod tests {
    use arrow_array::types::Int32Type;
    use arrow_array::{DictionaryArray, Float64Array, RecordBatch, StringArray, UInt64Array};
    use parquet::arrow::arrow_writer::ArrowWriter;

    use crate::{ObserveOptions, ObservedTable, ReadOptions, Result, TripleColumns, read_observed};

    use super::*;

    /// Reads `columns` of a Parquet file, and of the Arrow file with the same content.
    fn read(arrays: Vec<(&str, ArrayRef)>, columns: [&str; 3]) -> [Result<ObservedTable>; 2] {
        let batch = RecordBatch::try_from_iter_with_nullable(
            arrays.into_iter().map(|(name, array)| (name.to_owned(), array, true)),
        )
        .unwrap();
        let folder = tempfile::tempdir().unwrap();
        let paths = ["t.parquet", "t.arrow"].map(|name| folder.path().join(name));
        let sink = std::fs::File::create(&paths[0]).unwrap();
        let mut writer = ArrowWriter::try_new(sink, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let sink = std::fs::File::create(&paths[1]).unwrap();
        let mut writer = arrow_ipc::writer::FileWriter::try_new(sink, &batch.schema()).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        let [row, column, value] = columns.map(str::to_owned);
        let triples = Some(TripleColumns { row, column, value, weight: None });
        let how = ObserveOptions { triples, ..ObserveOptions::default() };
        paths.map(|path| read_observed(&path, &ReadOptions::default(), &how))
    }

    fn arrays() -> Vec<(&'static str, ArrayRef)> {
        let coded: DictionaryArray<Int32Type> = ["b", "a", "b", "a"].into_iter().collect();
        vec![
            ("rating", Arc::new(Float64Array::from(vec![Some(1.5), None, Some(-2.0), Some(0.0)]))),
            ("whole", Arc::new(Float64Array::from(vec![3.0, 1.0, 1.0, 2.0]))),
            ("large", Arc::new(UInt64Array::from(vec![u64::MAX, 7, 7, 1]))),
            ("text", Arc::new(StringArray::from(vec![Some("x"), Some("é"), None, Some("x")]))),
            ("coded", Arc::new(coded)),
        ]
    }

    #[test]
    fn ids_are_of_any_type() {
        for table in read(arrays(), ["whole", "coded", "rating"]) {
            let table = table.unwrap();
            assert_eq!(table.row_ids.unwrap().texts(), ["1", "2", "3"]);
            assert_eq!(table.column_ids.unwrap().texts(), ["a", "b"]);
            let crate::ObservedData::F32(observed) = table.data else { panic!("not single") };
            assert_eq!(observed.row(0), (&[1][..], &[-2.0][..]));
            assert_eq!(observed.row(1), (&[0][..], &[0.0][..]));
            assert_eq!(observed.row(2), (&[1][..], &[1.5][..]));
        }
        for table in read(arrays(), ["large", "whole", "rating"]) {
            assert_eq!(table.unwrap().row_ids.unwrap().texts(), ["1", "18446744073709551615", "7"]);
        }
    }

    #[test]
    fn what_cannot_be_used_has_a_row_and_a_column() {
        let cases = [
            (
                ["text", "whole", "rating"],
                "row 3: column 4 (`text`): the id is missing; give each row the id of a row and of a column",
            ),
            (["whole", "coded", "text"], "column 4 (`text`): holds Utf8 values, not numbers"),
            (
                ["whole", "movie", "rating"],
                "triples = movie: there is no such column; there are `rating`, `whole`, `large`, `text`, `coded`",
            ),
            (["coded", "coded", "rating"], "triples = coded: the column is named twice"),
        ];
        for (columns, message) in cases {
            for error in read(arrays(), columns) {
                let error = error.unwrap_err().to_string();
                assert!(error.ends_with(message), "{error}");
            }
        }
        let infinite: ArrayRef = Arc::new(Float64Array::from(vec![1.0, f64::INFINITY, 1.0, 1.0]));
        let changed = arrays().into_iter().chain([("far", infinite)]).collect();
        for error in read(changed, ["whole", "coded", "far"]) {
            assert!(
                error.unwrap_err().to_string().contains("row 2: column 6 (`far`): `inf`: values are finite")
            );
        }
    }
}
