//! The result of a task for some parts.

use crate::cluster::{FirstBlock, Task, Tree, Work};
use crate::error::{Error, Result};
use crate::exec::{Accumulate as _, Exec, Run};
use crate::incomplete::Observed;
use crate::incomplete::parts::EntrySums;
use crate::linalg::{ColumnMap, Dense, Indices, Matrix};
use crate::moments::Moments;
use crate::moments::packed::PackedScatter;
use crate::operator::blocks;
use crate::random::{mix, stir};
use crate::scalar::{Scalar, compiled, is_single};
use crate::source::{Batch, Block, Source, Stream};
use crate::weights::check_weights;

/// The result of a [`Task`] for consecutive parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Partial {
    /// [`Task::fit`] and [`Task::pass`] of its task.
    pub(crate) task: (u64, usize),
    /// The parts, in their order.
    pub(crate) parts: Vec<PartSeen>,
    pub(crate) n_features: usize,
    /// True if all values are of single precision.
    pub(crate) single: bool,
    /// True if the rows of any part are sparse.
    pub(crate) sparse: bool,
    pub(crate) sums: Sums,
}

/// A part as a pass found it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct PartSeen {
    pub(crate) number: usize,
    pub(crate) n_rows: usize,
    /// Of values and weights in their order.
    pub(crate) checksum: u64,
}

/// Sums over rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Sums {
    Moments(Moments, FirstBlock),
    Scatter(PackedScatter),
    /// Shape (n_features, l).
    Product(Matrix),
    /// Over observed entries.
    Entries(EntrySums),
    /// Of [`Work::Check`].
    Checked,
}

impl Partial {
    /// The result for part number `part` with the rows `x`, of which there may be none. `weights` holds one weight for
    /// each row; all are one if `None`.
    ///
    /// # Errors
    /// [`Error::Part`] with the number of the part and the error of its rows: as [`crate::moments::Scatter::of`];
    /// [`Error::Shape`] for another number of columns than the task has.
    pub fn of<T: Scalar>(
        task: &Task,
        part: usize,
        x: &dyn Source<T>,
        weights: Option<&[f64]>,
        run: &Run<'_>,
    ) -> Result<Self> {
        let of = compiled!(T, Partial::of_rows::<T>
            => fn(&Task, usize, &dyn Source<T>, Option<&[f64]>, &Run<'_>) -> Result<Partial>);
        of(task, part, x, weights, run).map_err(|error| Error::Part { part, source: Box::new(error) })
    }

    fn of_rows<T: Scalar>(
        task: &Task,
        number: usize,
        x: &dyn Source<T>,
        weights: Option<&[f64]>,
        run: &Run<'_>,
    ) -> Result<Self> {
        let (n_rows, n_features) = x.shape();
        check_weights(weights, n_rows)?;
        let mut checksum = Checksum::default();
        x.visit(&mut |_, block| {
            checksum.add_block(&block);
            Ok(())
        })?;
        weights.into_iter().for_each(|weights| checksum.add(weights));
        Ok(Self {
            task: (task.fit, task.pass),
            parts: vec![PartSeen { number, n_rows, checksum: checksum.finish() }],
            n_features,
            single: n_rows == 0 || is_single::<T>(),
            sparse: x.is_sparse(),
            sums: match &task.work {
                Work::Entries(task) => Sums::Entries(EntrySums::of(task, x, weights, run)?),
                work => Exec::run(run, |exec| Sums::of(work, x, weights, exec))?,
            },
        })
    }

    /// As [`Partial::of`], for dense rows that are read once, in batches that need not stay in memory. The bits equal
    /// [`Partial::of`] for all rows in one array, if every batch has the order of its values.
    ///
    /// # Errors
    /// As [`Partial::of`]; [`Error::BlockColumns`] for a batch of another width; errors of the stream; [`Error::Parts`] unless
    /// [`Task::takes_stream`], and for a sparse batch.
    pub fn of_stream<T: Scalar>(
        task: &Task,
        part: usize,
        stream: &mut (dyn Stream<T> + Send),
        run: &Run<'_>,
    ) -> Result<Self> {
        let of = compiled!(T, Partial::of_batches::<T>
            => fn(&Task, usize, &mut (dyn Stream<T> + Send), &Run<'_>) -> Result<Partial>);
        of(task, part, stream, run).map_err(|error| Error::Part { part, source: Box::new(error) })
    }

    fn of_batches<T: Scalar>(
        task: &Task,
        number: usize,
        stream: &mut (dyn Stream<T> + Send),
        run: &Run<'_>,
    ) -> Result<Self> {
        let n_features = stream.n_features();
        if !task.takes_stream(n_features) {
            return Err(Error::Parts {
                problem: "a pass that needs all rows at once got a stream".to_owned(),
            });
        }
        let mut rows = Watched::of(stream);
        let sums = match &task.work {
            Work::Check { .. } => {
                while rows.next()?.is_some() {}
                Sums::Checked
            }
            _ => Sums::Scatter(
                match Exec::run(run, |exec| PackedScatter::of_stream(&mut rows, &exec.phase("covariance"))) {
                    Err(Error::Empty { .. }) if rows.n_rows == 0 => PackedScatter::empty(n_features),
                    sums => sums?,
                },
            ),
        };
        let n_rows = rows.n_rows;
        Ok(Self {
            task: (task.fit, task.pass),
            parts: vec![PartSeen { number, n_rows, checksum: rows.checksum() }],
            n_features,
            single: n_rows == 0 || is_single::<T>(),
            sparse: false,
            sums,
        })
    }

    /// As [`Partial::of`], for the observed entries of a part, which stay in memory between the passes of a fit of
    /// [`crate::IncompletePca`]. Rows count as often as their multiplicities.
    ///
    /// # Errors
    /// As [`Partial::of`]; [`Error::Parts`] unless [`Task::takes_missing_values`], and for entries with weights.
    pub fn of_entries<T: Scalar>(
        task: &Task,
        part: usize,
        entries: &Observed<T>,
        run: &Run<'_>,
    ) -> Result<Self> {
        let of = compiled!(T, Partial::of_observed::<T>
            => fn(&Task, usize, &Observed<T>, &Run<'_>) -> Result<Partial>);
        of(task, part, entries, run).map_err(|error| Error::Part { part, source: Box::new(error) })
    }

    fn of_observed<T: Scalar>(
        task: &Task,
        number: usize,
        entries: &Observed<T>,
        run: &Run<'_>,
    ) -> Result<Self> {
        let (n_rows, n_features) = entries.shape();
        if entries.is_weighted() {
            return Err(Error::Parts { problem: "fits in parts take no weights of entries".to_owned() });
        }
        let sums = match &task.work {
            Work::Entries(task) => {
                Sums::Entries(Exec::run(run, |exec| EntrySums::of_observed(task, entries, exec))?)
            }
            Work::Check { .. } => Sums::Checked,
            _ => {
                let problem = "a pass over complete rows got observed entries".to_owned();
                return Err(Error::Parts { problem });
            }
        };
        let mut checksum = Checksum::default();
        let rows = entries.rows();
        checksum.add_stored(rows.values(), Indices::U32(rows.indices()), rows.pointers());
        Ok(Self {
            task: (task.fit, task.pass),
            parts: vec![PartSeen { number, n_rows, checksum: checksum.finish() }],
            n_features,
            single: n_rows == 0 || is_single::<T>(),
            sparse: true,
            sums,
        })
    }

    /// The result of a task for no part.
    pub(super) fn none(task: &Task) -> Self {
        let sums = Sums::Moments(Moments::empty(0), FirstBlock::empty(0, 0, 0));
        Self {
            task: (task.fit, task.pass),
            parts: Vec::new(),
            n_features: 0,
            single: true,
            sparse: false,
            sums,
        }
    }

    /// Merges the results of neighbouring parts, which may be given in any order.
    ///
    /// # Errors
    /// [`Error::PartColumns`] for a part of another width; [`Error::Parts`] for parts that are missing or come twice, and
    /// for results of another task; errors of [`Moments::merge`].
    pub fn merge(mut partials: Vec<Self>) -> Result<Self> {
        partials.sort_by_key(|partial| partial.parts.first().map(|part| part.number));
        let mut partials = partials.into_iter();
        let Some(mut total) = partials.next() else {
            return Err(Error::Parts { problem: "there is no part".to_owned() });
        };
        for partial in partials {
            total.add(partial)?;
        }
        Ok(total)
    }

    /// Merges the results of all parts, given in their order, by a [`Tree`].
    ///
    /// # Errors
    /// As [`Partial::merge`].
    pub fn merge_all(partials: Vec<Self>) -> Result<Self> {
        let mut tree = Tree::default();
        partials.into_iter().try_for_each(|partial| tree.push(partial))?;
        tree.finish()
    }

    fn add(&mut self, other: Self) -> Result<()> {
        if other.task != self.task {
            let problem = "results of different passes or fits were merged".to_owned();
            return Err(Error::Parts { problem });
        }
        let (last, next) = (self.parts[self.parts.len() - 1].number, other.parts[0].number);
        if next <= last {
            return Err(Error::Parts { problem: format!("part {next} was summed twice") });
        }
        if next - last > 1 {
            return Err(Error::Parts { problem: format!("part {} is missing", last + 1) });
        }
        if other.n_features != self.n_features {
            let (part, found) = (next, other.n_features);
            let (first, expected) = (self.parts[0].number, self.n_features);
            return Err(Error::PartColumns { part, found, first, expected });
        }
        match (&mut self.sums, &other.sums) {
            (Sums::Moments(total, block), Sums::Moments(sums, other)) => {
                if (block.seed, block.product.n_cols()) != (other.seed, other.product.n_cols()) {
                    let problem = "results of different tasks were merged".to_owned();
                    return Err(Error::Parts { problem });
                }
                block.add(other, total, sums);
                total.merge(sums)?;
            }
            (Sums::Scatter(total), Sums::Scatter(sums)) => total.merge(sums)?,
            (Sums::Product(total), Sums::Product(sums)) => total.merge(sums),
            (Sums::Entries(total), Sums::Entries(sums)) => total.merge(sums)?,
            (Sums::Checked, Sums::Checked) => {}
            _ => return Err(Error::Parts { problem: "results of different kinds were merged".to_owned() }),
        }
        self.parts.extend(other.parts);
        self.single &= other.single;
        self.sparse |= other.sparse;
        Ok(())
    }
}

impl Sums {
    /// The sums over the rows of `x`, which are complete.
    fn of<T: Scalar>(
        work: &Work,
        x: &dyn Source<T>,
        weights: Option<&[f64]>,
        exec: &Exec<'_>,
    ) -> Result<Self> {
        let (n, p) = x.shape();
        match work {
            Work::Check { .. } => Ok(Self::Checked),
            Work::Entries(_) => unreachable!("sums over entries belong to incomplete rows"),
            Work::Sums { scatter_columns, .. } if p <= *scatter_columns => {
                let exec = exec.phase("covariance");
                let empty = || Ok(PackedScatter::empty(p));
                if n == 0 { empty() } else { PackedScatter::of(x, weights, &exec) }.map(Self::Scatter)
            }
            Work::Sums { first_block: (width, seed), .. } => {
                if n == 0 {
                    return Ok(Self::Moments(Moments::empty(p), FirstBlock::empty(p, *width, *seed)));
                }
                let moments = Moments::within(x, weights, &exec.phase("means and variances"))?;
                let exec = exec.phase("products");
                let block = FirstBlock::of(x, weights, &moments, (*width, *seed), &exec)?;
                Ok(Self::Moments(moments, block))
            }
            Work::Product { shift, factor, weight, q } => {
                if p != shift.len() {
                    let (what, expected) = ("the part", shift.len());
                    return Err(Error::Shape { what, axis: "columns", found: p, expected });
                }
                if n == 0 {
                    return Ok(Self::Product(Matrix::zeros(p, q.n_cols())));
                }
                let shares: Option<Vec<f64>> = weights.map(|w| w.iter().map(|w| w / weight).collect());
                let exec = exec.phase("products");
                let map = ColumnMap { shift, remainder: &[], factor };
                let mut product = blocks::normal(x, map, shares.as_deref(), q, &exec)?;
                if shares.is_none() {
                    product.scale(1.0 / weight);
                }
                match (0..p).find(|&j| product.row(j).iter().any(|value| !value.is_finite())) {
                    Some(column) => Err(Error::Overflow { statistic: "product", column }),
                    None => Ok(Self::Product(product)),
                }
            }
        }
    }
}

/// A stream, of which every batch is added to a checksum.
struct Watched<'s, T> {
    stream: &'s mut (dyn Stream<T> + Send),
    n_batches: usize,
    n_rows: usize,
    of_rows: Checksum,
    /// Empty for a stream without weights.
    weights: Vec<f64>,
}

impl<'s, T> Watched<'s, T> {
    fn of(stream: &'s mut (dyn Stream<T> + Send)) -> Self {
        Self { stream, n_batches: 0, n_rows: 0, of_rows: Checksum::default(), weights: Vec::new() }
    }

    /// That of all rows and weights at once.
    fn checksum(self) -> u64 {
        let mut sum = self.of_rows;
        if !self.weights.is_empty() {
            sum.add(&self.weights);
        }
        sum.finish()
    }
}

impl<T: Scalar> Stream<T> for Watched<'_, T> {
    fn n_features(&self) -> usize {
        self.stream.n_features()
    }

    fn next(&mut self) -> Result<Option<Batch<'_, T>>> {
        let n_features = self.stream.n_features();
        let batch = self.stream.next()?;
        if let Some(batch) = &batch {
            batch.check(n_features, self.n_batches, self.n_rows)?;
            if matches!(batch.rows, Block::Sparse(_)) {
                let problem = "a batch of a part is sparse; give all its rows at once".to_owned();
                return Err(Error::Parts { problem });
            }
            self.n_batches += 1;
            self.n_rows += batch.rows.n_rows();
            self.of_rows.add_block(&batch.rows);
            self.weights.extend(batch.weights.into_iter().flatten());
        }
        Ok(batch)
    }
}

/// A checksum of values in their order, computed at about the speed of memory. It finds changes, not forgeries.
#[derive(Default)]
struct Checksum {
    /// Each takes every eighth value.
    lanes: [u64; 8],
    n: u64,
}

impl Checksum {
    fn add<T: Scalar>(&mut self, values: &[T]) {
        let (groups, rest) = values.as_chunks::<8>();
        for group in groups {
            for (lane, value) in self.lanes.iter_mut().zip(group) {
                *lane = stir(*lane, value.to_f64().to_bits());
            }
        }
        for (lane, value) in self.lanes.iter_mut().zip(rest) {
            *lane = lane.rotate_left(5) ^ value.to_f64().to_bits();
        }
        self.n = mix(self.n ^ values.len() as u64);
    }

    fn add_block<T: Scalar>(&mut self, block: &Block<'_, T>) {
        match block {
            Block::Dense(rows) if rows.is_column_major() => self.add_rows(&rows.t()),
            Block::Dense(rows) => self.add_rows(rows),
            Block::Sparse(rows) => self.add_stored(rows.values(), rows.indices(), rows.pointers()),
        }
    }

    /// Adds values that are stored in lines.
    fn add_stored<T: Scalar>(&mut self, values: &[T], indices: Indices<'_>, pointers: &[usize]) {
        self.add(values);
        let places = (0..indices.len()).map(|e| indices.at(e));
        for (i, place) in places.chain(pointers.iter().copied()).enumerate() {
            let lane = &mut self.lanes[i % 8];
            *lane = stir(*lane, place as u64);
        }
    }

    fn add_rows<T: Scalar>(&mut self, rows: &Dense<'_, T>) {
        for i in 0..rows.n_rows() {
            match rows.contiguous_row(i) {
                Some(row) => self.add(row),
                None => self.add(&(0..rows.n_cols()).map(|j| rows.get(i, j)).collect::<Vec<T>>()),
            }
        }
    }

    fn finish(self) -> u64 {
        self.lanes.into_iter().fold(self.n, |sum, lane| mix(sum ^ lane))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::incomplete::parts::{EntryTask, NormalTask, ScorePenalty};

    fn of_dense(values: &[f64], p: usize) -> u64 {
        let mut sum = Checksum::default();
        sum.add_block(&Block::Dense(Dense::row_major(values, values.len() / p, p).unwrap()));
        sum.finish()
    }

    #[test]
    fn checksums_find_changes_that_cancel_in_sums() {
        let values: Vec<f64> = (0..128 * 8).map(|i| ((i * 37 % 101) as f64).sqrt() - 5.0).collect();
        let changed: [fn(usize, f64) -> f64; 5] = [
            |_, x| -x,
            |i, x| if i % 8 == 3 { -x } else { x },
            |_, x| x.abs(),
            |_, x| f64::from(u8::from(x < 0.0)),
            |_, x| f64::from(u8::from(x >= 0.0)),
        ];
        let mut sums: Vec<u64> = changed
            .iter()
            .map(|change| {
                of_dense(&values.iter().enumerate().map(|(i, x)| change(i, *x)).collect::<Vec<_>>(), 8)
            })
            .collect();
        sums.push(of_dense(&values, 8));
        let (first, second) = values.split_at(64 * 8);
        sums.push(of_dense(&[second, first].concat(), 8));
        for constant in [1.0, 1e6] {
            sums.push(of_dense(&vec![constant; 128 * 8], 8));
        }
        let n = sums.len();
        sums.sort_unstable();
        sums.dedup();
        assert_eq!(sums.len(), n);
    }

    #[test]
    fn checksums_find_moved_entries_of_sparse_rows() {
        let pointers: Vec<usize> = (0..=128).collect();
        let of = |change: &dyn Fn(usize) -> usize| {
            let indices: Vec<usize> = (0..128).map(|i| change(i) % 8).collect();
            let mut sum = Checksum::default();
            let rows = crate::linalg::Sparse::csr(128, 8, &pointers, &indices, &[1.0; 128]).unwrap();
            sum.add_block(&Block::Sparse(rows));
            sum.finish()
        };
        let sums = [of(&|i| i), of(&|i| i ^ 4), of(&|i| if i % 64 == 5 { i + 1 } else { i }), of(&|i| i + 1)];
        assert!((0..4).all(|i| (0..i).all(|j| sums[i] != sums[j])), "{sums:?}");
    }

    /// Rows in batches of the given height.
    struct Cut<'a, T> {
        rows: Dense<'a, T>,
        weights: Option<&'a [f64]>,
        next: usize,
        height: usize,
    }

    impl<T: Scalar> Stream<T> for Cut<'_, T> {
        fn n_features(&self) -> usize {
            self.rows.n_cols()
        }
        fn next(&mut self) -> Result<Option<Batch<'_, T>>> {
            let rows = self.next..(self.next + self.height).min(self.rows.n_rows());
            self.next = rows.end;
            let weights = self.weights.map(|weights| &weights[rows.clone()]);
            Ok((!rows.is_empty()).then(|| Batch { rows: Block::Dense(self.rows.rows(rows)), weights }))
        }
    }

    fn task(work: Work) -> Task {
        Task { fit: 7, pass: 0, work }
    }

    fn sums(scatter_columns: usize) -> Task {
        task(Work::Sums { scatter_columns, first_block: (2, 0) })
    }

    #[test]
    fn batches_have_the_result_of_all_rows_at_once() {
        let run = Run::threads(1);
        // Beyond 512 columns the sums are computed otherwise.
        for (n, p) in [(0, 3), (1, 3), (2500, 5), (900, 600)] {
            let values: Vec<f32> = (0..n * p).map(|e| ((e * 7919) % 1009) as f32 / 97.0 - 3.0).collect();
            let rows = Dense::row_major(&values, n, p).unwrap();
            let weights: Vec<f64> = (0..n).map(|i| (i % 4) as f64 / 2.0).collect();
            for (task, weights) in [sums(p), task(Work::Check { scatter_columns: p })]
                .iter()
                .flat_map(|task| [(task, None), (task, Some(&weights[..]))])
            {
                let whole = Partial::of(task, 3, &rows, weights, &run).unwrap();
                for height in [1, 17, 1000, n + 1] {
                    let mut cut = Cut { rows, weights, next: 0, height };
                    let found = Partial::of_stream(task, 3, &mut cut, &run).unwrap();
                    // Weights of no rows are not seen in a stream.
                    assert!(n == 0 || found == whole, "{n} x {p}, batches of {height}");
                    assert_eq!(found.sums, whole.sums);
                }
            }
        }
    }

    #[test]
    fn held_entries_have_the_result_of_their_rows() {
        // Row 1 has no entries.
        let pointers = [0, 3, 3, 5, 8, 10];
        let (indices, values) =
            ([0, 1, 3, 1, 2, 0, 1, 2, 2, 3], [1.0, 2.0, 0.5, -1.0, 3.0, 2.0, 4.0, 1.0, 0.0, 2.5]);
        let rows = crate::linalg::Sparse::csr(5, 4, &pointers, &indices, &values).unwrap();
        let entries = Observed::from_sparse(&rows, None).unwrap();
        let loadings = Matrix::from_fn(4, 3, |j, k| (1 + 2 * j + k) as f64 / 7.0);
        let normal = NormalTask {
            loadings,
            penalty: ScorePenalty { size: 0.1, per_entry: true },
            single: false,
            factors: Some(vec![1.0, 2.0, 0.5, 1.0]),
        };
        let run = Run::threads(1);
        for work in [EntryTask::Columns, EntryTask::Normal(normal)] {
            let task = task(Work::Entries(work));
            let found = Partial::of_entries(&task, 3, &entries, &run).unwrap();
            assert_eq!(found, Partial::of(&task, 3, &rows, None, &run).unwrap());
        }
        let error = Partial::of_entries(&sums(3), 3, &entries, &run).unwrap_err().to_string();
        assert!(error.contains("complete rows"), "{error}");
        let weighted = Observed::from_sparse(&rows, Some(&[2.0; 10])).unwrap();
        let task = task(Work::Entries(EntryTask::Columns));
        let error = Partial::of_entries(&task, 3, &weighted, &run).unwrap_err().to_string();
        assert!(error.contains("no weights of entries"), "{error}");
    }

    #[test]
    fn errors_of_batches_name_the_part_and_the_row_within_it() {
        let mut values = vec![1.0; 60];
        values[41] = f64::NAN;
        let run = Run::threads(1);
        let cut = |values| Cut {
            rows: Dense::row_major(values, 20, 3).unwrap(),
            weights: None,
            next: 0,
            height: 4,
        };
        let error = Partial::of_stream(&sums(3), 5, &mut cut(&values), &run).unwrap_err();
        let Error::Part { part: 5, source } = error else { panic!("{error}") };
        assert!(matches!(*source, Error::NonFinite { row: 13, column: 2, .. }), "{source}");
        // All rows are needed at once.
        assert!(!sums(2).takes_stream(3));
        let error = Partial::of_stream(&sums(2), 5, &mut cut(&values), &run).unwrap_err();
        assert!(error.to_string().contains("needs all rows at once"), "{error}");
    }
}
