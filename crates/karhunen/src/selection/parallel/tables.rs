//! Random tables with the columns of the data.

use rand::RngExt;

use crate::error::Result;
use crate::exec::Run;
use crate::linalg::Matrix;
use crate::linalg::normals::gaussian;
use crate::moments::{Columns, Moments};
use crate::operator::blocks;
use crate::random::{Generator, Purpose, shuffle};
use crate::scalar::Scalar;
use crate::source::Source;
use crate::weights::{NormalizedWeights, Totals, Weighting};

/// Makes random tables.
pub(super) struct Tables<'a> {
    seed: u64,
    rows: &'a TableRows,
    columns: Marginals,
}

/// The distribution of each column.
enum Marginals {
    /// The values, shape (n, p), NaN for one that is missing.
    Values(Matrix),
    /// Standard deviations; and whether each entry of a table is observed, unless all are.
    Deviations(Vec<f64>, Option<Vec<bool>>),
}

/// The rows of the random tables.
pub(super) struct TableRows {
    /// Their number.
    pub(super) n: usize,
    /// Their weights; `None` if they count alike.
    pub(super) weights: Option<Vec<f64>>,
    /// The proportions in which the rows of the data are taken; `None` for each once.
    taken: Option<Vec<f64>>,
}

impl TableRows {
    /// Rows that are counted are repeated, or drawn if another number of observations is given. Weights of another meaning
    /// stay with the rows: tables of fewer rows that count alike have other variances (`docs/moments.md`).
    pub(super) fn new(
        weights: Option<&[f64]>,
        (totals, weighting): (&Totals, Weighting),
        n_observations: Option<f64>,
    ) -> Self {
        let n_rows = totals.n_samples;
        if let Some(weights) = weights
            && weighting != Weighting::Frequency
            && n_observations.is_none()
        {
            let positive: Vec<f64> = weights.iter().copied().filter(|weight| *weight > 0.0).collect();
            let taken = weights.iter().map(|weight| f64::from(u8::from(*weight > 0.0))).collect();
            return Self {
                n: positive.len(),
                taken: (positive.len() < n_rows).then_some(taken),
                weights: Some(positive),
            };
        }
        let n = n_observations.unwrap_or(totals.n_observations(weighting)).round().max(2.0);
        let drawn = || (n as usize != n_rows).then(|| vec![1.0; n_rows]);
        let taken = weights.map_or_else(drawn, |weights| Some(weights.to_vec()));
        Self { n: n as usize, weights: None, taken }
    }

    /// The factor that gives variances of tables of another number of rows the divisor of the data, where it is not one less
    /// than the observations.
    pub(super) fn divisors(&self, totals: &Totals, weighting: Weighting) -> f64 {
        let per_free = |n: f64| n / (n - 1.0);
        match (weighting, &self.weights) {
            (Weighting::Population, None) => per_free(self.n as f64) / per_free(totals.effective()),
            _ => 1.0,
        }
    }

    /// The weights by which the columns of random tables have the deviations of the data: those by which rows are taken.
    fn of_deviations<'b>(&'b self, weights: Option<&'b [f64]>) -> Option<&'b [f64]> {
        if self.weights.is_some() { self.taken.as_deref() } else { weights }
    }
}

/// All values, shape (n, p).
pub(super) fn values<T: Scalar>(x: &dyn Source<T>) -> Result<Matrix> {
    let (n, p) = x.shape();
    let mut values = Matrix::try_zeros("the data of parallel analysis", n, p)?;
    x.visit(&mut |first, block| {
        let rows = first..first + block.n_rows();
        blocks::rows(&block, 0..block.n_rows(), values.rows_mut(rows))
    })?;
    Ok(values)
}

impl<'a> Tables<'a> {
    /// Tables of the observed values of each column in random order.
    pub(super) fn permuted(seed: u64, rows: &'a TableRows, values: Matrix) -> Self {
        Self { seed, rows, columns: Marginals::Values(values) }
    }

    /// Tables of normal values with the deviations of the columns of `x`, of which `weights` are the weights of the rows.
    pub(super) fn normal<T: Scalar>(
        seed: u64,
        rows: &'a TableRows,
        x: &dyn Source<T>,
        (weights, weighting): (Option<&[f64]>, Weighting),
        run: &Run<'_>,
    ) -> Result<Self> {
        let NormalizedWeights { values: shares, totals } =
            NormalizedWeights::new(rows.of_deviations(weights), x.shape().0)?;
        let shares = shares.as_deref();
        let moments = Moments::of(x, shares, run)?;
        let deviations = Columns::new(&moments, x, shares)?.deviation;
        let meaning = if rows.weights.is_some() { Weighting::Frequency } else { weighting };
        let factor = totals.correction(meaning)?.sqrt();
        let deviations = deviations.iter().map(|deviation| deviation * factor).collect();
        Ok(Self { seed, rows, columns: Marginals::Deviations(deviations, None) })
    }

    /// Tables of normal values with the weighted deviations of the observed entries of each column, missing in the
    /// pattern of `values`.
    pub(super) fn normal_with_missing(
        seed: u64,
        rows: &'a TableRows,
        values: &Matrix,
        weights: Option<&[f64]>,
    ) -> Result<Self> {
        let (n, p) = values.shape();
        Matrix::<f64>::try_zeros("a random table", rows.n, p)?;
        let weights = rows.of_deviations(weights);
        let weight = |i: usize| weights.map_or(1.0, |weights| weights[i]);
        let sum: f64 = (0..n).map(weight).sum();
        let deviation = |j: usize| {
            let observed = || (0..n).map(|i| (weight(i), values[(i, j)])).filter(|(_, x)| !x.is_nan());
            let total: f64 = observed().map(|(w, _)| w).sum();
            let mean = observed().map(|(w, x)| w * x).sum::<f64>() / total;
            let variance = observed().map(|(w, x)| w * (x - mean).powi(2)).sum::<f64>() / total;
            // The divisor n - 1 of as many rows of a table as have the column.
            let count = (rows.n as f64 * total / sum).max(2.0);
            if total > 0.0 { (variance * count / (count - 1.0)).sqrt() } else { 0.0 }
        };
        let mut places: Vec<usize> = (0..rows.n).collect();
        if let Some(taken) = &rows.taken {
            sample(taken, &mut places, 0.5);
        }
        let seen = places.iter().flat_map(|row| values.row(*row)).map(|x| !x.is_nan()).collect();
        let columns = Marginals::Deviations((0..p).map(deviation).collect(), Some(seen));
        Ok(Self { seed, rows, columns })
    }

    /// The random table of number `draw`, shape (n_rows, p).
    pub(super) fn table(&self, draw: u64) -> Result<Matrix> {
        let stream = Purpose::ParallelAnalysis.of(self.seed).number(draw);
        match &self.columns {
            Marginals::Deviations(deviations, seen) => {
                let p = deviations.len();
                Matrix::<f64>::try_zeros("a random table", self.rows.n, p)?;
                let mut table = gaussian(self.rows.n, p, stream);
                for row in table.as_mut_slice().chunks_exact_mut(p) {
                    row.iter_mut().zip(deviations).for_each(|(value, deviation)| *value *= deviation);
                }
                let entries = table.as_mut_slice().iter_mut().zip(seen.iter().flatten());
                entries.filter(|(_, seen)| !**seen).for_each(|(value, _)| *value = f64::NAN);
                Ok(table)
            }
            Marginals::Values(values) => self.permutation(values, stream.generator()),
        }
    }

    /// The observed values of every column in random order; the rows keep their pattern of missing entries.
    fn permutation(&self, values: &Matrix, mut generator: Generator) -> Result<Matrix> {
        let (n, p) = (self.rows.n, values.n_cols());
        let mut table = Matrix::try_zeros("a random table", n, p)?;
        table.as_mut_slice().fill(f64::NAN);
        // The row of the data that each row of the table is, and the rows of the data in random order.
        let mut rows: Vec<usize> = (0..n).collect();
        let mut order = rows.clone();
        for j in 0..p {
            if let Some(taken) = &self.rows.taken {
                // Positions lie strictly within the intervals between whole numbers.
                let offset = (generator.random_range(0..1u64 << 52) as f64 + 0.5) / (1u64 << 52) as f64;
                sample(taken, &mut rows, offset);
                order.copy_from_slice(&rows);
            }
            shuffle(&mut order, &mut generator);
            let is_seen = |row: usize| !values[(row, j)].is_nan();
            let shuffled = order.iter().filter(|row| is_seen(**row));
            let places = (0..n).filter(|i| is_seen(rows[*i]));
            places.zip(shuffled).for_each(|(i, row)| table[(i, j)] = values[(*row, j)]);
        }
        Ok(table)
    }
}

/// Writes row numbers in order into `rows`, each in proportion to its weight, rounded up or down by the position
/// `offset`, between 0 and 1, of the first: systematic sampling. Whole weights whose sum is the number of rows are
/// taken exactly.
fn sample(weights: &[f64], rows: &mut [usize], offset: f64) {
    let sum: f64 = weights.iter().sum();
    let last = weights.iter().rposition(|&weight| weight > 0.0).unwrap_or(0);
    let per_row = sum / rows.len() as f64;
    let (mut row, mut reached) = (0, weights[0]);
    for (i, out) in rows.iter_mut().enumerate() {
        let position = (i as f64 + offset) * per_row;
        while reached < position && row < last {
            row += 1;
            reached += weights[row];
        }
        *out = row;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::test_matrices;

    #[test]
    fn rows_of_whole_weights_are_sampled_exactly() {
        let weights: Vec<f64> = (0..40).map(|i| f64::from(i % 4)).collect();
        let repeated: Vec<usize> = (0..40).flat_map(|i| vec![i; i % 4]).collect();
        for offset in [1e-9, 0.3, 0.999] {
            let mut rows = vec![0; 60];
            sample(&weights, &mut rows, offset);
            assert_eq!(rows, repeated);
        }
    }

    #[test]
    fn samples_follow_their_weights() {
        let weights = [0.3, 0.0, 1.7, 0.5];
        let mut counts = [0.0; 4];
        let mut rows = vec![0; 5];
        for trial in 0..4000 {
            sample(&weights, &mut rows, (f64::from(trial) + 0.5) / 4000.0);
            rows.iter().for_each(|&row| counts[row] += 1.0 / 4000.0);
        }
        for (count, weight) in counts.iter().zip(weights) {
            assert!((count - 2.0 * weight).abs() < 0.01, "{counts:?}");
        }
    }

    /// A table with every third entry missing, but for its first column.
    fn with_missing(n: usize, p: usize) -> Matrix {
        let x = test_matrices::gaussian(n, p, 3, 0);
        Matrix::from_fn(n, p, |i, j| if j > 0 && (i + j) % 3 == 0 { f64::NAN } else { x[(i, j)] })
    }

    #[test]
    fn tables_have_the_pattern_and_the_values_of_the_data() {
        let x = with_missing(30, 4);
        let counts: Vec<f64> = (0..30).map(|i| f64::from(i % 3)).collect();
        let repeated: Vec<usize> = (0..30).flat_map(|i| vec![i; i % 3]).collect();
        let positive: Vec<usize> = (0..30).filter(|i| i % 3 > 0).collect();
        for (weights, weighting, rows) in [
            (None, Weighting::Frequency, (0..30).collect()),
            (Some(&counts[..]), Weighting::Frequency, repeated),
            (Some(&counts[..]), Weighting::Importance, positive),
        ] {
            let totals = NormalizedWeights::new(weights, 30).unwrap().totals;
            let of_tables = TableRows::new(weights, (&totals, weighting), None);
            assert_eq!(of_tables.weights.is_some(), weighting == Weighting::Importance);
            let permuted = Tables::permuted(1, &of_tables, x.clone()).table(0).unwrap();
            let normal = Tables::normal_with_missing(1, &of_tables, &x, weights).unwrap().table(0).unwrap();
            for j in 0..4 {
                for (i, row) in rows.iter().enumerate() {
                    assert_eq!(permuted[(i, j)].is_nan(), x[(*row, j)].is_nan());
                    assert_eq!(normal[(i, j)].is_nan(), x[(*row, j)].is_nan());
                }
                let sorted = |values: Vec<f64>| {
                    let mut values: Vec<f64> = values.into_iter().filter(|x| !x.is_nan()).collect();
                    values.sort_by(f64::total_cmp);
                    values
                };
                let found = sorted((0..rows.len()).map(|i| permuted[(i, j)]).collect());
                assert_eq!(found, sorted(rows.iter().map(|row| x[(*row, j)]).collect()));
            }
        }
    }
}
