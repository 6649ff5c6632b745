//! Normal equations of the scores of rows under a model: `G = sum w E v v' + P`, `b = sum w y v + P m`, with `v`
//! the (uncertain) loadings of a feature, one for the offset, and `y` an entry less its mean.

use pulp::{Simd, WithSimd};

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::data::{EntryLines, Observed};
use crate::incomplete::factors::covariances::Covariances;
use crate::incomplete::model::{IncompleteModel, IncompleteParts};
use crate::incomplete::passes::full_lines::keep_digits;
use crate::incomplete::passes::least_norm::{solve_in, solve_singular};
use crate::incomplete::updates::precision::{Precision, inverse_in};
use crate::linalg::decomp::cholesky::{BLOCK, Upper, add_blocks};
use crate::linalg::simd::dispatch;
use crate::scalar::{Scalar, largest};

/// Most stored moments, 64 MiB.
const MOST_KEPT: usize = 1 << 23;
/// Number of features per piece of work.
const FEATURES: usize = 64;

/// Loadings of a model, prepared for the normal equations of rows in the units of the fit.
pub(crate) struct ModelLoadings<'a> {
    parts: &'a IncompleteParts,
    /// Number of components, and of scores per row: one more with row offsets.
    free: usize,
    c: usize,
    stride: usize,
    /// `v` and the mean of each feature, in rows of `stride + 1` values.
    values: Vec<f64>,
    /// Covariances of the loadings, if scores depend on them: uncertain features inform scores less.
    covariances: Option<&'a Covariances>,
    /// `E v v'` of each feature, lower triangles by rows, padded to whole blocks; `None` if there are too many.
    moments: Option<Vec<f64>>,
    /// The sum of all moments, if any row is nearly full.
    all: Option<Vec<f64>>,
    /// Inactive components, whose scores are zero without uncertainty.
    inactive: Vec<usize>,
    /// The precision of the scores of the fitted rows, of models without penalties and posteriors: an entry adds a matrix of
    /// rank one to the equations of a row, and the prior nothing.
    population: Option<Precision>,
}

impl<'a> ModelLoadings<'a> {
    pub(crate) fn new<T: Scalar>(
        model: &'a IncompleteModel,
        rows: &Observed<T>,
        exec: &Exec<'_>,
    ) -> Result<Self> {
        let (parts, free, c) = (model.parts(), model.n_components(), model.n_scores());
        let (p, stride) = (model.n_features(), c.next_multiple_of(BLOCK));
        let mut values = vec![0.0; p * (stride + 1)];
        let mean = model.mean_in_units();
        for (j, row) in values.chunks_exact_mut(stride + 1).enumerate() {
            (0..free).for_each(|k| row[k] = parts.components[(k, j)]);
            row[free..c].fill(1.0);
            row[stride] = mean[j];
        }
        let known = parts.convergence.method.has_posterior_loadings();
        let covariances = parts.loading_covariances.as_ref().filter(|_| known);
        let inactive = (0..free).filter(|k| parts.singular_values[*k] == 0.0).collect();
        let mut found = Self {
            parts,
            free,
            c,
            stride,
            values,
            covariances,
            moments: None,
            all: None,
            inactive,
            population: model.is_flat().then(|| of_population(model)),
        };
        let width = found.width();
        if p * width <= MOST_KEPT && p <= rows.n_observed() {
            let mut moments = vec![0.0; p * width];
            exec.part(0.0, 0.0).fill(&mut moments, FEATURES * width, |piece, out| {
                for (at, out) in out.chunks_exact_mut(width).enumerate() {
                    found.moment(piece * FEATURES + at, out);
                }
                Ok(())
            })?;
            if rows.rows().has_full_lines(p) {
                let mut all = vec![0.0; width];
                moments.chunks_exact(width).for_each(|moment| add_blocks(1.0, moment, &mut all));
                found.all = Some(all);
            }
            found.moments = Some(moments);
        }
        Ok(found)
    }

    /// The loadings of a feature, one for the offset, and its mean, in the units of the fit.
    pub(crate) fn of(&self, feature: usize) -> (&[f64], f64) {
        let row = &self.values[feature * (self.stride + 1)..][..=self.stride];
        (&row[..self.c], row[self.stride])
    }

    /// Padded length of a lower triangle.
    fn width(&self) -> usize {
        (self.c * (self.c + 1) / 2).next_multiple_of(BLOCK)
    }

    /// `E v v'` of one feature.
    fn moment(&self, feature: usize, out: &mut [f64]) {
        let v = &self.values[feature * (self.stride + 1)..][..self.c];
        for (k, x) in v.iter().enumerate() {
            let row = &mut out[k * (k + 1) / 2..=k * (k + 1) / 2 + k];
            row.iter_mut().zip(v).for_each(|(out, y)| *out = x * y);
        }
        if let Some(covariances) = self.covariances {
            let width = self.free * (self.free + 1) / 2;
            let packed = &covariances.packed[feature * width..][..width];
            out.iter_mut().zip(packed).for_each(|(out, x)| *out += covariances.unit * f64::from(*x));
        }
    }
}

impl IncompleteModel {
    /// Returns true if the scores have no prior: least squares without penalties.
    pub(crate) fn is_flat(&self) -> bool {
        let parts = self.parts();
        let known = parts.convergence.method.has_posterior_loadings();
        !known && parts.prior.precision.as_slice().iter().all(|p| *p == 0.0)
    }
}

/// The precision of the scores, and of the offset, of the fitted rows of a model, times the noise variance: as
/// [`crate::incomplete::fit::finish`] takes it for the covariances of rows without penalties, whose noise variance is that
/// of the model.
fn of_population(model: &IncompleteModel) -> Precision {
    let of_offsets = model.parts().row_offsets.as_ref().map(|_| model.row_totals().offset_variance);
    Precision::of_population(model.noise_variance(), model.explained_variance(), of_offsets)
}

/// The normal equations `G s = b` of one row; the memory serves all rows.
pub(crate) struct Equations {
    /// The upper triangle of `G`, in rows of `stride` values.
    g: Vec<f64>,
    b: Vec<f64>,
    c: usize,
    stride: usize,
    inactive: Vec<usize>,
    population: Option<Precision>,
    /// True if the rank of `G` is less than its order whatever the values. Rounding may make its pivots look regular.
    is_singular: bool,
    /// The lower triangle of `G` by rows, padded.
    packed: Vec<f64>,
    moment: Vec<f64>,
    workspace: Vec<f64>,
}

impl Equations {
    pub(crate) fn new(loadings: &ModelLoadings<'_>) -> Self {
        let ModelLoadings { c, stride, ref inactive, .. } = *loadings;
        let width = loadings.width();
        Self {
            g: vec![0.0; c * stride],
            b: vec![0.0; stride],
            c,
            stride,
            inactive: inactive.clone(),
            population: loadings.population.clone(),
            is_singular: false,
            packed: vec![0.0; width],
            moment: vec![0.0; width],
            workspace: vec![0.0; c * stride + c],
        }
    }

    /// Forms the equations of a row.
    pub(crate) fn set<T: Scalar>(&mut self, loadings: &ModelLoadings<'_>, lines: &EntryLines<T>, row: usize) {
        let (c, stride, parts) = (self.c, self.stride, loadings.parts);
        self.is_singular = loadings.population.is_some() && lines.count(row) < c - self.inactive.len();
        self.b.fill(0.0);
        dispatch(Sum {
            loadings,
            lines,
            row,
            packed: &mut self.packed,
            moment: &mut self.moment,
            b: &mut self.b,
        });
        for k in 0..c {
            (0..=k).for_each(|l| self.g[l * stride + k] = self.packed[k * (k + 1) / 2 + l]);
        }
        let factor = if parts.prior.per_entry { lines.weight(row) } else { 1.0 };
        for k in 0..c {
            for l in 0..c {
                let p = factor * parts.prior.precision[(k, l)];
                self.b[k] += p * parts.prior.mean[l];
                self.g[k * stride + l] += if l >= k { p } else { 0.0 };
            }
        }
        // The size of the other diagonals, so that none of them counts as rounding.
        let largest = largest((0..c).map(|k| self.g[k * stride + k]));
        for k in &self.inactive {
            Upper { values: &mut self.g, m: c, stride }.isolate(*k, largest);
            self.b[*k] = 0.0;
        }
    }

    /// Solves the equations, with least norm if `G` is singular; overwrites `G`.
    pub(crate) fn solve(&mut self) -> Result<()> {
        let mut upper = Upper { values: &mut self.g, m: self.c, stride: self.stride };
        // Scores and offsets share the unit of the data.
        if self.is_singular {
            solve_singular(&mut upper, &mut self.b, self.c)?;
        } else {
            solve_in(&mut upper, &mut self.b, self.c, &mut self.workspace)?;
        }
        Ok(())
    }

    /// The solution of [`Equations::solve`].
    pub(crate) fn solution(&self) -> &[f64] {
        &self.b[..self.c]
    }

    /// Writes the inverse of `G`, the lower triangle packed by rows; zero if `G` is singular. Without penalties the prior
    /// of the fitted rows is added to `G`.
    pub(crate) fn inverse_into(&self, packed: &mut [f64]) {
        let (c, stride) = (self.c, self.stride);
        match &self.population {
            Some(population) => {
                packed.fill(0.0);
                let inactive: Vec<bool> = (0..c).map(|k| self.inactive.contains(&k)).collect();
                let g = Upper { values: &mut self.g.clone(), m: c, stride };
                inverse_in(g, 1.0, (population, &inactive), packed);
            }
            None => {
                self.own_inverse_into(packed);
            }
        }
    }

    /// As [`Equations::inverse_into`], without a prior that the fit does not have. Returns false if `G` is singular.
    pub(crate) fn own_inverse_into(&self, packed: &mut [f64]) -> bool {
        let (c, stride) = (self.c, self.stride);
        packed.fill(0.0);
        let mut factored = self.g.clone();
        let mut workspace = vec![0.0; self.g.len()];
        let mut inverse = vec![0.0; self.g.len()];
        let mut upper = Upper { values: &mut factored, m: c, stride };
        let is_regular = !self.is_singular && upper.factorize();
        if is_regular {
            upper.invert(&mut inverse, &mut workspace);
        }
        let mut upper = Upper { values: &mut inverse, m: c, stride };
        self.inactive.iter().for_each(|k| upper.isolate(*k, 0.0));
        for k in 0..c {
            (0..=k).for_each(|l| packed[k * (k + 1) / 2 + l] = inverse[l * stride + k]);
        }
        is_regular
    }
}

/// Arguments of the sums over one row.
struct Sum<'a, 'b, T> {
    loadings: &'a ModelLoadings<'b>,
    lines: &'a EntryLines<T>,
    row: usize,
    packed: &'a mut [f64],
    moment: &'a mut [f64],
    b: &'a mut [f64],
}

impl<T: Scalar> WithSimd for Sum<'_, '_, T> {
    type Output = ();
    /// Compiled for the vector extensions.
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { loadings, lines, row, packed, moment, b } = self;
        let (line, width, stride) = (lines.line(row), packed.len(), loadings.stride);
        let mut add = |factor: f64, feature: u32, packed: &mut [f64]| match &loadings.moments {
            Some(moments) => add_blocks(factor, &moments[feature as usize * width..][..width], packed),
            None => {
                loadings.moment(feature as usize, moment);
                add_blocks(factor, moment, packed);
            }
        };
        for (e, (feature, value)) in line.indices.iter().zip(line.values).enumerate() {
            let weight = line.weights.map_or(1.0, |w| w[e].to_f64());
            let v = &loadings.values[*feature as usize * (stride + 1)..][..=stride];
            add_blocks(weight * (value.to_f64() - v[stride]), &v[..stride], b);
        }
        let p = loadings.parts.mean.len();
        if let Some(all) = loadings.all.as_ref().filter(|_| lines.is_nearly_full(row, p)) {
            packed.fill(0.0);
            line.missing(p).iter().for_each(|feature| add(1.0, *feature, packed));
            if keep_digits(all, packed, (0..loadings.c).map(|k| k * (k + 3) / 2)) {
                packed.iter_mut().zip(all).for_each(|(missing, all)| *missing = all - *missing);
                return;
            }
        }
        packed.fill(0.0);
        for (e, feature) in line.indices.iter().enumerate() {
            add(line.weights.map_or(1.0, |w| w[e].to_f64()), *feature, packed);
        }
    }
}
