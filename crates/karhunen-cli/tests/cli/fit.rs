//! `fit`: the summary, the JSON, and the options that change numbers.

use crate::{assert_close, json, karhunen, numbers, output};

/// R 4.2: `prcomp(USArrests, scale. = TRUE)$sdev^2`.
const USARRESTS_SCALED: [f64; 4] =
    [1.5748783 * 1.5748783, 0.9948694 * 0.9948694, 0.5971291 * 0.5971291, 0.4164494 * 0.4164494];

#[test]
fn the_summary_is_aligned_and_names_the_largest_loadings() {
    let text = output("fit usarrests.csv --scale");
    let expected = "\
usarrests.csv: CSV, 50 rows x 4 columns, f64
column 1 (`State`) names the rows
centred and scaled; all 4 components

     variance    ratio  cumulated  largest loadings
PC1   2.48024   62.01%     62.01%  +0.918 Assault  +0.856 Rape  +0.844 Murder
PC2   0.98977   24.74%     86.75%  +0.868 UrbanPop  -0.416 Murder
PC3   0.35656    8.91%     95.66%  +0.488 Rape  -0.226 UrbanPop  -0.204 Murder
PC4   0.17343    4.34%    100.00%  +0.310 Assault  -0.270 Murder

 62.01% ┤█████
        │█████
        │█████
        │█████ ▃▃▃▃▃
        │█████ █████
        │█████ █████ ▇▇▇▇▇ ▃▃▃▃▃
     0% └────────────────────────
         1     2     3     4

solver    svd: ";
    assert!(text.starts_with(expected), "{text}");
    let last: Vec<&str> = text.lines().rev().take(2).collect();
    assert!(last[0].starts_with("time      read ") && last[0].contains(", fit "), "{text}");
    assert!(last[1].starts_with("accuracy  worst residual "), "{text}");
}

#[test]
fn a_locale_without_unicode_gets_ascii() {
    let done = karhunen("fit usarrests.csv --scale").env("LC_ALL", "C").assert().success();
    let text = String::from_utf8(done.get_output().stdout.clone()).unwrap();
    assert!(text.is_ascii(), "{text}");
    assert!(text.contains(" 62.01% +#####\n"), "{text}");
}

#[test]
fn no_line_is_wider_than_eighty_columns_and_no_colour_is_piped() {
    for arguments in [
        "fit breast_cancer.csv --label class -k 30",
        "fit rust_docs_bow.mtx.gz -k 3",
        "inspect digits_8x8.csv.gz",
    ] {
        let text = output(arguments);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(!text.contains('\x1b'), "{text}");
    }
}

#[test]
fn json_has_the_names_of_scikit_learn() {
    let summary = json("fit usarrests.csv --scale -k 2 --json");
    let keys: Vec<&str> = summary.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = [
        "file",
        "format",
        "n_samples",
        "n_features",
        "n_components",
        "feature_names",
        "explained_variance",
        "explained_variance_ratio",
        "singular_values",
        "noise_variance",
        "total_variance",
        "mean",
        "scale",
        "feature_weights",
        "sum_of_weights",
        "dtype",
        "solver",
        "reason",
        "n_passes",
        "tol",
        "residuals",
        "n_converged",
        "converged",
        "options",
        "keeps_limits",
        "notes",
        "written",
        "seconds",
    ];
    assert_eq!(keys, expected);
    assert_close(&numbers(&summary["explained_variance"]), &USARRESTS_SCALED[..2], 1e-6);
    assert_close(&numbers(&summary["explained_variance_ratio"]), &[0.62006039, 0.24744129], 1e-6);
    assert_close(&numbers(&summary["mean"]), &[7.788, 170.76, 65.54, 21.232], 1e-12);
    assert_close(&[summary["total_variance"].as_f64().unwrap()], &[4.0], 1e-12);
    let discarded = (USARRESTS_SCALED[2] + USARRESTS_SCALED[3]) / 2.0;
    assert_close(&[summary["noise_variance"].as_f64().unwrap()], &[discarded], 1e-6);
    assert_eq!(summary["feature_names"], serde_json::json!(["Murder", "Assault", "UrbanPop", "Rape"]));
    assert_eq!(summary["n_samples"], 50);
    assert_eq!(summary["converged"], true);
    assert!(summary["seconds"]["read"].is_f64() && summary["seconds"]["fit"].is_f64());
    assert_eq!(summary["options"]["scale"], true);
}

#[test]
fn full_json_adds_components_and_loadings() {
    let summary = json("fit usarrests.csv --scale -k 2 --json=full");
    let components = summary["components"].as_array().unwrap();
    assert_eq!(components.len(), 2);
    let first = numbers(&components[0]);
    assert_close(&[first.iter().map(|c| c * c).sum()], &[1.0], 1e-12);
    assert_close(&first, &[0.5358995, 0.5831836, 0.2781909, 0.5434321], 1e-6);
    let loadings = summary["loadings"].as_array().unwrap();
    assert_eq!(loadings.len(), 4);
    assert_close(&[numbers(&loadings[1])[0]], &[0.5831836 * 1.5748783], 1e-6);
}

#[test]
fn a_negative_number_of_components_is_refused_with_the_rule() {
    for arguments in [
        "fit t.csv -k -1",
        "update m t.csv -k -1",
        "select t.csv -k -1",
        "rotate t.csv -k -1",
        "complete t.csv -k -1",
        "cross-validate t.csv -k -1",
    ] {
        let done = karhunen(arguments).assert().code(2).stdout("");
        let text = String::from_utf8(done.get_output().stderr.clone()).unwrap();
        assert!(text.contains("invalid value '-1'") && text.contains("at least 1"), "{arguments}: {text}");
    }
}

#[test]
fn components_by_number_fraction_and_default() {
    let n = |arguments: &str| json(arguments)["n_components"].as_u64().unwrap();
    assert_eq!(n("fit iris.csv --label class --json -k 3"), 3);
    assert_eq!(n("fit iris.csv --label class --json -k 0.9"), 1);
    assert_eq!(n("fit iris.csv --label class --json -k 95%"), 2);
    assert_eq!(n("fit iris.csv --label class --json -k all"), 4);
    assert_eq!(n("fit iris.csv --label class --json"), 4);
    assert_eq!(n("fit breast_cancer.csv --label class --json"), 10);
    let text = output("fit breast_cancer.csv --label class");
    assert!(
        text.contains("\n`class` excluded\ncentred, not scaled; 10 of 30 components (-k chooses)\n"),
        "{text}"
    );
}

#[test]
fn options_reach_the_fit() {
    let summary = json("fit iris.csv --label class --no-center --solver covariance --seed 7 --json");
    assert_eq!(numbers(&summary["mean"]), [0.0; 4]);
    assert_eq!(summary["solver"], "covariance");
    assert_eq!(summary["options"]["seed"], 7);
    let variances = |arguments: &str| numbers(&json(arguments)["explained_variance"]);
    let frequency = variances("fit iris.csv --label class --json");
    let population = variances("fit iris.csv --label class --json --weighting population");
    let rescaled: Vec<f64> = population.iter().map(|v| v * 150.0 / 149.0).collect();
    assert_close(&rescaled, &frequency, 1e-12);
}

#[test]
fn every_route_and_number_of_threads_agrees() {
    let fit = |options: &str| {
        numbers(
            &json(&format!("fit breast_cancer.csv --label class --scale -k 3 --json {options}"))["explained_variance"],
        )
    };
    let exact = fit("--solver svd");
    for solver in ["auto", "covariance", "gram", "block-krylov"] {
        assert_close(&fit(&format!("--solver {solver}")), &exact, 1e-8);
        assert_eq!(
            fit(&format!("--solver {solver} --threads 1")),
            fit(&format!("--solver {solver} --threads 3"))
        );
    }
}

#[test]
fn weights_from_a_column_a_file_or_repeated_rows_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let rows = [("1.5,2,7", 2), ("3,4.25,1", 3), ("5,6,2", 1), ("-1,0.5,0", 4)];
    let weighted: String = rows.iter().map(|(row, weight)| format!("{row},{weight}\n")).collect();
    let plain: String = rows.iter().map(|(row, _)| format!("{row}\n")).collect();
    let repeated: String = rows.iter().map(|(row, weight)| format!("{row}\n").repeat(*weight)).collect();
    let weights: String = rows.iter().map(|(_, weight)| format!("{weight}\n")).collect();
    std::fs::write(path("weighted.csv"), format!("a,b,c,times\n{weighted}")).unwrap();
    std::fs::write(path("plain.csv"), format!("a,b,c\n{plain}")).unwrap();
    std::fs::write(path("repeated.csv"), format!("a,b,c\n{repeated}")).unwrap();
    std::fs::write(path("weights.txt"), &weights).unwrap();
    std::fs::write(path("headed.txt"), format!("times\n{weights}")).unwrap();
    let expected = json(&format!("fit {} --scale --json=full", path("repeated.csv")));
    let inputs = [
        format!("{} --weights times", path("weighted.csv")),
        format!("{} --weights {}", path("plain.csv"), path("weights.txt")),
        format!("{} --weights {}", path("plain.csv"), path("headed.txt")),
    ];
    for input in inputs {
        let found = json(&format!("fit {input} --scale --json=full"));
        for key in ["explained_variance", "explained_variance_ratio", "mean", "scale"] {
            assert_close(&numbers(&found[key]), &numbers(&expected[key]), 1e-12);
        }
        assert_close(&numbers(&found["components"][0]), &numbers(&expected["components"][0]), 1e-12);
        assert_eq!(found["sum_of_weights"], 10.0);
        assert_eq!(found["feature_names"], serde_json::json!(["a", "b", "c"]));
    }
    let text = output(&format!("fit {} --weights times", path("weighted.csv")));
    assert!(text.contains("\nweights from column `times`: times each row was seen, sum 10\n"), "{text}");
}

#[test]
fn feature_weights_of_zero_silence_a_feature() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.txt");
    std::fs::write(&path, "1\n0\n1\n4\n").unwrap();
    let summary =
        json(&format!("fit iris.csv --label class --feature-weights {} -k 1 --json=full", path.display()));
    // Processors differ in the rounding of eigenvectors.
    assert!(numbers(&summary["components"][0])[1].abs() < 1e-15);
    assert_eq!(numbers(&summary["feature_weights"]), [1.0, 0.0, 1.0, 4.0]);
}

/// As `prcomp(center = v, scale. = w)` of R: variances of the moved rows about zero, with divisor n - 1.
#[test]
fn columns_take_given_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).unwrap();
        folder.path().join(name).display().to_string()
    };
    let moved: String = std::fs::read_to_string("../../examples/data/usarrests.csv")
        .unwrap()
        .lines()
        .skip(1)
        .map(|line| {
            let numbers =
                line.split(',').skip(1).zip([(8.0, 4.0), (170.0, 80.0), (65.0, 15.0), (20.0, 10.0)]);
            let moved = numbers.map(|(x, (center, scale))| (x.parse::<f64>().unwrap() - center) / scale);
            moved.map(|x| x.to_string()).collect::<Vec<_>>().join(",") + "\n"
        })
        .collect();
    let expected = json(&format!("fit {} --header no --no-center --json=full", file("moved.csv", &moved)));
    let header: Vec<String> = std::fs::read_to_string("../../examples/data/usarrests.csv")
        .unwrap()
        .lines()
        .next()
        .unwrap()
        .split(',')
        .skip(1)
        .map(str::to_owned)
        .collect();
    let named = |numbers: [f64; 4]| -> String {
        header.iter().zip(numbers).rev().map(|(name, number)| format!("{name},{number}\n")).collect()
    };
    let centers = [file("c.txt", "8\n170\n65\n20\n"), file("c.csv", &named([8.0, 170.0, 65.0, 20.0]))];
    let scales = [file("s.txt", "scale\n4\n80\n15\n10\n"), file("s.csv", &named([4.0, 80.0, 15.0, 10.0]))];
    let model = folder.path().join("m").display().to_string();
    for (centers, scales) in centers.iter().zip(&scales) {
        let fit = format!("fit usarrests.csv --center-values {centers} --scale-values {scales}");
        let found = json(&format!("{fit} --json=full -o {model} --force"));
        for key in ["explained_variance", "explained_variance_ratio", "singular_values"] {
            assert_close(&numbers(&found[key]), &numbers(&expected[key]), 1e-12);
        }
        assert_eq!(numbers(&found["mean"]), [8.0, 170.0, 65.0, 20.0]);
        assert_eq!(numbers(&found["scale"]), [4.0, 80.0, 15.0, 10.0]);
        let text = output(&format!("inspect {model}"));
        assert!(
            text.contains("\ncentred at given numbers and scaled by given numbers; all 4 components\n"),
            "{text}"
        );
    }
    let refusal = |arguments: &str, code: i32| {
        let done = karhunen(&format!("fit usarrests.csv {arguments}")).assert().code(code);
        String::from_utf8_lossy(&done.get_output().stderr).into_owned()
    };
    let wrong = file("wrong.csv", "Murder,1\nAssault,2\nUrbanPop,3\nrape,4\n");
    assert!(refusal(&format!("--scale-values {wrong}"), 3).contains("no number for the column `Rape`"));
    let zero = file("zero.txt", "1\n2\n0\n1\n");
    let message = refusal(&format!("--scale-values {zero}"), 3);
    assert!(message.contains("--scale-values of column 3 (`UrbanPop`) is 0: "), "{message}");
    let few = file("few.txt", "1\n2\n3\n");
    assert!(refusal(&format!("--center-values {few}"), 3).contains("3 numbers of columns, but 4 are needed"));
    refusal(&format!("--center-values {few} --no-center"), 2);
    refusal(&format!("--scale-values {few} --scale"), 2);
    refusal("--scale=none", 2);
}

#[test]
fn columns_are_scaled_by_name() {
    let fitted = |scale: &str| json(&format!("fit usarrests.csv {scale} --json=full"));
    let deviations = numbers(&fitted("--scale")["scale"]);
    let pareto = fitted("--scale=pareto");
    let roots: Vec<f64> = deviations.iter().map(|deviation| deviation.sqrt()).collect();
    assert_close(&numbers(&pareto["scale"]), &roots, 1e-13);
    assert_eq!(pareto["options"]["scale"], "pareto");
    let text = output("fit usarrests.csv --scale=range");
    assert!(text.contains("\ncentred and scaled by their ranges; all 4 components\n"), "{text}");
    assert_eq!(fitted("--scale=deviation")["options"]["scale"], true);
    assert_close(&numbers(&fitted("--scale=range")["scale"]), &[16.6, 292.0, 59.0, 38.7], 1e-13);
    karhunen("fit usarrests.csv --kernel rbf --scale=pareto").assert().code(2);
    karhunen("fit usarrests.csv --kernel rbf --scale-values s.txt").assert().code(2);
    assert_close(&numbers(&fitted("--missing --scale=pareto")["scale"]), &roots, 1e-13);
    let folder = tempfile::tempdir().unwrap();
    let scales = folder.path().join("scales.csv");
    std::fs::write(&scales, "UrbanPop,3\nMurder,1.5\nRape,4\nAssault,2\n").unwrap();
    let given = fitted(&format!("--missing --scale-values {}", scales.display()));
    assert_close(&numbers(&given["scale"]), &[1.5, 2.0, 3.0, 4.0], 0.0);
    let text = output("fit usarrests.csv --missing --scale=pareto");
    assert!(text.contains("divided by the square roots of their standard deviations"), "{text}");
}

#[test]
fn what_does_not_converge_is_a_warning_or_under_strict_an_error() {
    let fit = "fit rust_docs_bow.mtx.gz -k 20 --solver block-krylov --max-iter 1 --tol 1e-15";
    let done = karhunen(&format!("{fit} --json")).assert().success();
    let warning = String::from_utf8(done.get_output().stderr.clone()).unwrap();
    assert!(warning.starts_with("warning: "), "{warning}");
    assert!(warning.contains(" of 20 components did not reach the tolerance 1e-15: PC1 "), "{warning}");
    assert!(warning.ends_with("; raise --max-iter or --tol\n"), "{warning}");
    let summary: serde_json::Value = serde_json::from_slice(&done.get_output().stdout).unwrap();
    assert_eq!(summary["converged"], false);
    let refused = karhunen(&format!("{fit} --strict")).assert().code(5).stdout("");
    let message = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
    assert!(message.starts_with("error: rust_docs_bow.mtx.gz: solver block-krylov: "), "{message}");
}
