//! Setting some entries aside.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::exec::{Exec, Unobserved};
use crate::incomplete::data::Observed;
use crate::random::{Places, Purpose, Stream};
use crate::scalar::{Scalar, compiled};

/// A share of the entries that an option asks to set aside.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    /// The option, for messages.
    pub(crate) option: &'static str,
    /// Between 0 and 1.
    pub(crate) value: f64,
}

impl Share {
    /// The rule of every share.
    pub(crate) const RULE: &'static str = "the share set aside lies between 0 and 1, both excluded";

    pub(crate) fn is_allowed(value: f64) -> bool {
        value > 0.0 && value < 1.0
    }
}

impl<T: Scalar> Observed<T> {
    /// Sets a share of the entries aside, to the nearest whole number of entries: those that stay, and those set aside, both
    /// of the same shape. The choice depends on `seed` and on which places were observed; values and the order of the entries
    /// play no part. No row or column loses its last entry, so that fewer may be set aside: of the wanted entries of a row or a
    /// column the last stays, if no other does. Each call draws among the entries that are there: what stayed can be split
    /// again, with the same seed.
    ///
    /// ```
    /// use karhunen::{Dense, Observed};
    /// let x: Vec<f64> = (0..200).map(f64::from).collect();
    /// let all = Observed::from_dense(&Dense::row_major(&x, 20, 10)?, None)?;
    /// let (train, test) = all.split(0.1, 0, None)?;
    /// assert_eq!((train.n_observed(), test.n_observed()), (180, 20));
    /// assert_eq!(train.split(0.1, 0, None)?.1.n_observed(), 18);
    /// # Ok::<(), karhunen::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Option`] for a share outside 0 to 1; [`Error::NothingSetAside`] where the share comes to less than half an
    /// entry, or each entry is alone in its row or column; [`Error::Threads`].
    pub fn split(&self, share: f64, seed: u64, n_threads: Option<usize>) -> Result<(Self, Self)> {
        let split = compiled!(T, Observed::<T>::split_at
            => fn(&Observed<T>, f64, u64, Option<usize>) -> Result<(Observed<T>, Observed<T>)>);
        split(self, share, seed, n_threads)
    }

    fn split_at(&self, share: f64, seed: u64, n_threads: Option<usize>) -> Result<(Self, Self)> {
        let share = Share { option: "share", value: share };
        Exec::run(n_threads, &Unobserved, |exec| self.split_by(share, Purpose::Split.of(seed), exec))
    }

    /// As [`Observed::split`], by the numbers of a stream.
    pub(crate) fn split_by(&self, share: Share, stream: Stream, exec: &Exec<'_>) -> Result<(Self, Self)> {
        let Share { option, value } = share;
        if !Share::is_allowed(value) {
            return Err(Error::Option { option, value: value.to_string(), rule: Share::RULE });
        }
        let n_spare = self.n_spare();
        let wanted = ((value * self.n_observed() as f64).round() as usize).min(n_spare);
        if wanted == 0 {
            let (share, n_observed) = (value, self.n_observed());
            return Err(Error::NothingSetAside { option, share, n_observed, n_spare });
        }
        self.set_aside(0..wanted, stream.places(), exec)
    }

    /// Sets one of `n_folds` parts of the entries aside. Those that are alone in their row or column belong to no part; of the
    /// others the parts have equal numbers but for one.
    ///
    /// # Errors
    /// [`Error::Folds`] where there are fewer of them than parts.
    pub(crate) fn fold(
        &self,
        fold: usize,
        n_folds: usize,
        seed: u64,
        exec: &Exec<'_>,
    ) -> Result<(Self, Self)> {
        let n_spare = self.n_spare();
        self.check_folds(n_folds)?;
        // In 128 bits, as the product may be beyond 64.
        let first = |fold: usize| (fold as u128 * n_spare as u128 / n_folds as u128) as usize;
        self.set_aside(first(fold)..first(fold + 1), Purpose::Folds.of(seed).places(), exec)
    }

    /// Refuses more folds than there are entries to set aside.
    pub(crate) fn check_folds(&self, n_folds: usize) -> Result<()> {
        let (n_spare, n_observed) = (self.n_spare(), self.n_observed());
        if n_folds > n_spare { Err(Error::Folds { n_folds, n_spare, n_observed }) } else { Ok(()) }
    }

    /// The places of entries that are not alone in their row or column.
    fn spare(&self) -> impl Iterator<Item = (u64, u64)> {
        (0..self.n_samples()).filter(|row| self.n_observed_in_row(*row) > 1).flat_map(|row| {
            let columns = self.row(row).0.iter();
            let spare = columns.filter(|column| self.n_observed_in_column(**column as usize) > 1);
            spare.map(move |column| (row as u64, u64::from(*column)))
        })
    }

    fn n_spare(&self) -> usize {
        self.spare().count()
    }

    /// Sets the spare entries aside whose ranks by their random number are in a range, but for the last of a row or column.
    fn set_aside(&self, ranks: Range<usize>, places: Places, exec: &Exec<'_>) -> Result<(Self, Self)> {
        let (from, to) = (self.number_of_rank(ranks.start, places), self.number_of_rank(ranks.end, places));
        let mut aside = vec![false; self.n_observed()];
        let mut left: Vec<usize> = (0..self.n_features()).map(|j| self.n_observed_in_column(j)).collect();
        let mut entry = 0;
        for row in 0..self.n_samples() {
            let mut left_in_row = self.n_observed_in_row(row);
            for column in self.row(row).0 {
                let column = *column as usize;
                let number = u128::from(places.at(row as u64, column as u64));
                let wanted = from <= number && number < to;
                if wanted && left_in_row > 1 && left[column] > 1 {
                    aside[entry] = true;
                    left_in_row -= 1;
                    left[column] -= 1;
                }
                entry += 1;
            }
        }
        let p = self.n_features();
        let part = |wanted: bool| {
            let part = Self::filtered(&self.rows, p, |e| aside[e] == wanted, exec)?;
            Ok(part.counted(self.times.clone()))
        };
        Ok((part(false)?, part(true)?))
    }

    /// The number that `rank` of the spare entries are below: that of the entry of this rank, or one more than any where there
    /// are no more entries. In two passes, without a copy of the numbers: the first counts them by their leading bits.
    fn number_of_rank(&self, rank: usize, places: Places) -> u128 {
        const BITS: u32 = 16;
        if rank == 0 {
            return 0;
        }
        let of = |(row, column)| places.at(row, column);
        let bucket = |number: u64| (number >> (u64::BITS - BITS)) as usize;
        let mut counts = vec![0_usize; 1 << BITS];
        self.spare().for_each(|place| counts[bucket(of(place))] += 1);
        let mut below = 0;
        for (at, count) in counts.into_iter().enumerate() {
            if rank < below + count {
                let mut inside: Vec<u64> = self.spare().map(of).filter(|x| bucket(*x) == at).collect();
                let (_, number, _) = inside.select_nth_unstable(rank - below);
                return u128::from(*number);
            }
            below += count;
        }
        1 << u64::BITS
    }
}
