//! Fits of the same rows with other weights: the work that bootstrap and jackknife share.

use crate::error::{Advice, Error, Result};
use crate::exec::{Exec, Run};
use crate::linalg::dense::small::multiply;
use crate::linalg::{Dense, Matrix};
use crate::memory;
use crate::pca::{Centring, NComponents, Pca, PcaModel, Scaling, Transform};
use crate::resampling::alignment::Alignment;
use crate::resampling::interval::{Estimates, Scale, Summary};
use crate::resampling::replicates::Replicates;
use crate::scalar::Scalar;
use crate::source::{Passes, Source};
use crate::weights::{NormalizedWeights, Weights};

/// Number of features per piece of work.
const FEATURES: usize = 16;

/// Intervals of a fit.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Intervals {
    /// Explained variances, shape (1, n_components).
    pub variances: Estimates,
    /// Explained variance ratios, shape (1, n_components).
    pub ratios: Estimates,
    /// Loadings, shape (n_features, n_components): with `scale` correlations of features and components.
    pub loadings: Estimates,
    /// The fits of all draws of a bootstrap that keeps them.
    pub replicates: Option<Replicates>,
}

/// The fits to make.
pub(super) struct Plan<'a> {
    /// Options of the fits.
    pub(super) pca: &'a Pca,
    pub(super) alignment: Alignment,
    /// The name of the work.
    pub(super) phase: &'static str,
    /// Number of fits.
    pub(super) n_fits: usize,
    /// The weights of all rows in each fit.
    pub(super) weights: &'a (dyn Fn(usize) -> Result<Vec<f64>> + Sync),
}

/// The fit of the data, and the fits with other weights.
pub(super) struct Refits {
    /// The fit of the data.
    model: PcaModel,
    /// Takes the columns that were fitted again to the features, shape (r, n_features), if they are not these.
    basis: Option<Matrix>,
    /// Of each fit: variances and their shares, then the aligned loadings of the r columns.
    fits: Matrix,
}

impl Plan<'_> {
    /// Fits `x` with `weights`, and again with the weights of each fit.
    ///
    /// Data with more columns than rows that are not scaled are fitted again by their scores, of shape (n_samples,
    /// n_samples): exact, and the number of columns counts only once (Fisher, Caffo, Schwartz & Zipunnikov 2016,
    /// doi:10.1080/01621459.2015.1062383).
    pub(super) fn run<T: Scalar>(
        &self,
        x: &dyn Source<T>,
        weights: &Weights<'_>,
        run: &Run<'_>,
    ) -> Result<Refits> {
        if x.passes() == Passes::Once {
            return Err(Error::OnePass {
                work: format!("a {}", self.phase),
                way_out: "give data that can be read again, such as a file or an array",
            });
        }
        let (n, p) = x.shape();
        if p <= n || self.pca.scale != Scaling::None {
            let model = self.pca.fit_with(x, weights, run)?;
            let fits = self.fits(x, (self.pca, weights.features), &model.loadings(), run)?;
            return Ok(Refits { model, basis: None, fits });
        }
        let whole = Pca { n_components: NComponents::All, ..self.pca.clone() }.fit_with(x, weights, run)?;
        let k = self.pca.fit_with(x, weights, run)?.n_components();
        let scores = whole.transform_with(x, Transform::default(), run)?;
        let scores = Matrix::from_fn(scores.n_rows(), scores.n_cols(), |i, c| scores[(i, c)].to_f64());
        // The scores are about given centres.
        let center = Centring::from(self.pca.center == Centring::Mean);
        let pca = Pca { center, solver: None, ..self.pca.clone() };
        let target = multiply(whole.components(), &whole.loadings().columns(0..k));
        let fits = self.fits(&Dense::from(&scores), (&pca, None), &target, run)?;
        Ok(Refits { model: whole.leading(k)?, basis: Some(whole.components().clone()), fits })
    }

    /// The fits of `x`, shape (n, r), whose loadings are aligned with `target`, shape (r, n_components).
    fn fits<T: Scalar>(
        &self,
        x: &dyn Source<T>,
        (pca, features): (&Pca, Option<&[f64]>),
        target: &Matrix,
        run: &Run<'_>,
    ) -> Result<Matrix> {
        let ((n, _), (r, k)) = (x.shape(), target.shape());
        let width = 2 * k + r * k;
        let what = format!("the loadings of {} fits", self.n_fits);
        let advice = || vec!["make fewer fits, or keep fewer components".into(), Advice::RaiseLimit];
        memory::ask(&what, 8.0 * self.n_fits as f64 * width as f64, advice)?;
        let mut fits = Matrix::try_zeros(&what, self.n_fits, width)?;
        Exec::run(run, |exec| {
            exec.phase(self.phase).fill(fits.as_mut_slice(), width, |fit, out| {
                let samples = (self.weights)(fit)?;
                // Fewer observations may have fewer components; the variances of the others are zero.
                let totals = NormalizedWeights::new(Some(&samples), n)?.totals;
                let found = k.min(totals.all_components(pca.weighting, (n, r)));
                let pca = Pca { n_components: NComponents::Count(found), ..pca.clone() };
                let alone = Run { n_threads: Some(1), ..Run::default() };
                let model = pca.fit_with(x, &Weights { samples: Some(&samples), features }, &alone)?;
                let (of_variances, rest) = out.split_at_mut(k);
                let (of_ratios, of_loadings) = rest.split_at_mut(k);
                of_variances[..found].copy_from_slice(model.explained_variance());
                of_ratios[..found].copy_from_slice(model.explained_variance_ratio());
                let loadings = model.loadings();
                let loadings = Matrix::from_fn(r, k, |j, c| if c < found { loadings[(j, c)] } else { 0.0 });
                of_loadings.copy_from_slice(self.alignment.align(loadings, target)?.as_slice());
                Ok(())
            })
        })?;
        Ok(fits)
    }
}

impl Refits {
    /// Intervals of the fit by the fits with other weights, which `keep` makes part of them.
    pub(super) fn intervals(self, summary: Summary<'_>, keep: bool, run: &Run<'_>) -> Result<Intervals> {
        let (p, k, n_fits) = (self.model.n_features(), self.model.n_components(), self.fits.n_rows());
        let of = |estimate: &[f64], first: usize, scale: Scale| {
            let one = |c: usize| {
                let mut values: Vec<f64> = (0..n_fits).map(|fit| self.fits[(fit, first + c)]).collect();
                summary.of(&mut values, estimate[c], scale)
            };
            let found: Vec<[f64; 4]> = (0..k).map(one).collect();
            Estimates::of(Matrix::from_fn(1, k, |_, c| estimate[c]), &found)
        };
        let variances = of(self.model.explained_variance(), 0, Scale::Log);
        let ratios = of(self.model.explained_variance_ratio(), k, Scale::Logit);
        let loadings = self.model.loadings();
        let scale = if self.has_correlations() { Scale::Fisher } else { Scale::Linear };
        let mut found = vec![[0.0; 4]; p * k];
        Exec::run(run, |exec| {
            exec.phase("intervals").fill(&mut found, FEATURES * k, |piece, out| {
                let mut values = vec![0.0; n_fits];
                for (at, out) in out.iter_mut().enumerate() {
                    let (j, c) = (piece * FEATURES + at / k, at % k);
                    for (fit, value) in values.iter_mut().enumerate() {
                        *value = self.loading(fit, j, c);
                    }
                    *out = summary.of(&mut values, loadings[(j, c)], scale);
                }
                Ok(())
            })
        })?;
        let loadings = Estimates::of(loadings, &found);
        let replicates = if keep { Some(self.replicates(run)?) } else { None };
        Ok(Intervals { variances, ratios, loadings, replicates })
    }

    /// Returns true if loadings are correlations of features and components.
    fn has_correlations(&self) -> bool {
        let options = self.model.options();
        options.scale == Scaling::Deviation
            && options.center == Centring::Mean
            && self.model.feature_weights().is_none()
    }

    /// The aligned loading of a feature on a component of a fit.
    fn loading(&self, fit: usize, j: usize, c: usize) -> f64 {
        let k = self.model.n_components();
        let loadings = &self.fits.row(fit)[2 * k..];
        match &self.basis {
            None => loadings[j * k + c],
            Some(basis) => (0..basis.n_rows()).map(|i| basis[(i, j)] * loadings[i * k + c]).sum(),
        }
    }

    /// All fits, with the loadings of the features.
    fn replicates(self, run: &Run<'_>) -> Result<Replicates> {
        let (p, k, n_fits) = (self.model.n_features(), self.model.n_components(), self.fits.n_rows());
        let what = format!("the loadings of {n_fits} draws");
        let advice = || {
            vec![
                "make fewer draws, keep fewer components, or do not keep the draws".into(),
                Advice::RaiseLimit,
            ]
        };
        memory::ask(&what, 8.0 * n_fits as f64 * (p * k) as f64, advice)?;
        let mut loadings = Matrix::try_zeros(&what, n_fits, p * k)?;
        Exec::run(run, |exec| {
            exec.phase("replicates").fill(loadings.as_mut_slice(), p * k, |fit, out| {
                for (at, out) in out.iter_mut().enumerate() {
                    *out = self.loading(fit, at / k, at % k);
                }
                Ok(())
            })
        })?;
        let (variances, ratios) = (self.fits.columns(0..k), self.fits.columns(k..2 * k));
        Ok(Replicates { model: self.model, variances, ratios, loadings })
    }
}
