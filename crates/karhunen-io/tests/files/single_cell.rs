//! AnnData and Cell Ranger: values, names and errors, against scanpy's results and files of many versions.

use std::path::{Path, PathBuf};

use crate::values::dense;
use karhunen::{Pca, Weights};
use karhunen_io::{
    Data, FittedTable, Log1p, ObserveOptions, ReadOptions, Table, Values, read, read_observed, read_tables,
};
use karhunen_testkit::largest;
use serde_json::Value;

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden").join(name)
}

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/single_cell").join(name)
}

/// Results of scanpy for `scanpy_cells.h5ad`.
fn of_scanpy() -> Value {
    serde_json::from_slice(&std::fs::read(golden("scanpy.json")).unwrap()).unwrap()
}

fn numbers(values: &Value) -> Vec<f64> {
    match values {
        Value::Array(values) => values.iter().flat_map(numbers).collect(),
        value => vec![value.as_f64().unwrap()],
    }
}

fn texts(values: &Value) -> Vec<&str> {
    values.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

/// In memory, and block by block from the file.
fn both(options: &ReadOptions) -> [ReadOptions; 2] {
    [options.clone(), ReadOptions { memory_limit: Some(1000), ..options.clone() }]
}

fn layer(name: &str) -> ReadOptions {
    ReadOptions { layer: Some(name.to_owned()), ..ReadOptions::default() }
}

fn is_in_file(table: &Table) -> bool {
    matches!(&table.data, Data::F32(Values::InFile(_)) | Data::F64(Values::InFile(_)))
}

fn refusal(path: &Path, options: &ReadOptions) -> String {
    let message = read_tables(&[path.to_owned()], options).unwrap_err().to_string();
    message.replace(&path.display().to_string(), "FILE")
}

#[test]
fn every_layout_gives_the_same_counts() {
    let file = golden("scanpy_cells.h5ad");
    let expected = dense(&read(&file, &layer("dense")).unwrap());
    assert_eq!(expected.iter().filter(|&&value| value > 0.0).count(), 3902);
    for name in ["counts", "by_gene", "dense", "raw"] {
        for (options, in_file) in both(&layer(name)).iter().zip([false, true]) {
            let table = read(&file, options).unwrap();
            assert_eq!(is_in_file(&table), in_file, "{name}");
            assert_eq!(table.data.dtype(), if name == "by_gene" { "f32" } else { "f64" });
            assert_eq!(table.data.n_stored().is_some(), name != "dense");
            assert!(dense(&table) == expected, "{name}, in file {in_file}");
            assert_eq!(table.sample_names.unwrap()[149], "CELL149-1");
            assert_eq!(table.feature_names.unwrap()[109], "gene-109");
        }
    }
}

#[test]
fn counts_are_normalised_as_by_scanpy() {
    let (file, scanpy) = (golden("scanpy_cells.h5ad"), of_scanpy());
    let expected = dense(&read(&file, &ReadOptions::default()).unwrap());
    let target = scanpy["target_sum"].as_f64().unwrap();
    for name in ["counts", "dense"] {
        for log1p in [Log1p::Median, Log1p::To(target)] {
            for options in both(&ReadOptions { log1p: Some(log1p), ..layer(name) }) {
                let table = read(&file, &options).unwrap();
                assert_eq!(table.log1p, Some(target));
                let found = dense(&table);
                let errors = found.iter().zip(&expected).map(|(a, b)| (a - b).abs());
                // Values are below 5; numpy rounds the quotient once more.
                let error = largest(errors);
                assert!(error < 1e-14, "{name} {log1p:?}: {error:e}");
            }
        }
    }
}

#[test]
fn a_mask_keeps_columns_after_the_normalisation() {
    let file = golden("scanpy_cells.h5ad");
    let whole = read(&file, &ReadOptions::default()).unwrap();
    let (names, values) = (whole.feature_names.clone().unwrap(), dense(&whole));
    let mask = Some("highly_variable".to_owned());
    for name in [None, Some("counts"), Some("dense")] {
        let log1p = name.map(|_| Log1p::Median);
        let options = ReadOptions {
            mask: mask.clone(),
            log1p,
            layer: name.map(str::to_owned),
            ..ReadOptions::default()
        };
        for options in both(&options) {
            let table = read(&file, &options).unwrap();
            assert_eq!(table.data.shape(), (150, 60));
            let kept = table.feature_names.clone().unwrap();
            let places: Vec<usize> =
                kept.iter().map(|name| names.iter().position(|n| n == name).unwrap()).collect();
            assert!(places.is_sorted());
            let found = dense(&table);
            let expected =
                (0..150).flat_map(|i| places.iter().map(move |&j| (i, j))).map(|(i, j)| values[i * 110 + j]);
            assert!(largest(found.iter().zip(expected).map(|(a, b)| (a - b).abs())) < 1e-14);
            let n_entries = found.iter().filter(|&&value| value != 0.0).count();
            assert!(table.data.n_stored().is_none_or(|n_stored| n_stored == n_entries));
        }
    }
}

#[test]
fn components_agree_with_scanpy() {
    let (file, scanpy) = (golden("scanpy_cells.h5ad"), of_scanpy());
    let k = scanpy["n_comps"].as_u64().unwrap() as usize;
    let mask = Some("highly_variable".to_owned());
    let counts = ReadOptions { log1p: Some(Log1p::Median), ..layer("counts") };
    let cases = [
        ("highly_variable", ReadOptions { mask: mask.clone(), ..counts.clone() }),
        ("highly_variable", ReadOptions { mask, ..ReadOptions::default() }),
        ("all_genes", counts),
        ("counts", layer("raw")),
    ];
    for (name, options) in cases {
        let expected = &scanpy["cases"][name];
        for options in both(&options) {
            let table = read(&file, &options).unwrap();
            let model = match &table.data {
                Data::F32(values) => {
                    Pca::new(k).fit(&*values.source().unwrap(), &Weights::default()).unwrap()
                }
                Data::F64(values) => {
                    Pca::new(k).fit(&*values.source().unwrap(), &Weights::default()).unwrap()
                }
            };
            let variance = numbers(&expected["variance"]);
            let errors = model.explained_variance().iter().zip(&variance).map(|(a, b)| (a / b - 1.0).abs());
            assert!(largest(errors) < 1e-6, "{name}");
            let genes = texts(&scanpy["genes"]);
            let pcs = numbers(&expected["PCs"]);
            for c in 0..k {
                let places = table
                    .feature_names
                    .as_ref()
                    .unwrap()
                    .iter()
                    .map(|name| genes.iter().position(|gene| gene == name).unwrap());
                let of_scanpy: Vec<f64> = places.map(|j| pcs[j * k + c]).collect();
                let row = model.components().row(c);
                let product: f64 = row.iter().zip(&of_scanpy).map(|(a, b)| a * b).sum();
                assert!((product.abs() - 1.0).abs() < 1e-10, "{name}: component {c}, {product}");
            }
        }
    }
}

#[test]
fn a_table_for_a_model_has_its_genes_and_its_normalisation() {
    let file = golden("scanpy_cells.h5ad");
    let mask = Some("highly_variable".to_owned());
    let options = ReadOptions { mask, log1p: Some(Log1p::Median), ..layer("counts") };
    let fit = read(&file, &options).unwrap();
    let fitted = FittedTable {
        feature_names: fit.feature_names.clone(),
        n_features: 60,
        log1p: fit.log1p,
        ..FittedTable::default()
    };
    for options in both(&ReadOptions { fitted: Some(fitted.clone()), ..layer("counts") }) {
        let again = read(&file, &options).unwrap();
        assert_eq!((again.data.shape(), again.log1p), ((150, 60), Some(42.0)));
        assert!(dense(&again) == dense(&fit));
    }
    let other = ReadOptions { fitted: Some(fitted.clone()), log1p: Some(Log1p::To(1e4)), ..layer("counts") };
    assert_eq!(
        refusal(&file, &other),
        "FILE: `log1p` is 10000, but the model was fitted to rows of 42; leave it out"
    );
    let plain = FittedTable { log1p: None, ..fitted };
    let plain = ReadOptions { fitted: Some(plain), log1p: Some(Log1p::Median), ..layer("counts") };
    assert_eq!(
        refusal(&file, &plain),
        "FILE: `log1p` does not apply, for the model was fitted to values as they are; leave it out"
    );
}

#[test]
fn files_of_every_version_are_read() {
    let small = [1.0, 2.0, 0.0, 3.0, 0.0, 0.0, 0.0, 2.0, 2.0, 1.0, 0.0, 0.0, 2.0, 0.0, 2.0];
    let signed = [
        [-83.0, 54.0, 30.0, -13.0, -14.0, 71.0],
        [-83.0, 39.0, -60.0, -82.0, 5.0, 95.0],
        [47.0, 52.0, 43.0, 57.0, 2.0, -75.0],
        [67.0, -10.0, 0.0, -26.0, -64.0, 85.0],
        [56.0, 28.0, -20.0, 64.0, 9.0, -12.0],
    ];
    let names = [
        ("mini_mat.anndata-v0.6.22", "f32"),
        ("mini_mat.anndata-v0.7", "f32"),
        ("mini_mat.anndata-v0.10.9", "f64"),
        ("mini_mat_uint_16.anndata-v0.10.9", "f64"),
        ("mini_mat_int_64_neg.anndata-v0.12.6", "f64"),
    ];
    for (name, dtype) in names {
        let path = sample(&format!("{name}.h5ad"));
        let expected = if name.contains("neg") { signed.as_flattened() } else { &small[..] };
        for options in [ReadOptions::default(), layer("dense"), layer("transpose")] {
            for options in both(&options) {
                let options = ReadOptions { memory_limit: options.memory_limit.map(|_| 1), ..options };
                let table = read(&path, &options).unwrap();
                assert_eq!(dense(&table), expected, "{name}, {:?}", options.layer);
                assert_eq!(table.sample_names.as_ref().unwrap()[..2], ["0", "1"]);
                assert_eq!(table.feature_names.as_ref().unwrap()[..2], ["0", "1"]);
                assert!(options.layer.is_some() || table.data.dtype() == dtype);
            }
        }
    }
}

#[test]
fn files_and_folders_of_cell_ranger_have_cells_in_rows() {
    let of_genome = |name: &str| ReadOptions { array: Some(name.to_owned()), ..ReadOptions::default() };
    let cases = [
        ("10x/v1.h5", ReadOptions::default(), (12, 343), 12.0, ["AACACGTGTACGCTGC-1", "DSCAM", "MIR99AHG"]),
        (
            "10x/v1_folder",
            ReadOptions::default(),
            (12, 343),
            12.0,
            ["AACACGTGTACGCTGC-1", "DSCAM", "MIR99AHG"],
        ),
        (
            "10x/genomes.h5",
            of_genome("hg19_chr21"),
            (12, 343),
            12.0,
            ["AACACGTGTACGCTGC-1", "DSCAM", "MIR99AHG"],
        ),
        (
            "10x/genomes.h5",
            of_genome("another_genome"),
            (12, 343),
            13.0,
            ["AACACGTGTACGCTGC-1", "gene_0", "gene_1"],
        ),
        (
            "10x/visium.h5",
            ReadOptions::default(),
            (100, 100),
            932.0,
            ["AAACAAGTATCTCCCA-1", "ENSG00000243485", "ENSG00000237613"],
        ),
        ("10x/integer_ids", ReadOptions::default(), (5, 6), 8.0, ["AAACCCAAGATTAGCA-1", "Pwwp4b", "Pwwp4a"]),
    ];
    for (name, options, shape, total, [cell, first, second]) in cases {
        for options in both(&options) {
            let options = ReadOptions { memory_limit: options.memory_limit.map(|_| 1), ..options };
            let table = read_tables(&[sample(name)], &options).unwrap();
            assert_eq!(table.data.shape(), shape, "{name}");
            assert_eq!(dense(&table).iter().sum::<f64>(), total, "{name}");
            assert_eq!(table.sample_names.as_ref().unwrap()[0], cell);
            assert_eq!(table.feature_names.as_ref().unwrap()[..2], [first, second]);
        }
    }
    // The folder and the file hold the same counts.
    let of = |name: &str| dense(&read(&sample(name), &ReadOptions::default()).unwrap());
    assert_eq!(of("10x/v1.h5"), of("10x/v1_folder"));
}

#[test]
fn parts_that_do_not_exist_are_refused_with_those_that_do() {
    let file = golden("scanpy_cells.h5ad");
    let mask = |name: &str| ReadOptions { mask: Some(name.to_owned()), ..ReadOptions::default() };
    let cases = [
        (
            layer("count"),
            "FILE: layer = count: there is no such layer; there are `by_gene`, `counts`, `dense`, `raw`",
        ),
        (
            mask("variable"),
            "FILE: mask = variable: `var` has no such column; there are `feature_type`, `highly_variable`",
        ),
        (
            mask("feature_type"),
            "FILE: mask = feature_type: the column of `var` holds no values true and false",
        ),
        (
            ReadOptions { array: Some("x".to_owned()), ..ReadOptions::default() },
            "FILE: `array` does not apply to AnnData, which holds one table, not several arrays; leave it out",
        ),
        (
            ReadOptions { log1p: Some(Log1p::To(-1.0)), ..ReadOptions::default() },
            "FILE: `log1p` needs a positive target, not -1",
        ),
    ];
    for (options, message) in cases {
        let found = refusal(&file, &options);
        // The members are in the order of the file.
        let sorted = |text: &str| {
            let mut letters: Vec<char> = text.chars().collect();
            letters.sort_unstable();
            letters
        };
        assert_eq!(sorted(&found), sorted(message), "{found}");
    }
    assert_eq!(
        refusal(&sample("v0.11.4.h5ad"), &ReadOptions::default()),
        "FILE: the AnnData has neither X nor layers, so there is nothing to fit"
    );
    assert_eq!(
        refusal(&sample("10x/genomes.h5"), &ReadOptions::default()),
        "FILE: holds several genomes; choose one with `array`: `another_genome`, `hg19_chr21`"
    );
    let negative = ReadOptions { log1p: Some(Log1p::Median), ..ReadOptions::default() };
    assert_eq!(
        refusal(&sample("mini_mat_int_64_neg.anndata-v0.12.6.h5ad"), &negative),
        "FILE: row 1: column 1: -83 is not a count; leave out `log1p` if the values were normalised before"
    );
    let twice = read_tables(&[file.clone(), file], &negative).unwrap_err().to_string();
    assert!(twice.contains("`log1p` takes the median of one file"), "{twice}");
}

#[test]
fn incomplete_folders_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let copy = |name: &str| {
        std::fs::copy(sample("10x/integer_ids").join(name), folder.path().join(name)).unwrap();
    };
    copy("matrix.mtx");
    copy("barcodes.tsv");
    let read = || refusal(folder.path(), &ReadOptions::default());
    assert_eq!(read(), "FILE: the folder holds matrix.mtx, but no features.tsv or genes.tsv");
    std::fs::write(folder.path().join("genes.tsv"), "a\tA\nb\tB\n").unwrap();
    assert_eq!(read(), "FILE/genes.tsv: has 2 lines, but FILE/matrix.mtx has 6 rows");
    std::fs::write(folder.path().join("genes.tsv"), "a\tA\nb\n").unwrap();
    assert_eq!(read(), "FILE/genes.tsv: line 2: has 1 fields, but the first line has 2");
}

#[test]
fn damaged_files_are_refused_by_name_and_never_panic() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.h5ad");
    let mut n_refused = 0;
    for (file, options) in [
        (golden("scanpy_cells.h5ad"), layer("counts")),
        (sample("mini_mat.anndata-v0.6.22.h5ad"), ReadOptions::default()),
        (sample("10x/v1.h5"), ReadOptions::default()),
    ] {
        let whole = std::fs::read(&file).unwrap();
        let look = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            for options in both(&options) {
                let outcome = read(&path, &options).map(|table| match &table.data {
                    Data::F32(values) => values.source().unwrap().visit(&mut |_, _| Ok(())).is_ok(),
                    Data::F64(values) => values.source().unwrap().visit(&mut |_, _| Ok(())).is_ok(),
                });
                if let Err(error) = outcome {
                    assert!(error.to_string().contains("damaged.h5ad"), "{error}");
                    return 1;
                }
            }
            0
        };
        for share in 1..20 {
            n_refused += look(&whole[..whole.len() * share / 20]);
        }
        let mut state = 1_u64;
        for _ in 0..150 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let mut bytes = whole.clone();
            let at = (state >> 33) as usize % bytes.len();
            bytes[at] ^= 1 << (state & 7);
            bytes[at / 8] ^= 0x55;
            n_refused += look(&bytes);
        }
    }
    assert!(n_refused > 60, "{n_refused} of 507 refused");
}

#[test]
fn folders_hold_observed_entries_as_files_do() {
    let of = |name: &str| {
        read_observed(&sample(name), &ReadOptions::default(), &ObserveOptions::default()).unwrap().data
    };
    let (file, folder) = (of("10x/v1.h5"), of("10x/v1_folder"));
    assert_eq!((file.shape(), file.n_observed()), ((12, 343), folder.n_observed()));
    assert_eq!(folder.shape(), file.shape());
}
