//! Splits of the observed entries into training and held-out entries.

use std::ops::Range;

use crate::error::{Error, OptionName, Result, options};
use crate::exec::{Exec, Run};
use crate::incomplete::data::Observed;
use crate::random::{Places, Purpose, Stream};
use crate::scalar::{Scalar, compiled};

/// The phase in which entries are held out.
pub(crate) const HOLDING_OUT: &str = "holding entries out";

/// Fraction of the entries that an option holds out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    /// Name of the option, for messages.
    pub(crate) option: OptionName,
    /// Between 0 and 1.
    pub(crate) value: f64,
}

impl Share {
    /// The rule that every fraction obeys.
    pub(crate) const RULE: &'static str = "the held-out share lies between 0 and 1, both excluded";

    pub(crate) fn is_allowed(value: f64) -> bool {
        value > 0.0 && value < 1.0
    }
}

impl<T: Scalar> Observed<T> {
    /// Splits the entries into those kept and those held out, both of the shape of `self`. `share` is the fraction
    /// held out, to the nearest whole entry. The choice depends on `seed` and the positions of the observed
    /// entries, not on values or order. Every row and column keeps at least one entry, so fewer may be held out.
    /// The kept entries can be split again with the same seed.
    ///
    /// ```
    /// use karhunen::{Dense, Observed};
    /// let x: Vec<f64> = (0..200).map(f64::from).collect();
    /// let all = Observed::from_dense(&Dense::row_major(&x, 20, 10)?)?;
    /// let (train, test) = all.split(0.1, 0)?;
    /// assert_eq!((train.n_observed(), test.n_observed()), (180, 20));
    /// assert_eq!(train.split(0.1, 0)?.1.n_observed(), 18);
    /// # Ok::<(), karhunen::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Option`] for a fraction outside 0 to 1; [`Error::NothingSetAside`] if the fraction is below half
    /// an entry, or every entry is alone in its row or column; [`Error::Threads`].
    pub fn split(&self, share: f64, seed: u64) -> Result<(Self, Self)> {
        self.split_with(share, seed, &Run::default())
    }

    /// As [`Observed::split`], with threads and observer of `run`.
    ///
    /// # Errors
    /// As [`Observed::split`], and [`Error::Stopped`] if the observer cancels.
    pub fn split_with(&self, share: f64, seed: u64, run: &Run<'_>) -> Result<(Self, Self)> {
        let split = compiled!(T, Observed::<T>::split_at
            => fn(&Observed<T>, f64, u64, &Run<'_>) -> Result<(Observed<T>, Observed<T>)>);
        split(self, share, seed, run)
    }

    fn split_at(&self, share: f64, seed: u64, run: &Run<'_>) -> Result<(Self, Self)> {
        let share = Share { option: options::SHARE, value: share };
        Exec::run(run, |exec| self.split_by(share, Purpose::Split.of(seed), &exec.phase(HOLDING_OUT)))
    }

    /// As [`Observed::split`], with a given random stream.
    pub(crate) fn split_by(&self, share: Share, stream: Stream, exec: &Exec<'_>) -> Result<(Self, Self)> {
        let Share { option, value } = share;
        if !Share::is_allowed(value) {
            return Err(Error::option(option, value, Share::RULE));
        }
        let n_spare = self.n_spare();
        let wanted = ((value * self.n_observed() as f64).round() as usize).min(n_spare);
        if wanted == 0 {
            let (share, n_observed) = (value, self.n_observed());
            return Err(Error::NothingSetAside { option, share, n_observed, n_spare });
        }
        self.hold_out(0..wanted, stream.places(), exec)
    }

    /// Holds out one of `n_folds` folds. Entries alone in their row or column belong to no fold; the sizes of the
    /// folds differ by at most one.
    ///
    /// # Errors
    /// [`Error::Folds`] if fewer entries than folds can be held out.
    pub(crate) fn fold(
        &self,
        fold: usize,
        n_folds: usize,
        seed: u64,
        exec: &Exec<'_>,
    ) -> Result<(Self, Self)> {
        let n_spare = self.n_spare();
        self.check_folds(n_folds)?;
        // The product may exceed 64 bits.
        let first = |fold: usize| (fold as u128 * n_spare as u128 / n_folds as u128) as usize;
        self.hold_out(first(fold)..first(fold + 1), Purpose::Folds.of(seed).places(), exec)
    }

    /// Refuses more folds than entries that can be held out.
    pub(crate) fn check_folds(&self, n_folds: usize) -> Result<()> {
        let (n_spare, n_observed) = (self.n_spare(), self.n_observed());
        if n_folds > n_spare { Err(Error::Folds { n_folds, n_spare, n_observed }) } else { Ok(()) }
    }

    /// Positions of the entries that are not alone in their row or column.
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

    /// Holds out the spare entries whose random numbers have ranks in a range, except the last of a row or column.
    fn hold_out(&self, ranks: Range<usize>, places: Places, exec: &Exec<'_>) -> Result<(Self, Self)> {
        let (from, to) = (self.number_of_rank(ranks.start, places), self.number_of_rank(ranks.end, places));
        let mut held_out = vec![false; self.n_observed()];
        let mut left: Vec<usize> = (0..self.n_features()).map(|j| self.n_observed_in_column(j)).collect();
        let mut entry = 0;
        for row in 0..self.n_samples() {
            let mut left_in_row = self.n_observed_in_row(row);
            for column in self.row(row).0 {
                let column = *column as usize;
                let number = u128::from(places.at(row as u64, column as u64));
                let wanted = from <= number && number < to;
                if wanted && left_in_row > 1 && left[column] > 1 {
                    held_out[entry] = true;
                    left_in_row -= 1;
                    left[column] -= 1;
                }
                entry += 1;
            }
        }
        let p = self.n_features();
        let part = |wanted: bool, exec: &Exec<'_>| {
            let part = Self::filtered(&self.rows, p, |e| held_out[e] == wanted, exec)?;
            Ok(part.with_weights_of(self))
        };
        Ok((part(false, &exec.part(0.0, 0.5))?, part(true, &exec.part(0.5, 1.0))?))
    }

    /// The random number of the spare entry of this rank, or one above the maximum if there is none. Two passes
    /// without storing the numbers: the first counts them by their leading bits.
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
