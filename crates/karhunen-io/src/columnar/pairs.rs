//! Pairs of ids in the columns of a file, read batch by batch.

use std::path::{Path, PathBuf};

use arrow_schema::SchemaRef;

use super::batches::Batches;
use super::triples::File;
use super::{arrow, parquet};
use crate::input::Input;
use crate::mapped::Mapped;
use crate::triples::pair_block::Visitor;
use crate::triples::{Role, Wanted, axes};
use crate::{Error, ReadOptions, Result};

/// Rows of a block.
const BLOCK_ROWS: usize = 1 << 16;

/// A file with two columns of ids.
pub(crate) struct ColumnPairs {
    path: PathBuf,
    schema: SchemaRef,
    n_rows: usize,
    batches: Box<dyn Batches>,
    /// Positions of the row ids and of the column ids.
    columns: [usize; 2],
    mapped: Option<Mapped>,
}

impl ColumnPairs {
    /// Opens a Parquet file; also returns the names of the two columns.
    ///
    /// # Errors
    /// [`crate::Cause::Option`] for columns that do not exist; [`crate::Cause::Format`] for damaged files.
    pub(crate) fn of_parquet(
        input: Input,
        options: &ReadOptions,
        wanted: &Wanted,
    ) -> Result<(Self, [String; 2])> {
        let (path, mapped) = (input.path.clone(), input.mapped());
        options.allow_for_triples(&path, &[])?;
        let (file, schema, n_rows) = parquet::open(&path, input.bytes, options)?;
        Self::of(&path, (schema, n_rows, Box::new(file)), mapped, wanted)
    }

    /// Opens an Arrow file or stream, as [`ColumnPairs::of_parquet`].
    ///
    /// # Errors
    /// As [`ColumnPairs::of_parquet`].
    pub(crate) fn of_arrow(
        input: Input,
        options: &ReadOptions,
        wanted: &Wanted,
    ) -> Result<(Self, [String; 2])> {
        let (path, mapped) = (input.path.clone(), input.mapped());
        options.allow_for_triples(&path, &[])?;
        Self::of(&path, arrow::open_undecoded(&path, input)?, mapped, wanted)
    }

    fn of(
        path: &Path,
        (schema, n_rows, batches): (SchemaRef, usize, Box<dyn Batches>),
        mapped: Option<Mapped>,
        wanted: &Wanted,
    ) -> Result<(Self, [String; 2])> {
        let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        let roles = wanted.roles(path, Some(&names), names.len())?;
        let at = |role| roles.iter().position(|other| *other == role).unwrap_or_default();
        let columns = [at(Role::Row), at(Role::Column)];
        let names = axes(&roles, Some(&names));
        Ok((Self { path: path.to_owned(), schema, n_rows, batches, columns, mapped }, names))
    }

    /// The map of the file, if it has one.
    pub(crate) fn mapped(&self) -> Option<Mapped> {
        self.mapped.clone()
    }

    /// Reads all pairs, in blocks of [`BLOCK_ROWS`]; calls `release` after each batch.
    ///
    /// # Errors
    /// Missing ids, with their rows; damaged files; errors of the visitor.
    pub(crate) fn visit<X, E: From<Error>>(
        &self,
        visitor: &mut Visitor<'_, X, E>,
        release: &dyn Fn(),
    ) -> std::result::Result<(), E> {
        let (path, schema, n_rows, batches) = (&*self.path, &*self.schema, self.n_rows, &*self.batches);
        File { path, schema, n_rows, batches }.visit_pairs(self.columns, BLOCK_ROWS, visitor, release)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ::parquet::arrow::arrow_writer::ArrowWriter;
    use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
    use arrow_ipc::writer::{FileWriter, StreamWriter};

    use super::*;
    use crate::open_pairs;
    use crate::pairs::tests::{listed, pair};

    /// Writes batches as Parquet, as an Arrow file and as an Arrow stream.
    fn columnar(folder: &Path, batches: &[RecordBatch]) -> [PathBuf; 3] {
        let paths = ["p.parquet", "p.arrow", "p.arrows"].map(|name| folder.join(name));
        let [parquet, file, stream] = paths.each_ref().map(|path| std::fs::File::create(path).unwrap());
        let schema = batches[0].schema();
        let mut parquet = ArrowWriter::try_new(parquet, schema.clone(), None).unwrap();
        let mut file = FileWriter::try_new(file, &schema).unwrap();
        let mut stream = StreamWriter::try_new(stream, &schema).unwrap();
        for batch in batches {
            parquet.write(batch).unwrap();
            file.write(batch).unwrap();
            stream.write(batch).unwrap();
        }
        parquet.close().unwrap();
        file.finish().unwrap();
        stream.finish().unwrap();
        paths
    }

    fn batch(rows: std::ops::Range<usize>, missing: Option<usize>) -> RecordBatch {
        let items = rows.clone().map(|e| (missing != Some(e)).then(|| format!("i{}", e % 9)));
        let users = rows.clone().map(|e| (e * 7 % 1000) as i64);
        let arrays: [(&str, ArrayRef); 3] = [
            ("item", Arc::new(StringArray::from_iter(items))),
            ("price", Arc::new(Float64Array::from_iter_values(rows.clone().map(|e| e as f64)))),
            ("user", Arc::new(Int64Array::from_iter_values(users))),
        ];
        RecordBatch::try_from_iter_with_nullable(arrays.map(|(name, array)| (name, array, true))).unwrap()
    }

    #[test]
    fn columns_of_files_are_read_in_blocks() {
        const N: usize = 150_000;
        let folder = tempfile::tempdir().unwrap();
        let open = |path: &Path| {
            open_pairs(path, &ReadOptions::default(), &["user", "item"].map(str::to_owned)).unwrap()
        };
        for path in columnar(folder.path(), &[batch(0..N - 10, None), batch(N - 10..N, None)]) {
            let pairs = open(&path);
            assert_eq!((pairs.unit, &pairs.names), ("row", &["user", "item"].map(str::to_owned)));
            let all = listed(&pairs).unwrap();
            let expected = |e: usize| pair(&(e * 7 % 1000).to_string(), &format!("i{}", e % 9), e as u64 + 1);
            assert!(all == (0..N).map(expected).collect::<Vec<_>>(), "{}", path.display());
            let mut most = 0;
            pairs
                .visit(&|ids| ids[0].len(), &mut |_, n| {
                    most = n.max(most);
                    Ok::<_, Error>(())
                })
                .unwrap();
            assert_eq!(most, BLOCK_ROWS);
            // An error ends the visit.
            let mut n_blocks = 0;
            let stopped = pairs.visit(&|_| (), &mut |_, ()| {
                n_blocks += 1;
                Err(Error::new(&path, crate::Cause::format("enough".to_owned())))
            });
            assert!(stopped.unwrap_err().to_string().ends_with("enough") && n_blocks == 1);
        }
        for path in columnar(folder.path(), &[batch(0..N, None), batch(N..N + 9, Some(N + 4))]) {
            let error = listed(&open(&path)).unwrap_err().to_string();
            assert!(error.contains("row 150005: column 1 (`item`): the id is missing; "), "{error}");
        }
    }
}
