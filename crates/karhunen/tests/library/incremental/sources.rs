//! Batches that are sources of several blocks.

use karhunen::incremental::{IncrementalMethod, IncrementalPca};
use karhunen::source::{Block, RowBlocks};
use karhunen::{Dense, Error, Run, Source};
use karhunen_testkit::{gaussian, row_major, uniform_weights};

use crate::incremental::fixtures::{Layout, fitted, model, push};

const P: usize = 12;

fn options() -> Vec<IncrementalPca> {
    let sketch =
        IncrementalPca { method: IncrementalMethod::Sketch, batch_size: Some(40), ..IncrementalPca::new(3) };
    [IncrementalPca::new(3), sketch]
        .into_iter()
        .flat_map(|pca| {
            [
                pca.clone(),
                IncrementalPca { forget: 0.5, ..pca.clone() },
                IncrementalPca { half_life: Some(70.0), ..pca },
            ]
        })
        .collect()
}

/// Calls `f` with the rows in blocks that end at `ends`.
fn in_blocks(values: &[f64], ends: &[usize], f: impl FnOnce(&dyn Source<f64>)) {
    let starts = [0].into_iter().chain(ends.iter().copied());
    let blocks = starts.zip(ends).map(|(start, end)| {
        Block::Dense(Dense::row_major(&values[start * P..end * P], end - start, P).unwrap())
    });
    f(&RowBlocks::new(blocks.collect()).unwrap());
}

#[test]
fn blocks_of_a_source_are_one_batch() {
    let (rows, run) = (gaussian(2500, P, 1), Run::threads(2));
    let weights = uniform_weights(2500, 3);
    for pca in options() {
        let mut expected = fitted(&pca, &rows[..300], None, 300, Layout::RowMajor);
        let mut found = expected.clone();
        push::<f64>(&mut expected, &rows, Some(&weights), Layout::RowMajor, &run).unwrap();
        // A block shorter than a piece comes first.
        in_blocks(&row_major(&rows), &[7, 1300, 2499, 2500], |x| {
            found.push_source(x, Some(&weights), &run).unwrap();
        });
        assert_eq!(model(&found), model(&expected), "{pca:?}");
        assert_eq!(found.n_samples_seen(), 2800);
        let mut short = pca.start(P).unwrap();
        in_blocks(&row_major(&rows[..30]), &[10, 20, 30], |x| short.push_source(x, None, &run).unwrap());
        in_blocks(&row_major(&rows[30..60]), &[15, 30], |x| short.push_source(x, None, &run).unwrap());
        assert_eq!(model(&short), model(&fitted(&pca, &rows[..60], None, 30, Layout::RowMajor)));
    }
}

#[test]
fn rows_of_a_source_are_counted_from_its_first_and_the_state_stays() {
    let run = Run::threads(1);
    for pca in options() {
        let mut fit = fitted(&pca, &gaussian(300, P, 2), None, 100, Layout::RowMajor);
        let before = model(&fit);
        let mut rows = gaussian(2000, P, 3);
        rows[1500][4] = f64::NAN;
        for ends in [&[2000][..], &[1000, 2000]] {
            in_blocks(&row_major(&rows), ends, |x| {
                let error = fit.push_source(x, None, &run).unwrap_err();
                assert!(matches!(error, Error::NonFinite { row: 1500, column: 4, .. }), "{error}");
                let error = fit.push_source(x, Some(&[1.0; 9]), &run).unwrap_err();
                assert!(matches!(error, Error::WeightLength { found: 9, expected: 2000, .. }), "{error}");
                let mut weights = vec![1.0; 2000];
                weights[1200] = -1.0;
                let error = fit.push_source(x, Some(&weights), &run).unwrap_err();
                assert!(matches!(error, Error::WeightValue { index: 1200, .. }), "{error}");
            });
        }
        let other = Dense::row_major(&[1.0, 2.0], 1, 2).unwrap();
        let error = fit.push_source(&other, None, &run).unwrap_err();
        assert!(matches!(error, Error::Shape { found: 2, expected: P, .. }), "{error}");
        assert_eq!(model(&fit), before);
    }
}
