//! Pre-images: rows from scores. Kernel principal components have no exact inverse, since most points of feature
//! space are not the image of a row.

use std::ops::Range;

use crate::error::{Error, OptionValue, Phrase, Result, options};
use crate::exec::{Exec, Run};
use crate::kernel::features::Features;
use crate::kernel::function::{Gamma, Kernel};
use crate::kernel::model::{KernelBasis, KernelModel, KernelParts, PreImageParts};
use crate::kernel::rows::{KernelRows, PointPanel, Points, Preparation};
use crate::kernel::transform::{Projection, strips};
use crate::linalg::decomp::cholesky;
use crate::linalg::tiles::pairs::width;
use crate::linalg::tiles::products::{Strips, add_tile_product};
use crate::linalg::{Dense, Matrix};
use crate::moments::check_size;
use crate::pca::Transform;
use crate::scalar::{Scalar, compiled};
use crate::source::Block;

/// Fits the regression of rows on their scores; `weights` are multiplicities of the rows. `centre` is subtracted
/// from the rows first, unless it is empty.
pub(super) fn fit_ridge(
    kernel: &Kernel,
    alpha: f64,
    (rows, centre): (&Matrix, Vec<f64>),
    scores: &Matrix,
    weights: Option<&[f64]>,
    exec: &Exec<'_>,
) -> Result<PreImageParts> {
    let kept: Vec<usize> = (0..rows.n_rows()).filter(|&i| weights.is_none_or(|w| w[i] > 0.0)).collect();
    let (n, k) = (kept.len(), scores.n_cols());
    let scores = Matrix::from_fn(n, k, |i, c| scores[(kept[i], c)]);
    let rows = Matrix::from_fn(n, rows.n_cols(), |i, j| rows[(kept[i], j)] - centre.get(j).unwrap_or(&0.0));
    let among = KernelRows::Dense(scores.clone());
    let features = Features::of_rows(*kernel, &among, None, score_preparation(kernel), exec)?;
    let mut system = crate::kernel::approximate::feature_matrix(&features, &among, exec)?;
    for (i, &row) in kept.iter().enumerate() {
        system[(i, i)] += weights.map_or(alpha, |w| alpha / w[row]);
    }
    let coefficients = cholesky::solve(&system, &rows).map_err(|error| match error {
        Error::Decomposition { .. } => Error::option(
            options::ALPHA,
            alpha,
            "with it the kernel matrix of the scores is singular; give a larger ridge",
        ),
        error => error,
    })?;
    Ok(PreImageParts::Ridge { scores, coefficients, centre })
}

fn score_preparation(kernel: &Kernel) -> Preparation<'static> {
    Preparation { shift: &[], normalize: kernel.normalizes() }
}

/// The dense rows of a basis.
///
/// # Errors
/// [`Error::Option`] if the basis has no dense rows.
pub(super) fn dense_rows(basis: &KernelBasis) -> Result<&Matrix> {
    match basis {
        KernelBasis::Rows(KernelRows::Dense(rows)) | KernelBasis::Landmarks(KernelRows::Dense(rows)) => {
            Ok(rows)
        }
        _ => Err(no_rows()),
    }
}

/// The error for a basis without dense rows.
pub(super) fn no_rows() -> Error {
    let rule = "pre-images need the rows: dense data, and not the solver fourier";
    Error::option(options::PRE_IMAGE, OptionValue::Given, rule)
}

impl KernelModel {
    /// Rows from scores, shape (n_rows, n_features), by the method of the option `pre_image` of the fit.
    ///
    /// # Errors
    /// [`Error::Option`] if the fit had no such option; [`Error::Shape`] unless there are `n_components` scores a
    /// row; [`Error::KernelValue`] if kernel values of the scores overflow.
    pub fn inverse_transform<T: Scalar>(&self, scores: &Matrix<T>) -> Result<Matrix<T>> {
        self.inverse_transform_with(scores, Transform::default(), &Run::default())
    }

    /// As [`KernelModel::inverse_transform`], with options, and with threads and observer of `run`.
    ///
    /// # Errors
    /// As [`KernelModel::inverse_transform`], and [`Error::Stopped`] if the observer cancels.
    pub fn inverse_transform_with<T: Scalar>(
        &self,
        scores: &Matrix<T>,
        how: Transform,
        run: &Run<'_>,
    ) -> Result<Matrix<T>> {
        let invert = compiled!(T, KernelModel::pre_images::<T>
            => fn(&KernelModel, &Matrix<T>, Transform, &Run<'_>) -> Result<Matrix<T>>);
        invert(self, scores, how, run)
    }

    fn pre_images<T: Scalar>(&self, scores: &Matrix<T>, how: Transform, run: &Run<'_>) -> Result<Matrix<T>> {
        let (n, found) = scores.shape();
        let (expected, p) = (self.n_components(), self.n_features());
        if found != expected {
            return Err(Error::Shape { what: "scores", axis: "columns", found, expected });
        }
        check_size((n, p))?;
        let factors = self.factors(how.whiten);
        let z = Matrix::from_fn(n, expected, |i, c| match factors[c] {
            0.0 => 0.0,
            factor => scores[(i, c)].to_f64() / factor,
        });
        let mut rows = Matrix::<T>::zeros(n, p);
        Exec::run(run, |exec| {
            let exec = exec.phase("pre-images");
            match &self.parts().pre_image {
                None => Err(Error::option(
                    options::PRE_IMAGE,
                    OptionValue::NotGiven,
                    Phrase::new("fit with the option ")
                        .option(options::PRE_IMAGE)
                        .text(" to find rows from scores"),
                )),
                Some(PreImageParts::Ridge { scores, coefficients, centre }) => {
                    let kernel = self.kernel();
                    let among = KernelRows::Dense(scores.clone());
                    let features =
                        Features::<f64>::of_rows(*kernel, &among, None, score_preparation(kernel), &exec)?;
                    let offsets = (0..p).map(|j| -centre.get(j).unwrap_or(&0.0)).collect();
                    Projection { features, coefficients: strips(coefficients), offsets }.all(
                        &Block::Dense(Dense::from(&z)),
                        rows.as_mut_slice(),
                        &exec,
                    )
                }
                Some(PreImageParts::FixedPoint { shares }) => {
                    let iteration = FixedPoint::new(self.parts(), shares, &exec.part(0.0, 0.0))?;
                    exec.fill(rows.as_mut_slice(), ROWS * p, |piece, out| {
                        let here = piece * ROWS..piece * ROWS + out.len() / p;
                        iteration.solve(&z, here, out)
                    })
                }
            }
        })?;
        match rows.as_slice().iter().position(|x: &T| !x.to_f64().is_finite()) {
            Some(at) => Err(Error::KernelValue { row: at / p }),
            None => Ok(rows),
        }
    }
}

/// Number of rows iterated together.
const ROWS: usize = 16;

/// The iteration `x <- sum_i g_i k(x, x_i) x_i / sum_i g_i k(x, x_i)` for the point `sum_i g_i phi(x_i)` of
/// feature space: `g = v + A z` with the coefficients `A` of the scores `z`; `g = A z` without centring.
struct FixedPoint<'a> {
    parts: &'a KernelParts,
    shares: &'a [f64],
    points: Points<f64>,
    /// Centred rows and a column of ones, in strips of columns.
    rows: Vec<f64>,
    gamma: f64,
    /// Scores of the fitted rows, for the starting point.
    fitted: Matrix,
    from: &'a Matrix,
}

impl<'a> FixedPoint<'a> {
    fn new(parts: &'a KernelParts, shares: &'a [f64], exec: &Exec<'_>) -> Result<Self> {
        let from = dense_rows(&parts.basis)?;
        let KernelBasis::Rows(rows) = &parts.basis else {
            return Err(Error::Shape { what: "fitted rows", axis: "rows", found: 0, expected: shares.len() });
        };
        let preparation = Preparation { shift: &parts.shift, normalize: false };
        let points = Points::new(rows, preparation, exec)?;
        let (n, p) = from.shape();
        let with_ones =
            Matrix::from_fn(n, p + 1, |i, j| if j < p { from[(i, j)] - parts.shift[j] } else { 1.0 });
        let roots: Vec<f64> = parts.eigenvalues.iter().map(|value| value.sqrt()).collect();
        let fitted = Matrix::from_fn(n, roots.len(), |i, c| parts.eigenvectors[(i, c)] * roots[c]);
        let gamma = match parts.kernel.gamma() {
            Some(Gamma::Value(gamma)) => gamma,
            _ => 1.0,
        };
        Ok(Self { parts, shares, points, rows: strips(&with_ones), gamma, fitted, from })
    }

    /// The fitted row of the nearest scores, centred.
    fn start(&self, z: &[f64]) -> Vec<f64> {
        let apart =
            |i: usize| -> f64 { self.fitted.row(i).iter().zip(z).map(|(a, b)| (a - b).powi(2)).sum() };
        let (mut nearest, mut least) = (0, f64::INFINITY);
        for i in (0..self.fitted.n_rows()).filter(|&i| self.shares[i] > 0.0) {
            let distance = apart(i);
            if distance < least {
                (nearest, least) = (i, distance);
            }
        }
        self.from.row(nearest).iter().zip(&self.parts.shift).map(|(x, shift)| x - shift).collect()
    }

    /// The pre-images of the scores `rows`.
    fn solve<T: Scalar>(&self, z: &Matrix, rows: Range<usize>, out: &mut [T]) -> Result<()> {
        /// Largest number of steps, and the length of the last step in units of `1 / sqrt(gamma)`.
        const MOST: usize = 500;
        const ENOUGH: f64 = 1e-8;
        let w = width::<f64>();
        let (n, p) = self.from.shape();
        let n_padded = n.next_multiple_of(w);
        let n_left = rows.len().next_multiple_of(w);
        let mut x: Vec<f64> = rows.clone().flat_map(|i| self.start(z.row(i))).collect();
        let weights = self.weights(z, rows.clone(), n_left, n_padded);
        let mut open = vec![true; rows.len()];
        let (mut panel, mut tile) = (PointPanel::new(), vec![0.0; n_left * n_padded]);
        let n_strips = (p + 1).div_ceil(w);
        for _ in 0..MOST {
            if !open.contains(&true) {
                break;
            }
            panel.load(&mut x.clone(), p, Preparation { shift: &[], normalize: false });
            let left = (&panel.strips[..], &panel.norms[..]);
            self.points.tile(&self.parts.kernel, left, 0..n_padded, false, &mut tile);
            tile.iter_mut().zip(&weights).for_each(|(k, weight)| *k *= weight);
            let mut sums = vec![0.0; n_strips * n_left * w];
            let q = Strips { values: &self.rows, stride: n_padded * w, n_strips };
            add_tile_product(&tile, n_left, q, &mut sums, n_left * w);
            for i in (0..rows.len()).filter(|&i| open[i]).collect::<Vec<_>>() {
                let at = |j: usize| sums[(j / w * n_left + i) * w + j % w];
                let mass = at(p);
                // Far from every row, or with cancelling weights, the step is undefined.
                if mass <= 1e-12 {
                    open[i] = false;
                    continue;
                }
                let mut step = 0.0;
                for (j, x) in x[i * p..(i + 1) * p].iter_mut().enumerate() {
                    let next = at(j) / mass;
                    step += (next - *x) * (next - *x);
                    *x = next;
                }
                open[i] = step * self.gamma > ENOUGH * ENOUGH;
            }
        }
        for (i, out) in out.chunks_exact_mut(p).enumerate() {
            for (j, out) in out.iter_mut().enumerate() {
                *out = T::from_f64(x[i * p + j] + self.parts.shift[j]);
            }
        }
        Ok(())
    }

    /// `g` for every row, as a tile; zero in the padding of strips.
    fn weights(&self, z: &Matrix, rows: Range<usize>, n_left: usize, n_padded: usize) -> Vec<f64> {
        let w = width::<f64>();
        let mut weights = vec![0.0; n_left * n_padded];
        for (r, i) in rows.enumerate() {
            for j in 0..self.shares.len() {
                let along: f64 =
                    z.row(i).iter().zip(self.parts.coefficients.row(j)).map(|(z, a)| z * a).sum();
                let mean = if self.parts.options.center { self.shares[j] } else { 0.0 };
                weights[(j / w * n_left + r) * w + j % w] = mean + along;
            }
        }
        weights
    }
}
