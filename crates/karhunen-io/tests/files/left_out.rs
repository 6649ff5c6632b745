//! Formats that this build leaves out are recognised, and refused with the feature that brings them.

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use karhunen_io::{Cause, Error, ErrorKind, ReadOptions, Result, read};

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn assert_left_out<R: Debug>(found: Result<R>, path: &Path, what: &str, feature: &str) {
    let error: Error = found.unwrap_err();
    let expected = format!(
        "{}: {what} needs the feature {feature}, which this build of karhunen leaves out; build it with --features \
         {feature}",
        path.display()
    );
    assert_eq!(error.to_string(), expected);
    assert_eq!(error.kind(), ErrorKind::Data);
    assert!(matches!(*error.cause, Cause::LeftOut { .. }));
}

/// Reads a table.
fn assert_unread(path: &Path, what: &str, feature: &str) {
    assert_left_out(read(path, &ReadOptions::default()), path, what, feature);
}

#[cfg(not(feature = "columnar"))]
mod columnar {
    use karhunen::Matrix;
    use karhunen_io::{
        ColumnKinds, Existing, NamedMatrix, ObserveOptions, TripleColumns, check_table_path, open_pairs,
        read_categories, read_observed, write_table,
    };

    use super::*;

    const FILES: [(&str, &str); 5] = [
        ("snappy.parquet", "Parquet"),
        ("float32.parquet", "Parquet"),
        ("kinds_lz4.arrow", "Arrow"),
        ("kinds.arrows", "Arrow"),
        ("rounded.feather", "Arrow"),
    ];

    #[test]
    fn files_are_recognised_by_their_content() {
        let folder = tempfile::tempdir().unwrap();
        for (name, what) in FILES {
            let path = sample("binary").join(name);
            assert_unread(&path, what, "columnar");
            let renamed = folder.path().join("x.csv");
            std::fs::copy(&path, &renamed).unwrap();
            assert_unread(&renamed, what, "columnar");
            assert_eq!(Existing::of(&path).unwrap(), Existing::Other);
        }
    }

    #[test]
    fn every_reader_refuses_them() {
        let options = ReadOptions::default();
        let [row, column, value] = ["a", "b", "c"].map(str::to_owned);
        let pairs = [row.clone(), column.clone()];
        let triples = Some(TripleColumns { row, column, value, weight: None });
        let how = ObserveOptions { triples, ..ObserveOptions::default() };
        for (name, what) in FILES {
            let path = sample("binary").join(name);
            assert_left_out(read_observed(&path, &options, &how), &path, what, "columnar");
            let categories = read_categories(&path, ColumnKinds::ByContent, &options);
            assert_left_out(categories, &path, what, "columnar");
            assert_left_out(open_pairs(&path, &options, &pairs).map(|_| ()), &path, what, "columnar");
        }
    }

    #[test]
    fn no_parquet_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.parquet");
        assert_left_out(check_table_path(&path), &path, "Parquet", "columnar");
        let (matrix, names) = (Matrix::<f64>::from_fn(1, 1, |_, _| 1.0), ["a".to_owned()]);
        let table = NamedMatrix {
            matrix: &matrix,
            row_names: None,
            row_header: "",
            labels: &[],
            column_names: &names,
            numeric_ids: false,
        };
        assert_left_out(write_table(&path, &table), &path, "Parquet", "columnar");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[cfg(not(feature = "hdf5"))]
#[test]
fn hdf5_is_recognised() {
    assert_unread(&sample("../../../../golden/scanpy_cells.h5ad"), "HDF5", "hdf5");
}

#[cfg(not(feature = "zarr"))]
#[test]
fn stores_of_zarr_are_recognised_in_folders_and_archives() {
    assert_unread(&sample("zarr/tables_v2.zarr.zip"), "Zarr", "zarr");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(".zgroup"), "{\"zarr_format\": 2}").unwrap();
    assert_unread(folder.path(), "Zarr", "zarr");
}

#[cfg(not(feature = "compression"))]
#[test]
fn packed_files_are_recognised_by_their_content() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.csv");
    for (begin, what) in [(&b"\x28\xb5\x2f\xfd"[..], "zstd"), (b"\xfd7zXZ\0", "xz"), (b"BZh91AY&SY", "bzip2")]
    {
        std::fs::write(&path, begin).unwrap();
        assert_unread(&path, what, "compression");
    }
}
