//! Moments with the products between columns: the mergeable input of a fit by the covariance matrix.

use crate::error::{Error, Result};
use crate::exec::{Accumulate, Exec, Resumable, Run, State};
use crate::linalg::dense::rank_k;
use crate::linalg::permutation::check_places;
use crate::linalg::{ColumnMap, Dense, Matrix};
use crate::memory;
use crate::moments::decay::{Aged, Cut, check_decay};
use crate::moments::row_sums::{self, RowSums};
use crate::moments::{Moments, dense_scatter, sparse_scatter, wide_scatter};
use crate::scalar::{Scalar, compiled};
use crate::source::{Block, Source, Stream};

/// Weighted moments of rows about their mean, with the products between columns: the sufficient statistic of a
/// covariance matrix. Each part of distributed data (batch, file, machine) makes one; these are merged in any
/// order, and [`crate::Pca::fit_scatter`] fits the result.
///
/// `merge` is associative up to rounding and has [`Scatter::empty`] as its neutral element.
/// Chan, Golub & LeVeque (1983), doi:10.1080/00031305.1983.10483115, equations 2.1, with products of columns.
///
/// ```
/// use karhunen::moments::Scatter;
/// use karhunen::{Dense, NComponents, Pca, Run};
/// let (first, second) = ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0]);
/// let run = Run::default();
/// let mut scatter = Scatter::of(&Dense::row_major(&first, 2, 2)?, Some(&[1.0, 2.0]), &run)?;
/// scatter.merge(&Scatter::of(&Dense::row_major(&second, 1, 2)?, Some(&[1.0]), &run)?)?;
/// assert_eq!(scatter.matrix.as_slice(), [8.0; 4]);
/// let pca = Pca { n_components: NComponents::Count(1), ..Pca::default() };
/// let model = pca.fit_scatter(&scatter, None)?;
/// assert_eq!(model.mean(), [3.0, 4.0]);
/// assert!((model.explained_variance()[0] - 16.0 / 3.0).abs() < 1e-12);
/// # Ok::<(), karhunen::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Scatter {
    /// Weights, means and squared deviations.
    pub moments: Moments,
    /// Weighted sums of products of deviations from the means, shape (n_features, n_features), both triangles.
    pub matrix: Matrix,
}

impl Scatter {
    /// The scatter of no rows.
    pub fn empty(n_features: usize) -> Self {
        Self { moments: Moments::empty(n_features), matrix: Matrix::zeros(n_features, n_features) }
    }

    /// Visits the blocks of `x` once; sparse blocks, and dense blocks of more than 512 columns that come with them, are
    /// read several times. Dense data of more than 512 columns whose first rows lie far out are visited twice.
    /// `weights` holds one weight for each row; all are one if `None`. Memory: a matrix of shape (n_features,
    /// n_features) for each thread and one more.
    ///
    /// # Errors
    /// As [`Moments::of`], and [`Error::Memory`] if the matrices do not fit.
    pub fn of<T: Scalar>(x: &dyn Source<T>, weights: Option<&[f64]>, run: &Run<'_>) -> Result<Self> {
        Exec::run(run, |exec| Self::within(x, weights, &exec.phase("covariance")))
    }

    /// As [`Scatter::of`], within running work.
    pub(crate) fn within<T: Scalar>(
        x: &dyn Source<T>,
        weights: Option<&[f64]>,
        exec: &Exec<'_>,
    ) -> Result<Self> {
        let of = compiled!(T, Scatter::upper_of_source::<T>
            => fn(&dyn Source<T>, Option<&[f64]>, &Exec<'_>) -> Result<Scatter>);
        of(x, weights, exec).map(Self::mirrored)
    }

    /// As [`Scatter::within`], without the lower triangle.
    pub(super) fn upper_of_source<T: Scalar>(
        x: &dyn Source<T>,
        weights: Option<&[f64]>,
        exec: &Exec<'_>,
    ) -> Result<Self> {
        Self::ask(x.shape().1)?;
        let p = x.shape().1;
        if p > dense_scatter::WIDEST && !x.is_sparse() {
            return wide_scatter::of_source(x, weights, exec)?.checked();
        }
        let mut total = None;
        row_sums::add_source(&mut total, x, weights, exec)?;
        total.unwrap_or_else(|| Self::empty(p)).checked()
    }

    /// As [`Scatter::of`], for a stream of rows and their weights.
    ///
    /// # Errors
    /// As [`Scatter::of`]; [`Error::BlockColumns`] for a batch with another number of columns; errors of the
    /// stream. Row numbers begin at the first row of the stream.
    pub fn of_stream<T: Scalar>(stream: &mut (dyn Stream<T> + Send), run: &Run<'_>) -> Result<Self> {
        Exec::run(run, |exec| Self::of_stream_within(stream, &exec.phase("covariance")))
    }

    /// As [`Scatter::of_stream`], within running work.
    pub(crate) fn of_stream_within<T: Scalar>(stream: &mut dyn Stream<T>, exec: &Exec<'_>) -> Result<Self> {
        let of = compiled!(T, Scatter::upper_of_stream::<T> => fn(&mut dyn Stream<T>, &Exec<'_>) -> Result<Scatter>);
        of(stream, exec).map(Self::mirrored)
    }

    /// As [`Scatter::of_stream_within`], without the lower triangle.
    pub(super) fn upper_of_stream<T: Scalar>(stream: &mut dyn Stream<T>, exec: &Exec<'_>) -> Result<Self> {
        Self::ask(stream.n_features())?;
        let p = stream.n_features();
        if p > dense_scatter::WIDEST {
            return wide_scatter::of_stream(stream, exec)?.checked();
        }
        let mut total = None;
        row_sums::add_stream(&mut total, stream, exec)?;
        total.unwrap_or_else(|| Self::empty(p)).checked()
    }

    pub(super) fn ask(p: usize) -> Result<()> {
        let matrices = 8.0 * 2.0 * (p as f64).powi(2);
        memory::ask(&format!("the scatter matrix of {p} columns"), matrices, || {
            vec!["take fewer columns".into(), "fit the data themselves".into()]
        })
    }

    /// Refuses sums beyond f64, and completes the lower triangle.
    pub(crate) fn finished(self) -> Result<Self> {
        self.checked().map(Self::mirrored)
    }

    /// Refuses sums beyond f64.
    fn checked(self) -> Result<Self> {
        self.moments.check()?;
        Ok(self)
    }

    /// Completes the lower triangle.
    fn mirrored(mut self) -> Self {
        self.matrix.mirror_upper();
        self
    }

    /// Computes at least the upper triangle, about the mean of the block.
    pub(super) fn of_block<T: Scalar>(
        block: &Block<'_, T>,
        weights: Option<&[f64]>,
        exec: &Exec<'_>,
    ) -> Result<Self> {
        let mut moments = None;
        moments.add_rows(block, weights, &exec.part(0.0, 0.2))?;
        let moments = moments.unwrap_or_else(|| Moments::empty(block.n_cols()));
        let (shift, remainder) = (&moments.mean, moments.remainder());
        let map = ColumnMap { shift, remainder, factor: &vec![1.0; shift.len()] };
        let exec = exec.part(0.2, 1.0);
        let matrix = match block {
            Block::Dense(x) => rank_k::scatter(*x, map, weights, &exec)?,
            Block::Sparse(x) => {
                let mut matrix = sparse_scatter::scatter(x, &map, weights, &exec)?;
                // Centred after they are summed, squares lose digits and may be negative, unlike squares of the
                // moments.
                for (j, &square) in moments.sum_of_squares.iter().enumerate() {
                    matrix[(j, j)] = square;
                }
                matrix
            }
        };
        Ok(Self { moments, matrix })
    }

    /// Adds the rows of a block, cut as `cut` says; a sparse block is one piece. Afterwards at least the upper triangle
    /// of `total` is valid. After an error the value of `total` is unspecified.
    ///
    /// # Errors
    /// [`Error::Memory`]; [`Error::Stopped`]; [`Error::Overflow`] and [`Error::WeightSum`] for sums beyond f64.
    pub(crate) fn add_pieces<T: Scalar>(
        total: &mut Option<Self>,
        block: &Block<'_, T>,
        weights: Option<&[f64]>,
        cut: Cut,
        exec: &Exec<'_>,
    ) -> Result<()> {
        match *block {
            Block::Dense(rows) => {
                Self::add_dense(total, &DenseRows { first: None, rows, weights }, cut, exec)
            }
            Block::Sparse(_) => {
                Self::add_piece(total, block, weights, cut, exec)?;
                total.as_ref().map_or(Ok(()), |total| total.moments.check())
            }
        }
    }

    /// As [`Scatter::add_pieces`], for dense rows whose first piece may be stored apart.
    ///
    /// # Errors
    /// As [`Scatter::add_pieces`].
    pub(crate) fn add_dense<T: Scalar>(
        total: &mut Option<Self>,
        x: &DenseRows<'_, T>,
        cut: Cut,
        exec: &Exec<'_>,
    ) -> Result<()> {
        let n_pieces = x.n_pieces(cut);
        if x.rows.n_cols() <= dense_scatter::WIDEST {
            Self::add_narrow(total, x, cut, exec)?;
        } else {
            for piece in 0..n_pieces {
                let done = |piece: usize| piece as f64 / n_pieces as f64;
                let part = exec.part(done(piece), done(piece + 1));
                match x.piece(piece, cut) {
                    Piece::First(rows, weights) => {
                        Self::add_piece(total, &Block::Dense(rows), weights, cut, &part)?;
                    }
                    Piece::Other(rows, weights) => {
                        Self::add_piece(total, &Block::Dense(rows), weights, cut, &part)?;
                    }
                }
            }
        }
        total.as_ref().map_or(Ok(()), |total| total.moments.check())
    }

    fn add_piece<T: Scalar>(
        total: &mut Option<Self>,
        piece: &Block<'_, T>,
        weights: Option<&[f64]>,
        cut: Cut,
        exec: &Exec<'_>,
    ) -> Result<()> {
        Self::ask(piece.n_cols())?;
        let Aged { kept, weights } = cut.aged(weights, piece.n_rows());
        let part = Self::of_block(piece, weights.as_deref(), exec)?;
        if let Some(total) = total {
            total.fade(kept);
        }
        row_sums::add(total, part);
        Ok(())
    }

    /// Adds the rows of `x`, the first of which begins a piece.
    fn add_narrow<T: Scalar>(
        total: &mut Option<Self>,
        x: &DenseRows<'_, T>,
        cut: Cut,
        exec: &Exec<'_>,
    ) -> Result<()> {
        let with_scratch =
            |total| ScatterPart { total, scratch: dense_scatter::Scratch::default(), kept: 1.0 };
        let zero = || with_scratch(Self::empty(x.rows.n_cols()));
        let mut sum = total.take().map(with_scratch);
        exec.fold_into(&mut sum, x.n_pieces(cut), zero, |piece, part| {
            match x.piece(piece, cut) {
                Piece::First(rows, weights) => part.set(&rows, weights, cut),
                Piece::Other(rows, weights) => part.set(&rows, weights, cut),
            }
            Ok(())
        })?;
        *total = sum.map(|part| part.total);
        Ok(())
    }

    /// Multiplies the weight of every row by `factor`, as [`Moments::decay`] does, and all products with it.
    ///
    /// # Errors
    /// As [`Moments::decay`].
    pub fn decay(&mut self, factor: f64) -> Result<()> {
        check_decay(factor)?;
        self.fade(factor);
        Ok(())
    }

    /// As [`Scatter::decay`], for a factor from 0 to 1.
    pub(crate) fn fade(&mut self, factor: f64) {
        self.moments.fade(factor);
        self.matrix.scale(if self.moments.weight > 0.0 { factor } else { 0.0 });
    }

    /// Adds the rows summed in `other`.
    ///
    /// # Errors
    /// [`Error::Shape`] if the numbers of columns differ.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        self.check_shape()?;
        other.check_shape()?;
        let (found, expected) = (other.moments.mean.len(), self.moments.mean.len());
        if found != expected {
            return Err(Error::Shape {
                what: "one of the scatter matrices",
                axis: "columns",
                found,
                expected,
            });
        }
        self.add(other);
        self.matrix.mirror_upper();
        Ok(())
    }

    /// Returns the scatter of the same rows with their columns in another order: column `j` moves to `places[j]`.
    ///
    /// ```
    /// use karhunen::moments::Scatter;
    /// use karhunen::{Dense, Run};
    /// let run = Run::default();
    /// let scatter = Scatter::of(&Dense::row_major(&[1.0, 5.0, 2.0, 9.0], 2, 2)?, None, &run)?;
    /// let swapped = Scatter::of(&Dense::row_major(&[5.0, 1.0, 9.0, 2.0], 2, 2)?, None, &run)?;
    /// assert_eq!(scatter.with_columns_at(&[1, 0])?, swapped);
    /// # Ok::<(), karhunen::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`] unless `places` holds every column once; [`Error::Memory`].
    pub fn with_columns_at(&self, places: &[usize]) -> Result<Self> {
        self.check_shape()?;
        let p = self.moments.mean.len();
        check_places(places, p)?;
        Self::ask(p)?;
        let mut moved = Self { moments: self.moments.clone(), ..Self::empty(p) };
        for (i, &to) in places.iter().enumerate() {
            moved.moments.mean[to] = self.moments.mean[i];
            if let Some(&rest) = self.moments.mean_rest.get(i) {
                moved.moments.mean_rest[to] = rest;
            }
            moved.moments.sum_of_squares[to] = self.moments.sum_of_squares[i];
            for (&product, &at) in self.matrix.row(i).iter().zip(places) {
                moved.matrix[(to, at)] = product;
            }
        }
        Ok(moved)
    }

    /// Adds the upper triangle.
    pub(crate) fn add(&mut self, other: &Self) {
        let (delta, between) = self.moments.between(&other.moments);
        for i in 0..delta.len() {
            add_products(&mut self.matrix.row_mut(i)[i..], &other.matrix.row(i)[i..], &delta[i..], between);
        }
        self.moments.add(&other.moments);
    }

    /// Checks the public fields, which other programs may have set.
    pub(crate) fn check_shape(&self) -> Result<()> {
        let p = self.moments.mean.len();
        let rests = self.moments.mean_rest.len();
        let lengths = [
            ("the rests of the means of a scatter", "values", if rests == 0 { p } else { rests }),
            ("the sums of squares of a scatter", "values", self.moments.sum_of_squares.len()),
            ("the matrix of a scatter", "rows", self.matrix.n_rows()),
            ("the matrix of a scatter", "columns", self.matrix.n_cols()),
        ];
        match lengths.into_iter().find(|&(.., found)| found != p) {
            Some((what, axis, found)) => Err(Error::Shape { what, axis, found, expected: p }),
            None => Ok(()),
        }
    }

    /// The population covariance of the mapped rows: products about `map.shift`, with normalised weights. Needs no
    /// memory but the scatter matrix.
    pub(crate) fn into_covariance(self, map: ColumnMap<'_>) -> Matrix {
        let Self { moments, mut matrix } = self;
        let at = |values: &[f64], j: usize| values.get(j).copied().unwrap_or(0.0);
        let rest = moments.remainder();
        let offset = |j: usize| (moments.mean[j] - map.shift[j]) + (at(rest, j) - at(map.remainder, j));
        // Mapped before they are multiplied: products of tiny or huge means leave the range of f64.
        let offset: Vec<f64> = map.factor.iter().enumerate().map(|(j, factor)| offset(j) * factor).collect();
        let Moments { weight, mean, .. } = moments;
        for (i, row) in matrix.as_mut_slice().chunks_exact_mut(mean.len().max(1)).enumerate() {
            for (j, product) in row.iter_mut().enumerate() {
                *product = *product / weight * map.factor[i] * map.factor[j] + offset[i] * offset[j];
            }
        }
        matrix
    }
}

/// Consecutive dense rows. The first row begins a piece.
pub(crate) struct DenseRows<'a, T> {
    /// The rows of the first piece, and their weights, if they are stored apart.
    pub(crate) first: Option<(Dense<'a, f64>, Option<&'a [f64]>)>,
    /// The other rows.
    pub(crate) rows: Dense<'a, T>,
    /// One for each of the other rows; all are one if `None`.
    pub(crate) weights: Option<&'a [f64]>,
}

/// A piece of [`DenseRows`] with its weights.
enum Piece<'a, T> {
    First(Dense<'a, f64>, Option<&'a [f64]>),
    Other(Dense<'a, T>, Option<&'a [f64]>),
}

/// Adds the products of column `i` with itself and the columns after it, about two means: `delta` holds the differences
/// of the means from column `i` on, `between` is the second value of [`Moments::between`].
pub(super) fn add_products(sums: &mut [f64], products: &[f64], delta: &[f64], between: f64) {
    let row = sums.iter_mut().zip(products);
    if between > 0.0 {
        for ((sum, product), delta_j) in row.zip(delta) {
            *sum += product + delta[0] * delta_j * between;
        }
    } else {
        row.for_each(|(sum, product)| *sum += product);
    }
}

impl<'a, T: Scalar> DenseRows<'a, T> {
    fn n_pieces(&self, cut: Cut) -> usize {
        usize::from(self.first.is_some()) + self.rows.n_rows().div_ceil(cut.piece_rows)
    }

    /// The piece of this number.
    fn piece(&self, number: usize, cut: Cut) -> Piece<'a, T> {
        let number = match self.first {
            Some((rows, weights)) if number == 0 => return Piece::First(rows, weights),
            Some(_) => number - 1,
            None => number,
        };
        let start = number * cut.piece_rows;
        let rows = start..self.rows.n_rows().min(start + cut.piece_rows);
        Piece::Other(self.rows.rows(rows.clone()), self.weights.map(|weights| &weights[rows]))
    }
}

impl RowSums for Option<Scatter> {
    fn is_finite(&self) -> bool {
        self.as_ref().is_none_or(|total| total.moments.first_overflow().is_none())
    }
    fn piece_rows(n_cols: usize) -> usize {
        dense_scatter::piece_rows(n_cols)
    }
    fn add_rows<T: Scalar>(
        &mut self,
        block: &Block<'_, T>,
        weights: Option<&[f64]>,
        exec: &Exec<'_>,
    ) -> Result<()> {
        match block {
            Block::Dense(x) if x.n_cols() <= dense_scatter::WIDEST => {
                let cut = Cut { piece_rows: dense_scatter::piece_rows(x.n_cols()), half_life: None };
                Scatter::add_narrow(self, &DenseRows { first: None, rows: *x, weights }, cut, exec)
            }
            block => {
                row_sums::add(self, Scatter::of_block(block, weights, exec)?);
                Ok(())
            }
        }
    }
}

/// The lower triangle of the matrix is not part of it.
impl Resumable for Scatter {
    fn exchange(&mut self, state: &mut State) -> Result<()> {
        self.moments.exchange(state)?;
        self.matrix.exchange_upper(state)
    }
}

impl Accumulate for Scatter {
    fn reset(&mut self) {
        self.moments.reset();
        self.matrix.reset();
    }
    fn merge(&mut self, other: &Self) {
        self.add(other);
    }
}

/// The scatter of a run of pieces, and buffers for the next piece.
struct ScatterPart {
    total: Scatter,
    scratch: dense_scatter::Scratch,
    /// The share of the weights of all earlier rows that remains when this piece is added.
    kept: f64,
}

impl ScatterPart {
    /// Sets the sums to the sums of a piece.
    fn set<T: Scalar>(&mut self, rows: &Dense<'_, T>, weights: Option<&[f64]>, cut: Cut) {
        let aged = cut.aged(weights, rows.n_rows());
        self.kept = aged.kept;
        let Scatter { moments, matrix } = &mut self.total;
        moments.set_weights(aged.weights.as_deref(), rows.n_rows());
        let weights = (aged.weights.as_deref(), moments.weight);
        dense_scatter::accumulate(rows, weights, (moments.columns_mut(), matrix), &mut self.scratch);
    }
}

impl Accumulate for ScatterPart {
    fn reset(&mut self) {
        self.total.reset();
    }
    fn merge(&mut self, other: &Self) {
        self.total.fade(other.kept);
        self.total.add(&other.total);
    }
}
