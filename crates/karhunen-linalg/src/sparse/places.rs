//! Positions at which lines cross the boundaries between blocks of minors, for all lines at a time. Each entry is
//! read once; a search for every line and boundary would miss the cache at every step.

use crate::error::Result;
use crate::exec::Exec;
use crate::scalar::Scalar;
use crate::sparse::lines::{Index, Lines};

/// Current positions in a set of lines.
pub struct Places {
    /// Number of entries passed in each line.
    reached: Vec<usize>,
    /// The number of entries of every line below each of the last boundaries, boundary by boundary.
    below: Vec<usize>,
}

impl Places {
    /// The start of `n_lines` lines.
    pub fn new(n_lines: usize) -> Self {
        Self { reached: vec![0; n_lines], below: Vec::new() }
    }

    /// Advances to `boundaries`, ascending and not below earlier ones.
    ///
    /// # Errors
    /// [`crate::Error::Stopped`].
    pub fn advance<I: Index, T: Scalar>(
        &mut self,
        lines: &Lines<'_, I, T>,
        boundaries: &[usize],
        exec: &Exec<'_>,
    ) -> Result<()> {
        const PIECE: usize = 64;
        let n_lines = self.reached.len();
        self.below.resize(boundaries.len() * n_lines, 0);
        let mut rows: Vec<_> =
            self.below.chunks_mut(n_lines.max(1)).map(|row| row.chunks_mut(PIECE)).collect();
        let pieces: Vec<_> = (self.reached.chunks_mut(PIECE))
            .map(|reached| (reached, rows.iter_mut().filter_map(Iterator::next).collect::<Vec<_>>()))
            .collect();
        exec.each(pieces.into_iter(), |piece, (reached, mut below)| {
            for (k, reached) in reached.iter_mut().enumerate() {
                let indices = lines.line(piece * PIECE + k).0;
                for (below, &boundary) in below.iter_mut().zip(boundaries) {
                    *reached += indices[*reached..].iter().take_while(|index| index.at() < boundary).count();
                    below[k] = *reached;
                }
            }
            Ok(())
        })
    }

    /// Advances to the boundaries of `n` blocks of `2^shift` minors, from `first` on, and past the last block.
    /// Remaining entries must not be below `first`. Entries are counted per block, without a branch, which would
    /// be mispredicted.
    pub fn advance_evenly<I: Index, T: Scalar>(
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

    /// The number of entries of each line below boundary `b` of the last call.
    pub fn below(&self, b: usize) -> &[usize] {
        &self.below[b * self.reached.len()..][..self.reached.len()]
    }
}
