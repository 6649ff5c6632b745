//! Zarr stores: the values, names and masks of the same AnnData in HDF5, plain arrays, and errors.

use std::fs;
use std::path::{Path, PathBuf};

use crate::values::{dense, visited};
use karhunen::{Pca, Weights};
use karhunen_io::{Data, Log1p, ReadOptions, Table, Values, read, read_tables, read_with_missing};
use serde_json::{Value, json};

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/zarr").join(name)
}

/// The AnnData of the samples in HDF5.
fn in_hdf5() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/scanpy_cells.h5ad")
}

/// A store as a folder.
struct Folder {
    _parent: tempfile::TempDir,
    path: PathBuf,
}

impl Folder {
    fn of(name: &str) -> Self {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("store.zarr");
        let mut archive = zip::ZipArchive::new(fs::File::open(sample(name)).unwrap()).unwrap();
        archive.extract(&path).unwrap();
        Self { _parent: parent, path }
    }

    /// Changes a file of metadata.
    fn edit(&self, file: &str, change: impl FnOnce(&mut Value)) {
        let file = self.path.join(file);
        let mut metadata: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        change(&mut metadata);
        fs::write(file, metadata.to_string()).unwrap();
    }

    fn refusal(&self, options: &ReadOptions) -> String {
        let message = match read(&self.path, options) {
            Ok(table) => visited(&table).unwrap_err(),
            Err(error) => error.to_string(),
        };
        message.replace(&self.path.display().to_string(), "STORE")
    }
}

/// In memory, and block by block from the file.
fn both(options: &ReadOptions) -> [ReadOptions; 2] {
    [options.clone(), ReadOptions { memory_limit: Some(1000), ..options.clone() }]
}

fn layer(name: &str) -> ReadOptions {
    ReadOptions { layer: Some(name.to_owned()), ..ReadOptions::default() }
}

fn array(name: &str) -> ReadOptions {
    ReadOptions { array: Some(name.to_owned()), ..ReadOptions::default() }
}

fn is_in_file(table: &Table) -> bool {
    matches!(&table.data, Data::F32(Values::InFile(_)) | Data::F64(Values::InFile(_)))
}

#[test]
fn every_layout_and_codec_gives_the_values_and_names_of_hdf5() {
    let layers = [None, Some("counts"), Some("by_gene"), Some("dense"), Some("raw")];
    for version in ["cells_v2.zarr.zip", "cells_v3.zarr.zip"] {
        let folder = Folder::of(version);
        for name in layers {
            let options = ReadOptions { layer: name.map(str::to_owned), ..ReadOptions::default() };
            let expected = read(&in_hdf5(), &options).unwrap();
            let values = dense(&expected);
            for path in [&sample(version), &folder.path] {
                for (options, in_file) in both(&options).iter().zip([false, true]) {
                    let table = read(path, options).unwrap();
                    let what = format!("{version}, {name:?}, in file: {in_file}");
                    assert_eq!(is_in_file(&table), in_file, "{what}");
                    assert_eq!(table.format, "AnnData Zarr");
                    assert_eq!(table.data.dtype(), expected.data.dtype(), "{what}");
                    assert_eq!(table.data.n_stored(), expected.data.n_stored(), "{what}");
                    assert!(dense(&table) == values, "{what}");
                    // Every visit reads the same.
                    assert!(dense(&table) == values, "{what}, once more");
                    assert_eq!(table.sample_names, expected.sample_names);
                    assert_eq!(table.feature_names, expected.feature_names);
                }
            }
        }
    }
}

#[test]
fn blocks_of_any_number_of_rows_are_the_same() {
    let expected = dense(&read(&in_hdf5(), &layer("dense")).unwrap());
    for version in ["cells_v2.zarr.zip", "cells_v3.zarr.zip"] {
        for name in ["dense", "counts"] {
            // 1 MiB holds all rows: larger limits would only change the chunks that are kept.
            for (bytes, limit) in [(1, 1000), (5_000, 1000), (5_000, 40_000), (20_000, 40_000)] {
                let options = ReadOptions { memory_limit: Some(limit), ..layer(name) };
                let mut table = read(&sample(version), &options).unwrap();
                table.data = match table.data {
                    Data::F64(Values::InFile(rows)) => Data::F64(Values::InFile(rows.block_bytes(bytes))),
                    other => other,
                };
                assert!(dense(&table) == expected, "{version}, {name}, {bytes}, {limit}");
            }
        }
    }
}

#[test]
fn masks_of_every_kind_keep_the_same_genes() {
    let options = |mask: &str| ReadOptions {
        mask: Some(mask.to_owned()),
        log1p: Some(Log1p::Median),
        ..layer("counts")
    };
    let expected = read(&in_hdf5(), &options("highly_variable")).unwrap();
    for version in ["cells_v2.zarr.zip", "cells_v3.zarr.zip"] {
        for mask in ["highly_variable", "categories", "nullable"] {
            for options in both(&options(mask)) {
                let table = read(&sample(version), &options).unwrap();
                assert_eq!(table.feature_names, expected.feature_names, "{version}, {mask}");
                assert_eq!(table.log1p, expected.log1p);
                assert!(dense(&table) == dense(&expected), "{version}, {mask}");
            }
        }
        let refused = read(&sample(version), &options("feature_type")).unwrap_err().to_string();
        assert!(refused.ends_with("the column of `var` holds no values true and false"), "{refused}");
        let refused = read(&sample(version), &options("none")).unwrap_err().to_string();
        let there = "there are `categories`, `feature_type`, `nullable`, `highly_variable`";
        assert!(refused.ends_with(there), "{refused}");
    }
}

#[test]
fn components_match_hdf5_to_the_bit() {
    let fit = |path: &Path| {
        let options = ReadOptions { memory_limit: Some(1000), ..ReadOptions::default() };
        let table = read_tables(&[path.to_owned()], &options).unwrap();
        let Data::F64(values) = &table.data else { panic!("{}", table.data.dtype()) };
        Pca::new(4).fit(&*values.source().unwrap(), &Weights::default()).unwrap()
    };
    let expected = fit(&in_hdf5());
    let folder = Folder::of("cells_v2.zarr.zip");
    for path in [folder.path.clone(), sample("cells_v3.zarr.zip")] {
        let found = fit(&path);
        assert_eq!(found.explained_variance(), expected.explained_variance());
        assert_eq!(found.components().as_slice(), expected.components().as_slice());
    }
}

#[test]
fn arrays_without_anndata_are_tables() {
    for version in ["tables_v2.zarr.zip", "tables_v3.zarr.zip"] {
        let folder = Folder::of(version);
        let v2 = version.contains("v2");
        let mut names = vec!["whole", "filled", "half"];
        names.extend(v2.then_some("zstd"));
        for name in names {
            for options in both(&array(name)) {
                let options = ReadOptions { memory_limit: options.memory_limit.map(|_| 1), ..options };
                let inside = ReadOptions { array: None, ..options.clone() };
                let archive = sample(version);
                for (path, options) in [(&archive, &options), (&folder.path.join(name), &inside)] {
                    let table = read(path, options).unwrap();
                    assert_eq!((table.data.shape(), table.format), ((23, 7), "Zarr"));
                    assert_eq!(table.data.dtype(), if name == "filled" { "f32" } else { "f64" });
                    let expected: Vec<f64> = (0..23)
                        .flat_map(|i| (0..7).map(move |j| (i, j)))
                        .map(|(i, j)| match name {
                            "half" => f64::from(i + 1000 * j).min(2000.0),
                            "filled" if (10..20).contains(&i) && j >= 5 => -1.0,
                            _ => f64::from(i + 1000 * j),
                        })
                        .collect();
                    assert_eq!(dense(&table), expected, "{version}, {name}");
                }
            }
        }
        let refused = folder.refusal(&ReadOptions::default());
        assert!(
            refused.starts_with("STORE: holds several arrays; choose one with `array`: `filled`"),
            "{refused}"
        );
        let refused = folder.refusal(&array("../store.zarr/half"));
        assert!(refused.contains("there is no such array"), "{refused}");
        let refused = folder.refusal(&layer("x"));
        assert!(refused.contains("`layer` does not apply to a Zarr store"), "{refused}");
    }
}

/// Metadata that lie: (file, change, the end of the message).
#[test]
fn metadata_that_lie_are_refused_by_file_and_array() {
    type Change = fn(&mut Value);
    let cases: [(&str, &str, Change, &str); 15] = [
        (
            "cells_v2.zarr.zip",
            "layers/dense/.zarray",
            |m| m["chunks"] = json!([0, 96]),
            "has chunks of no elements",
        ),
        (
            "cells_v2.zarr.zip",
            "layers/dense/.zarray",
            |m| m["chunks"] = json!([44]),
            "has 2 axes, but its chunks have 1",
        ),
        (
            "cells_v2.zarr.zip",
            "layers/dense/.zarray",
            |m| m["chunks"] = json!([u64::MAX, u64::MAX]),
            "is too large for this machine",
        ),
        (
            "cells_v2.zarr.zip",
            "layers/dense/.zarray",
            |m| m["shape"] = json!([150, 110, 2]),
            "but its chunks have 2",
        ),
        (
            "cells_v2.zarr.zip",
            "layers/dense/.zarray",
            |m| m["shape"] = json!([-1, 110]),
            "has no shape of whole numbers",
        ),
        (
            "cells_v2.zarr.zip",
            "layers/dense/.zarray",
            |m| m["compressor"] = json!({"id": "jpeg"}),
            "is packed with a codec that is not read (`jpeg`); write the store again with zstd, gzip or Blosc, in Python \
             anndata.read_zarr(path).write_zarr(path)",
        ),
        (
            "cells_v2.zarr.zip",
            "layers/dense/.zarray",
            |m| m["dtype"] = json!("<c16"),
            "save the real and imaginary parts",
        ),
        (
            "cells_v2.zarr.zip",
            "layers/dense/.zarray",
            |m| m["zarr_format"] = json!(4),
            "of an unknown version of Zarr (2 and 3 are read)",
        ),
        (
            "cells_v2.zarr.zip",
            "layers/dense/.zarray",
            |m| m["fill_value"] = json!("x"),
            "has a fill value that is not read (\"x\")",
        ),
        (
            "cells_v3.zarr.zip",
            "layers/dense/zarr.json",
            |m| m["node_type"] = json!(1),
            "has a zarr.json without node_type; the store is damaged",
        ),
        (
            "cells_v3.zarr.zip",
            "layers/dense/zarr.json",
            |m| m["chunk_grid"]["configuration"]["chunk_shape"] = json!([81, 120]),
            "has shards that are not a whole number of chunks",
        ),
        (
            "cells_v3.zarr.zip",
            "layers/dense/zarr.json",
            |m| m["chunk_grid"]["name"] = json!("odd"),
            "has chunks on a grid that is not read (`odd`)",
        ),
        (
            "cells_v3.zarr.zip",
            "layers/dense/zarr.json",
            |m| m["data_type"] = json!("complex64"),
            "has a data_type that is not read (`complex64`)",
        ),
        (
            "cells_v3.zarr.zip",
            "layers/dense/zarr.json",
            |m| m["codecs"] = json!([]),
            "has no codec that makes bytes of its values",
        ),
        (
            "cells_v3.zarr.zip",
            "layers/dense/zarr.json",
            |m| m["codecs"][0]["configuration"]["codecs"][0]["configuration"]["order"] = json!([0, 1, 2]),
            "is transposed in the order [0, 1, 2], which is not read",
        ),
    ];
    for (version, file, change, end) in cases {
        let folder = Folder::of(version);
        folder.edit(file, change);
        let refused = folder.refusal(&layer("dense"));
        assert!(refused.starts_with("STORE: `layers/dense`: ") && refused.ends_with(end), "{refused}");
    }
}

#[test]
fn sizes_beyond_memory_are_refused() {
    // Missing chunks are fill values: only the memory bounds an array that no file holds.
    for (version, file) in
        [("tables_v2.zarr.zip", "whole/.zarray"), ("tables_v3.zarr.zip", "whole/zarr.json")]
    {
        for shape in [json!([u64::MAX / 4, 7]), json!([1_u64 << 50, 7]), json!([1_u64 << 40, 1_u64 << 20])] {
            let folder = Folder::of(version);
            folder.edit(file, |metadata| metadata["shape"] = shape.clone());
            let refused = folder.refusal(&array("whole"));
            let expected =
                refused.contains(" of memory") || refused.ends_with("is too large for this machine");
            assert!(expected, "{shape}: {refused}");
        }
    }
    // A chunk that is declared large, in a small file.
    let folder = Folder::of("tables_v2.zarr.zip");
    folder.edit("whole/.zarray", |metadata| metadata["chunks"] = json!([1_u64 << 31, 1_u64 << 29]));
    let refused = folder.refusal(&array("whole"));
    assert!(refused.contains("`whole`: an array of the Zarr store needs "), "{refused}");
    // Indices, pointers and names of a matrix.
    for part in ["X/indptr", "X/indices", "obs/_index"] {
        let folder = Folder::of("cells_v2.zarr.zip");
        folder.edit(&format!("{part}/.zarray"), |metadata| metadata["shape"] = json!([1_u64 << 50]));
        folder.edit("X/.zattrs", |metadata| metadata["shape"] = json!([(1_u64 << 50) - 1, 110]));
        let refused = folder.refusal(&ReadOptions::default());
        assert!(refused.starts_with("STORE: `"), "{refused}");
    }
}

#[test]
fn attributes_do_not_lead_out_of_the_store() {
    let folder = Folder::of("cells_v2.zarr.zip");
    let other = Folder::of("cells_v2.zarr.zip");
    let outside = format!("../../../{}/obs/_index", other.path.display());
    folder.edit("var/.zattrs", |attributes| attributes["_index"] = json!(outside));
    let table = read(&folder.path, &ReadOptions::default()).unwrap();
    assert_eq!(table.feature_names, None);
}

#[test]
fn damaged_chunks_are_refused_by_file_array_and_chunk() {
    let cases = [
        ("cells_v2.zarr.zip", "dense", "layers/dense", "0.0"),
        ("cells_v2.zarr.zip", "counts", "layers/counts/data", "1"),
        ("cells_v2.zarr.zip", "by_gene", "layers/by_gene/data", "0"),
        ("cells_v2.zarr.zip", "raw", "raw/X/data", "2"),
        ("cells_v3.zarr.zip", "dense", "layers/dense", "c/1/0"),
        ("cells_v3.zarr.zip", "counts", "layers/counts/indices", "c/1"),
        ("cells_v3.zarr.zip", "raw", "raw/X/data", "c/3"),
    ];
    for (version, name, place, chunk) in cases {
        let folder = Folder::of(version);
        let file = folder.path.join(place).join(chunk);
        let whole = fs::read(&file).unwrap();
        let kind = if version.contains("v3") && name != "raw" { "shard" } else { "chunk" };
        for length in [0, 1, 5, whole.len() / 2, whole.len() - 1] {
            fs::write(&file, &whole[..length]).unwrap();
            for options in both(&layer(name)) {
                let refused = folder.refusal(&options);
                let start = format!("STORE: `{place}`: its {kind} `{chunk}` is damaged: ");
                assert!(refused.starts_with(&start), "{length}: {refused}");
            }
        }
        // Flipped bits are refused, or change values; they never panic.
        let mut state = 1_u64;
        for _ in 0..60 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let mut bytes = whole.clone();
            let at = (state >> 33) as usize % bytes.len();
            bytes[at] ^= 1 << (state & 7);
            bytes[at / 16] ^= 0x55;
            fs::write(&file, &bytes).unwrap();
            if let Ok(table) = read(&folder.path, &layer(name)) {
                let _ = visited(&table);
            }
        }
    }
}

#[test]
fn damaged_archives_never_panic() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("damaged.zarr.zip");
    let whole = fs::read(sample("cells_v3.zarr.zip")).unwrap();
    let mut n_refused = 0;
    let mut state = 1_u64;
    for round in 0..200 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let mut bytes = whole.clone();
        // The table of members is at the end.
        let at = if round % 2 == 0 {
            (state >> 33) as usize % bytes.len()
        } else {
            bytes.len() - 1 - (state >> 33) as usize % 9000
        };
        bytes[at] ^= 1 << (state & 7);
        if round % 10 == 0 {
            bytes.truncate(at);
        }
        fs::write(&path, &bytes).unwrap();
        match read(&path, &layer("counts")) {
            Ok(table) => n_refused += usize::from(visited(&table).is_err()),
            Err(error) => {
                assert!(error.to_string().contains("damaged.zarr.zip"), "{error}");
                n_refused += 1;
            }
        }
    }
    assert!(n_refused > 40, "{n_refused} of 200 refused");
}

#[test]
fn check_sums_of_members_that_are_not_packed_are_compared() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("flipped.zarr.zip");
    // Members are stored, because chunks are packed already.
    let mut bytes = fs::read(sample("cells_v3.zarr.zip")).unwrap();
    let (begin, end) = {
        let mut archive = zip::ZipArchive::new(std::io::Cursor::new(&bytes[..])).unwrap();
        let member = archive.by_name("layers/dense/c/0/0").unwrap();
        assert_eq!(member.compression(), zip::CompressionMethod::Stored);
        let begin = member.data_start().unwrap() as usize;
        (begin, begin + member.size() as usize)
    };
    // No bit may pass, also not one that decoding does not see.
    for at in (begin..end).step_by((end - begin) / 40) {
        bytes[at] ^= 1;
        fs::write(&path, &bytes).unwrap();
        for options in both(&layer("dense")) {
            let message = match read(&path, &options) {
                Ok(table) => visited(&table).unwrap_err(),
                Err(error) => error.to_string(),
            };
            let expected =
                "`layers/dense`: its file `layers/dense/c/0/0` has another check sum; copy or write";
            assert!(message.contains(expected), "{at}: {message}");
        }
        bytes[at] ^= 1;
    }
}

#[test]
fn lost_chunks_of_positions_are_refused() {
    for (name, place, chunk) in
        [("counts", "layers/counts/indices", "1"), ("by_gene", "layers/by_gene/indices", "0")]
    {
        let folder = Folder::of("cells_v2.zarr.zip");
        fs::remove_file(folder.path.join(place).join(chunk)).unwrap();
        for options in both(&layer(name)) {
            let expected = format!(
                "STORE: `{place}`: lacks chunks that held positions other than 0; copy or write the store again"
            );
            assert_eq!(folder.refusal(&options), expected);
        }
    }
    let folder = Folder::of("cells_v2.zarr.zip");
    fs::remove_file(folder.path.join("layers/counts/data/1")).unwrap();
    for options in both(&layer("counts")) {
        let refused = folder.refusal(&options);
        let expected = "STORE: `layers/counts/data`: lacks chunks, whose values would all be zero; copy";
        assert!(refused.starts_with(expected), "{refused}");
    }
}

#[test]
fn archives_of_several_stores_are_refused() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("two.zip");
    let mut archive = zip::ZipWriter::new(fs::File::create(&path).unwrap());
    for store in ["a.zarr", "b.zarr"] {
        let options = zip::write::SimpleFileOptions::default();
        archive.start_file(format!("{store}/.zgroup"), options).unwrap();
        std::io::Write::write_all(&mut archive, b"{\"zarr_format\": 2}").unwrap();
    }
    archive.finish().unwrap();
    let refused = read(&path, &ReadOptions::default()).unwrap_err().to_string();
    let expected = "holds 2 stores, such as `a.zarr` and `b.zarr`; unpack it and give the folder of one";
    assert!(refused.ends_with(expected), "{refused}");
}

#[test]
fn fill_values_of_every_type_are_read_or_refused() {
    let folder = Folder::of("tables_v2.zarr.zip");
    fs::remove_file(folder.path.join("half/0.0")).unwrap();
    folder.edit("half/.zarray", |metadata| metadata["fill_value"] = json!(-1.5));
    assert_eq!(dense(&read(&folder.path, &array("half")).unwrap())[0], -1.5);
    folder.edit("whole/.zarray", |metadata| metadata["fill_value"] = json!(1_i64 << 62));
    folder.edit("whole/.zarray", |metadata| metadata["dtype"] = json!("<i2"));
    let refused = folder.refusal(&array("whole"));
    assert!(refused.contains("has a fill value that is not read (4611686018427387904)"), "{refused}");
    folder.edit("half/.zarray", |metadata| metadata["order"] = json!("Q"));
    let refused = folder.refusal(&array("half"));
    assert!(refused.ends_with("has elements in the order `Q`, which is neither C nor F"), "{refused}");
}

#[test]
fn absent_values_of_a_store_are_missing() {
    let folder = Folder::of("tables_v2.zarr.zip");
    fs::remove_file(folder.path.join("half/0.0")).unwrap();
    folder.edit("half/.zarray", |metadata| metadata["fill_value"] = json!("NaN"));
    let with_missing = read_with_missing(&folder.path, &array("half")).unwrap();
    assert!(dense(&with_missing.table)[0].is_nan());
}

#[test]
fn packed_values_of_netcdf_are_refused() {
    let folder = Folder::of("tables_v2.zarr.zip");
    fs::write(folder.path.join("whole/.zattrs"), r#"{"scale_factor": 0.01, "units": "K"}"#).unwrap();
    let refused = folder.refusal(&array("whole"));
    assert!(refused.starts_with("STORE: `whole`: has the attribute scale_factor (0.01)"), "{refused}");
}

#[test]
fn a_store_that_changes_during_a_fit_is_refused() {
    let folder = Folder::of("cells_v3.zarr.zip");
    let options = ReadOptions { memory_limit: Some(1000), ..ReadOptions::default() };
    let table = read(&folder.path, &options).unwrap();
    let first = dense(&table);
    assert_eq!(first.len(), 150 * 110);
    let file = folder.path.join("X/data/c/0");
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, [&bytes[..], &[0]].concat()).unwrap();
    let refused = visited(&table).unwrap_err();
    assert!(refused.contains("X/data/c/0: the file was written to while it was read"), "{refused}");
    fs::remove_file(&file).unwrap();
    assert!(visited(&table).is_err());
}

#[test]
fn the_number_of_names_is_compared_before_they_are_read() {
    let folder = Folder::of("cells_v2.zarr.zip");
    let n = 1_u64 << 50;
    folder.edit("obs/_index/.zarray", |m| m["shape"] = json!([n]));
    let refused = folder.refusal(&ReadOptions::default());
    let expected = format!("STORE: `obs` has {n} names, but `X` has shape (");
    assert!(refused.starts_with(&expected) && refused.ends_with("the file is damaged"), "{refused}");
}

#[test]
fn the_number_of_values_of_a_mask_is_compared_before_they_are_read() {
    for (mask, array) in [
        ("highly_variable", "highly_variable"),
        ("categories", "categories/codes"),
        ("nullable", "nullable/values"),
        ("nullable", "nullable/mask"),
    ] {
        let folder = Folder::of("cells_v2.zarr.zip");
        let n = 1_u64 << 50;
        folder.edit(&format!("var/{array}/.zarray"), |m| m["shape"] = json!([n]));
        let options = ReadOptions { mask: Some(mask.to_owned()), ..ReadOptions::default() };
        let refused = folder.refusal(&options);
        assert!(refused.contains(&format!("it has {n} values for ")), "{array}: {refused}");
    }
}

#[test]
fn chunks_that_exceed_the_limit_where_the_values_do_not_are_refused() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("x.zarr");
    fs::create_dir(&path).unwrap();
    let metadata = json!({"zarr_format": 2, "shape": [4, 3], "chunks": [1 << 20, 1 << 10], "dtype": "<f8",
        "compressor": null, "fill_value": 1.0, "order": "C", "filters": null});
    fs::write(path.join(".zarray"), metadata.to_string()).unwrap();
    let within = |limit| read(&path, &ReadOptions { memory_limit: limit, ..ReadOptions::default() });
    assert_eq!(dense(&within(None).unwrap()).len(), 12);
    let message = within(Some(100_000_000)).unwrap_err().to_string();
    let expected = "has chunks larger than the memory that may be used: reading one takes 17.2 GB; write it with smaller chunks";
    assert!(message.ends_with(expected), "{message}");
}
