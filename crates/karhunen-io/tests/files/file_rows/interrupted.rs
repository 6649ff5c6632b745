//! Fits that were interrupted after every part of a pass have the bits of those that were not.

use std::path::Path;
use std::time::Duration;

use karhunen::exec::{Fact, PassLog};
use karhunen::pca::Route;
use karhunen::{Matrix, Pca, Run, Weights};
use karhunen_io::{Data, PassLogFile, ReadOptions, Values, read};

use crate::file_rows::coordinates::coordinates;
use crate::file_rows::fixtures::{double, in_blocks, written};

/// A log that ends the fit after it kept a part of a pass.
struct OnePart(PassLogFile);

impl PassLog for OnePart {
    fn begin(&self, fit: &[Fact]) -> karhunen::Result<()> {
        self.0.begin(fit)
    }
    fn take(&self, name: &'static str) -> karhunen::Result<Option<Vec<f64>>> {
        self.0.take(name)
    }
    fn keep(&self, name: &'static str, result: &[f64]) -> karhunen::Result<()> {
        self.0.keep(name, result)
    }
    fn wants_part(&self) -> bool {
        self.0.wants_part()
    }
    fn keep_part(&self, name: &'static str, part: &[f64]) -> karhunen::Result<()> {
        self.0.keep_part(name, part)?;
        Err(karhunen::Error::Stopped { phase: "test" })
    }
    fn take_part(&self, name: &'static str) -> karhunen::Result<Option<Vec<f64>>> {
        self.0.take_part(name)
    }
}

/// A fit that is interrupted after every part of a pass has the bits of one that is not, and its passes read hardly
/// more.
fn check_interrupted(path: &Path, options: &ReadOptions, pca: &Pca, folder: &Path, what: &str) {
    let open = || double(in_blocks(path, options, 30_011));
    let expected = pca.fit(&open(), &Weights::default()).unwrap();
    // A fit that is not interrupted would keep the rows in memory.
    let of_passes = (expected.convergence().n_passes as u64 * std::fs::metadata(path).unwrap().len()) as f64;
    let checkpoint = folder.join("c");
    let (mut n_parts, mut bytes) = (0, 0.0);
    let found = loop {
        let log = OnePart(PassLogFile::new(&checkpoint, true).unwrap().every(Duration::ZERO));
        let rows = open();
        let outcome = pca.fit_logged(&rows, &Weights::default(), &log, &Run::threads(1 + n_parts % 2));
        bytes += rows.reading().bytes;
        match outcome {
            Ok(model) => break model,
            Err(error) => assert!(matches!(error, karhunen::Error::Stopped { .. }), "{what}: {error}"),
        }
        n_parts += 1;
    };
    assert_eq!(found, expected, "{what}");
    assert!(n_parts >= expected.convergence().n_passes, "{what}: {n_parts} parts");
    assert!(bytes <= 1.05 * of_passes, "{what}: {bytes} bytes in place of {of_passes}");
    assert!(!folder.join("c.part").exists());
    std::fs::remove_file(checkpoint).unwrap();
}

#[test]
fn a_fit_that_ends_after_every_part_of_a_pass_goes_on_with_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let (n, p) = (40_000, 60);
    let matrix = Matrix::from_fn(n, p, |i, j| ((i * 31 + j * j * 17 + i * j) % 1013) as f64 / (j + 1) as f64);
    let options = ReadOptions::default();
    let fits =
        [Route::Covariance, Route::BlockKrylov].map(|route| Pca { solver: Some(route), ..Pca::new(2) });
    for name in ["x.npy", "x.parquet", "x.arrow"] {
        let path = written(folder.path(), name, &matrix, false);
        for pca in &fits {
            check_interrupted(&path, &options, pca, folder.path(), name);
        }
    }
    let path = written(folder.path(), "t.npy", &matrix.transposed(), false);
    let turned = ReadOptions { transpose: true, ..options };
    check_interrupted(&path, &turned, &fits[1], folder.path(), "columns");
    let path = folder.path().join("x.mtx");
    coordinates(&path, "rows");
    let small = ReadOptions { memory_limit: Some(1 << 20), ..ReadOptions::default() };
    for pca in &fits {
        let open = || {
            let Data::F64(Values::InFile(rows)) = read(&path, &small).unwrap().data else { panic!("held") };
            rows
        };
        let expected = pca.fit(&open(), &Weights::default()).unwrap();
        let rows = open();
        let checkpoint = folder.path().join("c");
        let log = || PassLogFile::new(&checkpoint, true).unwrap().every(Duration::ZERO);
        let mut n_parts = 0;
        let found = loop {
            match pca.fit_logged(&rows, &Weights::default(), &OnePart(log()), &Run::threads(2)) {
                Ok(model) => break model,
                Err(error) => assert!(matches!(error, karhunen::Error::Stopped { .. }), "{error}"),
            }
            n_parts += 1;
        };
        assert_eq!(found, expected);
        assert!(n_parts >= expected.convergence().n_passes, "{n_parts}");
        std::fs::remove_file(checkpoint).unwrap();
    }
}
