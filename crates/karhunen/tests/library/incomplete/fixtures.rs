//! Problem Q, other data, and comparisons of fits.

use karhunen::incomplete::Start;
use karhunen::{Dense, Flow, IncompleteModel, Matrix, Observed, Observer};
use karhunen_testkit::{Incomplete, Rows, SplitMix64};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

pub(crate) fn observed(table: &Incomplete) -> Observed<f64> {
    let (n, p) = table.shape();
    Observed::from_dense(&Dense::row_major(&table.with_nan(), n, p).unwrap()).unwrap()
}

/// Adds an offset of standard deviation `level` to each row.
pub(crate) fn add_row_offsets(table: &mut Incomplete, level: f64, seed: u64) {
    let levels = SplitMix64::new(1000 + seed).normals(table.complete.len(), 1);
    for rows in [&mut table.complete, &mut table.noise_free] {
        for (row, b) in rows.iter_mut().zip(&levels) {
            row.iter_mut().for_each(|x| *x += level * b[0]);
        }
    }
}

pub(crate) fn matrix(rows: &Rows) -> Matrix {
    Matrix::from_vec(rows.len(), rows[0].len(), rows.concat()).unwrap()
}

/// The start of the traces: normals of SplitMix64 with seeds 1 and 2.
pub(crate) fn start_of_traces() -> Start {
    let loadings = matrix(&SplitMix64::new(1).normals(12, 2));
    let scores = matrix(&SplitMix64::new(2).normals(40, 2));
    assert!((loadings[(0, 0)] + 0.03426732).abs() < 1e-8 && (loadings[(0, 1)] + 2.50006749).abs() < 1e-8);
    assert!((scores[(0, 0)] + 0.00714602).abs() < 1e-8 && (scores[(0, 1)] - 0.13016879).abs() < 1e-8);
    Start { loadings, scores, mean: None }
}

/// Root mean squared error of predictions of missing entries.
pub(crate) fn test_rmse(model: &IncompleteModel, table: &Incomplete) -> f64 {
    let hidden = table.entries(false);
    let error =
        |(row, column, value): &(usize, usize, f64)| model.predict(*row, *column).unwrap().value - value;
    (hidden.iter().map(|e| error(e).powi(2)).sum::<f64>() / hidden.len() as f64).sqrt()
}

/// A row, a column and a value.
pub(crate) type Entry = (usize, usize, f64);

/// All entries, row by row.
pub(crate) fn entries(data: &Observed<f64>) -> Vec<Entry> {
    let of_row = |row| {
        let (columns, values) = data.row(row);
        columns.iter().zip(values).map(move |(column, value)| (row, *column as usize, *value))
    };
    (0..data.n_samples()).flat_map(of_row).collect()
}

/// The entries in the order of their random numbers, as defined in `docs/determinism.md`: a hash of the position,
/// keyed by the beginning of the stream of a seed and a purpose. Only for data without entries that are alone in
/// their row or column.
pub(crate) fn in_random_order(data: &Observed<f64>, seed: u64, purpose: &str) -> Vec<Entry> {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..8 + purpose.len()].copy_from_slice(purpose.as_bytes());
    let key = ChaCha8Rng::from_seed(key).next_u64();
    let mix = |z: u64| {
        let z = z.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    };
    let mut entries = entries(data);
    entries.sort_by_key(|(row, column, _)| mix(mix(mix(key) ^ *row as u64) ^ *column as u64));
    entries
}

/// The entries without those in `held_out`, which must leave an entry in every row and column.
pub(crate) fn hold_out(data: &Observed<f64>, held_out: &[Entry]) -> Observed<f64> {
    let (n, p) = data.shape();
    let mut kept = vec![f64::NAN; n * p];
    entries(data).into_iter().for_each(|(row, column, value)| kept[row * p + column] = value);
    held_out.iter().for_each(|(row, column, _)| kept[row * p + column] = f64::NAN);
    let kept = Observed::from_dense(&Dense::row_major(&kept, n, p).unwrap()).unwrap();
    assert!((0..n).all(|row| (kept.n_observed_in_row(row) == 0) == (data.n_observed_in_row(row) == 0)));
    assert!((0..p).all(|column| kept.n_observed_in_column(column) > 0));
    kept
}

/// Root mean squared error of predictions of some entries.
pub(crate) fn rmse_of(model: &IncompleteModel, entries: &[Entry]) -> f64 {
    let square = |(row, column, value): &Entry| (model.predict(*row, *column).unwrap().value - value).powi(2);
    (entries.iter().map(square).sum::<f64>() / entries.len() as f64).sqrt()
}

/// Cancels the given phase at the given fraction.
pub(crate) struct StopAt(pub(crate) &'static str, pub(crate) f64);

impl Observer for StopAt {
    fn update(&self, phase: &'static str, fraction: f64) -> Flow {
        if phase == self.0 && fraction >= self.1 { Flow::Stop } else { Flow::Continue }
    }
}
