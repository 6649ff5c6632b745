//! Fits that were interrupted within a pass, after any run of pieces, have the bits of those that were not.

use std::sync::Mutex;

use karhunen::exec::{Fact, PassLog};
use karhunen::pca::Route;
use karhunen::source::Block;
use karhunen::{Dense, Error, Pca, Result, RowBlocks, Run, Scalar, Source, Sparse, Weights};
use karhunen_testkit::{Columns, gaussian, row_major, sparse};

use crate::fits::disk::Disk;

/// The passes of a fit, and the part of the present one, which ends the fit when it is kept.
#[derive(Default)]
struct Log(Mutex<Held>);

#[derive(Default)]
struct Held {
    passes: Vec<(&'static str, Vec<f64>)>,
    n_taken: usize,
    part: Option<(&'static str, Vec<f64>)>,
    /// Names of the passes of which a part was kept.
    parts: Vec<&'static str>,
    /// True if parts are kept.
    stops: bool,
}

impl PassLog for Log {
    fn begin(&self, _: &[Fact]) -> Result<()> {
        self.0.lock().unwrap().n_taken = 0;
        Ok(())
    }
    fn take(&self, name: &'static str) -> Result<Option<Vec<f64>>> {
        let mut held = self.0.lock().unwrap();
        held.n_taken += 1;
        let Some((found, result)) = held.passes.get(held.n_taken - 1) else { return Ok(None) };
        assert_eq!(*found, name);
        Ok(Some(result.clone()))
    }
    fn keep(&self, name: &'static str, result: &[f64]) -> Result<()> {
        let mut held = self.0.lock().unwrap();
        held.passes.push((name, result.to_vec()));
        held.part = None;
        Ok(())
    }
    fn wants_part(&self) -> bool {
        self.0.lock().unwrap().stops
    }
    fn keep_part(&self, name: &'static str, part: &[f64]) -> Result<()> {
        let mut held = self.0.lock().unwrap();
        held.part = Some((name, part.to_vec()));
        held.parts.push(name);
        Err(Error::Stopped { phase: "test" })
    }
    fn take_part(&self, name: &'static str) -> Result<Option<Vec<f64>>> {
        let held = self.0.lock().unwrap();
        let Some((found, part)) = &held.part else { return Ok(None) };
        assert_eq!(*found, name);
        Ok(Some(part.clone()))
    }
}

/// Fits with an interruption after every part. Returns the names of the passes of which parts were kept, in order, each
/// once, and the number of rows that were read.
fn interrupted<T: Scalar, S: Source<T>>(
    pca: &Pca,
    (source, n_read): (impl Fn() -> S, impl Fn(&S) -> usize),
    weights: &Weights<'_>,
    what: &str,
) -> (Vec<&'static str>, usize) {
    let (whole, log) = (Log::default(), Log::default());
    let expected = pca.fit_logged(&source(), weights, &whole, &Run::threads(2)).unwrap();
    assert_eq!(pca.fit_with(&source(), weights, &Run::threads(2)).unwrap(), expected, "{what}");
    log.0.lock().unwrap().stops = true;
    let mut all_read = 0;
    for run in 0.. {
        let x = source();
        let outcome = pca.fit_logged(&x, weights, &log, &Run::threads(1 + run % 2));
        all_read += n_read(&x);
        match outcome {
            // The whole model, with the number of passes.
            Ok(found) => {
                assert_eq!(found, expected, "{what}");
                break;
            }
            Err(error) => assert!(matches!(error, Error::Stopped { .. }), "{what}: {error}"),
        }
    }
    let (whole, log) = (whole.0.into_inner().unwrap(), log.0.into_inner().unwrap());
    assert!(log.passes == whole.passes, "{what}");
    let mut parts = log.parts;
    parts.dedup();
    (parts, all_read)
}

/// As [`interrupted`], and no row is read for another time, except those of the blocks that lie at interruptions.
fn of_disk<T: Scalar>(
    pca: &Pca,
    (values, n, p): (&[T], usize, usize),
    heights: &[usize],
    weights: &Weights<'_>,
) -> Vec<&'static str> {
    let mut passes = Vec::new();
    for &height in heights {
        let what = format!("{pca:?}, blocks of {height} rows");
        let whole = Disk::new(values, n, p, height);
        let model = pca.fit_with(&whole, weights, &Run::threads(1)).unwrap();
        let source = (|| Disk::new(values, n, p, height), Disk::n_read);
        let n_read;
        (passes, n_read) = interrupted(pca, source, weights, &what);
        let most = whole.n_read() + 20 * model.convergence().n_passes * height;
        assert!(n_read >= whole.n_read() && n_read <= most, "{what}: {n_read} rows of {}", whole.n_read());
    }
    passes
}

fn values(n: usize, p: usize) -> Vec<f64> {
    let mut rows = gaussian(n, p, 5);
    for row in &mut rows {
        row.iter_mut().enumerate().for_each(|(j, value)| *value = 3.0 + *value / (j + 1) as f64);
    }
    row_major(&rows)
}

fn some_weights(n: usize) -> Vec<f64> {
    (0..n).map(|i| (i % 4) as f64).collect()
}

#[test]
fn narrow_scatter_and_moments_go_on() {
    let (n, p) = (60_000, 40);
    let (values, weights) = (values(n, p), some_weights(n));
    let pca = Pca { solver: Some(Route::Covariance), ..Pca::new(3) };
    for weights in [Weights::default(), Weights::of_samples(&weights)] {
        assert_eq!(of_disk(&pca, (&values, n, p), &[5_000, 17_000, 1_234], &weights), ["scatter"]);
    }
    let single: Vec<f32> = values.iter().map(|value| *value as f32).collect();
    assert_eq!(of_disk(&pca, (&single, n, p), &[5_000], &Weights::default()), ["scatter"]);
    let pca = Pca { solver: Some(Route::Svd), ..pca };
    assert_eq!(of_disk(&pca, (&values, n, p), &[5_000], &Weights::default()), ["means and variances"]);
    // Products of tiny values underflow: they are scaled in another pass.
    let tiny: Vec<f64> = values.iter().map(|value| value * 1e-170).collect();
    let pca = Pca { solver: Some(Route::Covariance), scale: true.into(), ..pca };
    let passes = of_disk(&pca, (&tiny, n, p), &[5_000], &Weights::default());
    assert_eq!(passes, ["scatter", "matrix of products"]);
}

#[test]
fn wide_scatter_goes_on_in_either_visit() {
    let (n, p) = (5_000, 600);
    let (mut values, mut weights) = (values(n, p), some_weights(n));
    let pca = Pca { solver: Some(Route::Covariance), ..Pca::new(3) };
    for n_visits in [1, 2] {
        let of_samples = Weights::of_samples(&weights);
        let model = pca.fit(&Disk::new(&values, n, p, n), &of_samples).unwrap();
        assert_eq!(model.convergence().n_passes, n_visits);
        assert_eq!(of_disk(&pca, (&values, n, p), &[300, 1_100], &of_samples), ["scatter"]);
        // The first piece lies far from the mean, and has little weight.
        values[..248 * p].iter_mut().for_each(|value| *value += 1e5);
        weights[..248].fill(1e-4);
    }
    assert_eq!(of_disk(&pca, (&values, n, p), &[1_100], &Weights::default()), ["scatter"]);
}

#[test]
#[ignore = "seconds: cargo xtask test slow"]
fn iteration_goes_on_in_its_first_pass_and_in_products() {
    let (n, p) = (6_000, 600);
    let (values, weights) = (values(n, p), some_weights(n));
    let single: Vec<f32> = values.iter().map(|value| *value as f32).collect();
    for scale in [false, true] {
        let pca = Pca { solver: Some(Route::BlockKrylov), scale: scale.into(), ..Pca::new(3) };
        let weights = if scale { Weights::of_samples(&weights) } else { Weights::default() };
        let passes = of_disk(&pca, (&values, n, p), &[77, 1_100], &weights);
        assert_eq!(passes[..2], ["first block", "product of columns"]);
        let passes = of_disk(&pca, (&single, n, p), &[1_100], &weights);
        assert_eq!(passes[..2], ["first block", "product of columns"]);
    }
    // Fewer rows than columns.
    let pca = Pca { solver: Some(Route::BlockKrylov), ..Pca::new(3) };
    let passes = of_disk(&pca, (&values, 1_200, 3_000), &[1_100], &Weights::default());
    assert!(passes.contains(&"product of rows"), "{passes:?}");
}

#[test]
fn sparse_and_mixed_blocks_go_on_at_their_ends() {
    let (n, p) = (1_000, 60);
    let parts: Vec<_> = (0..5).map(|seed| sparse(n, p, 0.1, Columns::Uniform, seed)).collect();
    let dense = values(n, p);
    let mut blocks: Vec<Block<'_, f64>> = Vec::new();
    for part in &parts {
        blocks.push(Block::Sparse(Sparse::csr(n, p, &part.indptr, &part.indices, &part.values).unwrap()));
    }
    for solver in [Route::Covariance, Route::BlockKrylov] {
        let pca = Pca { solver: Some(solver), ..Pca::new(3) };
        for _ in 0..2 {
            let source = (|| RowBlocks::new(blocks.clone()).unwrap(), |_: &RowBlocks<'_, f64>| 0);
            let (passes, _) = interrupted(&pca, source, &Weights::default(), &format!("{solver}"));
            assert!(!passes.is_empty());
            blocks.push(Block::Dense(Dense::row_major(&dense, n, p).unwrap()));
        }
        blocks.truncate(parts.len());
    }
}

#[test]
fn rows_go_on_in_the_pieces_of_the_first_block() {
    let (n, p) = (1_500, 600);
    let values = values(n, p);
    // The layout of the first block decides the height of pieces.
    let (by_rows, by_columns) =
        (Dense::row_major(&values, n, p).unwrap(), Dense::column_major(&values, n, p).unwrap());
    for blocks in [[by_rows, by_columns, by_rows], [by_columns, by_rows, by_columns]] {
        let source = || RowBlocks::new(blocks.map(Block::Dense).to_vec()).unwrap();
        for solver in [Route::Covariance, Route::BlockKrylov] {
            let pca = Pca { solver: Some(solver), ..Pca::new(3) };
            let source = (source, |_: &RowBlocks<'_, f64>| 0);
            let (passes, _) = interrupted(&pca, source, &Weights::default(), &format!("{solver}"));
            assert!(!passes.is_empty(), "{solver}");
        }
    }
}

#[test]
fn a_part_of_another_size_is_refused() {
    let (n, p) = (300, 20);
    let values = values(n, p);
    let disk = Disk::new(&values, n, p, 100);
    let log = Log::default();
    log.0.lock().unwrap().part = Some(("scatter", vec![0.0; 9]));
    let pca = Pca { solver: Some(Route::Covariance), ..Pca::new(3) };
    let error = pca.fit_logged(&disk, &Weights::default(), &log, &Run::threads(1)).unwrap_err();
    assert!(matches!(error, Error::OtherFit { what: "results of a pass", .. }), "{error}");
}
