//! The bootstrap: fits to rows that are drawn with replacement.

use crate::choice::{Choice, Named, plain_names};
use crate::error::{Advice, Error, OptionName, Result, options};
use crate::exec::{Exec, Run};
use crate::growth::More;
use crate::linalg::decomp::polar::orthogonal_factor;
use crate::linalg::dense::small::{multiply, t_multiply};
use crate::linalg::{Dense, Matrix};
use crate::memory;
use crate::pca::{Centring, NComponents, Pca, PcaModel, Scaling, Transform};
use crate::random::Purpose;
use crate::resampling::draws::Rows;
use crate::resampling::interval::{Estimates, bias_corrected};
use crate::scalar::{Scalar, compiled};
use crate::source::{Passes, Source};
use crate::weights::Weights;

/// Number of features per piece of work.
const FEATURES: usize = 16;

/// Confidence intervals by the bootstrap: the data are fitted again and again to rows drawn with replacement.
///
/// Rows of frequency weights are drawn as often as these sum to, each in proportion to its weight; rows of importance and
/// population weights are drawn alike, and keep their weights. Loadings of a draw are aligned with those of the data
/// ([`Alignment`]). Intervals are bias-corrected percentiles, because the largest variance of a sample is too large on
/// average, and that of a bootstrap sample again. Ends are NaN where this bias exceeds the sampling error: where the
/// estimate lies outside the central `level` of the draws, as trailing variances of few rows and weak ones of wide data do.
///
/// Centred or not, wide data (more columns than rows) that are not scaled are fitted by their scores, of shape
/// (n_samples, n_samples): exact, and the number of columns counts only once (Fisher, Caffo, Schwartz & Zipunnikov 2016,
/// doi:10.1080/01621459.2015.1062383).
#[derive(Clone, Debug, PartialEq)]
pub struct Bootstrap {
    /// Options of the fits. All its components are kept if their number is left open.
    pub pca: Pca,
    /// Number of draws, at least `2 / (1 - level)`.
    pub n_draws: usize,
    /// Probability that an interval holds the value of the population, between 0 and 1.
    pub level: f64,
    /// The alignment of the loadings of a draw with those of the data.
    pub alignment: Alignment,
    /// Seed of the draws.
    pub seed: u64,
    #[doc(hidden)]
    pub more: More,
}

impl Default for Bootstrap {
    fn default() -> Self {
        Self {
            pca: Pca::default(),
            n_draws: 1000,
            level: 0.95,
            alignment: Alignment::Signs,
            seed: 0,
            more: More,
        }
    }
}

/// The alignment of the loadings of resampled data with those of the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Alignment {
    /// Each component gets the sign with a positive inner product. Intervals are those of the loadings of a component; the
    /// order of neighbours is part of its uncertainty.
    #[default]
    Signs,
    /// All components are rotated orthogonally to the least squared distance (Procrustes). Intervals are those of a
    /// population that is rotated to the data in the same way: of the subspace, not of its components, whose own
    /// intervals are up to three times as wide.
    Procrustes,
}

impl Choice for Alignment {
    const TABLE: &'static [Named<Self>] = &[
        Named::new(Self::Signs, "signs", "Each component by its sign"),
        Named::new(Self::Procrustes, "procrustes", "All components by an orthogonal rotation"),
    ];
}

plain_names!(Alignment);

impl Alignment {
    /// Aligns `loadings` with `target`, both of shape (n_features, n_components).
    fn align(self, loadings: Matrix, target: &Matrix) -> Result<Matrix> {
        let products = t_multiply(&loadings, target);
        let (p, k) = loadings.shape();
        Ok(match self {
            Self::Procrustes => multiply(&loadings, &orthogonal_factor(&products)?),
            Self::Signs => Matrix::from_fn(p, k, |j, c| {
                if products[(c, c)] < 0.0 { -loadings[(j, c)] } else { loadings[(j, c)] }
            }),
        })
    }
}

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
}

/// The number of draws in errors.
const N_DRAWS: OptionName = OptionName::new("n_draws");

impl Bootstrap {
    /// Fits `x`, shape (n_samples, n_features), and the rows drawn from it. `x` is read again in every draw, unless it is
    /// wide and not scaled.
    ///
    /// # Errors
    /// [`Error::Option`] for a level outside (0, 1) or too few draws; [`Error::OnePass`] for a source of one pass;
    /// [`Error::Shape`] for fewer than three rows of positive weight; [`Error::Memory`]; errors of [`Pca::fit_with`].
    pub fn run<T: Scalar>(
        &self,
        x: &dyn Source<T>,
        weights: &Weights<'_>,
        run: &Run<'_>,
    ) -> Result<Intervals> {
        let bootstrap = compiled!(T, bootstrap::<T>
            => fn(&Bootstrap, &dyn Source<T>, &Weights<'_>, &Run<'_>) -> Result<Intervals>);
        bootstrap(self, x, weights, run)
    }

    fn check(&self) -> Result<()> {
        if !(self.level > 0.0 && self.level < 1.0) {
            let rule = "the probability of an interval lies between 0 and 1, both excluded";
            return Err(Error::option(options::LEVEL, self.level, rule));
        }
        let fewest = (2.0 / (1.0 - self.level)).ceil();
        if (self.n_draws as f64) < fewest {
            let rule = format!("intervals of level {} need at least {fewest} draws", self.level);
            return Err(Error::option(N_DRAWS, self.n_draws, rule));
        }
        Ok(())
    }
}

fn bootstrap<T: Scalar>(
    options: &Bootstrap,
    x: &dyn Source<T>,
    weights: &Weights<'_>,
    run: &Run<'_>,
) -> Result<Intervals> {
    options.check()?;
    if x.passes() == Passes::Once {
        return Err(Error::OnePass {
            work: "a bootstrap".to_owned(),
            way_out: "give data that can be read again, such as a file or an array",
        });
    }
    let (n, p) = x.shape();
    let rows = Rows::new(weights.samples, options.pca.weighting, n)?;
    if p <= n || options.pca.scale != Scaling::None {
        let model = options.pca.fit_with(x, weights, run)?;
        let pca = Pca { n_components: NComponents::Count(model.n_components()), ..options.pca.clone() };
        let draws = Draws { options, rows: &rows, pca, features: weights.features };
        return draws.intervals(x, (&model, model.n_components(), None), run);
    }
    let whole = Pca { n_components: NComponents::All, ..options.pca.clone() }.fit_with(x, weights, run)?;
    let k = options.pca.fit_with(x, weights, run)?.n_components();
    let scores = whole.transform_with(x, Transform::default(), run)?;
    let scores = Matrix::from_fn(scores.n_rows(), scores.n_cols(), |i, c| scores[(i, c)].to_f64());
    // The scores are about given centres.
    let center = Centring::from(options.pca.center == Centring::Mean);
    let pca = Pca { n_components: NComponents::Count(k), center, solver: None, ..options.pca.clone() };
    let draws = Draws { options, rows: &rows, pca, features: None };
    draws.intervals(&Dense::from(&scores), (&whole, k, Some(whole.components())), run)
}

/// Fits of drawn rows.
struct Draws<'a> {
    options: &'a Bootstrap,
    rows: &'a Rows,
    pca: Pca,
    features: Option<&'a [f64]>,
}

impl Draws<'_> {
    /// The intervals of the first `k` components of `model`. `basis`, shape (r, n_features), takes the columns of `x` to
    /// the features, if they are not these.
    fn intervals<T: Scalar>(
        &self,
        x: &dyn Source<T>,
        (model, k, basis): (&PcaModel, usize, Option<&Matrix>),
        run: &Run<'_>,
    ) -> Result<Intervals> {
        let (n_draws, level, r) = (self.options.n_draws, self.options.level, x.shape().1);
        let loadings = model.loadings().columns(0..k);
        // The loadings in the columns of `x`.
        let target = basis.map_or_else(|| loadings.clone(), |basis| multiply(basis, &loadings));
        // Of each draw: variances and their shares, then loadings.
        let width = 2 * k + r * k;
        let advice = || vec!["make fewer draws, or keep fewer components".into(), Advice::RaiseLimit];
        memory::ask(
            &format!("the loadings of {n_draws} draws"),
            8.0 * n_draws as f64 * width as f64,
            advice,
        )?;
        let mut drawn = Matrix::try_zeros("the loadings of all draws", n_draws, width)?;
        Exec::run(run, |exec| {
            exec.phase("bootstrap").fill(drawn.as_mut_slice(), width, |draw, out| {
                let samples = self.rows.draw(Purpose::Bootstrap.of(self.options.seed).number(draw as u64))?;
                let weights = Weights { samples: Some(&samples), features: self.features };
                let alone = Run { n_threads: Some(1), ..Run::default() };
                let found = self.pca.fit_with(x, &weights, &alone)?;
                let (of_variances, rest) = out.split_at_mut(k);
                let (of_ratios, of_loadings) = rest.split_at_mut(k);
                of_variances.copy_from_slice(found.explained_variance());
                of_ratios.copy_from_slice(found.explained_variance_ratio());
                let aligned = self.options.alignment.align(found.loadings(), &target)?;
                of_loadings.copy_from_slice(aligned.as_slice());
                Ok(())
            })
        })?;
        let of = |estimate: &[f64], first: usize| {
            let one = |c: usize| {
                let mut values: Vec<f64> = (0..n_draws).map(|draw| drawn[(draw, first + c)]).collect();
                bias_corrected(&mut values, estimate[c], level)
            };
            let found: Vec<[f64; 3]> = (0..k).map(one).collect();
            Estimates::of(Matrix::from_fn(1, k, |_, c| estimate[c]), &found)
        };
        let variances = of(&model.explained_variance()[..k], 0);
        let ratios = of(&model.explained_variance_ratio()[..k], k);
        let mut found = vec![[0.0; 3]; loadings.n_rows() * k];
        Exec::run(run, |exec| {
            exec.phase("intervals").fill(&mut found, FEATURES * k, |piece, out| {
                let mut values = vec![0.0; n_draws];
                for (at, out) in out.iter_mut().enumerate() {
                    let (j, c) = (piece * FEATURES + at / k, at % k);
                    for (draw, value) in values.iter_mut().enumerate() {
                        let of_draw = &drawn.row(draw)[2 * k..];
                        *value = match basis {
                            None => of_draw[j * k + c],
                            Some(basis) => (0..r).map(|i| basis[(i, j)] * of_draw[i * k + c]).sum(),
                        };
                    }
                    *out = bias_corrected(&mut values, loadings[(j, c)], level);
                }
                Ok(())
            })
        })?;
        Ok(Intervals { variances, ratios, loadings: Estimates::of(loadings, &found) })
    }
}
