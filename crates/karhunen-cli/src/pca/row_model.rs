//! Models that map complete rows to scores and back.

use karhunen::kernel::{Kernel, KernelBasis, KernelParts, KernelRows, PreImageParts};
use karhunen::pca::{ModelParts, Transform};
use karhunen::rotation::{Criterion, RotatedModel, Rotation};
use karhunen::{KernelModel, Matrix, PcaModel, Run, Scalar, Source};
use karhunen_io::{OfFile, ReadOptions, SavedKernel, SavedModel, SavedRotated};

use crate::component_names::{of_components, of_rotated};
use crate::data::dataset::Dataset;
use crate::error::{Failure, Places, Result};

/// A model of complete data.
pub(crate) enum RowModel {
    /// A model of the columns themselves.
    Complete(Box<SavedModel>),
    /// A kernel model.
    Kernel(Box<SavedKernel>),
    /// A model of the columns themselves whose components are rotated.
    Rotated(Box<SavedRotated>),
}

impl RowModel {
    /// The options for reading more data for this model.
    pub(crate) fn read_options(&self, options: ReadOptions) -> ReadOptions {
        match self {
            RowModel::Complete(saved) => saved.read_options(options),
            RowModel::Kernel(saved) => saved.read_options(options),
            RowModel::Rotated(saved) => saved.read_options(options),
        }
    }

    /// Number of components.
    pub(crate) fn n_components(&self) -> usize {
        match self {
            RowModel::Complete(saved) => saved.model.n_components(),
            RowModel::Kernel(saved) => saved.model.n_components(),
            RowModel::Rotated(saved) => saved.model.n_components(),
        }
    }

    /// Names of the components.
    pub(crate) fn component_names(&self) -> Vec<String> {
        match self {
            RowModel::Complete(_) | RowModel::Kernel(_) => of_components(self.n_components()),
            RowModel::Rotated(_) => of_rotated(self.n_components()),
        }
    }

    /// Number of columns of new rows.
    pub(crate) fn n_features(&self) -> usize {
        match self {
            RowModel::Complete(saved) => saved.model.n_features(),
            RowModel::Kernel(saved) => saved.model.n_features(),
            RowModel::Rotated(saved) => saved.model.model().n_features(),
        }
    }

    /// Names of the columns.
    pub(crate) fn feature_names(&self) -> Option<&[String]> {
        match self {
            RowModel::Complete(saved) => saved.extras.feature_names.as_deref(),
            RowModel::Kernel(saved) => saved.extras.feature_names.as_deref(),
            RowModel::Rotated(saved) => saved.extras.feature_names.as_deref(),
        }
    }

    /// How the fitted file was read.
    pub(crate) fn of_file(&self) -> &OfFile {
        match self {
            RowModel::Complete(saved) => &saved.extras.of_file,
            RowModel::Kernel(saved) => &saved.extras.of_file,
            RowModel::Rotated(saved) => &saved.extras.of_file,
        }
    }

    /// The sum of each row to which counts were normalised before the fit.
    pub(crate) fn log1p(&self) -> Option<f64> {
        match self {
            RowModel::Complete(saved) => saved.extras.log1p,
            RowModel::Kernel(saved) => saved.extras.log1p,
            RowModel::Rotated(saved) => saved.extras.log1p,
        }
    }

    /// Returns true if the model can map scores to rows.
    pub(crate) fn reconstructs(&self) -> bool {
        match self {
            RowModel::Complete(_) | RowModel::Rotated(_) => true,
            RowModel::Kernel(saved) => saved.model.parts().pre_image.is_some(),
        }
    }

    /// Refuses `--whiten` for a model whose scores have unit variance anyway.
    ///
    /// # Errors
    /// [`Failure::Usage`].
    pub(crate) fn check_whiten(&self, whiten: bool) -> Result<()> {
        match self {
            RowModel::Rotated(_) if whiten => Err(Failure::whitened_rotation()),
            _ => Ok(()),
        }
    }

    /// Refuses `--unshrunk` for a model without a correction of scores.
    ///
    /// # Errors
    /// [`Failure::Usage`].
    pub(crate) fn check_unshrunk(&self, unshrunk: bool) -> Result<()> {
        match self {
            RowModel::Kernel(_) | RowModel::Rotated(_) if unshrunk => Err(Failure::Usage(
                "--unshrunk corrects the scores of components that are neither rotated nor of a kernel; leave it out"
                    .to_owned(),
            )),
            _ => Ok(()),
        }
    }

    /// The advice for a model that cannot map scores to rows.
    pub(crate) fn reconstruction_advice(&self) -> String {
        let RowModel::Kernel(saved) = self else { return String::new() };
        match (saved.model.kernel(), &saved.model.parts().basis) {
            (kernel @ (Kernel::Precomputed | Kernel::AdditiveChi2 | Kernel::Chi2 { .. }), _) => {
                format!("the kernel {} has no pre-images: fit with another", kernel.name())
            }
            (_, KernelBasis::Frequencies(_)) => {
                "fit again with --pre-image auto, and another solver than fourier".to_owned()
            }
            (
                _,
                KernelBasis::Rows(KernelRows::Sparse { .. })
                | KernelBasis::Landmarks(KernelRows::Sparse { .. }),
            ) => "fit again with --pre-image auto, to dense data".to_owned(),
            _ => "fit again with --pre-image auto".to_owned(),
        }
    }

    /// The scores of rows.
    ///
    /// # Errors
    /// Errors of the model.
    pub(crate) fn transform_with<T: Scalar>(
        &self,
        x: &dyn Source<T>,
        how: Transform,
        run: &Run<'_>,
    ) -> karhunen::Result<Matrix<T>> {
        match self {
            RowModel::Complete(saved) => saved.model.transform_with(x, how, run),
            RowModel::Kernel(saved) => saved.model.transform_with(x, how, run),
            // Rotated scores have unit variance, whitened or not.
            RowModel::Rotated(saved) => saved.model.transform_with(x, run),
        }
    }

    /// Maps scores to rows.
    ///
    /// # Errors
    /// Errors of the model.
    pub(crate) fn inverse_transform_with<T: Scalar>(
        &self,
        scores: &Matrix<T>,
        how: Transform,
        run: &Run<'_>,
    ) -> karhunen::Result<Matrix<T>> {
        match self {
            RowModel::Complete(saved) => saved.model.inverse_transform_with(scores, how, run),
            RowModel::Kernel(saved) => saved.model.inverse_transform_with(scores, how, run),
            RowModel::Rotated(saved) => saved.model.inverse_transform_with(scores, run),
        }
    }

    /// The model with its features in the order and under the names of a table's columns.
    ///
    /// # Errors
    /// Same errors as [`Dataset::order`].
    pub(crate) fn aligned(mut self, dataset: &Dataset) -> Result<Self> {
        let order = dataset.order(self.feature_names(), self.n_features())?;
        let explain = |error: karhunen::Error| Failure::library(&Places::of_file(&dataset.file), &error);
        let columns = dataset.table.feature_names.clone();
        match &mut self {
            RowModel::Complete(saved) => {
                if let Some(order) = order {
                    saved.model = reordered(&saved.model, &order).map_err(explain)?;
                }
                saved.extras.feature_names = columns.or(saved.extras.feature_names.take());
            }
            RowModel::Kernel(saved) => {
                if let Some(order) = order {
                    saved.model = reordered_kernel(&saved.model, &order).map_err(explain)?;
                }
                saved.extras.feature_names = columns.or(saved.extras.feature_names.take());
            }
            RowModel::Rotated(saved) => {
                if let Some(order) = order {
                    saved.model = reordered_rotation(&saved.model, &order).map_err(explain)?;
                }
                saved.extras.feature_names = columns.or(saved.extras.feature_names.take());
            }
        }
        Ok(self)
    }
}

/// The model whose feature `j` is feature `order[j]` of `model`.
fn reordered(model: &PcaModel, order: &[usize]) -> karhunen::Result<PcaModel> {
    let parts = model.parts();
    PcaModel::try_from(ModelParts {
        components: columns(&parts.components, order),
        mean: pick(&parts.mean, order),
        scale: pick(&parts.scale, order),
        feature_weights: parts.feature_weights.as_ref().map(|weights| pick(weights, order)),
        feature_variance: parts.feature_variance.as_ref().map(|variance| pick(variance, order)),
        ..parts.clone()
    })
}

/// As [`reordered`], for a model whose components are rotated.
fn reordered_rotation(rotated: &RotatedModel, order: &[usize]) -> karhunen::Result<RotatedModel> {
    let Rotation { rotation, n_iter, converged, .. } = rotated.rotation();
    let criterion = match rotated.criterion() {
        Criterion::Procrustes { target } => {
            let target = Matrix::from_fn(order.len(), target.n_cols(), |j, c| target[(order[j], c)]);
            Criterion::Procrustes { target }
        }
        other => other.clone(),
    };
    let model = reordered(rotated.model(), order)?;
    RotatedModel::of_matrix(model, criterion, rotation.clone(), (*n_iter, *converged))
}

fn pick(values: &[f64], order: &[usize]) -> Vec<f64> {
    order.iter().map(|&j| values[j]).collect()
}

fn columns(values: &Matrix, order: &[usize]) -> Matrix {
    Matrix::from_fn(values.n_rows(), order.len(), |i, j| values[(i, order[j])])
}

/// As [`reordered`], for a kernel model. The features of a precomputed kernel are the fitted rows.
fn reordered_kernel(model: &KernelModel, order: &[usize]) -> karhunen::Result<KernelModel> {
    let mut parts: KernelParts = model.parts().clone();
    match &mut parts.basis {
        KernelBasis::Rows(rows) | KernelBasis::Landmarks(rows) => reorder_rows(rows, order),
        KernelBasis::Frequencies(frequencies) => *frequencies = columns(frequencies, order),
        KernelBasis::Precomputed { .. } => {
            let old = parts.coefficients;
            parts.coefficients = Matrix::from_fn(order.len(), old.n_cols(), |i, c| old[(order[i], c)]);
        }
    }
    if !parts.shift.is_empty() {
        parts.shift = pick(&parts.shift, order);
    }
    if let Some(PreImageParts::Ridge { coefficients, centre, .. }) = &mut parts.pre_image {
        *coefficients = columns(coefficients, order);
        if !centre.is_empty() {
            *centre = pick(centre, order);
        }
    }
    KernelModel::try_from(parts)
}

fn reorder_rows(rows: &mut KernelRows, order: &[usize]) {
    match rows {
        KernelRows::Dense(rows) => *rows = columns(rows, order),
        KernelRows::Sparse { pointers, indices, values, .. } => {
            let mut places = vec![0; order.len()];
            // Column indices fit into 32 bits: they were read as such.
            order.iter().enumerate().for_each(|(new, &old)| places[old] = new as u32);
            for ends in pointers.windows(2) {
                let here = ends[0] as usize..ends[1] as usize;
                let mut entries: Vec<(u32, f64)> =
                    here.clone().map(|e| (places[indices[e] as usize], values[e])).collect();
                entries.sort_unstable_by_key(|(column, _)| *column);
                for (e, (column, value)) in here.zip(entries) {
                    (indices[e], values[e]) = (column, value);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use karhunen::kernel::{Gamma, KernelRoute, PreImage};
    use karhunen::rotation::Orthomax;
    use karhunen::{Dense, KernelPca, Pca, Sparse, Weights};

    use super::*;

    const X: [f64; 15] = [1.0, 2.0, 0.0, 2.0, 1.0, 5.0, 4.0, 3.0, 1.0, 0.0, 7.0, 2.0, 0.0, 3.0, 3.0];
    /// The columns c, a, b of a table with the columns a, b, c.
    const ORDER: [usize; 3] = [2, 0, 1];

    fn shuffled() -> Matrix {
        Matrix::from_fn(5, 3, |i, j| X[3 * i + ORDER[j]])
    }

    fn assert_same(found: &Matrix, expected: &Matrix) {
        assert_eq!(found.shape(), expected.shape());
        for (a, b) in found.as_slice().iter().zip(expected.as_slice()) {
            assert!((a - b).abs() < 1e-12, "{a} {b}");
        }
    }

    #[test]
    fn columns_in_another_order_give_the_same_scores() {
        let x = Dense::row_major(&X, 5, 3).unwrap();
        let model = Pca::new(2).fit(&x, &Weights::default()).unwrap();
        let again = reordered(&model, &ORDER).unwrap();
        let shuffled = shuffled();
        assert_same(&again.transform(&Dense::from(&shuffled)).unwrap(), &model.transform(&x).unwrap());
    }

    #[test]
    fn rotated_components_of_columns_in_another_order_give_the_same_scores_and_rows() {
        let x = Dense::row_major(&X, 5, 3).unwrap();
        let model = Pca::new(2).fit(&x, &Weights::default()).unwrap();
        let target = Matrix::from_fn(3, 2, |j, c| (j + 2 * c) as f64);
        for criterion in [Criterion::Orthomax(Orthomax::varimax()), Criterion::Procrustes { target }] {
            let rotated = RotatedModel::new(model.clone(), None, criterion, &Run::default()).unwrap();
            let again = reordered_rotation(&rotated, &ORDER).unwrap();
            let shuffled = shuffled();
            let scores = rotated.transform_with(&x, &Run::default()).unwrap();
            assert_same(&again.transform_with(&Dense::from(&shuffled), &Run::default()).unwrap(), &scores);
            let rows = columns(&rotated.inverse_transform_with(&scores, &Run::default()).unwrap(), &ORDER);
            assert_same(&again.inverse_transform_with(&scores, &Run::default()).unwrap(), &rows);
        }
    }

    #[test]
    fn kernels_of_columns_in_another_order_give_the_same_scores_and_rows() {
        let x = Dense::row_major(&X, 5, 3).unwrap();
        let shuffled = shuffled();
        let kernel = Kernel::Rbf { gamma: Gamma::Value(0.1) };
        let ridge = Some(PreImage::Ridge { alpha: 0.1 });
        for (solver, pre_image) in [
            (KernelRoute::Full, ridge),
            (KernelRoute::Full, Some(PreImage::FixedPoint)),
            (KernelRoute::Nystrom, ridge),
            (KernelRoute::Nystrom, Some(PreImage::Auto { alpha: 0.1 })),
            (KernelRoute::Fourier, None),
        ] {
            let pca = KernelPca { kernel, solver: Some(solver), pre_image, ..KernelPca::new(2) };
            let model = pca.fit(&x, &Weights::default()).unwrap();
            let again = reordered_kernel(&model, &ORDER).unwrap();
            let scores = model.transform(&x).unwrap();
            assert_same(&again.transform(&Dense::from(&shuffled)).unwrap(), &scores);
            if pre_image.is_some() {
                let rows = model.inverse_transform(&scores).unwrap();
                let rows = columns(&rows, &ORDER);
                assert_same(&again.inverse_transform(&scores).unwrap(), &rows);
            }
        }
    }

    #[test]
    fn sparse_rows_and_precomputed_kernels_are_put_in_order() {
        let stored: Vec<usize> = (0..15).filter(|e| X[*e] != 0.0).collect();
        let values: Vec<f64> = stored.iter().map(|e| X[*e]).collect();
        let indices: Vec<u32> = stored.iter().map(|e| (e % 3) as u32).collect();
        let pointers: Vec<u64> =
            (0..=5).map(|i| stored.iter().filter(|e| **e < 3 * i).count() as u64).collect();
        let sparse = Sparse::csr(5, 3, &pointers, &indices, &values).unwrap();
        let pca = KernelPca { kernel: Kernel::Linear, ..KernelPca::new(2) };
        let model = pca.fit(&sparse, &Weights::default()).unwrap();
        let shuffled = shuffled();
        let again = reordered_kernel(&model, &ORDER).unwrap();
        let expected = model.transform(&sparse).unwrap();
        assert_same(&again.transform(&Dense::from(&shuffled)).unwrap(), &expected);

        let products = Matrix::from_fn(5, 5, |i, j| (0..3).map(|c| X[3 * i + c] * X[3 * j + c]).sum());
        let given = KernelPca { kernel: Kernel::Precomputed, ..pca };
        let model = given.fit(&Dense::from(&products), &Weights::default()).unwrap();
        let order = [4, 0, 3, 1, 2];
        let again = reordered_kernel(&model, &order).unwrap();
        let rows = columns(&products, &order);
        let expected = model.transform(&Dense::from(&products)).unwrap();
        assert_same(&again.transform(&Dense::from(&rows)).unwrap(), &expected);
    }
}
