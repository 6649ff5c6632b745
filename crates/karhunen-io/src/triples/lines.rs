//! The line of each entry in its file: at most four bytes for an entry, and none if each line is an entry.

/// The lines of the entries of a file.
#[derive(Debug, Default)]
pub(crate) struct LineNumbers {
    blocks: Vec<Block>,
    n_entries: usize,
}

#[derive(Debug)]
struct Block {
    first_entry: usize,
    first_line: u64,
    /// The line of each entry, relative to the first; `None` if each entry is on its own line.
    offsets: Option<Vec<u32>>,
}

impl LineNumbers {
    /// Appends `n` entries, on lines from `first_line`.
    pub(crate) fn push(&mut self, n: usize, first_line: u64, offsets: Option<Vec<u32>>) {
        self.blocks.push(Block { first_entry: self.n_entries, first_line, offsets });
        self.n_entries += n;
    }

    /// The line of an entry, from one.
    pub(crate) fn line(&self, entry: usize) -> u64 {
        let behind = self.blocks.partition_point(|block| block.first_entry <= entry);
        let block = &self.blocks[behind - 1];
        let at = entry - block.first_entry;
        block.first_line + block.offsets.as_ref().map_or(at as u64, |offsets| u64::from(offsets[at]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_found_on_their_lines() {
        let mut lines = LineNumbers::default();
        lines.push(2, 2, None);
        lines.push(0, 4, None);
        lines.push(3, 4, Some(vec![0, 3, 4]));
        lines.push(1, 9, None);
        assert_eq!([0, 1, 2, 3, 4, 5].map(|entry| lines.line(entry)), [2, 3, 4, 7, 8, 9]);
    }
}
