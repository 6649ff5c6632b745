//! Conversion of arrays, sparse matrices and triples to row and column storage, without a temporary copy.

use crate::error::{Error, Result, Weighed};
use crate::exec::{Exec, Run};
use crate::incomplete::data::collect::{by_columns, check_finite, collect_lines, transpose};
use crate::incomplete::data::{Duplicates, ENTRIES, EntryLines, Observed, Triples, check_shape};
use crate::linalg::{Dense, IndexInt, Indices, Major, Sparse};
use crate::memory;
use crate::scalar::{Scalar, compiled};
use crate::source::{Block, Source, Stated};

impl<T: Scalar> Observed<T> {
    /// Stores the entries of a dense array that are not NaN.
    ///
    /// # Errors
    /// [`Error::NonFinite`] for infinite values; [`Error::Threads`].
    pub fn from_dense(x: &Dense<'_, T>) -> Result<Self> {
        Self::from_dense_with(x, &Run::default())
    }

    /// As [`Observed::from_dense`], with threads and observer of `run`.
    ///
    /// # Errors
    /// As [`Observed::from_dense`], and [`Error::Stopped`] if the observer cancels.
    pub fn from_dense_with(x: &Dense<'_, T>, run: &Run<'_>) -> Result<Self> {
        let build = compiled!(T, Observed::<T>::of_dense
            => fn(&Dense<'_, T>, &Run<'_>) -> Result<Observed<T>>);
        build(x, run)
    }

    fn of_dense(x: &Dense<'_, T>, run: &Run<'_>) -> Result<Self> {
        let (n, p) = (x.n_rows(), x.n_cols());
        check_shape(n, p)?;
        Exec::run(run, |exec| {
            let exec = exec.phase(ENTRIES);
            let rows = dense_rows(x, &exec.part(0.0, 0.5))?;
            let columns = transpose(&rows, p, &exec.part(0.5, 1.0))?;
            Ok(Self::of_lines(rows, columns))
        })
    }

    /// Stores the observed entries of a source in one visit, block by block: of dense blocks the entries that are
    /// not NaN, of sparse blocks the stored ones. Peak memory: a block, and 16 bytes per `f32` entry (24 per
    /// `f64`).
    ///
    /// ```
    /// use karhunen::source::Block;
    /// use karhunen::{Dense, Observed, RowBlocks};
    /// let (top, bottom) = ([1.0, f64::NAN], [f64::NAN, 4.0]);
    /// let blocks = RowBlocks::new(vec![
    ///     Block::Dense(Dense::row_major(&top, 1, 2)?),
    ///     Block::Dense(Dense::row_major(&bottom, 1, 2)?),
    /// ])?;
    /// let observed = Observed::from_source(&blocks)?;
    /// assert_eq!((observed.row(1), observed.n_observed()), (([1].as_slice(), [4.0].as_slice()), 2));
    /// # Ok::<(), karhunen::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NonFinite`] for infinite values; [`Error::Memory`]; errors of the source; [`Error::Threads`].
    pub fn from_source(x: &dyn Source<T>) -> Result<Self> {
        Self::from_source_with(x, &Run::default())
    }

    /// As [`Observed::from_source`], with threads and observer of `run`.
    ///
    /// # Errors
    /// As [`Observed::from_source`], and [`Error::Stopped`] if the observer cancels.
    pub fn from_source_with(x: &dyn Source<T>, run: &Run<'_>) -> Result<Self> {
        Self::from_source_within(x, &|_| Ok(()), run)
    }

    /// As [`Observed::from_source_with`], for numbers of entries that `check` accepts. Beyond them the entries are
    /// counted and not kept, and the error covers all.
    pub(crate) fn from_source_within(x: &dyn Source<T>, check: &Check<'_>, run: &Run<'_>) -> Result<Self> {
        let build = compiled!(T, Observed::<T>::of_source
            => fn(&dyn Source<T>, &Check<'_>, &Run<'_>) -> Result<Observed<T>>);
        build(x, check, run)
    }

    fn of_source(x: &dyn Source<T>, check: &Check<'_>, run: &Run<'_>) -> Result<Self> {
        let (n, p) = x.shape();
        check_shape(n, p)?;
        Exec::run(run, |exec| {
            let exec = exec.phase(ENTRIES);
            let mut rows = GrowingRows { blocks: Vec::new(), n_entries: 0, fits: true };
            let mut stated = Stated::of(x);
            x.visit(&mut |first, block| {
                stated.check(&block)?;
                let at = |row: usize| 0.5 * row as f64 / n as f64;
                let part = exec.part(at(first), at(first + block.n_rows()));
                let of_block = match &block {
                    Block::Dense(x) => dense_rows(x, &part),
                    Block::Sparse(x) if x.major() == Major::Rows => stored_lines(x, None, &part),
                    Block::Sparse(x) => stored_lines(x, None, &part.part(0.0, 0.5))
                        .and_then(|columns| transpose(&columns, x.n_rows(), &part.part(0.5, 1.0))),
                };
                rows.append(of_block.map_err(|error| error.of_rows_from(first))?, check);
                Ok(())
            })?;
            stated.check_end()?;
            check(rows.n_entries)?;
            let rows = rows.joined(n)?;
            let columns = transpose(&rows, p, &exec.part(0.5, 1.0))?;
            Ok(Self::of_lines(rows, columns))
        })
    }

    /// Stores the entries of a dense array that are not NaN, with inverse variances from an array of the same
    /// shape (stride zero repeats the weights of rows or columns). Entries of weight zero are missing.
    ///
    /// # Errors
    /// [`Error::Shape`] for weights of another shape; [`Error::EntryWeight`] for negative or non-finite weights;
    /// otherwise as [`Observed::from_dense`].
    pub fn from_dense_weighted(x: &Dense<'_, T>, weights: &Dense<'_, T>) -> Result<Self> {
        Self::from_dense_weighted_with(x, weights, &Run::default())
    }

    /// As [`Observed::from_dense_weighted`], with threads and observer of `run`.
    ///
    /// # Errors
    /// As [`Observed::from_dense_weighted`], and [`Error::Stopped`] if the observer cancels.
    pub fn from_dense_weighted_with(x: &Dense<'_, T>, weights: &Dense<'_, T>, run: &Run<'_>) -> Result<Self> {
        let build = compiled!(T, Observed::<T>::of_dense_weighted
            => fn(&Dense<'_, T>, &Dense<'_, T>, &Run<'_>) -> Result<Observed<T>>);
        build(x, weights, run)
    }

    fn of_dense_weighted(x: &Dense<'_, T>, weights: &Dense<'_, T>, run: &Run<'_>) -> Result<Self> {
        let (n, p) = (x.n_rows(), x.n_cols());
        check_shape(n, p)?;
        for (axis, found, expected) in [("rows", weights.n_rows(), n), ("columns", weights.n_cols(), p)] {
            if found != expected {
                return Err(Error::Shape { what: "the array of entry weights", axis, found, expected });
            }
        }
        for (row, column) in (0..n).flat_map(|row| (0..p).map(move |column| (row, column))) {
            let value = weights.get(row, column).to_f64();
            if !(value >= 0.0 && value.is_finite()) {
                return Err(Error::EntryWeight { row, column, value });
            }
        }
        Exec::run(run, |exec| {
            let exec = exec.phase(ENTRIES);
            let entries =
                |row| (0..p).map(move |column| (column as u32, x.get(row, column), weights.get(row, column)));
            let rows = collect_lines(Major::Rows, (n, p), true, &exec.part(0.0, 0.5), entries)?;
            let columns = transpose(&rows, p, &exec.part(0.5, 1.0))?;
            Ok(Self::of_lines(rows, columns))
        })
    }

    /// Copies the stored entries of a sparse matrix, explicit zeros included; NaN is missing. `weights` are
    /// inverse variances in storage order, shape (n_stored,); an entry of weight zero is missing.
    ///
    /// # Errors
    /// [`Error::NonFinite`] for infinite values; [`Error::WeightLength`] and [`Error::WeightValue`] for invalid
    /// weights; [`Error::Threads`].
    pub fn from_sparse(x: &Sparse<'_, T>, weights: Option<&[T]>) -> Result<Self> {
        Self::from_sparse_with(x, weights, &Run::default())
    }

    /// As [`Observed::from_sparse`], with threads and observer of `run`.
    ///
    /// # Errors
    /// As [`Observed::from_sparse`], and [`Error::Stopped`] if the observer cancels.
    pub fn from_sparse_with(x: &Sparse<'_, T>, weights: Option<&[T]>, run: &Run<'_>) -> Result<Self> {
        let build = compiled!(T, Observed::<T>::of_sparse
            => fn(&Sparse<'_, T>, Option<&[T]>, &Run<'_>) -> Result<Observed<T>>);
        build(x, weights, run)
    }

    fn of_sparse(x: &Sparse<'_, T>, weights: Option<&[T]>, run: &Run<'_>) -> Result<Self> {
        let (n, p) = (x.n_rows(), x.n_cols());
        check_shape(n, p)?;
        check_weights(weights, x.n_stored())?;
        let by_rows = x.major() == Major::Rows;
        let n_minor = if by_rows { p } else { n };
        Exec::run(run, |exec| {
            let exec = exec.phase(ENTRIES);
            let stored = stored_lines(x, weights, &exec.part(0.0, 0.5))?;
            let other = transpose(&stored, n_minor, &exec.part(0.5, 1.0))?;
            let (rows, columns) = if by_rows { (stored, other) } else { (other, stored) };
            Ok(Self::of_lines(rows, columns))
        })
    }

    /// Stores entries given in any order, for a matrix of shape (n_samples, n_features). Peak memory: the triples
    /// plus 16 bytes per `f32` entry (24 per `f64`): with 32-bit ids, 2.4 times the triples.
    ///
    /// ```
    /// use karhunen::incomplete::{Duplicates, Triples};
    /// use karhunen::Observed;
    /// let ratings = Triples { rows: &[0u32, 2, 0], columns: &[1, 0, 0], values: &[4.0f32, 3.0, 5.0], weights: None };
    /// let observed = Observed::from_triples(&ratings, (3, 2), Duplicates::Refuse)?;
    /// assert_eq!(observed.row(0), ([0, 1].as_slice(), [5.0, 4.0].as_slice()));
    /// # Ok::<(), karhunen::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`] for arrays of different lengths; [`Error::Triple`] for an id outside the shape;
    /// [`Error::DuplicateEntry`] where duplicates are refused; otherwise as [`Observed::from_sparse`].
    pub fn from_triples<I: IndexInt>(
        triples: &Triples<'_, I, T>,
        (n_samples, n_features): (usize, usize),
        duplicates: Duplicates,
    ) -> Result<Self> {
        Self::from_triples_with(triples, (n_samples, n_features), duplicates, &Run::default())
    }

    /// As [`Observed::from_triples`], with threads and observer of `run`.
    ///
    /// # Errors
    /// As [`Observed::from_triples`], and [`Error::Stopped`] if the observer cancels.
    pub fn from_triples_with<I: IndexInt>(
        triples: &Triples<'_, I, T>,
        (n_samples, n_features): (usize, usize),
        duplicates: Duplicates,
        run: &Run<'_>,
    ) -> Result<Self> {
        check_shape(n_samples, n_features)?;
        check_triples(triples, (n_samples, n_features))?;
        let (shape, &Triples { values, weights, .. }) = ((n_samples, n_features), triples);
        // The ids are in range, hence not negative, and are read as unsigned numbers.
        match (Indices::of(triples.rows), Indices::of(triples.columns)) {
            (Indices::U32(rows), Indices::U32(columns)) => {
                let build = compiled!(T, Observed::<T>::of_triples::<u32>
                    => fn(Triples<'_, u32, T>, (usize, usize), Duplicates, &Run<'_>) -> Result<Observed<T>>);
                build(Triples { rows, columns, values, weights }, shape, duplicates, run)
            }
            (Indices::U64(rows), Indices::U64(columns)) => {
                let build = compiled!(T, Observed::<T>::of_triples::<u64>
                    => fn(Triples<'_, u64, T>, (usize, usize), Duplicates, &Run<'_>) -> Result<Observed<T>>);
                build(Triples { rows, columns, values, weights }, shape, duplicates, run)
            }
            _ => unreachable!("rows and columns are of one type"),
        }
    }

    fn of_triples<I: IndexInt>(
        triples: Triples<'_, I, T>,
        (n_samples, n_features): (usize, usize),
        duplicates: Duplicates,
        run: &Run<'_>,
    ) -> Result<Self> {
        let triples = &triples;
        Exec::run(run, |exec| {
            let exec = exec.phase(ENTRIES);
            let unordered = by_columns(triples, n_features, &exec.part(0.0, 0.4))?;
            let mut rows = transpose(&unordered, n_samples, &exec.part(0.4, 0.7))?;
            drop(unordered);
            if let Some((row, column)) = first_duplicate(&rows) {
                if duplicates == Duplicates::Refuse {
                    return Err(Error::DuplicateEntry { row, column });
                }
                rows = average_duplicates(rows);
            }
            let columns = transpose(&rows, n_features, &exec.part(0.7, 1.0))?;
            Ok(Self::of_lines(rows, columns))
        })
    }

    /// Keeps the entries of `rows` whose position in storage order `keep` accepts.
    pub(super) fn filtered(
        rows: &EntryLines<T>,
        n_features: usize,
        keep: impl Fn(usize) -> bool + Sync,
        exec: &Exec<'_>,
    ) -> Result<Self> {
        let shape = (rows.n_lines(), n_features);
        let rows = collect_lines(Major::Rows, shape, rows.is_weighted(), &exec.part(0.0, 0.5), |row| {
            let (line, first, keep) = (rows.line(row), rows.pointers()[row], &keep);
            let kept = (0..line.values.len()).filter(move |at| keep(first + at));
            let one = T::from_f64(1.0);
            kept.map(move |at| (line.indices[at], line.values[at], line.weights.map_or(one, |w| w[at])))
        })?;
        let columns = transpose(&rows, n_features, &exec.part(0.5, 1.0))?;
        Ok(Self::of_lines(rows, columns))
    }

    /// Selects columns by ascending index and renumbers them from zero. Rows keep their multiplicities.
    pub(crate) fn select_columns(&self, names: &[u32], exec: &Exec<'_>) -> Result<Self> {
        let (from, one) = (&self.rows, T::from_f64(1.0));
        let mut numbers = vec![u32::MAX; self.n_features()];
        names.iter().enumerate().for_each(|(number, column)| numbers[*column as usize] = number as u32);
        let shape = (self.n_samples(), names.len());
        let rows = collect_lines(Major::Rows, shape, from.is_weighted(), &exec.part(0.0, 0.5), |row| {
            let (line, numbers) = (from.line(row), &numbers);
            let known =
                (0..line.values.len()).filter(move |at| numbers[line.indices[*at] as usize] != u32::MAX);
            known.map(move |at| {
                (numbers[line.indices[at] as usize], line.values[at], line.weights.map_or(one, |w| w[at]))
            })
        })?;
        let columns = transpose(&rows, names.len(), &exec.part(0.5, 1.0))?;
        Ok(Self::of_lines(rows, columns).with_multiplicity(self.multiplicity.clone()))
    }

    /// The rows `names`, ascending, where the others hold no entries. Copies the row number of each entry, and its weight
    /// if there are weights; shares the rest.
    pub(crate) fn without_empty_rows(&self, names: &[usize]) -> Self {
        let mut numbers = vec![u32::MAX; self.n_samples()];
        names.iter().enumerate().for_each(|(number, row)| numbers[*row] = number as u32);
        let rows = self.rows.without_empty(names);
        let multiplicity = self.multiplicity.as_ref();
        Self {
            rows,
            columns: self.columns.renumbered(&numbers),
            multiplicity: multiplicity.map(|of| names.iter().map(|row| of[*row]).collect()),
            feature_weights: self.feature_weights.clone(),
        }
    }

    /// Selects rows by index, in the given order, with their multiplicities.
    pub(crate) fn select(&self, names: &[usize], exec: &Exec<'_>) -> Result<Self> {
        let (from, p) = (&self.rows, self.n_features());
        let one = T::from_f64(1.0);
        let (shape, weighted) = ((names.len(), p), from.is_weighted());
        let rows = collect_lines(Major::Rows, shape, weighted, &exec.part(0.0, 0.5), |row| {
            let line = from.line(names[row]);
            (0..line.values.len())
                .map(move |at| (line.indices[at], line.values[at], line.weights.map_or(one, |w| w[at])))
        })?;
        let columns = transpose(&rows, p, &exec.part(0.5, 1.0))?;
        let multiplicity = self
            .multiplicity
            .as_ref()
            .map(|multiplicity| names.iter().map(|row| multiplicity[*row]).collect());
        let selected = Self::of_lines(rows, columns).with_multiplicity(multiplicity);
        Ok(Self { feature_weights: self.feature_weights.clone(), ..selected })
    }
}

/// The rows of a dense array, without NaN.
fn dense_rows<T: Scalar>(x: &Dense<'_, T>, exec: &Exec<'_>) -> Result<EntryLines<T>> {
    let (n, p) = (x.n_rows(), x.n_cols());
    let one = T::from_f64(1.0);
    let entries = |row| (0..p).map(move |column| (column as u32, x.get(row, column), one));
    collect_lines(Major::Rows, (n, p), false, exec, entries)
}

/// The stored lines of a sparse matrix, without entries that are NaN or have weight zero.
fn stored_lines<T: Scalar>(
    x: &Sparse<'_, T>,
    weights: Option<&[T]>,
    exec: &Exec<'_>,
) -> Result<EntryLines<T>> {
    let (n, p) = (x.n_rows(), x.n_cols());
    let shape = if x.major() == Major::Rows { (n, p) } else { (p, n) };
    let entries = |line| {
        (x.pointers()[line]..x.pointers()[line + 1]).map(move |e| {
            let index = match x.indices() {
                Indices::U32(indices) => indices[e],
                Indices::U64(indices) => indices[e] as u32,
            };
            (index, x.values()[e], weights.map_or(T::from_f64(1.0), |w| w[e]))
        })
    };
    collect_lines(x.major(), shape, weights.is_some(), exec, entries)
}

/// Accepts or refuses a number of entries.
pub(crate) type Check<'a> = dyn Fn(usize) -> Result<()> + Sync + 'a;

/// Rows without weights that are added block by block.
struct GrowingRows<T> {
    blocks: Vec<EntryLines<T>>,
    n_entries: usize,
    /// False once there are more entries than are accepted: the others are counted.
    fits: bool,
}

impl<T: Scalar> GrowingRows<T> {
    fn append(&mut self, rows: EntryLines<T>, check: &Check<'_>) {
        self.n_entries += rows.n_entries();
        if self.fits && check(self.n_entries).is_err() {
            self.fits = false;
            self.blocks = Vec::new();
        }
        if self.fits {
            self.blocks.push(rows);
        }
    }

    /// All `n_rows` rows. Each block is freed after it is copied.
    ///
    /// # Errors
    /// [`Error::Memory`].
    fn joined(mut self, n_rows: usize) -> Result<EntryLines<T>> {
        if self.blocks.len() == 1 {
            return Ok(self.blocks.remove(0));
        }
        let n = self.n_entries;
        memory::ask(
            &format!("a copy of {n} entries"),
            (n * (size_of::<u32>() + size_of::<T>())) as f64,
            || vec!["take fewer rows or columns".into(), "take f32".into()],
        )?;
        let mut pointers = Vec::with_capacity(n_rows + 1);
        pointers.push(0);
        let (mut indices, mut values) = (Vec::with_capacity(n), Vec::with_capacity(n));
        for rows in self.blocks {
            let (of_block, more_indices, more_values, _) = rows.into_raw();
            let before = values.len();
            indices.extend_from_slice(&more_indices);
            values.extend_from_slice(&more_values);
            pointers.extend(of_block[1..].iter().map(|pointer| before + pointer));
        }
        Ok(EntryLines::new(pointers, indices, values, None))
    }
}

fn check_weights<T: Scalar>(weights: Option<&[T]>, expected: usize) -> Result<()> {
    let Some(weights) = weights else { return Ok(()) };
    if weights.len() != expected {
        return Err(Error::WeightLength { of: Weighed::Entries, found: weights.len(), expected });
    }
    match weights.iter().position(|w| !(w.to_f64() >= 0.0 && w.to_f64().is_finite())) {
        Some(index) => {
            Err(Error::WeightValue { of: Weighed::Entries, index, value: weights[index].to_f64() })
        }
        None => Ok(()),
    }
}

fn check_triples<I: IndexInt, T: Scalar>(triples: &Triples<'_, I, T>, (n, p): (usize, usize)) -> Result<()> {
    let n_entries = triples.values.len();
    for (what, ids) in [("the array of row ids", triples.rows), ("the array of column ids", triples.columns)]
    {
        if ids.len() != n_entries {
            return Err(Error::Shape { what, axis: "values", found: ids.len(), expected: n_entries });
        }
    }
    check_weights(triples.weights, n_entries)?;
    for entry in 0..n_entries {
        let (row, column) = (triples.rows[entry].widen(), triples.columns[entry].widen());
        for (axis, id, bound) in [("row", row, n), ("column", column, p)] {
            if id < 0 || id >= bound as i128 {
                return Err(Error::Triple { entry, axis, id, bound });
            }
        }
        check_finite(row as usize, column as usize, triples.values[entry])?;
    }
    Ok(())
}

fn first_duplicate<T: Scalar>(rows: &EntryLines<T>) -> Option<(usize, usize)> {
    (0..rows.n_lines()).find_map(|row| {
        let repeated = rows.line(row).indices.windows(2).find(|pair| pair[0] == pair[1])?;
        Some((row, repeated[0] as usize))
    })
}

/// Merges runs of equal indices in place: weighted mean of the values, sum of the weights. Without weights a
/// merged entry counts once.
fn average_duplicates<T: Scalar>(rows: EntryLines<T>) -> EntryLines<T> {
    let (mut pointers, mut indices, mut values, mut weights) = rows.into_raw();
    let (mut kept, mut from) = (0, 0);
    for pointer in &mut pointers[1..] {
        let end = *pointer;
        while from < end {
            let to = from + indices[from..end].iter().take_while(|c| **c == indices[from]).count();
            let weight = |e: usize| weights.as_ref().map_or(1.0, |w| w[e].to_f64());
            let sum: f64 = (from..to).map(weight).sum();
            let total: f64 = (from..to).map(|e| weight(e) * values[e].to_f64()).sum();
            indices[kept] = indices[from];
            values[kept] = T::from_f64(total / sum);
            if let Some(weights) = &mut weights {
                weights[kept] = T::from_f64(sum);
            }
            (kept, from) = (kept + 1, to);
        }
        *pointer = kept;
    }
    indices.truncate(kept);
    values.truncate(kept);
    if let Some(weights) = &mut weights {
        weights.truncate(kept);
    }
    EntryLines::new(pointers, indices, values, weights)
}
