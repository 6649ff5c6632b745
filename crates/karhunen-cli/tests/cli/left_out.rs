//! Messages of a build without a feature: about files of its formats, and about the device.

use std::path::Path;

use crate::karhunen;

/// The message of a command that fails before anything is fitted; no line but the error.
fn refusal(folder: &Path, arguments: &str, code: i32) -> String {
    let done = karhunen(arguments).current_dir(folder).assert().code(code).stdout("");
    let text = String::from_utf8(done.get_output().stderr.clone()).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}

/// The message about a file of the format `what`.
fn needs(name: &str, what: &str, feature: &str) -> String {
    format!(
        "error: {name}: {what} needs the feature {feature}, which this build of karhunen leaves out; build it with \
         --features {feature}\n"
    )
}

/// A folder with a copy of each file of the sources, by its new name.
fn with_copies(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (from, to) in files {
        std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(from), folder.path().join(to))
            .unwrap();
    }
    folder
}

/// The help of the program names what is left out, and nothing else.
#[test]
fn the_help_names_what_is_left_out() {
    let help = crate::output("--help").replace('\n', " ");
    let names = [
        (cfg!(feature = "columnar"), "Parquet and Arrow (feature columnar)"),
        (cfg!(feature = "compression"), "zstd, xz and bzip2 (compression)"),
        (cfg!(feature = "hdf5"), "HDF5 (hdf5)"),
        (cfg!(feature = "zarr"), "Zarr (zarr)"),
        (cfg!(feature = "cuda"), "GPUs (cuda)"),
    ];
    for (is_built, name) in names {
        assert_eq!(help.contains(name), !is_built, "{name}: {help}");
    }
    assert!(help.contains("This build leaves out: "), "{help}");
}

#[cfg(not(feature = "columnar"))]
#[test]
fn parquet_and_arrow_are_refused_by_content() {
    let data = "crates/karhunen-io/tests/data/binary";
    let files = [("snappy.parquet", "x.parquet"), ("snappy.parquet", "x.csv"), ("kinds.arrows", "x.arrow")];
    let files = files.map(|(from, to)| (format!("{data}/{from}"), to));
    let files = files.each_ref().map(|(from, to)| (&from[..], *to));
    let folder = with_copies(&files);
    for (name, what) in [("x.parquet", "Parquet"), ("x.csv", "Parquet"), ("x.arrow", "Arrow")] {
        for command in ["fit", "fit --missing", "fit --mca", "inspect", "moments -o s", "select"] {
            let found = refusal(folder.path(), &format!("{command} {name}"), 3);
            assert_eq!(found, needs(name, what, "columnar"), "{command}");
        }
    }
}

#[cfg(not(feature = "columnar"))]
#[test]
fn parquet_is_not_written_and_nothing_is_fitted_before() {
    let folder = with_copies(&[("examples/data/usarrests.csv", "t.csv")]);
    let path = folder.path();
    karhunen("fit t.csv -k 2 -q -o m --scores s.csv").current_dir(path).assert().success();
    for command in [
        "fit t.csv -k 2 -o new --scores",
        "fit t.csv -k 2 -o new --loadings",
        "fit t.csv -k 2 --missing -o new --scores",
        "transform m t.csv -o",
        "reconstruct m s.csv -o",
        "cross-validate t.csv -o",
    ] {
        let found = refusal(path, &format!("{command} x.parquet"), 3);
        assert_eq!(found, needs("x.parquet", "Parquet", "columnar"), "{command}");
        assert!(!path.join("new").exists() && !path.join("x.parquet").exists(), "{command}");
    }
}

#[cfg(not(feature = "hdf5"))]
#[test]
fn hdf5_is_refused_by_content() {
    let folder = with_copies(&[("golden/scanpy_cells.h5ad", "x.h5ad"), ("golden/scanpy_cells.h5ad", "x.h5")]);
    for name in ["x.h5ad", "x.h5"] {
        assert_eq!(refusal(folder.path(), &format!("fit {name}"), 3), needs(name, "HDF5", "hdf5"));
    }
}

#[cfg(not(feature = "zarr"))]
#[test]
fn stores_of_zarr_are_refused_by_content() {
    let folder = with_copies(&[("crates/karhunen-io/tests/data/zarr/tables_v2.zarr.zip", "x.zip")]);
    std::fs::create_dir(folder.path().join("x.zarr")).unwrap();
    std::fs::write(folder.path().join("x.zarr/.zgroup"), "{\"zarr_format\": 2}").unwrap();
    for name in ["x.zip", "x.zarr"] {
        assert_eq!(refusal(folder.path(), &format!("fit {name}"), 3), needs(name, "Zarr", "zarr"));
    }
}

#[cfg(not(feature = "cuda"))]
#[test]
fn a_fit_on_a_gpu_names_the_feature() {
    let folder = with_copies(&[("examples/data/usarrests.csv", "t.csv")]);
    let found = refusal(folder.path(), "fit t.csv -k 2 -q --device cuda", 4);
    let expected = "error: t.csv: no GPU can be used: CUDA needs the feature cuda, which this build of karhunen leaves out; \
                    build it with --features cuda, or leave the device out\n";
    assert_eq!(found, expected);
}
