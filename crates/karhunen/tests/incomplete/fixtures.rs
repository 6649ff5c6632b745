//! Problem Q and the ways to look at a fit of it.

use karhunen::{Dense, Flow, IncompleteModel, Matrix, Observed, Observer, Start};
use karhunen_testkit::{Holes, Rows, SplitMix64};

pub(crate) fn observed(holes: &Holes) -> Observed<f64> {
    let (n, p) = holes.shape();
    Observed::from_dense(&Dense::row_major(&holes.with_nan(), n, p).unwrap(), None).unwrap()
}

/// Adds a level to each row, of deviation `level`.
pub(crate) fn give_levels(holes: &mut Holes, level: f64, seed: u64) {
    let levels = SplitMix64::new(1000 + seed).normals(holes.complete.len(), 1);
    for rows in [&mut holes.complete, &mut holes.noise_free] {
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

/// Root mean squared error of predictions of the entries that were not observed.
pub(crate) fn test_rmse(model: &IncompleteModel, holes: &Holes) -> f64 {
    let hidden = holes.entries(false);
    let error =
        |(row, column, value): &(usize, usize, f64)| model.predict(*row, *column).unwrap().value - value;
    (hidden.iter().map(|e| error(e).powi(2)).sum::<f64>() / hidden.len() as f64).sqrt()
}

/// Stops what is called so once it has come so far.
pub(crate) struct StopAt(pub(crate) &'static str, pub(crate) f64);

impl Observer for StopAt {
    fn update(&self, phase: &'static str, fraction: f64) -> Flow {
        if phase == self.0 && fraction >= self.1 { Flow::Stop } else { Flow::Continue }
    }
}
