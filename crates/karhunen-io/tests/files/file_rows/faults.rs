//! Errors of values that no fit takes, and of files that change between visits.

use karhunen::{Matrix, NComponents, Pca, Run, Weights};
use karhunen_io::ReadOptions;

use crate::file_rows::fixtures::{fit_file, in_blocks, open, written};

#[test]
fn errors_name_rows_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let matrix =
        Matrix::from_fn(200, 2, |i, j| if (i, j) == (150, 1) { f64::NAN } else { (i * (j + 1)) as f64 });
    let pca = Pca { n_components: NComponents::Count(1), ..Pca::default() };
    for name in ["x.npy", "x.parquet"] {
        let path = written(folder.path(), name, &matrix, false);
        let file = in_blocks(&path, &ReadOptions::default(), 40 * 16);
        let error = fit_file(&file, &pca, &Weights::default(), &Run::default()).unwrap_err();
        assert!(matches!(error, karhunen::Error::NonFinite { row: 150, column: 1, .. }), "{name}: {error}");
    }
    // Integers that double precision does not represent.
    let path = folder.path().join("large.npy");
    let mut large: Vec<i64> = (0..100).collect();
    large[77] = (1 << 53) + 1;
    let header = "{'descr': '<i8', 'fortran_order': False, 'shape': (100, 1), }";
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    bytes.extend(header.bytes());
    bytes.extend(large.iter().flat_map(|value| value.to_le_bytes()));
    std::fs::write(&path, bytes).unwrap();
    let file = in_blocks(&path, &ReadOptions::default(), 160);
    let error = fit_file(&file, &pca, &Weights::default(), &Run::default()).unwrap_err().to_string();
    let expected = format!(
        "reading the data failed at row 60: {}: row 78: column 1: 9007199254740993 is not a number of double \
         precision; convert the array, or read the whole table",
        path.display()
    );
    assert_eq!(error, expected);
}

#[test]
fn a_file_that_changes_between_visits_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let matrix = Matrix::from_fn(200, 2, |i, j| (i * (j + 1)) as f64);
    let path = written(folder.path(), "x.npy", &matrix, false);
    let file = open(&path, &ReadOptions::default()).unwrap().data;
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 800]).unwrap();
    let error = fit_file(&file, &Pca::new(1), &Weights::default(), &Run::default()).unwrap_err();
    assert_eq!(error.kind(), karhunen::ErrorKind::Io);
    assert!(error.to_string().starts_with("reading the data failed at row 0: "), "{error}");
    assert!(error.to_string().contains("became shorter"), "{error}");
}

#[test]
fn mapped_files_that_change_are_refused_before_their_rows_are_lent() {
    let folder = tempfile::tempdir().unwrap();
    let matrix = Matrix::from_fn(5000, 3, |i, j| (i * (j + 1)) as f64);
    for name in ["x.arrow", "x.parquet"] {
        let path = written(folder.path(), name, &matrix, false);
        let file = open(&path, &ReadOptions::default()).unwrap().data;
        let bytes = std::fs::read(&path).unwrap();
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(bytes.len() as u64 / 2).unwrap();
        let error = fit_file(&file, &Pca::new(1), &Weights::default(), &Run::default()).unwrap_err();
        assert_eq!(error.kind(), karhunen::ErrorKind::Io, "{name}: {error}");
        assert!(error.to_string().contains("became shorter"), "{name}: {error}");
    }
}
