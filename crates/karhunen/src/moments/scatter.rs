//! Moments with the products between columns: the mergeable input of a fit by the covariance matrix.

use crate::error::{Error, Result};
use crate::exec::{Accumulate, Exec, Run};
use crate::linalg::dense::rank_k;
use crate::linalg::{ColumnMap, Dense, Matrix};
use crate::memory;
use crate::moments::row_sums::{self, RowSums};
use crate::moments::{Moments, are_whole, dense_scatter, sparse_scatter, squared, wide_scatter};
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

    /// Visits the blocks of `x` once; sparse blocks, and dense blocks of more than 512 columns beside them, are read
    /// several times. Dense data of more than 512 columns whose first rows lie far out are visited twice. `weights` holds one weight for each row; all are one if `None`. Memory: a matrix of shape
    /// (n_features, n_features) for each thread and one more.
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
        let of = compiled!(T, Scatter::of_source::<T>
            => fn(&dyn Source<T>, Option<&[f64]>, &Exec<'_>) -> Result<Scatter>);
        of(x, weights, exec)
    }

    fn of_source<T: Scalar>(x: &dyn Source<T>, weights: Option<&[f64]>, exec: &Exec<'_>) -> Result<Self> {
        Self::ask(x.shape().1)?;
        let p = x.shape().1;
        if p > dense_scatter::WIDEST && !x.is_sparse() {
            return wide_scatter::of_source(x, weights, exec)?.finished();
        }
        let mut total = None;
        row_sums::add_source(&mut total, x, weights, exec)?;
        total.unwrap_or_else(|| Self::empty(p)).finished()
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
        let of = compiled!(T, Scatter::of_rows::<T> => fn(&mut dyn Stream<T>, &Exec<'_>) -> Result<Scatter>);
        of(stream, exec)
    }

    fn of_rows<T: Scalar>(stream: &mut dyn Stream<T>, exec: &Exec<'_>) -> Result<Self> {
        Self::ask(stream.n_features())?;
        let p = stream.n_features();
        if p > dense_scatter::WIDEST {
            return wide_scatter::of_stream(stream, exec)?.finished();
        }
        let mut total = None;
        row_sums::add_stream(&mut total, stream, exec)?;
        total.unwrap_or_else(|| Self::empty(p)).finished()
    }

    fn ask(p: usize) -> Result<()> {
        let matrices = 8.0 * 2.0 * (p as f64).powi(2);
        memory::ask(&format!("the scatter matrix of {p} columns"), matrices, || {
            vec!["take fewer columns".into(), "fit the data themselves".into()]
        })
    }

    /// Refuses sums beyond f64, and completes the lower triangle.
    fn finished(mut self) -> Result<Self> {
        self.moments.check()?;
        self.matrix.mirror_upper();
        Ok(self)
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
        let map = ColumnMap { shift: &moments.mean, remainder: &[], factor: &vec![1.0; moments.mean.len()] };
        let exec = exec.part(0.2, 1.0);
        let matrix = match block {
            Block::Dense(x) => rank_k::scatter(*x, map, weights, &exec)?,
            Block::Sparse(x) => sparse_scatter::scatter(x, &map, weights, &exec)?,
        };
        Ok(Self { moments, matrix })
    }

    /// Adds the rows of `x`, the first of which begins a piece.
    fn add_narrow<T: Scalar>(
        total: &mut Option<Self>,
        x: &Dense<'_, T>,
        weights: Option<&[f64]>,
        exec: &Exec<'_>,
    ) -> Result<()> {
        let piece_rows = dense_scatter::piece_rows(x.n_cols());
        let with_scratch = |total| ScatterPart { total, scratch: dense_scatter::Scratch::default() };
        let zero = || with_scratch(Self::empty(x.n_cols()));
        let mut sum = total.take().map(with_scratch);
        exec.fold_into(
            &mut sum,
            x.n_rows().div_ceil(piece_rows),
            zero,
            |piece, ScatterPart { total, scratch }| {
                let rows = piece * piece_rows..((piece + 1) * piece_rows).min(x.n_rows());
                let weights = weights.map(|w| &w[rows.clone()]);
                let moments = &mut total.moments;
                moments.n_samples = rows.len();
                moments.weight_squared = squared(weights, rows.len());
                moments.whole = are_whole(weights);
                let (mean, matrix) = (&mut moments.mean, &mut total.matrix);
                moments.weight = dense_scatter::accumulate(&x.rows(rows), weights, mean, matrix, scratch);
                for (j, sum) in moments.sum_of_squares.iter_mut().enumerate() {
                    *sum = matrix[(j, j)];
                }
                Ok(())
            },
        )?;
        *total = sum.map(|part| part.total);
        Ok(())
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

    /// Adds the upper triangle.
    fn add(&mut self, other: &Self) {
        let (a, b) = (&self.moments, &other.moments);
        // Rows without weight add nothing; their means may be undefined.
        let between = if a.weight > 0.0 && b.weight > 0.0 {
            a.weight * (b.weight / (a.weight + b.weight))
        } else {
            0.0
        };
        let delta: Vec<f64> = a.mean.iter().zip(&b.mean).map(|(a, b)| b - a).collect();
        for (i, &delta_i) in delta.iter().enumerate() {
            let row = self.matrix.row_mut(i)[i..].iter_mut().zip(&other.matrix.row(i)[i..]);
            if between > 0.0 {
                for ((sum, product), delta_j) in row.zip(&delta[i..]) {
                    *sum += product + delta_i * delta_j * between;
                }
            } else {
                row.for_each(|(sum, product)| *sum += product);
            }
        }
        self.moments.add(&other.moments);
    }

    /// Checks the public fields, which other programs may have set.
    pub(crate) fn check_shape(&self) -> Result<()> {
        let p = self.moments.mean.len();
        let lengths = [
            ("the sums of squares of a scatter", "values", self.moments.sum_of_squares.len()),
            ("the matrix of a scatter", "rows", self.matrix.n_rows()),
            ("the matrix of a scatter", "columns", self.matrix.n_cols()),
        ];
        match lengths.into_iter().find(|&(.., found)| found != p) {
            Some((what, axis, found)) => Err(Error::Shape { what, axis, found, expected: p }),
            None => Ok(()),
        }
    }

    /// The population covariance of the mapped rows: products about `map.shift`, with normalised weights. Takes no
    /// memory beside the scatter matrix.
    pub(crate) fn into_covariance(self, map: ColumnMap<'_>) -> Matrix {
        let Self { moments: Moments { weight, mean, .. }, mut matrix } = self;
        let offset: Vec<f64> = mean.iter().zip(map.shift).map(|(mean, shift)| mean - shift).collect();
        for (i, row) in matrix.as_mut_slice().chunks_exact_mut(mean.len().max(1)).enumerate() {
            for (j, product) in row.iter_mut().enumerate() {
                *product = (*product / weight + offset[i] * offset[j]) * map.factor[i] * map.factor[j];
            }
        }
        matrix
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
                Scatter::add_narrow(self, x, weights, exec)
            }
            block => {
                row_sums::add(self, Scatter::of_block(block, weights, exec)?);
                Ok(())
            }
        }
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
}

impl Accumulate for ScatterPart {
    fn reset(&mut self) {
        self.total.reset();
    }
    fn merge(&mut self, other: &Self) {
        self.total.add(&other.total);
    }
}
