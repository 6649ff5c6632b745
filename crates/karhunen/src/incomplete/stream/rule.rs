//! Oja's and Karhunen's rules for one row at a time with missing entries (`docs/missing-values-methods.md`).

use crate::error::{Error, OptionValue, Result, options};
use crate::exec::{Exec, Flow, Run};
use crate::incomplete::data::{ColumnScales, Observed, Segment};
use crate::incomplete::factors::state_arrays::{Arrays, count, damaged, flag, optional_size};
use crate::incomplete::options::OnlineRule;
use crate::incomplete::passes::least_norm::solve;
use crate::incomplete::stream::recent::Recent;
use crate::incomplete::updates::mean::{ColumnSums, deviations_about};
use crate::linalg::Matrix;
use crate::linalg::decomp::cholesky::{BLOCK, Upper};
use crate::linalg::normals::gaussian;
use crate::random::Purpose;
use crate::scalar::{Scalar, compiled};
use crate::source::{Block, Source};

/// Ridge of the scores of a row, as a fraction of the deviation of an entry.
const RIDGE: f64 = 1e-3;
/// Number of entries that the prior of an offset is worth.
const OFFSET_RIDGE: f64 = 1e-3;
/// Memory of a new feature, in samples: early scores are poor, and their influence fades.
const FADING: f64 = 5.0;
/// Relative increase of the diagonal of the curvatures under `Rls`.
const LEAST_CURVATURE: f64 = 1e-9;
/// Initial learning rate of Oja's rule, and the number of samples that halves it.
const OJA: (f64, f64) = (0.5, 400.0);

/// Components that learn from rows with missing entries, one row at a time, in constant memory.
///
/// ```
/// use karhunen::incomplete::{IncompleteStream, OnlineRule};
/// use karhunen::{Dense, IncompletePca, Observed};
/// let x: Vec<f64> = (0..60).map(|e| if e % 7 == 3 { f64::NAN } else { (e / 3) as f64 % 4.0 * (1 + e % 3) as f64 }).collect();
/// let rows = Observed::from_dense(&Dense::row_major(&x, 20, 3)?)?;
/// let mut stream = IncompleteStream::new(1, 3, OnlineRule::Diagonal, 0)?;
/// for _ in 0..20 {
///     stream.partial_fit(&rows)?;
/// }
/// let model = stream.finish(&rows, &IncompletePca::new(1))?;
/// assert_eq!(stream.n_samples_seen(), 400);
/// assert!((model.predict(1, 0)?.value - 1.0).abs() < 0.05);
/// # Ok::<(), karhunen::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct IncompleteStream {
    pub(crate) rule: OnlineRule,
    pub(crate) c: usize,
    /// `(a_j, mu_j)` of each feature.
    pub(crate) loadings: Matrix,
    /// Decaying sums of `(s^2, 1)` of each feature; under `Rls` of all products of `(s, 1)`.
    pub(crate) curvatures: Matrix,
    /// Sum of the weights of the entries of each feature.
    pub(crate) seen: Vec<f64>,
    /// Weight and value of the first entry of each feature, where it initialised the mean.
    #[cfg_attr(feature = "serde", serde(default))]
    pub(crate) first: Vec<(f64, f64)>,
    pub(crate) n_samples: usize,
    /// True if the mean is learned.
    pub(crate) mean: bool,
    /// True if rows have offsets.
    #[cfg_attr(feature = "serde", serde(default))]
    pub(crate) row_offsets: bool,
    /// The last rows, for models of fewer rows than components.
    #[cfg_attr(feature = "serde", serde(default))]
    pub(crate) recent: Recent,
    /// True if means were given; otherwise the first entry of a feature initialises its mean.
    pub(crate) mean_known: bool,
    /// Standard deviation of an entry, estimated from the first rows.
    pub(crate) deviation: Option<f64>,
    /// Scales and weights of the columns of the model that is continued: all numbers here are of scaled entries.
    #[cfg_attr(feature = "serde", serde(default))]
    pub(crate) scales: ColumnScales,
}

impl IncompleteStream {
    /// Starts from small random loadings.
    ///
    /// # Errors
    /// [`Error::Option`] unless 1 <= n_components <= n_features; [`Error::TooLarge`] for more than 2^32 - 1 features.
    pub fn new(n_components: usize, n_features: usize, rule: OnlineRule, seed: u64) -> Result<Self> {
        if n_components == 0 || n_components > n_features {
            return Err(Error::option(
                options::N_COMPONENTS,
                n_components,
                "at least one component and at most one for each feature can be learned",
            ));
        }
        if n_features > u32::MAX as usize {
            return Err(Error::TooLarge { n_samples: 0, n_features });
        }
        let c = n_components;
        let random = gaussian(n_features, c, Purpose::StreamStart.of(seed));
        let loadings = Matrix::from_fn(n_features, c + 1, |j, k| if k < c { random[(j, k)] } else { 0.0 });
        let curvatures = Matrix::zeros(n_features, n_curvatures(rule, c));
        let seen = vec![0.0; n_features];
        Ok(Self {
            rule,
            c,
            loadings,
            curvatures,
            seen,
            first: vec![(0.0, 0.0); n_features],
            n_samples: 0,
            mean: true,
            row_offsets: false,
            recent: Recent::new(c),
            mean_known: false,
            deviation: None,
            scales: ColumnScales::default(),
        })
    }

    /// Adds an offset to each row, computed and discarded like its scores.
    #[must_use]
    pub fn with_row_offsets(self) -> Self {
        Self { row_offsets: true, ..self }
    }

    /// Fixes the mean at zero.
    #[must_use]
    pub fn without_mean(self) -> Self {
        Self { mean: false, mean_known: true, ..self }
    }

    /// Starts from given loadings, shape (n_features, c), and a given mean, constant unless `learned`.
    pub(crate) fn from_factors(
        loadings: &Matrix,
        mean: &[f64],
        (learned, row_offsets): (bool, bool),
        deviation: f64,
        rule: OnlineRule,
    ) -> Self {
        let (p, c) = loadings.shape();
        Self {
            rule,
            c,
            loadings: Matrix::from_fn(p, c + 1, |j, k| if k < c { loadings[(j, k)] } else { mean[j] }),
            curvatures: Matrix::zeros(p, n_curvatures(rule, c)),
            seen: vec![0.0; p],
            first: Vec::new(),
            n_samples: 0,
            mean: learned,
            row_offsets,
            // A fit holds all its rows.
            recent: Recent::default(),
            mean_known: true,
            deviation: Some(deviation),
            scales: ColumnScales::default(),
        }
    }

    pub(crate) fn save(&self) -> Arrays {
        let mut out = Arrays::default();
        let flag = |x: bool| f64::from(u8::from(x));
        let deviation = self.deviation.unwrap_or(f64::NAN);
        out.put("numbers", [self.n_samples as f64, deviation]);
        out.put("flags", [flag(self.mean), flag(self.mean_known), flag(self.row_offsets)]);
        out.put("loadings", self.loadings.as_slice());
        out.put("curvatures", self.curvatures.as_slice());
        out.put("seen", self.seen.as_slice());
        out
    }

    /// Reads the arrays of [`IncompleteStream::save`]; `p` features, `c` components, with or without offsets.
    pub(crate) fn restore(
        from: &mut Arrays,
        rule: OnlineRule,
        (p, c): (usize, usize),
        row_offsets: bool,
    ) -> Result<Self> {
        let [n_samples, deviation] = from.take_array("numbers")?;
        let [mean, mean_known, had_offsets] = from.take_array("flags")?;
        if flag("flags", had_offsets)? != row_offsets {
            return Err(damaged(
                "flags",
                "holds offsets of rows where there are none, or none where there are",
            ));
        }
        Ok(Self {
            rule,
            c,
            loadings: from.take_matrix("loadings", p, c + 1)?,
            curvatures: from.take_matrix("curvatures", p, n_curvatures(rule, c))?,
            seen: from.take_sizes("seen", p)?,
            // Streams of fits know their means.
            first: Vec::new(),
            n_samples: count("numbers", n_samples)?,
            mean: flag("flags", mean)?,
            row_offsets,
            recent: Recent::default(),
            mean_known: flag("flags", mean_known)?,
            deviation: optional_size("numbers", deviation)?,
            scales: ColumnScales::default(),
        })
    }

    /// Number of rows learned, repetitions included.
    pub fn n_samples_seen(&self) -> usize {
        self.n_samples
    }

    /// The current loadings, shape (n_features, n_components): neither orthogonal nor ordered. Zero for features that
    /// were never seen, whose random start says nothing of them, and for features that were seen once, whose one entry is
    /// their mean.
    pub fn loadings(&self) -> Matrix {
        let learned = |j: usize| self.seen[j] > 0.0 && self.only_entry(j).is_none();
        let of = |j, k| if learned(j) { self.loadings[(j, k)] } else { 0.0 };
        Matrix::from_fn(self.loadings.n_rows(), self.c, of)
    }

    /// The current mean of each feature, in the units of the data.
    pub fn mean(&self) -> Vec<f64> {
        let of_units = self.mean_in_units();
        of_units.iter().enumerate().map(|(column, mean)| mean / self.scales.factor(column)).collect()
    }

    /// The current mean of each feature, of scaled entries.
    pub(crate) fn mean_in_units(&self) -> Vec<f64> {
        let learned = |j: usize| self.loadings[(j, self.c)];
        (0..self.loadings.n_rows()).map(|j| self.only_entry(j).unwrap_or_else(|| learned(j))).collect()
    }

    /// The entry of a feature that was seen once, if its mean is learned.
    fn only_entry(&self, j: usize) -> Option<f64> {
        let first = self.first.get(j).filter(|first| first.0 > 0.0 && first.0 == self.seen[j]);
        first.map(|(_, value)| *value)
    }

    /// Learns from every row in turn: time O(|O_i| c^2 + c^3) for a row of `|O_i|` entries, on the calling thread.
    ///
    /// # Errors
    /// [`Error::Shape`] for another number of columns; [`Error::SpreadTooLarge`] for values beyond range;
    /// [`Error::Option`] for rows with multiplicities.
    pub fn partial_fit<T: Scalar>(&mut self, rows: &Observed<T>) -> Result<()> {
        let learn = compiled!(T, IncompleteStream::learn_rows::<T>
            => fn(&mut IncompleteStream, &Observed<T>) -> Result<()>);
        learn(self, rows)
    }

    /// Learns from every row of a source in turn, block by block, and returns the observed entries of the last block, of
    /// which [`IncompleteStream::finish`] makes a model. Holds the entries of one block and a second copy of the
    /// components. The deviation of an entry is estimated from the first block.
    ///
    /// ```
    /// use karhunen::incomplete::{IncompleteStream, OnlineRule};
    /// use karhunen::source::Block;
    /// use karhunen::{Dense, IncompletePca, RowBlocks, Run};
    /// let x: Vec<f64> = (0..60).map(|e| if e % 7 == 3 { f64::NAN } else { (e / 3 % 4) as f64 }).collect();
    /// let blocks: Vec<_> = x.chunks(30).map(|rows| Dense::row_major(rows, 10, 3).map(Block::Dense)).collect::<Result<_, _>>()?;
    /// let mut stream = IncompleteStream::new(1, 3, OnlineRule::Diagonal, 0)?;
    /// let last = stream.partial_fit_source(&RowBlocks::new(blocks)?, &Run::default())?;
    /// assert_eq!((stream.n_samples_seen(), last.n_samples()), (20, 10));
    /// assert_eq!(stream.finish(&last, &IncompletePca::new(1))?.n_samples(), 10);
    /// # Ok::<(), karhunen::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`IncompleteStream::partial_fit`] and [`Observed::from_source`]; [`Error::Empty`] without rows;
    /// [`Error::Stopped`] if the observer cancels. After an error the components are those before.
    pub fn partial_fit_source<T: Scalar>(&mut self, x: &dyn Source<T>, run: &Run<'_>) -> Result<Observed<T>> {
        const PHASE: &str = "online";
        let (n_samples, n_features) = x.shape();
        let (mut next, mut last) = (self.clone(), None);
        // Blocks are read without reports of their own.
        let quiet = Run { n_threads: run.n_threads, ..Run::default() };
        x.visit(&mut |first, block| {
            let entries = match &block {
                Block::Dense(rows) => Observed::from_source_with(rows, &quiet),
                Block::Sparse(rows) => Observed::from_source_with(rows, &quiet),
            };
            let entries = entries.map_err(|error| error.of_rows_from(first))?;
            next.partial_fit(&entries)?;
            let done = (first + block.n_rows()) as f64 / n_samples.max(1) as f64;
            last = Some(entries);
            match run.observer.update(PHASE, done) {
                Flow::Continue => Ok(()),
                Flow::Stop => Err(Error::Stopped { phase: PHASE }),
            }
        })?;
        let last = last.ok_or(Error::Empty { n_samples, n_features })?;
        *self = next;
        Ok(last)
    }

    fn learn_rows<T: Scalar>(&mut self, rows: &Observed<T>) -> Result<()> {
        let p = self.loadings.n_rows();
        let scales = self.scales.clone();
        let rows = &*scales.of_entries(rows, p, &Run::threads(1))?;
        if rows.sample_weights().is_some() {
            return Err(Error::option(
                options::SAMPLE_WEIGHTS,
                OptionValue::Given,
                "rows that are learned one after the other have no weights; repeat them",
            ));
        }
        if self.deviation.is_none() && rows.n_observed() > 0 {
            let exec = Exec::sequential();
            let sums = ColumnSums::of(rows, &exec)?;
            let mean = sums.means(0.0, sums.grand_mean());
            let found = deviations_about(rows, &mean, &exec)?;
            if !found.mean_square.is_finite() {
                return Err(Error::SpreadTooLarge {
                    column: found.widest,
                    deviation: found.mean_square.sqrt(),
                    most: f64::MAX.sqrt(),
                    dtype: "f64",
                });
            }
            let overall = deviations_about(rows, &vec![sums.grand_mean(); p], &exec)?;
            // With one value per column only the deviation between columns is known; with equal values none.
            let shown = [found.mean_square, overall.mean_square].into_iter().find(|x| *x > 0.0);
            let deviation = shown.map_or(1.0, f64::sqrt);
            self.deviation = Some(deviation);
            for row in self.loadings.as_mut_slice().chunks_exact_mut(self.c + 1) {
                row[..self.c].iter_mut().for_each(|a| *a *= deviation.sqrt());
            }
        }
        for i in 0..rows.n_samples() {
            self.learn(rows.rows().line(i))?;
            self.n_samples += 1;
        }
        self.recent.take(rows);
        Ok(())
    }

    fn learn<T: Scalar>(&mut self, sample: Segment<'_, T>) -> Result<()> {
        let c = self.c;
        for (at, (index, value)) in sample.indices.iter().zip(sample.values).enumerate() {
            let j = *index as usize;
            if !self.mean_known && self.seen[j] == 0.0 {
                self.loadings[(j, c)] = value.to_f64();
                if let Some(first) = self.first.get_mut(j) {
                    *first = (sample.weights.map_or(1.0, |w| w[at].to_f64()), value.to_f64());
                }
            }
        }
        let ridge = RIDGE * self.deviation.unwrap_or(1.0);
        let mut u = self.scores(sample, ridge)?;
        let offset = if self.row_offsets { u.pop().unwrap_or(0.0) } else { 0.0 };
        u.push(1.0);
        let used = if self.mean { c + 1 } else { c };
        let norm: f64 = u[..c].iter().map(|s| s * s).sum();
        let rate = OJA.0 / (1.0 + self.n_samples as f64 / OJA.1);
        for (at, (index, value)) in sample.indices.iter().zip(sample.values).enumerate() {
            let j = *index as usize;
            let weight = sample.weights.map_or(1.0, |w| w[at].to_f64());
            let row = self.loadings.row_mut(j);
            let e = value.to_f64() - offset - row.iter().zip(&u).map(|(a, u)| a * u).sum::<f64>();
            let fade = self.seen[j] / (self.seen[j] + FADING);
            match self.rule {
                OnlineRule::Diagonal => {
                    let h = self.curvatures.row_mut(j);
                    let mut total = 0.0;
                    for (h, u) in h[..used].iter_mut().zip(&u) {
                        *h = fade * *h + weight * u * u;
                        total += if *h > 0.0 { weight * u * u / *h } else { 0.0 };
                    }
                    let length = weight * e / total.max(1.0);
                    for (k, a) in row[..used].iter_mut().enumerate() {
                        *a += if h[k] > 0.0 { length * u[k] / h[k] } else { 0.0 };
                    }
                }
                OnlineRule::Rls => {
                    let h = self.curvatures.row_mut(j);
                    let step = recursive_step(h, &u, (used, fade, weight))?;
                    row.iter_mut().zip(step).for_each(|(a, step)| *a += weight * e * step);
                }
                OnlineRule::Oja => {
                    for (a, u) in row[..c].iter_mut().zip(&u) {
                        *a += rate * e * u / (norm + ridge);
                    }
                    row[c] += if self.mean { (1.0 - fade).min(0.5) * e } else { 0.0 };
                }
            }
            self.seen[j] += weight;
        }
        Ok(())
    }

    /// `(A_o'A_o + r I)^-1 A_o'(x_o - mu_o)`; with an offset, `A_o` has a last column of ones.
    fn scores<T: Scalar>(&self, sample: Segment<'_, T>, ridge: f64) -> Result<Vec<f64>> {
        let m = self.c + usize::from(self.row_offsets);
        let (c, stride) = (self.c, m.next_multiple_of(BLOCK));
        let (mut g, mut b) = (vec![0.0; m * stride], vec![0.0; m]);
        for (at, (index, value)) in sample.indices.iter().zip(sample.values).enumerate() {
            let row = self.loadings.row(*index as usize);
            let weight = sample.weights.map_or(1.0, |w| w[at].to_f64());
            let y = weight * (value.to_f64() - row[c]);
            for k in 0..c {
                b[k] += y * row[k];
                let a = weight * row[k];
                for (g, x) in g[k * stride + k..k * stride + c].iter_mut().zip(&row[k..c]) {
                    *g += a * x;
                }
            }
            if c < m {
                (0..c).for_each(|k| g[k * stride + c] += weight * row[k]);
                g[c * stride + c] += weight;
                b[c] += y;
            }
        }
        (0..c).for_each(|k| g[k * stride + k] += ridge);
        if c < m {
            g[c * stride + c] += OFFSET_RIDGE;
        }
        solve(&mut Upper { values: &mut g, m, stride }, &mut b, c)?;
        Ok(b)
    }
}

/// Updates `P = w P + u u'` and solves `P^-1 u` for the first `used` values of `u`. Stores `P` and not its
/// inverse, whose rounding errors would accumulate.
fn recursive_step(p: &mut [f64], u: &[f64], (used, fade, weight): (usize, f64, f64)) -> Result<Vec<f64>> {
    let m = u.len();
    for (row, x) in p.chunks_exact_mut(m).zip(u) {
        row.iter_mut().zip(u).for_each(|(p, y)| *p = fade * *p + weight * x * y);
    }
    let stride = used.next_multiple_of(BLOCK);
    let mut g = vec![0.0; used * stride];
    for k in 0..used {
        g[k * stride + k..k * stride + used].copy_from_slice(&p[k * m + k..k * m + used]);
        g[k * stride + k] *= 1.0 + LEAST_CURVATURE;
    }
    let mut step = u[..used].to_vec();
    solve(&mut Upper { values: &mut g, m: used, stride }, &mut step, m - 1)?;
    Ok(step)
}

/// Number of curvatures stored per feature.
pub(crate) fn n_curvatures(rule: OnlineRule, c: usize) -> usize {
    if rule == OnlineRule::Rls { (c + 1) * (c + 1) } else { c + 1 }
}
