//! Values that a log stores: the result of each pass of a fit.

use crate::error::{Error, Result};

/// A result of a pass, which a log keeps as values.
pub trait Resumable {
    /// Passes every value to `state`, always in the same order: it is written, or replaced by the one that was written.
    /// Shapes do not change.
    ///
    /// # Errors
    /// [`Error::OtherFit`] if values of other shapes were written.
    fn exchange(&mut self, state: &mut State) -> Result<()>;
}

/// Values that are written one after the other, or read back in the same order.
pub struct State {
    values: Vec<f64>,
    direction: Direction,
    /// Number of values that were counted or read.
    n_passed: usize,
}

enum Direction {
    /// Counts the values, so that no more memory is taken than they need.
    Count,
    Write,
    Read,
}

impl State {
    /// Returns the values of `content`.
    ///
    /// # Errors
    /// As [`Resumable::exchange`].
    pub fn written(content: &mut dyn Resumable) -> Result<Vec<f64>> {
        let mut state = Self { values: Vec::new(), direction: Direction::Count, n_passed: 0 };
        content.exchange(&mut state)?;
        state.values.reserve_exact(state.n_passed);
        state.direction = Direction::Write;
        content.exchange(&mut state)?;
        Ok(state.values)
    }

    /// Sets `content` to `values`, which [`State::written`] returned.
    ///
    /// # Errors
    /// [`Error::OtherFit`] for values of another number.
    pub fn read(values: Vec<f64>, content: &mut dyn Resumable) -> Result<()> {
        let mut state = Self { values, direction: Direction::Read, n_passed: 0 };
        content.exchange(&mut state)?;
        let (found, expected) = (state.values.len(), state.n_passed);
        if found == expected { Ok(()) } else { Err(other_number(found, expected)) }
    }

    /// Passes the values of a slice.
    ///
    /// # Errors
    /// [`Error::OtherFit`] if fewer values are left.
    pub fn slice(&mut self, values: &mut [f64]) -> Result<()> {
        let end = self.n_passed + values.len();
        match self.direction {
            Direction::Count => {}
            Direction::Write => self.values.extend_from_slice(values),
            Direction::Read => match self.values.get(self.n_passed..end) {
                Some(written) => values.copy_from_slice(written),
                None => return Err(other_number(self.values.len(), end)),
            },
        }
        self.n_passed = end;
        Ok(())
    }

    /// Passes a number.
    ///
    /// # Errors
    /// As [`State::slice`].
    pub fn number(&mut self, value: &mut f64) -> Result<()> {
        self.slice(std::slice::from_mut(value))
    }

    /// Passes true or false.
    ///
    /// # Errors
    /// As [`State::slice`].
    pub fn flag(&mut self, flag: &mut bool) -> Result<()> {
        let mut value = f64::from(u8::from(*flag));
        self.number(&mut value)?;
        *flag = value != 0.0;
        Ok(())
    }

    /// Passes a part that may be absent; `empty` returns one of the right shape.
    ///
    /// # Errors
    /// As [`Resumable::exchange`].
    pub fn option<A: Resumable>(&mut self, part: &mut Option<A>, empty: impl FnOnce() -> A) -> Result<()> {
        let mut is_some = part.is_some();
        self.flag(&mut is_some)?;
        if !is_some {
            *part = None;
            return Ok(());
        }
        part.get_or_insert_with(empty).exchange(self)
    }
}

fn other_number(found: usize, expected: usize) -> Error {
    let (found, expected) = (format!("{found} values"), format!("{expected} values"));
    Error::OtherFit { what: "results of a pass", found, expected }
}

impl Resumable for usize {
    fn exchange(&mut self, state: &mut State) -> Result<()> {
        let mut value = *self as f64;
        state.number(&mut value)?;
        *self = value as usize;
        Ok(())
    }
}

impl<A: Resumable, B: Resumable> Resumable for (A, B) {
    fn exchange(&mut self, state: &mut State) -> Result<()> {
        self.0.exchange(state)?;
        self.1.exchange(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, PartialEq)]
    struct Content(Option<usize>, [f64; 2], bool);

    impl Resumable for Content {
        fn exchange(&mut self, state: &mut State) -> Result<()> {
            state.option(&mut self.0, || 0)?;
            state.slice(&mut self.1)?;
            state.flag(&mut self.2)
        }
    }

    #[test]
    fn what_is_written_is_read_back_and_other_numbers_of_values_are_refused() {
        for number in [None, Some(7)] {
            let mut content = Content(number, [-0.0, f64::INFINITY], true);
            let values = State::written(&mut content).unwrap();
            let mut read = Content(Some(1), [3.0; 2], false);
            State::read(values.clone(), &mut read).unwrap();
            assert_eq!(read, content);
            assert!(read.1[0].is_sign_negative());
            let refused = |values: &[f64]| State::read(values.to_vec(), &mut read.clone()).unwrap_err();
            for values in [&values[..values.len() - 1], &[&values[..], &[0.0]].concat()] {
                assert!(matches!(refused(values), Error::OtherFit { .. }));
            }
        }
    }
}
