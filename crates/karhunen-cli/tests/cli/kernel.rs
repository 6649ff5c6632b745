//! Kernel PCA from the file to the model and back.

use std::path::Path;

use karhunen::Run;

use serde_json::Value;
use tempfile::TempDir;

use crate::{assert_close, examples, json, karhunen, numbers, output, parse_csv};

fn golden() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/sklearn_kernel_iris.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn rows(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().flat_map(numbers).collect()
}

/// A folder to write to.
fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn at(folder: &TempDir, name: &str) -> String {
    folder.path().join(name).display().to_string()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// The message of a command that must fail, without its `error: ` and notes before it.
fn refusal(arguments: &str, code: i32) -> String {
    let done = karhunen(arguments).assert().code(code).stdout("");
    let text = String::from_utf8(done.get_output().stderr.clone()).unwrap();
    let error = text.lines().skip_while(|line| line.starts_with("note: ")).collect::<Vec<_>>().join("\n");
    error.strip_prefix("error: ").unwrap_or_else(|| panic!("{text}")).to_owned()
}

/// Writes rows below the column names of iris.
fn write_iris_rows(path: &str, rows: &Value) {
    let lines: Vec<String> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| numbers(row).iter().map(f64::to_string).collect::<Vec<_>>().join(","))
        .collect();
    let header = "sepal_length_cm,sepal_width_cm,petal_length_cm,petal_width_cm";
    std::fs::write(path, format!("{header}\n{}\n", lines.join("\n"))).unwrap();
}

#[test]
fn the_numbers_agree_with_scikit_learn() {
    let (golden, folder) = (golden(), folder());
    let (model, new) = (at(&folder, "m"), at(&folder, "new.csv"));
    write_iris_rows(&new, &golden["new_rows"]);
    let cases = [
        ("linear", "linear -k 3"),
        ("poly", "polynomial --gamma 0.3 --degree 3 --coef0 0.5 -k 5"),
        ("rbf", "rbf --gamma 0.4 -k 5"),
        ("rbf_default", "rbf -k 5"),
        ("laplacian", "laplacian --gamma 0.2 -k 5"),
        ("sigmoid", "sigmoid --gamma 0.01 --coef0 0.1 -k 3"),
        ("cosine", "cosine -k 5"),
        ("additive_chi2", "additive-chi2 -k 5"),
        ("chi2", "chi2 --gamma 0.7 -k 5"),
    ];
    for (name, options) in cases {
        let case = &golden["kernels"][name];
        let scores = at(&folder, "s.csv");
        let summary = json(&format!(
            "fit iris.csv --label class --kernel {options} --tol 1e-12 --json -o {model} --scores {scores} --force"
        ));
        let eigenvalues = numbers(&case["eigenvalues"]);
        assert_close(&numbers(&summary["eigenvalues"]), &eigenvalues, 1e-12);
        // Errors of eigenvectors are relative to the gaps between eigenvalues.
        let head = parse_csv(&read(&scores))[..3].concat();
        assert_close(&head, &rows(&case["fitted_head"]), 1e-9);
        let new_scores = parse_csv(&output(&format!("transform {model} {new}"))).concat();
        assert_close(&new_scores, &rows(&case["new_scores"]), 1e-9);
    }
    let scale = json("fit iris.csv --label class --kernel rbf --gamma scale --json");
    assert_close(&[scale["gamma"].as_f64().unwrap()], &[golden["gamma_scale"].as_f64().unwrap()], 1e-13);
    karhunen(&format!(
        "fit iris.csv --label class --kernel rbf --gamma 0.4 -k 3 --pre-image ridge --alpha 0.1 -q --force -o {model}"
    ))
    .assert()
    .success();
    let found = parse_csv(&output(&format!("reconstruct {model} {new}"))).concat();
    assert_close(&found, &rows(&golden["inverse_rows"]), 1e-9);
}

#[test]
fn the_linear_kernel_is_principal_component_analysis() {
    for centre in ["", "--no-center"] {
        let fit = format!("fit wine.csv --label class -k 4 {centre}");
        let plain = json(&format!("{fit} --json"));
        let kernel = json(&format!("{fit} --kernel linear --json"));
        let n = plain["n_samples"].as_f64().unwrap();
        let variances = numbers(&plain["explained_variance"]).into_iter();
        let sums: Vec<f64> = variances.map(|v| v * (n - 1.0)).collect();
        assert_close(&numbers(&kernel["eigenvalues"]), &sums, 1e-12);
        let said = output(&format!("{fit} --kernel linear"));
        assert_eq!(said.contains("\nnot centred; 4 components"), !centre.is_empty(), "{said}");
        let ratio = "explained_variance_ratio";
        assert_close(&numbers(&kernel[ratio]), &numbers(&plain[ratio]), 1e-12);
        // The rules for signs differ.
        let sizes = |text: &str| -> Vec<f64> { parse_csv(text).concat().iter().map(|z| z.abs()).collect() };
        let plain = output(&format!("{fit} -q --scores -"));
        let kernel = output(&format!("{fit} -q --kernel linear --scores -"));
        assert_close(&sizes(&kernel), &sizes(&plain), 1e-10);
    }
}

/// Inner products of the iris rows about a corner; the columns have the names of the rows.
fn products() -> String {
    let text = read(&examples().join("iris.csv").display().to_string());
    let x: Vec<Vec<f64>> = parse_csv(&text).into_iter().map(|row| row[..4].to_vec()).collect();
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let header: Vec<String> = (0..x.len()).map(|i| format!("r{i}")).collect();
    let line = |a: &Vec<f64>| x.iter().map(|b| product(a, b).to_string()).collect::<Vec<_>>().join(",");
    let lines: Vec<String> = x.iter().map(line).collect();
    format!("{}\n{}\n", header.join(","), lines.join("\n"))
}

#[test]
fn a_kernel_matrix_may_be_given() {
    let folder = folder();
    let (matrix, model) = (at(&folder, "k.csv"), at(&folder, "m"));
    std::fs::write(&matrix, products()).unwrap();
    let scores = output(&format!("fit {matrix} --kernel precomputed -k 3 -q --scores - -o {model}"));
    let expected = output("fit iris.csv --label class --kernel linear -k 3 -q --scores -");
    assert_close(&parse_csv(&scores).concat(), &parse_csv(&expected).concat(), 1e-9);
    // New rows are kernel values with the fitted rows, in any order.
    let text = products();
    let swapped: Vec<String> = text
        .lines()
        .map(|line| {
            let mut cells: Vec<&str> = line.split(',').collect();
            cells.swap(0, 149);
            cells.join(",")
        })
        .collect();
    let new = at(&folder, "new.csv");
    std::fs::write(&new, swapped.join("\n")).unwrap();
    let scores = output(&format!("transform {model} {new}"));
    assert_close(&parse_csv(&scores).concat(), &parse_csv(&expected).concat(), 1e-9);
    std::fs::write(&matrix, "a,b\n1,2\n3,4\n").unwrap();
    assert_eq!(
        refusal(&format!("fit {matrix} --kernel precomputed"), 3),
        format!(
            "{matrix}: the kernel matrix is not symmetric: row 2, column 1 (`a`) is 3.0, but row 1, column 2 (`b`) is 2.0; both triangles are needed"
        )
    );
}

#[test]
fn weights_are_repeated_rows() {
    let folder = folder();
    let (weighted, repeated) = (at(&folder, "w.csv"), at(&folder, "r.csv"));
    let text = read(&examples().join("iris.csv").display().to_string());
    let times = |i: usize| [1, 0, 3, 2][i % 4];
    let body: Vec<&str> = text.lines().skip(1).collect();
    let header = text.lines().next().unwrap();
    let with_weights: Vec<String> =
        body.iter().enumerate().map(|(i, line)| format!("{line},{}", times(i))).collect();
    std::fs::write(&weighted, format!("{header},times\n{}\n", with_weights.join("\n"))).unwrap();
    let copies: Vec<&str> =
        body.iter().enumerate().flat_map(|(i, line)| std::iter::repeat_n(*line, times(i))).collect();
    std::fs::write(&repeated, format!("{header}\n{}\n", copies.join("\n"))).unwrap();
    let options = "--label class --kernel rbf --gamma scale -k 4 --tol 1e-12";
    let (m, s) = (at(&folder, "m"), at(&folder, "s.csv"));
    let by_weight = json(&format!("fit {weighted} --weights times {options} --json -o {m} --scores {s}"));
    let by_copies = json(&format!("fit {repeated} {options} --json"));
    for name in ["eigenvalues", "explained_variance_ratio"] {
        assert_close(&numbers(&by_weight[name]), &numbers(&by_copies[name]), 1e-11);
    }
    // Rows of weight zero also have scores, as new rows have.
    assert_eq!(output(&format!("transform {m} {weighted}")), read(&s));
    let report = output(&format!("fit {weighted} --weights times {options}"));
    assert!(report.contains("weights from column `times`: times each row was seen, sum 223\n"), "{report}");
}

const DIGITS: &str = "fit digits_8x8.csv.gz --label class --kernel rbf --gamma scale -k 6 --json";

#[test]
fn the_memory_limit_decides_the_route_and_no_bit() {
    let stored = json(&format!("{DIGITS} --memory-limit 1GB"));
    let tiles = json(&format!("{DIGITS} --memory-limit 10MB"));
    assert_eq!((&stored["solver"], &tiles["solver"]), (&"stored".into(), &"tiles".into()));
    let reason = tiles["reason"].as_str().unwrap();
    assert!(reason.starts_with("the kernel matrix would take 1"), "{reason}");
    assert!(reason.ends_with(" MB, over the limit of 10.0 MB"), "{reason}");
    assert_eq!(stored["eigenvalues"], tiles["eigenvalues"]);
    assert_eq!(stored["explained_variance_ratio"], tiles["explained_variance_ratio"]);
    let asked = json(&format!("{DIGITS} --solver tiles --threads 1"));
    assert_eq!(asked["eigenvalues"], tiles["eigenvalues"]);
    assert_eq!(asked["reason"], "asked for");
    let full = json(&format!("{DIGITS} --solver full"));
    assert_close(&numbers(&full["eigenvalues"]), &numbers(&tiles["eigenvalues"]), 1e-8);
    let message = refusal(&format!("{DIGITS} --solver full --memory-limit 1MB"), 2);
    assert!(message.contains(" MB of memory, but --memory-limit is 1.0 MB; use --solver "), "{message}");
}

#[test]
fn approximations_state_their_error_and_keep_to_it() {
    let exact = numbers(&json(DIGITS)["eigenvalues"]);
    let mut found = Vec::new();
    for options in [
        "nystrom --kernel-features 200",
        "nystrom --kernel-features 200 --landmarks uniform",
        "nystrom --kernel-features 200 --landmarks kmeans++",
        "nystrom --kernel-features 200 --landmarks leverage",
        "nystrom --kernel-features 200 --seed 1",
        "fourier --kernel-features 1024",
    ] {
        let summary = json(&format!("{DIGITS} --solver {options}"));
        let approximation = &summary["approximation"];
        let error = approximation["bound"].as_f64().unwrap_or(approximation["estimate"].as_f64().unwrap());
        let eigenvalues = numbers(&summary["eigenvalues"]);
        assert_close(&eigenvalues, &exact, error);
        let n_features = options.split(' ').nth(2).unwrap().parse::<u64>().unwrap();
        assert_eq!(approximation["n_features"], n_features);
        assert_eq!(summary["options"]["n_features"], n_features);
        found.push(eigenvalues);
    }
    assert_eq!(found[0], found[1]);
    for (a, b) in [(1, 2), (1, 3), (2, 3), (0, 4)] {
        assert_ne!(found[a], found[b], "{a} {b}");
    }
    let unbroken = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let report = unbroken(output(&DIGITS.replace("--json", "--solver nystrom --kernel-features 200")));
    let estimate = "% of the largest (an estimate; the bound that is certain says nothing here), with 200 landmarks time";
    assert!(report.contains(estimate), "{report}");
    let report = unbroken(output(&DIGITS.replace("--json", "--solver fourier --kernel-features 100")));
    // The number of frequencies is rounded up to whole SIMD registers.
    assert!(report.contains("with 128 random features"), "{report}");
}

#[test]
fn sparse_matrices_are_fitted_and_transformed() {
    let folder = folder();
    let (model, scores) = (at(&folder, "m"), at(&folder, "s.npy"));
    let again = at(&folder, "again.npy");
    for kernel in ["cosine", "rbf --gamma median", "chi2 --solver nystrom --kernel-features 100"] {
        let fit = format!(
            "fit rust_docs_bow.mtx.gz --kernel {kernel} -k 3 --json -o {model} --scores {scores} --force"
        );
        let summary = json(&fit);
        assert_eq!(summary["n_features"], 11_311);
        assert!(summary["converged"].as_bool().unwrap());
        karhunen(&format!("transform {model} rust_docs_bow.mtx.gz -o {again} --force")).assert().success();
        let bytes = |path: &str| -> Vec<f64> {
            let bytes = std::fs::read(path).unwrap();
            let values = &bytes[bytes.len() - 8 * 3 * 4814..];
            values.chunks_exact(8).map(|x| f64::from_le_bytes(x.try_into().unwrap())).collect()
        };
        assert_close(&bytes(&again), &bytes(&scores), 1e-6);
    }
    let message = refusal("fit rust_docs_bow.mtx.gz --kernel rbf --pre-image ridge", 2);
    assert_eq!(message, "--pre-image: pre-images need the rows: dense data, and not the solver fourier");
}

/// A model of iris in a folder, and its scores.
fn fitted(options: &str) -> TempDir {
    let folder = folder();
    let (model, scores) = (at(&folder, "m"), at(&folder, "s.csv"));
    karhunen(&format!("fit iris.csv --label class {options} -q -o {model} --scores {scores}"))
        .assert()
        .success()
        .stdout("")
        .stderr("");
    folder
}

#[test]
fn columns_are_matched_by_name() {
    let folder = fitted("--kernel laplacian --gamma scale -k 3 --pre-image ridge");
    let text = read(&examples().join("iris.csv").display().to_string());
    let backwards: Vec<String> = text
        .lines()
        .map(|line| {
            line.split(',').take(4).collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join(",")
        })
        .collect();
    let (model, new) = (at(&folder, "m"), at(&folder, "new.csv"));
    std::fs::write(&new, backwards.join("\n")).unwrap();
    let expected = parse_csv(&read(&at(&folder, "s.csv"))).concat();
    assert_close(&parse_csv(&output(&format!("transform {model} {new}"))).concat(), &expected, 1e-12);
    let rows = output(&format!("reconstruct {model} {new}"));
    assert!(rows.starts_with("petal_width_cm,petal_length_cm,sepal_width_cm,sepal_length_cm\n"), "{rows}");
    let straight = parse_csv(&output(&format!("reconstruct {model} iris.csv")));
    for (row, expected) in parse_csv(&rows).iter().zip(straight) {
        assert_close(row, &expected.into_iter().rev().collect::<Vec<_>>(), 1e-9);
    }
}

#[test]
fn rows_are_found_from_scores_whitened_or_not() {
    for pre_image in ["ridge --alpha 0.01", "fixed-point", "auto"] {
        let folder = fitted(&format!("--kernel rbf --gamma 0.1 -k 20 --whiten --pre-image {pre_image}"));
        let (model, scores) = (at(&folder, "m"), at(&folder, "s.csv"));
        let found = output(&format!("reconstruct {model} {scores} --whiten"));
        let from_rows = output(&format!("reconstruct {model} iris.csv"));
        assert_close(&parse_csv(&found).concat(), &parse_csv(&from_rows).concat(), 1e-6);
        // Twenty components hold nearly all variance of a smooth kernel.
        let iris = parse_csv(&read(&examples().join("iris.csv").display().to_string()));
        let (mut error, mut largest) = (0.0_f64, 0.0_f64);
        for (row, original) in parse_csv(&found).iter().zip(iris) {
            for (a, b) in row.iter().zip(original) {
                (error, largest) = (error.max((a - b).abs()), largest.max(b.abs()));
            }
        }
        assert!(error < 0.1 * largest, "{pre_image}: {error}");
    }
    let folder = fitted("--kernel rbf -k 2");
    let model = at(&folder, "m");
    assert_eq!(
        refusal(&format!("reconstruct {model} iris.csv"), 3),
        format!(
            "{model}: the model holds nothing that rows are found from scores with; fit again with --pre-image \
             auto"
        )
    );
}

#[test]
fn inspect_says_what_the_fit_said() {
    let folder = folder();
    let model = at(&folder, "m");
    let fit = json(&format!(
        "fit iris.csv --label class --kernel sigmoid --gamma 0.01 --coef0 0.1 -k 3 --json=full -o {model}"
    ));
    let inspected = json(&format!("inspect {model} --json=full"));
    assert_eq!(inspected["format"], "karhunen kernel model");
    for (name, value) in fit.as_object().unwrap() {
        if !["file", "format", "notes", "written", "seconds", "peak_memory_bytes"].contains(&name.as_str()) {
            assert_eq!(&inspected[name], value, "{name}");
        }
    }
    assert!(fit["smallest_eigenvalue"].as_f64().unwrap() < -0.1);
    assert!(fit["peak_memory_bytes"].as_u64().unwrap() > 1 << 20);
    assert_eq!(fit["eigenvectors"].as_array().unwrap().len(), 150);
    let text = output(&format!("inspect {model}"));
    for line in [
        "kernel sigmoid, gamma 0.0100000, coef0 0.1\n",
        "centred in feature space; 3 components of 150 rows\n",
        "eigenvalue    ratio  cumulated\n",
        "negative  the kernel is not positive semi-definite: the smallest eigenvalue is\n          about -0.12",
    ] {
        assert!(text.contains(line), "{text}");
    }
    for command in ["impute", "predict"] {
        let message = refusal(&format!("{command} {model} iris.csv"), 3);
        assert!(message.ends_with("needs one that was fitted with --missing"), "{message}");
    }
    let message = refusal(&format!("transform {model} iris.csv --triples a,b,c"), 2);
    assert_eq!(message, "--triples has no effect on a model of complete data; leave it out");
}

#[test]
fn the_report_names_kernel_route_and_reason() {
    let text = output("fit iris.csv --label class --kernel rbf --gamma median --pre-image auto");
    for line in [
        "iris.csv: CSV, 150 rows x 4 columns, f64\n`class` excluded\n",
        "kernel rbf, gamma 0.179533 (1 / median distance)\n",
        "centred in feature space; 10 components of 150 rows (-k chooses)\n",
        "solver    full: 150 rows are few\n",
        "pre-image fixed-point iteration\n",
        "memory of the process at its peak ",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let text = output("fit iris.csv --label class --kernel poly --degree 2 -k all");
    // The quadratic polynomials of four columns span 14 dimensions about their mean.
    assert!(text.contains("kernel polynomial, degree 2, gamma 0.250000 (1 / columns), coef0 1\n"), "{text}");
    assert!(text.contains("centred in feature space; all 14 components of 150 rows\n"), "{text}");
}

#[test]
fn iterations_that_stop_early_are_told_of() {
    let fit = DIGITS.replace("--json", "--tol 1e-13 --max-iter 3 --block-size 8 --solver stored");
    let done = karhunen(&fit).assert().success();
    let message = String::from_utf8(done.get_output().stderr.clone()).unwrap();
    assert!(message.contains("did not reach the tolerance 1e-13"), "{message}");
    assert!(message.ends_with("; raise --max-iter or --tol\n"), "{message}");
    // Only iterations have a number of iterations.
    let full =
        karhunen("fit iris.csv --label class --kernel rbf --solver full --tol 1e-20").assert().success();
    let message = String::from_utf8(full.get_output().stderr.clone()).unwrap();
    assert!(message.ends_with("; raise --tol\n"), "{message}");
    let message = refusal(&format!("{fit} --strict"), 5);
    assert!(message.contains("stored"), "{message}");
    let blocks = json(&format!("{DIGITS} --solver stored --block-size 3"));
    assert_ne!(blocks["n_passes"], json(&format!("{DIGITS} --solver stored"))["n_passes"]);
    let passes = |tol: &str| json(&format!("{DIGITS} --solver stored --tol {tol}"))["n_passes"].as_u64();
    assert!(passes("1e-12") > passes("1e-2"));
}

#[test]
fn what_cannot_be_fitted_is_named() {
    let cases = [
        (
            "usarrests.csv --kernel rbf -k 51",
            2,
            "usarrests.csv: -k 51 is more than the 50 x 4 table allows; ask for at most 50",
        ),
        (
            "usarrests.csv --kernel linear --gamma median",
            2,
            "--gamma has no effect with --kernel linear; leave it out",
        ),
        (
            "usarrests.csv --kernel poly --gamma median",
            2,
            "--gamma median: only kernels that decay with a distance (rbf, laplacian, chi2) have a median of distances",
        ),
        (
            "usarrests.csv --kernel cosine --solver fourier -k 2",
            2,
            "--solver fourier: random Fourier features are for kernels of differences: rbf and laplacian",
        ),
        (
            "usarrests.csv --kernel sigmoid --solver nystrom -k 2",
            2,
            "--solver nystrom: landmarks need a kernel that is positive semi-definite",
        ),
        (
            "usarrests.csv --kernel rbf --solver nystrom -k all",
            2,
            "-k all: an approximation does not find all components; give their number",
        ),
        (
            "usarrests.csv --kernel rbf --solver fourier --pre-image auto -k 2",
            2,
            "--pre-image: pre-images need the rows: dense data, and not the solver fourier",
        ),
        (
            "usarrests.csv --kernel rbf --landmarks uniform",
            2,
            "--landmarks is for --solver nystrom; use --solver nystrom, or leave it out",
        ),
        (
            "usarrests.csv --kernel rbf --solver nystrom --kernel-features 3 -k 5",
            2,
            "--kernel-features 3: at least as many features as components are needed",
        ),
        (
            "usarrests.csv --kernel chi2 --pre-image ridge",
            2,
            "--pre-image: the regression compares scores by the kernel, which must be one of numbers of either sign",
        ),
        (
            "usarrests.csv --kernel cosine --pre-image fixed-point",
            2,
            "--pre-image fixed-point: the iteration is for the kernel rbf on the exact routes",
        ),
        (
            "usarrests.csv --kernel rbf --pre-image ridge --alpha 0",
            2,
            "--alpha 0: it must be finite and positive",
        ),
        ("usarrests.csv --kernel poly --degree 0", 2, "--degree 0: it must be finite and positive"),
        (
            "usarrests.csv --kernel precomputed",
            2,
            "usarrests.csv: a precomputed kernel matrix: 4 columns, but 50 are needed",
        ),
        (
            "usarrests.csv --gamma 2",
            2,
            "--gamma has no effect without a kernel; use --kernel rbf or another, or leave it out",
        ),
        (
            "usarrests.csv --missing --pre-image ridge",
            2,
            "--pre-image has no effect without a kernel; use --kernel rbf or another, or leave it out",
        ),
        (
            "usarrests.csv --solver nystrom",
            2,
            "--solver nystrom needs a kernel; use --kernel rbf or another, or give another solver",
        ),
    ];
    for (arguments, code, message) in cases {
        assert_eq!(refusal(&format!("fit {arguments}"), code), message, "{arguments}");
    }
    let folder = folder();
    let table = at(&folder, "t.csv");
    std::fs::write(&table, "a,b\n1,2\n3,-4\n5,6\n").unwrap();
    assert_eq!(
        refusal(&format!("fit {table} --kernel chi2"), 3),
        format!("{table}: row 2, column 2 (`b`) is -4, but the kernel chi2 is defined for values >= 0 only")
    );
}

#[test]
fn models_without_pre_images_say_whether_a_fit_can_have_them() {
    let folder = folder();
    let model = at(&folder, "m");
    let cases = [
        ("chi2", "the kernel chi2 has no pre-images: fit with another"),
        ("additive-chi2", "the kernel additive-chi2 has no pre-images: fit with another"),
        ("rbf --solver fourier", "fit again with --pre-image auto, and another solver than fourier"),
        ("rbf", "fit again with --pre-image auto"),
    ];
    for (kernel, advice) in cases {
        output(&format!("fit usarrests.csv --kernel {kernel} -k 2 -o {model} --quiet --force"));
        let message = refusal(&format!("reconstruct {model} usarrests.csv -o {}", at(&folder, "r.csv")), 3);
        let expected =
            format!("{model}: the model holds nothing that rows are found from scores with; {advice}");
        assert_eq!(message, expected);
    }
    let kernel = at(&folder, "k.csv");
    std::fs::write(&kernel, products()).unwrap();
    output(&format!("fit {kernel} --kernel precomputed -k 2 -o {model} --quiet --force"));
    let message = refusal(&format!("reconstruct {model} {kernel} -o {}", at(&folder, "r.csv")), 3);
    assert!(message.ends_with("; the kernel precomputed has no pre-images: fit with another"), "{message}");
}

#[test]
fn a_kernel_of_another_program_is_said_to_be_one() {
    use std::sync::Arc;

    use karhunen::kernel::Kernel;
    use karhunen::{Dense, KernelPca, Matrix, Weights};
    let folder = folder();
    let path = folder.path().join("m");
    let function = |a: &Matrix, b: &Matrix| -> karhunen::Result<Matrix> {
        Ok(Matrix::from_fn(a.n_rows(), b.n_rows(), |i, j| a[(i, 0)] * b[(j, 0)]))
    };
    let options = KernelPca { kernel: Kernel::Custom, ..KernelPca::new(1) };
    let x = Dense::row_major(&[1.0, 2.0, 4.0], 3, 1).unwrap();
    let model = options.fit_function(&x, &Weights::default(), Arc::new(function), &Run::default()).unwrap();
    let saved = karhunen_io::SavedKernel { model, extras: karhunen_io::TableColumns::default() };
    karhunen_io::save_model(&path, &saved).unwrap();
    let path = path.display();
    assert!(output(&format!("inspect {path}")).contains("kernel custom\n"));
    assert_eq!(
        refusal(&format!("transform {path} iris.csv"), 3),
        format!(
            "{path}: the kernel is a function of the program that fitted the model, and no file holds it; transform \
             there"
        )
    );
}

#[test]
fn shares_of_kernels_that_are_not_positive_are_of_the_positive_part_or_unknown() {
    let fit = "fit iris.csv --label class --kernel sigmoid --gamma 0.01 --coef0 0.1";
    let all = json(&format!("{fit} -k all --solver full --json"));
    assert!((numbers(&all["explained_variance_ratio"]).iter().sum::<f64>() - 1.0).abs() < 1e-9);
    assert!(all["smallest_eigenvalue"].as_f64().unwrap() < -0.1);
    let stored = json(&format!("{fit} -k 2 --solver stored --json"));
    assert!(stored["total"].is_null() && stored["explained_variance_ratio"][0].is_null(), "{stored}");
    let text = output(&format!("{fit} -k 2 --solver stored"));
    assert!(text.contains("unknown") && text.contains("--solver full alone finds"), "{text}");
}
