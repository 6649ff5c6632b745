//! `report`: pages of models and rows.

use tempfile::TempDir;

use crate::karhunen;

fn fitted(options: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("m.model");
    karhunen(&format!("fit wine.csv -q -o {} {options}", model.display())).assert().success();
    folder
}

fn message(arguments: &str, code: i32) -> String {
    let done = karhunen(arguments).assert().code(code).stdout("");
    String::from_utf8(done.get_output().stderr.clone()).unwrap()
}

#[test]
fn a_page_names_rows_features_and_the_calls() {
    let folder = fitted("--label class --scale -k 3");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let arguments =
        format!("report {} wine.csv --label class -o {} --title Wine&more", at("m.model"), at("w.html"));
    karhunen(&arguments).assert().success().stdout("");
    let page = std::fs::read_to_string(folder.path().join("w.html")).unwrap();
    for said in [
        "<h1>Wine&amp;more</h1>",
        "flavanoids",
        "178 samples",
        "3 components were kept",
        "karhunen fit wine.csv",
        "--scale",
    ] {
        assert!(page.contains(said), "{said}");
    }
    assert!(message(&arguments, 2).contains("--force"));
    karhunen(&format!("{arguments} --force")).assert().success();
    karhunen(&format!("report {} -o {}", at("m.model"), at("model.html"))).assert().success();
    let page = std::fs::read_to_string(folder.path().join("model.html")).unwrap();
    assert!(page.contains("<h1>m.model</h1>") && !page.contains("id=\"samples\""));
}

#[test]
fn unsuitable_models_and_rows_are_refused() {
    let folder = fitted("--label class -k 2");
    let at = |name: &str| folder.path().join(name).display().to_string();
    karhunen(&format!("fit wine.csv --label class --kernel rbf -k 2 -q -o {}", at("k"))).assert().success();
    let said =
        message(&format!("report {} wine.csv --label class --level 0.9 -o {}", at("k"), at("k.html")), 2);
    assert!(said.contains("--level has no effect on a kernel model"), "{said}");
    let said = message(&format!("report {} --triples a,b,c -o {}", at("k"), at("k.html")), 2);
    assert!(said.contains("--triples has no effect"), "{said}");
    karhunen(&format!("report {} wine.csv --label class -o {}", at("k"), at("k.html"))).assert().success();
    assert!(
        std::fs::read_to_string(at("k.html")).unwrap().contains("Kernel principal component analysis of 178")
    );
    let said = message(&format!("report {} --delimiter tab -o {}", at("m.model"), at("d.html")), 2);
    assert!(said.contains("--delimiter has no effect without DATA"), "{said}");
    let said = message(&format!("report {} iris.csv -o {}", at("m.model"), at("i.html")), 3);
    assert!(said.contains("iris.csv"), "{said}");
    assert!(!folder.path().join("i.html").exists());
    message(&format!("report {} wine.csv --label class --level 2 -o {}", at("m.model"), at("l.html")), 2);
}

#[test]
fn a_page_of_triples_reads_them_again() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let lines: String = (0..12)
        .flat_map(|i| (0..6).map(move |j| (i, j)))
        .filter(|(i, j)| (i + 2 * j) % 5 != 0)
        .map(|(i, j)| format!("u{i},f{j},{}\n", (i * j) % 7 + i))
        .collect();
    std::fs::write(at("r.csv"), format!("user,film,stars\n{lines}")).unwrap();
    let fit = format!("fit {} --triples user,film,stars --missing=ppca -k 1 -q -o {}", at("r.csv"), at("m"));
    karhunen(&fit).assert().success();
    karhunen(&format!("report {} {} -q -o {}", at("m"), at("r.csv"), at("r.html"))).assert().success();
    let page = std::fs::read_to_string(at("r.html")).unwrap();
    for said in ["--triples user,film,stars --missing=ppca -k 1", "f3", "u11", "12 samples and 6 features"] {
        assert!(page.contains(said), "{said}");
    }
}

#[test]
fn a_page_of_a_weighted_fit_takes_its_weights() {
    let folder = fitted("--label class --weights proline --weighting importance -k 2");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let page = |options: &str| {
        let arguments =
            format!("report {} wine.csv --label class {options} -o {} --force", at("m.model"), at("w.html"));
        karhunen(&arguments).assert().success();
        std::fs::read_to_string(at("w.html")).unwrap()
    };
    let weighted = page("--weights proline");
    assert!(weighted.contains("178 samples are given: the samples of the fit."));
    assert!(weighted.contains("--weights WEIGHTS --level 0.95"));
    assert!(page("").contains("without the weights of the fit"));
    let said = message(&format!("report {} --weights proline -o {}", at("m.model"), at("w.html")), 2);
    assert!(said.contains("DATA"), "{said}");
    karhunen(&format!("fit wine.csv --label class --kernel rbf -k 2 -q -o {}", at("k"))).assert().success();
    let kernel = format!("report {} wine.csv --label class --weights proline -o {}", at("k"), at("k.html"));
    assert!(message(&kernel, 2).contains("--weights does not apply to kernel models"));
}

/// Options of a fit that are not of its data, and the data with their own options.
const REPEATED: [(&str, &str); 38] = [
    ("wine.csv --label class", ""),
    ("wine.csv --label class", "--scale -k 3"),
    ("wine.csv --label class", "--scale=pareto -k 2"),
    ("wine.csv --label class", "--scale=range -k 2"),
    ("wine.csv --label class", "--no-center -k 2"),
    ("wine.csv --label class", "--center-values CENTERS -k 3"),
    ("wine.csv --label class", "--scale-values SCALES -k 2"),
    ("wine.csv --label class", "--weights WEIGHTS -k 2"),
    ("wine.csv --label class", "--weights WEIGHTS --weighting importance --scale -k 2"),
    ("wine.csv --label class", "--weights EVEN_WEIGHTS -k 2"),
    ("wine.csv --label class", "--feature-weights FEATURE_WEIGHTS -k 2"),
    ("wine.csv --label class", "-k 0.95"),
    ("wine.csv --label class", "-k all --solver svd"),
    ("wine.csv --label class", "--solver gram -k 3"),
    ("wine.csv --label class", "--solver block-krylov -k 3 --seed 7 --tol 1e-9 --max-iter 50"),
    ("wine.csv --label class", "--solver covariance -k 2 --strict"),
    ("wine.csv --label class", "--missing=als -k 2"),
    ("wine.csv --label class", "--missing=ppca -k 2 --scale --seed 4"),
    ("wine.csv --label class", "--missing=vb -k 3 --noise feature --starts 2"),
    ("wine.csv --label class", "--missing=ridge -k 2 --regularization weighted:0.5 --mean fixed"),
    ("wine.csv --label class", "--missing=soft -k 2 --early-stopping=0.1 --row-offsets"),
    ("metabolite_missing.csv", "--missing -k 2"),
    ("wine.csv --label class", "--kernel rbf --gamma median -k 2"),
    ("wine.csv --label class", "--kernel polynomial --degree 2 --coef0 0.5 --no-center -k 2"),
    (
        "wine.csv --label class",
        "--kernel laplacian --solver nystrom --kernel-features 40 --landmarks leverage -k 2 --seed 3",
    ),
    ("wine.csv --label class", "--kernel rbf --solver fourier --kernel-features 60 -k 2 --strict"),
    ("wine.csv --label class", "--kernel sigmoid --gamma 0.001 --coef0 0.1 --weights WEIGHTS -k 2"),
    ("wine.csv --label class", "--kernel rbf -k 0.5 --pre-image ridge"),
    ("usarrests.csv --row-names State", "--scale -k 2"),
    ("rust_docs_bow.mtx.gz", "-k 5 --log1p"),
    ("iris.csv --columns sepal_length_cm,petal_length_cm", "-k 1"),
    ("iris.csv --label class --skip 2-3 --na 5.1", "--missing=ppca -k 1"),
    ("iris.csv --label class --na 5.1,-9", "--missing=ppca -k 1"),
    ("wine.csv --label class", "--scale -k 3 --limits"),
    ("metabolite_missing.csv", "--missing=ppca -k 2 --limits"),
    ("wine.csv --label class", "--solver block-krylov -k 3 --block-size 5"),
    ("wine.csv --label class", "--kernel rbf --solver stored -k 2 --block-size 5"),
    ("wine.csv --label class", "--kernel rbf -k 2 --pre-image ridge --alpha 0.1"),
];

/// Bits of a model, without the time of its fit.
fn arrays(path: &std::path::Path) -> Vec<(String, Vec<u8>)> {
    let bytes = std::fs::read(path).unwrap();
    let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let named = tensors.tensors().into_iter().filter(|(name, _)| name != "trace_seconds");
    let mut found: Vec<_> = named.map(|(name, view)| (name, view.data().to_vec())).collect();
    found.sort();
    found
}

#[test]
fn the_command_of_a_page_repeats_the_fit_to_the_bit() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for (name, n) in [("WEIGHTS", 178), ("CENTERS", 13), ("SCALES", 13), ("FEATURE_WEIGHTS", 13)] {
        let numbers: String = (0..n).map(|i| format!("{}\n", 1 + i % 3)).collect();
        std::fs::write(at(name), numbers).unwrap();
    }
    // Weights that sum to the number of rows.
    let even: String = (0..178).map(|i| format!("{}\n", [0.5, 1.5][i % 2])).collect();
    std::fs::write(at("EVEN_WEIGHTS"), even).unwrap();
    // In the folder of the data the files of weights have longer names; one of them is a part of another.
    let files = |command: &str| {
        let named = |word: &str| match word {
            "WEIGHTS" | "EVEN_WEIGHTS" | "CENTERS" | "SCALES" | "FEATURE_WEIGHTS" => {
                at(word).display().to_string()
            }
            word => word.to_owned(),
        };
        command.split(' ').map(named).collect::<Vec<_>>().join(" ")
    };
    for (data, options) in REPEATED {
        let (model, again, page) = (at("a.model"), at("b.model"), at("r.html"));
        let fit = files(&format!("fit {data} {options} -q --force -o {}", model.display()));
        karhunen(&fit).assert().success();
        let has_limits = !options.contains("--missing") && !options.contains("--kernel");
        let even = if options.contains("EVEN_") { "EVEN_WEIGHTS" } else { "WEIGHTS" };
        let weights = format!("--weights {even}");
        let weights = if options.contains("--weights") && has_limits { &weights[..] } else { "" };
        // The model keeps how the file was read, apart from lines that are left out.
        let data_of_page = if data.contains("--skip") { data } else { data.split(' ').next().unwrap() };
        let report =
            format!("report {} {data_of_page} {weights} -q --force -o {}", model.display(), page.display());
        karhunen(&files(&report)).assert().success();
        let page = std::fs::read_to_string(page).unwrap();
        let call = page.split("karhunen fit ").nth(1).unwrap().split(['\n', '<']).next().unwrap();
        let (call, _) = call.rsplit_once(" -o ").unwrap();
        let call = &call.replace("--weights WEIGHTS", &format!("--weights {even}"));
        assert_eq!(page.contains("strict=True"), options.contains("--strict"), "{options}");
        karhunen(&files(&format!("fit {call} -q --force -o {}", again.display()))).assert().success();
        assert!(arrays(&model) == arrays(&again), "{data} {options}: {call}");
    }
}
