//! The order in which partial results are merged.

use crate::cluster::Partial;
use crate::error::{Error, Result};

/// Number of partial results that are merged at a time.
pub const FAN_IN: usize = 4;

/// Merges partial results as they come, in the order of the parts: [`FAN_IN`] neighbours of one level become one of the
/// next. Holds fewer than [`FAN_IN`] results of each level.
#[derive(Debug, Default)]
pub struct Tree {
    levels: Vec<Vec<Partial>>,
    /// Number of the next part.
    next: usize,
}

impl Tree {
    /// Adds the result for the next part.
    ///
    /// # Errors
    /// [`Error::Parts`] for the result of another part; as [`Partial::merge`].
    pub fn push(&mut self, partial: Partial) -> Result<()> {
        match partial.parts.first() {
            Some(part) if part.number == self.next => self.next += partial.parts.len(),
            part => {
                let found = part.map_or("no part".to_owned(), |part| format!("part {}", part.number));
                let problem = format!(
                    "the result of {found} came where that of part {} is expected; return results in the order of the parts",
                    self.next
                );
                return Err(Error::Parts { problem });
            }
        }
        self.push_at(0, partial)
    }

    /// Returns the result for all parts.
    ///
    /// # Errors
    /// As [`Partial::merge`].
    pub fn finish(mut self) -> Result<Partial> {
        // A level that is not full becomes one result of the next level, unless it is the last.
        for level in 0.. {
            let rest = self.levels.get_mut(level).map_or_else(Vec::new, std::mem::take);
            if level + 1 >= self.levels.len() {
                return Partial::merge(rest);
            }
            if !rest.is_empty() {
                self.push_at(level + 1, Partial::merge(rest)?)?;
            }
        }
        Partial::merge(Vec::new())
    }

    fn push_at(&mut self, level: usize, partial: Partial) -> Result<()> {
        if self.levels.len() <= level {
            self.levels.resize_with(level + 1, Vec::new);
        }
        self.levels[level].push(partial);
        if self.levels[level].len() < FAN_IN {
            return Ok(());
        }
        let full = std::mem::take(&mut self.levels[level]);
        self.push_at(level + 1, Partial::merge(full)?)
    }
}
