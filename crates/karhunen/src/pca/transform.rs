//! Scores of rows, and rows from scores.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result};
use crate::exec::{Exec, Run};
use crate::growth::More;
use crate::linalg::Matrix;
use crate::linalg::finite::{all_finite, beyond_range};
use crate::moments::check_finite;
use crate::operator::blocks;
use crate::pca::PcaModel;
use crate::scalar::{Scalar, compiled};
use crate::source::{Block, Source};

/// Options of a transform.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transform {
    /// Divide scores by the square root of the explained variance. Components without variance get the score zero.
    pub whiten: bool,
    #[doc(hidden)]
    pub more: More,
}

impl PcaModel {
    /// Scores of rows, shape (n_rows, n_components), in the type of `x`: `(x - mean) / scale * sqrt(c)` times the
    /// components. One pass; sparse rows cost time proportional to their stored entries.
    ///
    /// # Errors
    /// [`Error::Shape`] unless `x` has `n_features` columns; [`Error::NonFinite`] for NaN and infinite values; any
    /// error `x` raises while read.
    pub fn transform<T: Scalar>(&self, x: &dyn Source<T>) -> Result<Matrix<T>> {
        self.transform_with(x, Transform::default(), &Run::default())
    }

    /// As [`PcaModel::transform`], with options, and with threads and observer of `run`.
    ///
    /// # Errors
    /// As [`PcaModel::transform`], and [`Error::Stopped`] if the observer cancels.
    pub fn transform_with<T: Scalar>(
        &self,
        x: &dyn Source<T>,
        how: Transform,
        run: &Run<'_>,
    ) -> Result<Matrix<T>> {
        let (n, p) = x.shape();
        self.check_columns("data to transform", p, self.n_features())?;
        let mut scores = Matrix::try_zeros("a matrix of scores", n, self.n_components())?;
        self.transform_into(x, how, scores.as_mut_slice(), run)?;
        Ok(scores)
    }

    /// As [`PcaModel::transform_with`], into `scores`, row-major (n_rows, n_components). Previous values are
    /// overwritten; after an error the values are unspecified.
    ///
    /// # Errors
    /// As [`PcaModel::transform_with`], and [`Error::Shape`] unless `scores` has n_rows times n_components values.
    pub fn transform_into<T: Scalar>(
        &self,
        x: &dyn Source<T>,
        how: Transform,
        scores: &mut [T],
        run: &Run<'_>,
    ) -> Result<()> {
        let write = compiled!(T, PcaModel::write_scores::<T>
            => fn(&PcaModel, &dyn Source<T>, Transform, &mut [T], &Run<'_>) -> Result<()>);
        write(self, x, how, scores, run)
    }

    fn write_scores<T: Scalar>(
        &self,
        x: &dyn Source<T>,
        how: Transform,
        scores: &mut [T],
        run: &Run<'_>,
    ) -> Result<()> {
        let (n, k) = (x.shape().0, self.n_components());
        check_output(scores, (n, k))?;
        let mut rest = scores;
        self.visit_scores(x, how, run, &mut |block, project| {
            let (out, behind) = std::mem::take(&mut rest).split_at_mut(block.n_rows() * k);
            rest = behind;
            project(out)
        })
    }

    /// As [`PcaModel::transform_with`], but calls `f` with the scores of a block of rows at a time, in order, with the
    /// number of its first row. Memory: the scores of a block of `x`.
    ///
    /// # Errors
    /// As [`PcaModel::transform_with`]; errors of `f`.
    pub fn transform_each<T: Scalar>(
        &self,
        x: &dyn Source<T>,
        how: Transform,
        run: &Run<'_>,
        f: &mut ScoreReceiver<'_, T>,
    ) -> Result<()> {
        let each = compiled!(T, PcaModel::each_block::<T>
            => fn(&PcaModel, &dyn Source<T>, Transform, &Run<'_>, &mut ScoreReceiver<'_, T>) -> Result<()>);
        each(self, x, how, run, f)
    }

    fn each_block<T: Scalar>(
        &self,
        x: &dyn Source<T>,
        how: Transform,
        run: &Run<'_>,
        f: &mut ScoreReceiver<'_, T>,
    ) -> Result<()> {
        let mut first = 0;
        self.visit_scores(x, how, run, &mut |block, project| {
            let mut scores = Matrix::try_zeros("a matrix of scores", block.n_rows(), self.n_components())?;
            project(scores.as_mut_slice())?;
            let end = first + block.n_rows();
            f(std::mem::replace(&mut first, end), &scores)
        })
    }

    /// The factors of scores.
    pub(super) fn score_factors(&self, how: Transform) -> Vec<f64> {
        let factor = |deviation: f64| match deviation {
            _ if !how.whiten => 1.0,
            0.0 => 0.0,
            deviation => 1.0 / deviation,
        };
        self.deviations().into_iter().map(factor).collect()
    }

    /// Calls `f` with every block and a function that writes the scores of its rows.
    fn visit_scores<T: Scalar>(
        &self,
        x: &dyn Source<T>,
        how: Transform,
        run: &Run<'_>,
        f: &mut BlockReceiver<'_, T>,
    ) -> Result<()> {
        let (n, p) = x.shape();
        self.check_columns("data to transform", p, self.n_features())?;
        let k = self.n_components();
        let weights = self.score_factors(how);
        // Without rows there is no work.
        if n == 0 {
            return Ok(());
        }
        let q = Matrix::from_fn(p, k, |j, c| self.components()[(c, j)] * weights[c]);
        Exec::run(run, |exec| {
            let exec = exec.phase("scores");
            x.visit(&mut |first, block| {
                let end = first + block.n_rows();
                let part = exec.part(first as f64 / n as f64, end as f64 / n as f64);
                f(&block, &mut |out| {
                    blocks::project(&block, self.map(), &q, &part.part(0.0, 0.95), out)?;
                    let finite = AtomicBool::new(true);
                    part.part(0.95, 1.0).fill(out, CHECKED, |_, out| {
                        if !all_finite(out) {
                            finite.store(false, Ordering::Relaxed);
                        }
                        Ok(())
                    })?;
                    if finite.into_inner() {
                        return Ok(());
                    }
                    // A value that is not finite shows in the scores; it is searched for while the block is valid.
                    check_finite(&block, first, None)?;
                    Err(score_overflow(out, first, k))
                })
            })
        })
    }

    /// Rows from scores: `(scores W) * scale / sqrt(c) + mean`, shape (n_rows, n_features). The inverse of
    /// [`PcaModel::transform`] if all components are kept, otherwise the best approximation of that rank; a column
    /// of feature weight zero gets its mean.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there are `n_components` scores a row; [`Error::NonFinite`] for a NaN or infinite
    /// score; [`Error::ValueOverflow`] for a value beyond the range of the type.
    pub fn inverse_transform<T: Scalar>(&self, scores: &Matrix<T>) -> Result<Matrix<T>> {
        self.inverse_transform_with(scores, Transform::default(), &Run::default())
    }

    /// As [`PcaModel::inverse_transform`], with options, and with threads and observer of `run`.
    ///
    /// # Errors
    /// As [`PcaModel::inverse_transform`], and [`Error::Stopped`] if the observer cancels.
    pub fn inverse_transform_with<T: Scalar>(
        &self,
        scores: &Matrix<T>,
        how: Transform,
        run: &Run<'_>,
    ) -> Result<Matrix<T>> {
        self.check_columns("scores", scores.n_cols(), self.n_components())?;
        let mut rows = Matrix::try_zeros("a reconstruction", scores.n_rows(), self.n_features())?;
        self.inverse_transform_into(scores, how, rows.as_mut_slice(), run)?;
        Ok(rows)
    }

    /// As [`PcaModel::inverse_transform_with`], into `rows`, row-major (n_rows, n_features). Previous values are
    /// overwritten.
    ///
    /// # Errors
    /// As [`PcaModel::inverse_transform_with`], and [`Error::Shape`] unless `rows` has n_rows times n_features
    /// values.
    pub fn inverse_transform_into<T: Scalar>(
        &self,
        scores: &Matrix<T>,
        how: Transform,
        rows: &mut [T],
        run: &Run<'_>,
    ) -> Result<()> {
        let write = compiled!(T, PcaModel::write_rows::<T>
            => fn(&PcaModel, &Matrix<T>, Transform, &mut [T], &Run<'_>) -> Result<()>);
        write(self, scores, how, rows, run)
    }

    fn write_rows<T: Scalar>(
        &self,
        scores: &Matrix<T>,
        how: Transform,
        rows: &mut [T],
        run: &Run<'_>,
    ) -> Result<()> {
        /// Rows of a piece of work.
        const PIECE: usize = 64;
        let (n, k) = scores.shape();
        self.check_columns("scores", k, self.n_components())?;
        let p = self.n_features();
        check_output(rows, (n, p))?;
        let deviations = self.deviations();
        let inverse_factor: Vec<f64> =
            self.map().factor.iter().map(|&f| if f == 0.0 { 0.0 } else { 1.0 / f }).collect();
        let axes = Matrix::from_fn(k, p, |c, j| {
            self.components()[(c, j)] * inverse_factor[j] * if how.whiten { deviations[c] } else { 1.0 }
        });
        let finite = AtomicBool::new(true);
        Exec::run(run, |exec| {
            exec.phase("reconstruction").fill(rows, PIECE * p, |piece, all| {
                let mut line = vec![0.0; p];
                for (i, out) in all.chunks_exact_mut(p).enumerate() {
                    pulp::Arch::new().dispatch(|| {
                        line.copy_from_slice(self.mean());
                        for (score, axis) in
                            scores.row(piece * PIECE + i).iter().zip(axes.as_slice().chunks_exact(p))
                        {
                            let score = score.to_f64();
                            line.iter_mut().zip(axis).for_each(|(x, a)| *x += score * a);
                        }
                        out.iter_mut().zip(&line).for_each(|(o, x)| *o = T::from_f64(*x));
                    });
                }
                if !all_finite(all) {
                    finite.store(false, Ordering::Relaxed);
                }
                Ok(())
            })
        })?;
        if finite.into_inner() { Ok(()) } else { Err(beyond_range(scores, rows, p)) }
    }

    /// Standard deviations of the scores.
    fn deviations(&self) -> Vec<f64> {
        self.explained_variance().iter().map(|v| v.sqrt()).collect()
    }

    pub(crate) fn check_columns(&self, what: &'static str, found: usize, expected: usize) -> Result<()> {
        if found == expected { Ok(()) } else { Err(Error::Shape { what, axis: "columns", found, expected }) }
    }
}

fn check_output<T>(out: &[T], (n_rows, n_cols): (usize, usize)) -> Result<()> {
    let (found, expected) = (out.len(), n_rows.saturating_mul(n_cols));
    let (what, axis) = ("the output", "values");
    if found == expected { Ok(()) } else { Err(Error::Shape { what, axis, found, expected }) }
}

/// Receives the number of the first row of a block, and the scores of its rows.
pub type ScoreReceiver<'f, T> = dyn FnMut(usize, &Matrix<T>) -> Result<()> + Send + 'f;
/// Receives a block, and a function that writes the scores of its rows.
type BlockReceiver<'f, T> =
    dyn FnMut(&Block<'_, T>, &mut dyn FnMut(&mut [T]) -> Result<()>) -> Result<()> + Send + 'f;

/// Number of scores that are checked together.
const CHECKED: usize = 1 << 16;

/// The error for scores of the rows from `first` on that are not all finite although the values are.
fn score_overflow<T: Scalar>(scores: &[T], first: usize, k: usize) -> Error {
    let at = scores.iter().position(|z| !z.to_f64().is_finite()).unwrap_or(0);
    Error::ScoreOverflow { row: first + at / k, component: at % k, dtype: T::NAME }
}
