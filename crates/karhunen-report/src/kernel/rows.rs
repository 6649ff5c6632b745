//! The samples of kernel components: scores.

use karhunen::{KernelModel, Run, Scalar, Source};

use crate::Error;
use crate::names::Names;
use crate::numbers::{count, counted};
use crate::points::{Distance, Points, Rows, shown};

impl Rows {
    /// Computes the scores of all rows.
    pub(crate) fn of_kernel<T: Scalar>(
        model: &KernelModel,
        x: &dyn Source<T>,
        names: &Names<'_>,
        run: &Run<'_>,
    ) -> Result<Self, Error> {
        let scores = model.transform_with(x, karhunen::pca::Transform::default(), run)?;
        let sum_of_weights = model.parts().sum_of_weights;
        let t2: Vec<f64> = (0..scores.n_rows())
            .map(|i| {
                let terms = scores.row(i).iter().zip(model.eigenvalues());
                terms
                    .filter(|(_, value)| **value > 0.0)
                    .map(|(score, value)| score.to_f64().powi(2) * sum_of_weights / value)
                    .sum()
            })
            .collect();
        let n = scores.n_rows();
        let shown = shown(&[], n);
        let mut sentences = vec![
            format!("{} are given, and {} were fitted.", counted(n, "sample"), count(model.n_samples())),
            "T² is the sum of squared scores over their variances. Kernel scores are not normal, so it has no limit, and no sample \
             is called odd."
                .to_owned(),
        ];
        if shown.len() < n {
            sentences.push(format!(
                "The pictures and the table hold {} of {}, at equal distances in the order of the rows.",
                count(shown.len()),
                counted(n, "sample"),
            ));
        }
        let sizes = vec![0.0; n];
        let t2 = Distance { title: "T²", values: t2, limit: None };
        let points = Points::of(&scores, names, &shown, &sizes, (t2, None));
        Ok(Self { sentences, points, odd: None, is_of_fit: false })
    }
}
