//! Pairs of ids in any format, read block by block; predictions of pairs, written block by block.

use std::path::{Path, PathBuf};

use karhunen::Matrix;
use karhunen::error::Phrase;

use crate::columnar::pairs::ColumnPairs;
use crate::csv::{EntryForm, in_pool};
use crate::format::{Format, sniff};
use crate::ids::Ids;
use crate::input::{Input, decompressed};
use crate::mapped::Mapped;
use crate::observed::check_entries;
use crate::replace::Staged;
use crate::table::{RowWriter, RowsToWrite, TextRows, Written, WrittenRows};
use crate::triples::pair_block::Visitor;
use crate::triples::{Role, Wanted};
use crate::write::{format_of, stage_written};
use crate::{Error, PairBlock, ReadOptions, Result, option_names};

/// Bytes of text in a block.
const BLOCK_BYTES: usize = 1 << 19;
/// Most bytes of memory per byte of text: a line of 4 bytes becomes two strings of 50 bytes each.
const EXPANSION: u64 = 32;
/// Blocks of a thread that are parsed at a time, to balance the load.
const PER_THREAD: usize = 2;

/// Pairs of ids in a file, of which a few blocks are held at a time.
pub struct Pairs {
    path: PathBuf,
    options: ReadOptions,
    /// The names of the two columns; `row` and `column` if they have none.
    pub names: [String; 2],
    /// Possible faults, as in [`crate::ObservedTable::warnings`].
    pub warnings: Vec<Phrase>,
    /// The unit of [`PairBlock::line`]: `line`, or `row` in Parquet and Arrow.
    pub unit: &'static str,
    content: Content,
}

enum Content {
    Text(Input, Box<EntryForm>),
    Columns(ColumnPairs),
}

/// Opens the columns `[rows, columns]` of a table, by name or by number from one, with ids of any type; reads only the
/// beginning of a text, or the description of the columns. `-` is standard input, which is held as it is.
///
/// # Errors
/// As [`crate::read_observed`], except for errors in the lines.
pub fn open_pairs(path: &Path, options: &ReadOptions, columns: &[String; 2]) -> Result<Pairs> {
    let [row, column] = columns.clone();
    let wanted =
        Wanted { option: option_names::PAIRS, columns: vec![(Role::Row, row), (Role::Column, column)] };
    decompressed(Input::open_within(path, options.most_unpacked())?, options)?.through(|input| {
        let format = sniff(input.as_slice(), path);
        check_entries(&input, format, wanted.option)?;
        let (columns, names) = match format {
            Format::Parquet => ColumnPairs::of_parquet(input, options, &wanted)?,
            Format::Arrow => ColumnPairs::of_arrow(input, options, &wanted)?,
            _ => {
                let form = EntryForm::of_pairs(&input, &wanted, options)?;
                return Ok(Pairs {
                    path: path.to_owned(),
                    options: options.clone(),
                    names: form.axes.clone(),
                    warnings: form.warning().into_iter().collect(),
                    unit: "line",
                    content: Content::Text(input, Box::new(form)),
                });
            }
        };
        Ok(Pairs {
            path: path.to_owned(),
            options: options.clone(),
            names,
            warnings: Vec::new(),
            unit: "row",
            content: Content::Columns(columns),
        })
    })
}

impl Pairs {
    /// Reads all pairs, in blocks that depend on the file alone: calls `map` with the ids of every block, on several
    /// threads, and `take` with the block and the result, in the order of the file. Holds a few blocks at a time. The
    /// pairs can be visited again.
    ///
    /// # Errors
    /// [`crate::Cause::Format`] and [`crate::Cause::Value`] with the line of the first fault;
    /// [`crate::Cause::Changed`] if the file changed since it was opened; errors of `take`, which end the visit.
    pub fn visit<X: Send, E: From<Error> + Send>(
        &self,
        map: &(dyn Fn(&[Ids; 2]) -> X + Sync),
        take: &mut (dyn FnMut(PairBlock, X) -> std::result::Result<(), E> + Send),
    ) -> std::result::Result<(), E> {
        let mut visitor = Visitor { map, take };
        let mapped = match &self.content {
            Content::Text(input, _) => input.mapped(),
            Content::Columns(columns) => columns.mapped(),
        };
        let release = || mapped.iter().for_each(Mapped::release);
        let work = || match &self.content {
            Content::Text(input, form) => {
                let room = self.options.most_held() / (EXPANSION * BLOCK_BYTES as u64);
                let most = PER_THREAD * rayon::current_num_threads();
                let at_once = usize::try_from(room).unwrap_or(most).clamp(1, most);
                form.visit_pairs(input, (BLOCK_BYTES, at_once), &mut visitor, &release)
            }
            Content::Columns(columns) => columns.visit(&mut visitor, &release),
        };
        let visited = in_pool(&self.path, &self.options, work)?;
        // A change of the file explains any other error.
        if let Some(map) = &mapped {
            map.check_unchanged()?;
        }
        visited
    }
}

/// Receives a block of ids and the values of its pairs, one row each.
pub type PairWriter<'f> = dyn FnMut(&[Ids; 2], &Matrix) -> std::io::Result<()> + Send + 'f;

/// Pairs and their values, computed while they are written.
pub trait PairsToWrite: Sync {
    /// Calls `f` with every block, in order.
    ///
    /// # Errors
    /// Errors of `f`; errors of computing the values, as [`std::io::Error::other`].
    fn each(&self, f: &mut PairWriter<'_>) -> std::io::Result<()>;
}

/// A table of pairs and their values.
#[derive(Clone, Copy)]
pub struct PairTable<'a> {
    /// The pairs.
    pub pairs: &'a dyn PairsToWrite,
    /// Their number.
    pub n_pairs: usize,
    /// The headers of the row ids and of the column ids.
    pub id_names: &'a [String; 2],
    /// For rows and columns, true if the ids of all pairs are integers, which are written as numbers.
    pub whole: [bool; 2],
    /// The headers of the values.
    pub column_names: &'a [String],
}

/// As [`crate::stage_table`], for pairs: the ids are the first two columns, NPY holds the values alone. A block of pairs
/// is held at a time.
///
/// # Errors
/// As [`crate::stage_table`]; errors of [`PairsToWrite::each`].
pub fn stage_pairs(path: &Path, table: &PairTable<'_>) -> Result<Staged> {
    stage_written(path, format_of(path)?, table, table)
}

impl RowsToWrite<f64> for PairTable<'_> {
    fn shape(&self) -> (usize, usize) {
        (self.n_pairs, self.column_names.len())
    }

    fn each(&self, f: &mut RowWriter<'_, f64>) -> std::io::Result<()> {
        self.pairs.each(&mut |_, values| f(values))
    }
}

impl Written<f64> for PairTable<'_> {
    fn text_columns(&self) -> Vec<(&str, bool)> {
        self.id_names.iter().map(String::as_str).zip(self.whole).collect()
    }

    fn column_names(&self) -> &[String] {
        self.column_names
    }

    fn each_with_texts(&self, f: &mut WrittenRows<'_, f64>) -> std::io::Result<()> {
        self.pairs
            .each(&mut |[rows, columns], values| f(&[TextRows::Ids(rows), TextRows::Ids(columns)], values))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// All pairs as text, with their lines.
    pub(crate) fn listed(pairs: &Pairs) -> Result<Vec<(String, String, u64)>> {
        let mut all = Vec::new();
        pairs.visit(&|ids| ids[0].len(), &mut |block, n| {
            assert_eq!((block.len(), block.ids[1].len()), (n, n));
            let [rows, columns] = &block.ids;
            all.extend(
                (0..n).map(|e| (rows.text(e).into_owned(), columns.text(e).into_owned(), block.line(e))),
            );
            Ok::<_, Error>(())
        })?;
        Ok(all)
    }

    pub(crate) fn pair(row: &str, column: &str, line: u64) -> (String, String, u64) {
        (row.to_owned(), column.to_owned(), line)
    }

    #[test]
    fn pairs_have_the_ids_of_their_columns() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.csv");
        let open = |content: &str, columns: [&str; 2]| {
            std::fs::write(&path, content).unwrap();
            open_pairs(&path, &ReadOptions::default(), &columns.map(str::to_owned)).unwrap()
        };
        let pairs = open("item,user\nHeat,7\n\nUp,7\nHeat,2\n", ["user", "item"]);
        assert_eq!(pairs.names, ["user", "item"]);
        let expected = [pair("7", "Heat", 2), pair("7", "Up", 4), pair("2", "Heat", 5)];
        assert_eq!(listed(&pairs).unwrap(), expected);
        // The pairs can be visited again.
        assert_eq!(listed(&pairs).unwrap(), expected);
        // Text over integers holds names; integers over integers are ids.
        let numbered = open("u,i\n1,2\n3,4\n", ["1", "2"]);
        assert_eq!((listed(&numbered).unwrap().len(), &numbered.names), (2, &["u", "i"].map(str::to_owned)));
        assert!(numbered.warnings.is_empty());
        let bare = open("1,2\n3,4\n", ["1", "2"]);
        assert_eq!((listed(&bare).unwrap().len(), &bare.names), (2, &["row", "column"].map(str::to_owned)));
        assert!(bare.warnings.is_empty());
        assert_eq!(listed(&open("u,i\nv,j\n", ["1", "2"])).unwrap().len(), 2);
        // Column numbers over ids that are text are read as a pair, with a warning.
        assert_eq!(open("0,1\nann,Heat\nbob,Up\n", ["1", "2"]).warnings.len(), 1);
        // Ids that are not canonical integers keep their digits.
        let mixed = listed(&open("u,i\n12,x\n007,2\n", ["u", "i"])).unwrap();
        assert_eq!(mixed, [pair("12", "x", 2), pair("007", "2", 3)]);
    }

    #[test]
    fn blocks_do_not_depend_on_threads_or_on_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.csv");
        // Blank lines and quoted line ends move the lines of later blocks.
        let line = |e: usize| match e % 1000 {
            0 => format!("{e},\"a\nb\"\n\n"),
            _ => format!("{e},c{}\n", e % 7),
        };
        let text: String = (0..400_000).map(line).collect();
        assert!(text.len() > 3 * BLOCK_BYTES);
        std::fs::write(&path, format!("row,column\n{text}")).unwrap();
        let read = |n_threads, memory_limit| {
            let options = ReadOptions { n_threads: Some(n_threads), memory_limit, ..ReadOptions::default() };
            let pairs = open_pairs(&path, &options, &["row", "column"].map(str::to_owned)).unwrap();
            let mut lengths = Vec::new();
            pairs
                .visit(&|_| (), &mut |block, ()| {
                    lengths.push((block.len(), block.line(0), block.line(block.len() - 1)));
                    Ok::<_, Error>(())
                })
                .unwrap();
            (lengths, listed(&pairs).unwrap())
        };
        let (lengths, all) = read(1, None);
        assert!(lengths.len() > 3 && all.len() == 400_000);
        let line_of = |e: usize| 2 + e as u64 + 2 * e.div_ceil(1000) as u64;
        for e in [0, 1, 999, 1000, 1001, 250_000, 399_999] {
            assert_eq!((all[e].0.as_str(), all[e].2), (e.to_string().as_str(), line_of(e)));
        }
        for (threads, limit) in [(3, None), (2, Some(1)), (3, Some(100 << 20))] {
            assert!(read(threads, limit) == (lengths.clone(), all.clone()), "{threads} {limit:?}");
        }
    }

    #[test]
    fn a_fault_in_a_late_block_has_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.csv");
        let text: String = (0..300_000).map(|e| format!("{e},{}\n", e % 9)).collect();
        std::fs::write(&path, format!("{text}7,8,9\n{text}")).unwrap();
        let pairs = open_pairs(&path, &ReadOptions::default(), &["1", "2"].map(str::to_owned)).unwrap();
        let error = listed(&pairs).unwrap_err().to_string();
        assert!(error.contains("p.csv: line 300001: "), "{error}");
    }

    #[test]
    fn a_file_that_changes_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.csv");
        std::fs::write(&path, "row,column\n1,2\n".repeat(1000)).unwrap();
        let options = ReadOptions { header: Some(true), ..ReadOptions::default() };
        let pairs = open_pairs(&path, &options, &["row", "column"].map(str::to_owned)).unwrap();
        assert!(listed(&pairs).is_ok());
        let mut file = std::fs::File::options().append(true).open(&path).unwrap();
        std::io::Write::write_all(&mut file, b"3,4\n").unwrap();
        assert!(matches!(*listed(&pairs).unwrap_err().cause, crate::Cause::Changed { .. }));
    }
}
