//! Where lines cross the boundaries between blocks of minors, for all lines at a time: each entry is looked at once, where
//! a search for every line and boundary would miss the cache at every step.

use crate::linalg::sparse::lines::{Index, Lines};
use crate::scalar::Scalar;

/// How far some lines have been gone through.
pub(crate) struct Places {
    /// Entries gone through, for each line.
    reached: Vec<usize>,
    /// The numbers of entries below each of the last boundaries: for one boundary after the other, of every line.
    below: Vec<usize>,
}

impl Places {
    /// The beginning of `n_lines` lines.
    pub(crate) fn new(n_lines: usize) -> Self {
        Self { reached: vec![0; n_lines], below: Vec::new() }
    }

    /// Goes on to `boundaries`, ascending and not below those before.
    pub(crate) fn advance<I: Index, T: Scalar>(&mut self, lines: &Lines<'_, I, T>, boundaries: &[usize]) {
        let n_lines = self.reached.len();
        self.below.resize(boundaries.len() * n_lines, 0);
        for (i, reached) in self.reached.iter_mut().enumerate() {
            let indices = lines.line(i).0;
            for (b, &boundary) in boundaries.iter().enumerate() {
                *reached += indices[*reached..].iter().take_while(|index| index.at() < boundary).count();
                self.below[b * n_lines + i] = *reached;
            }
        }
    }

    /// Goes on to the boundaries of `n` blocks of `2^shift` minors, from `first` on, and past the last block. Entries not
    /// gone through must not be below `first`. Blocks are counted, not searched for: a branch would have to guess how many
    /// entries each one holds.
    pub(crate) fn advance_evenly<I: Index, T: Scalar>(
        &mut self,
        lines: &Lines<'_, I, T>,
        first: usize,
        shift: u32,
        n: usize,
    ) {
        let n_lines = self.reached.len();
        self.below.resize(n * n_lines, 0);
        let mut counts = vec![0; n];
        for (i, reached) in self.reached.iter_mut().enumerate() {
            counts.fill(0);
            for index in &lines.line(i).0[*reached..] {
                let Some(count) = counts.get_mut((index.at() - first) >> shift) else { break };
                *count += 1;
            }
            for (b, &count) in counts.iter().enumerate() {
                self.below[b * n_lines + i] = *reached;
                *reached += count;
            }
        }
    }

    /// The number of entries of each line below boundary `b` of the last ones.
    pub(crate) fn below(&self, b: usize) -> &[usize] {
        &self.below[b * self.reached.len()..][..self.reached.len()]
    }
}
