//! Entries read from a source block by block, against entries found by their definition.

use std::sync::atomic::{AtomicBool, Ordering};

use karhunen::source::{Block, Passes};
use karhunen::{Dense, Error, Observed, Run, Source, Sparse};
use karhunen_testkit::{SparseArrays, gaussian};

/// Blocks that can be visited once, as of a pipe.
struct Once<'a> {
    blocks: Vec<Block<'a, f64>>,
    used: AtomicBool,
}

impl Source<f64> for Once<'_> {
    fn shape(&self) -> (usize, usize) {
        (self.blocks.iter().map(Block::n_rows).sum(), self.blocks[0].n_cols())
    }
    fn passes(&self) -> Passes {
        Passes::Once
    }
    fn n_stored(&self) -> usize {
        self.blocks.iter().map(Block::n_stored).sum()
    }
    fn is_sparse(&self) -> bool {
        self.blocks.iter().any(|block| matches!(block, Block::Sparse(_)))
    }
    fn visit(
        &self,
        f: &mut dyn FnMut(usize, Block<'_, f64>) -> karhunen::Result<()>,
    ) -> karhunen::Result<()> {
        assert!(!self.used.swap(true, Ordering::Relaxed), "a second visit of rows that come once");
        let mut first = 0;
        for block in &self.blocks {
            f(first, block.clone())?;
            first += block.n_rows();
        }
        Ok(())
    }
}

/// Rows with missing entries: every third, and all of row 4.
fn with_missing(n: usize, p: usize) -> Vec<Vec<f64>> {
    let mut rows = gaussian(n, p, 11);
    for (i, row) in rows.iter_mut().enumerate() {
        for (j, x) in row.iter_mut().enumerate() {
            if (i + 2 * j) % 3 == 0 || i == 4 {
                *x = f64::NAN;
            }
        }
    }
    rows
}

#[test]
fn blocks_of_every_kind_give_the_entries_of_their_rows() {
    let (n, p) = (17, 5);
    let rows = with_missing(n, p);
    // Entries that are not stored are missing.
    let sparse: Vec<Vec<f64>> = rows[8..13]
        .iter()
        .map(|row| row.iter().map(|x| if x.is_nan() { 0.0 } else { *x }).collect())
        .collect();
    let arrays = SparseArrays::of_rows(&sparse);
    let by_columns = SparseArrays::of_rows(&sparse[3..]).by_columns();
    let by_rows = SparseArrays::of_rows(&sparse[..3]);
    assert!(arrays.values.len() < 25);
    let (top, bottom) = (rows[..8].concat(), rows[13..].to_vec());
    let bottom: Vec<f64> = (0..p).flat_map(|j| bottom.iter().map(move |row| row[j])).collect();
    let source = |run: &Run<'_>| {
        let blocks = vec![
            Block::Dense(Dense::row_major(&top, 8, p).unwrap()),
            Block::Sparse(Sparse::csr(3, p, &by_rows.indptr, &by_rows.indices, &by_rows.values).unwrap()),
            Block::Sparse(
                Sparse::csc(2, p, &by_columns.indptr, &by_columns.indices, &by_columns.values).unwrap(),
            ),
            Block::Dense(Dense::column_major(&bottom, 4, p).unwrap()),
        ];
        Observed::from_source_with(&Once { blocks, used: AtomicBool::new(false) }, run).unwrap()
    };
    for n_threads in [1, 2, 3] {
        let observed = source(&Run::threads(n_threads));
        assert_eq!(observed.shape(), (n, p));
        for (i, row) in rows.iter().enumerate() {
            let expected: Vec<(u32, f64)> =
                (0..p).filter(|&j| !row[j].is_nan()).map(|j| (j as u32, row[j])).collect();
            let (columns, values) = observed.row(i);
            let found: Vec<(u32, f64)> = columns.iter().copied().zip(values.iter().copied()).collect();
            assert_eq!(found, expected, "row {i}");
        }
        for j in 0..p {
            let observed_at = |(i, row): (usize, &Vec<f64>)| (!row[j].is_nan()).then_some(i as u32);
            let expected: Vec<u32> = rows.iter().enumerate().filter_map(observed_at).collect();
            assert_eq!(observed.column(j).0, expected, "column {j}");
        }
    }
}

#[test]
fn an_infinite_value_is_named_by_its_row_in_the_source() {
    let mut rows = with_missing(12, 3);
    rows[10][1] = f64::INFINITY;
    let (top, bottom) = (rows[..7].concat(), rows[7..].concat());
    let blocks = vec![
        Block::Dense(Dense::row_major(&top, 7, 3).unwrap()),
        Block::Dense(Dense::row_major(&bottom, 5, 3).unwrap()),
    ];
    let error = Observed::from_source(&Once { blocks, used: AtomicBool::new(false) }).unwrap_err();
    assert!(matches!(error, Error::NonFinite { row: 10, column: 1, .. }), "{error}");
}
