//! Visits: the rows of each block, rows that are kept, the memory that a visit holds, and blocks read ahead.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use karhunen::source::Block;
use karhunen::{Matrix, Source};
use karhunen_io::{BlockReader, FileRows, OwnedBlock, ReadOptions, read_tables};

use crate::file_rows::fixtures::{double, in_blocks, open, written};

#[test]
fn blocks_hold_the_rows_of_the_file_and_no_more_than_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let matrix = Matrix::from_fn(1_000, 3, |i, j| (10 * i + j) as f64);
    for name in ["x.npy", "x.parquet", "x.arrow", "x.csv"] {
        let path = written(folder.path(), name, &matrix, name != "x.npy");
        let rows = double(in_blocks(&path, &ReadOptions::default(), 64 * 3 * 8));
        assert_eq!((rows.shape(), Source::n_stored(&rows)), ((1_000, 3), 3_000), "{name}");
        // Twice: every visit reads the file again.
        for _ in 0..2 {
            let (mut next, mut n_blocks) = (0, 0);
            rows.visit(&mut |first, block| {
                let Block::Dense(x) = block else { panic!("a sparse block") };
                assert_eq!(first, next, "{name}");
                assert!(x.n_rows() <= 64, "{name}");
                for i in 0..x.n_rows() {
                    for j in 0..3 {
                        assert_eq!(x.get(i, j), matrix[(first + i, j)], "{name}");
                    }
                }
                (next, n_blocks) = (next + x.n_rows(), n_blocks + 1);
                Ok(())
            })
            .unwrap();
            assert_eq!(next, 1_000, "{name}");
            assert!(n_blocks >= 16, "{name}: {n_blocks} blocks");
        }
    }
}

#[test]
fn rows_that_are_kept_are_read_once() {
    let folder = tempfile::tempdir().unwrap();
    let matrix = Matrix::from_fn(1_000, 3, |i, j| (10 * i + j) as f64);
    for name in ["x.npy", "x.parquet", "x.arrow", "x.csv"] {
        let path = written(folder.path(), name, &matrix, false);
        let rows = double(in_blocks(&path, &ReadOptions::default(), 64 * 3 * 8));
        let bytes = || match rows.pass() {
            karhunen::source::Pass::Costly { bytes, .. } => bytes,
            pass => panic!("{pass:?}"),
        };
        let sum = || {
            let (mut sum, mut next) = (0.0, 0);
            rows.visit(&mut |first, block| {
                let Block::Dense(x) = block else { panic!("a sparse block") };
                assert_eq!(first, next, "{name}");
                next += x.n_rows();
                sum += (0..x.n_rows()).map(|i| x.get(i, 2)).sum::<f64>();
                Ok(())
            })
            .map(|()| (next, sum))
        };
        let expected = (1_000, 10.0 * 499_500.0 + 2_000.0);
        assert_eq!(sum().unwrap(), expected, "{name}");
        let whole = bytes();
        // Five blocks of 64 rows, then all.
        rows.keep(5.5 * 64.0 * 24.0);
        for _ in 0..3 {
            assert_eq!(sum().unwrap(), expected, "{name}");
            assert!(bytes() < whole && bytes() > 0.5 * whole, "{name}: {} of {whole}", bytes());
        }
        let part = bytes();
        rows.keep(1e9);
        assert_eq!(sum().unwrap(), expected, "{name}");
        assert_eq!(bytes(), 0.0, "{name}");
        assert_eq!(sum().unwrap(), expected, "{name}");
        // Rows are given back, and kept again.
        rows.keep(5.5 * 64.0 * 24.0);
        assert_eq!(bytes(), part, "{name}");
        assert_eq!(sum().unwrap(), expected, "{name}");
        rows.keep(0.0);
        assert_eq!(bytes(), whole, "{name}");
        assert_eq!(sum().unwrap(), expected, "{name}");
        rows.keep(1e9);
        assert_eq!(sum().unwrap(), expected, "{name}");
        assert_eq!(bytes(), 0.0, "{name}");
    }
}

#[test]
fn what_a_visit_holds_counts_the_rows_that_there_are_and_parts_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let held = |rows: &FileRows<f64>| match rows.pass() {
        karhunen::source::Pass::Costly { held, .. } => held,
        pass => panic!("{pass:?}"),
    };
    let matrix = Matrix::from_fn(1_000, 3, |i, j| (10 * i + j) as f64);
    let files = ["a.csv", "b.csv"].map(|name| written(folder.path(), name, &matrix, false));
    let bytes = 1_000.0 * 3.0 * 8.0;
    // Three blocks, each of which is the whole table.
    assert_eq!(held(&double(open(&files[0], &ReadOptions::default()).unwrap().data)), 3.0 * bytes);
    // Parts in memory, three blocks of both, and a block of a part.
    let options = ReadOptions { memory_limit: Some(1 << 30), ..ReadOptions::default() };
    let stack = double(read_tables(&files, &options).unwrap().data);
    assert_eq!(stack.shape(), (2_000, 3));
    assert_eq!(held(&stack), 2.0 * bytes + 6.0 * bytes + 2.0 * bytes);
}

/// Blocks of one row, and the number of those that were read.
struct Counted {
    n_blocks: usize,
    n_read: Arc<AtomicUsize>,
}

impl BlockReader<f64> for Counted {
    fn each(
        &self,
        first: usize,
        _: usize,
        reached: &mut usize,
        f: &mut dyn FnMut(OwnedBlock<f64>) -> bool,
    ) -> karhunen_io::Result<()> {
        for row in first..self.n_blocks {
            self.n_read.fetch_add(1, Ordering::SeqCst);
            *reached = row + 1;
            if !f(OwnedBlock::Dense { values: vec![row as f64, 1.0], n_rows: 1, column_major: false }) {
                break;
            }
        }
        Ok(())
    }

    fn held(&self, _: usize) -> f64 {
        0.0
    }
}

#[test]
fn the_next_block_is_read_while_one_is_used_and_no_more_than_two_are_ahead() {
    let (n_blocks, n_read) = (20, Arc::new(AtomicUsize::new(0)));
    let reader = Counted { n_blocks, n_read: Arc::clone(&n_read) };
    let rows = FileRows::of_reader(Box::new(reader), (n_blocks, 2), None);
    rows.visit(&mut |row, _| {
        // Without reading ahead, no further block would ever be read here.
        let begun = Instant::now();
        while n_read.load(Ordering::SeqCst) < n_blocks.min(row + 2) {
            assert!(begun.elapsed().as_secs() < 60, "block {} was not read ahead", row + 1);
            std::thread::yield_now();
        }
        assert!(n_read.load(Ordering::SeqCst) <= row + 3, "{row}");
        Ok(())
    })
    .unwrap();
    assert_eq!(n_read.load(Ordering::SeqCst), n_blocks);
}
