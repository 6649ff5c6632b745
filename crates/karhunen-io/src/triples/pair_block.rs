//! A block of pairs, and the functions that receive it.

use super::lines::LineNumbers;
use crate::ids::Ids;

/// Consecutive pairs of a file.
#[derive(Debug)]
pub struct PairBlock {
    /// The row id and the column id of each pair: integers if all of the block are integers in canonical form.
    pub ids: [Ids; 2],
    lines: LineNumbers,
}

impl PairBlock {
    /// A block of `n` pairs on lines from `first_line`, at `offsets` from it if they are not consecutive.
    pub(crate) fn new(ids: [Ids; 2], (n, first_line, offsets): (usize, u64, Option<Vec<u32>>)) -> Self {
        let mut lines = LineNumbers::default();
        lines.push(n, first_line, offsets);
        Self { ids, lines }
    }

    /// Number of pairs.
    pub fn len(&self) -> usize {
        self.ids[0].len()
    }

    /// Returns true if the block holds no pairs.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The line of a pair, from one; in Parquet and Arrow its row.
    ///
    /// # Panics
    /// If `pair` is out of range.
    pub fn line(&self, pair: usize) -> u64 {
        self.lines.line(pair)
    }
}

/// The two functions of a visit: `map` is called by several threads, `take` in the order of the file.
pub(crate) struct Visitor<'v, X, E> {
    pub(crate) map: &'v (dyn Fn(&[Ids; 2]) -> X + Sync),
    pub(crate) take: &'v mut (dyn FnMut(PairBlock, X) -> std::result::Result<(), E> + Send),
}
