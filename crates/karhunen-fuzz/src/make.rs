//! The generated part of the corpus: models of every kind, checkpoints, options, and command lines.
//! `karhunen-fuzz make` writes it into the folder `corpus`.

use std::path::Path;

use karhunen::incomplete::{Checkpoint, Checkpoints, Every, FitContext, Method, Regularization};
use karhunen::incremental::IncrementalMethod;
use karhunen::kernel::{Gamma, Kernel, KernelRoute, Landmarks, Nystrom, PreImage};
use karhunen::moments::Scatter;
use karhunen::pca::{AboutMean, Centring, ModelParts, Scaling};
use karhunen::rotation::{Criterion, Oblimin, RotatedModel};
use karhunen::source::Block;
use karhunen::{
    Dense, IncompletePca, IncrementalPca, KernelPca, Matrix, NComponents, Observed, Pca, PcaModel, Run,
    Weights,
};
use karhunen_io::{Ids, OfFile, RowsAndColumns, Saved, TableColumns, save_checkpoint, save_model};

use crate::corpus::home;
use crate::targets::checkpoint_data;

/// Writes the generated corpus.
///
/// # Errors
/// Fits that fail and files that cannot be written.
pub fn corpus() -> Result<(), String> {
    let folder = |name: &str| {
        let folder = home().join("corpus").join(name);
        std::fs::create_dir_all(&folder).map(|()| folder).map_err(message)
    };
    models(&folder("model")?)?;
    incomplete_models(&folder("model")?)?;
    kernel_models(&folder("model")?)?;
    states_and_sums(&folder("model")?)?;
    checkpoints(&folder("model")?)?;
    options(&folder("options")?)?;
    lists(&folder("list")?)?;
    commands(&folder("command")?)
}

fn message(error: impl std::fmt::Display) -> String {
    error.to_string()
}

const N: usize = 9;
const P: usize = 4;

fn values() -> Vec<f64> {
    (0..N * P).map(|index| ((index * 7919 + 13) % 101) as f64 / 8.0 - (index % P) as f64).collect()
}

fn names(stem: &str, n: usize) -> Vec<String> {
    (1..=n).map(|index| format!("{stem}{index}")).collect()
}

fn models(folder: &Path) -> Result<(), String> {
    let values = values();
    let x = Dense::row_major(&values, N, P).map_err(message)?;
    let plain = Pca::new(2);
    let cases = [
        ("pca", plain.clone(), None),
        ("pca_scaled", Pca { scale: true.into(), ..plain.clone() }, Some(&[1.0, 2.0, 0.5, 1.0][..])),
        ("pca_not_centred", Pca { center: false.into(), ..plain.clone() }, None),
        ("pca_share", Pca { n_components: NComponents::Variance(0.9), ..plain }, None),
    ];
    for (name, pca, features) in cases {
        let model = pca.fit(&x, &Weights { features, ..Weights::default() }).map_err(message)?;
        let k = model.n_components();
        let scaled = pca.scale != Scaling::None;
        let about_mean = (pca.center == Centring::None)
            .then(|| AboutMean { variance: vec![1.0; k], ratio: vec![0.25; k] });
        let model =
            PcaModel::try_from(ModelParts { about_mean, ..model.parts().clone() }).map_err(message)?;
        let extras = TableColumns {
            feature_names: scaled.then(|| names("x", P)),
            of_file: OfFile {
                set_aside: if scaled { vec!["class".to_owned()] } else { Vec::new() },
                id_column: scaled.then(|| "id".to_owned()),
                na: if scaled { vec!["-999".to_owned()] } else { Vec::new() },
                transposed: scaled,
            },
            log1p: scaled.then_some(1e4),
        };
        save_model(&folder.join(name).with_extension("model"), &Saved { model, extras }).map_err(message)?;
    }
    let target = Matrix::from_fn(P, 2, |j, c| ((j + 2 * c) % 3) as f64);
    for (name, criterion) in [
        ("rotated_oblimin", Criterion::Oblimin(Oblimin::default())),
        ("rotated_target", Criterion::Procrustes { target }),
    ] {
        let model = Pca::new(3).fit(&x, &Weights::default()).map_err(message)?;
        let model = RotatedModel::new(model, Some(2), criterion, &Run::default()).map_err(message)?;
        let saved = Saved { model, extras: TableColumns::default() };
        save_model(&folder.join(name).with_extension("model"), &saved).map_err(message)?;
    }
    Ok(())
}

fn incomplete_models(folder: &Path) -> Result<(), String> {
    let data = checkpoint_data()?;
    for (name, method, row_offsets, ids) in [
        ("als", Method::Als, false, false),
        ("vb", Method::Vb, false, true),
        ("vb_full", Method::VbFull, true, false),
        ("ppca", Method::Ppca, false, false),
        ("ridge", Method::Ridge, true, true),
    ] {
        let pca = IncompletePca { method, row_offsets, max_iter: 6, ..IncompletePca::new(2) };
        let model = pca.fit(&data).map_err(message)?;
        let (n, p) = (model.n_samples(), model.n_features());
        let extras = RowsAndColumns {
            row_ids: ids.then(|| Ids::Texts(names("user ", n))),
            column_ids: ids.then(|| Ids::Integers((0..p as i64).map(|id| 10 * id - 7).collect())),
            ..RowsAndColumns::default()
        };
        let saved = Saved { model, extras };
        save_model(&folder.join(format!("incomplete_{name}.model")), &saved).map_err(message)?;
        if method == Method::Ppca {
            let oblimin = Criterion::Oblimin(Oblimin::default());
            let model = RotatedModel::new(saved.model, None, oblimin, &Run::default()).map_err(message)?;
            let saved = Saved { model, extras: saved.extras };
            save_model(&folder.join("rotated_incomplete.model"), &saved).map_err(message)?;
        }
    }
    Ok(())
}

/// States of fits of rows in batches, with rows that wait, and sums of rows.
fn states_and_sums(folder: &Path) -> Result<(), String> {
    let (values, run) = (values(), Run::default());
    let x = Dense::row_major(&values, N, P).map_err(message)?;
    let extras = TableColumns { feature_names: Some(names("x", P)), ..TableColumns::default() };
    let plain = IncrementalPca::new(2);
    let sketch =
        IncrementalPca { method: IncrementalMethod::Sketch, n_oversamples: Some(1), ..plain.clone() };
    let cases = [
        ("scatter", IncrementalPca { half_life: Some(4.0), ..plain }),
        ("sketch", IncrementalPca { batch_size: Some(4), ..sketch.clone() }),
        ("sketch_scaled", IncrementalPca { scale: true, warm_rows: 6, batch_size: Some(4), ..sketch }),
    ];
    for (name, pca) in cases {
        let mut model = pca.start(P).map_err(message)?;
        let weights: Vec<f64> = (0..N).map(|i| 1.0 + (i % 2) as f64).collect();
        model.push(&Block::Dense(x), Some(&weights), &run).map_err(message)?;
        let saved = Saved { model, extras: extras.clone() };
        save_model(&folder.join(format!("incremental_{name}.model")), &saved).map_err(message)?;
    }
    let model = Scatter::of(&x, None, &run).map_err(message)?;
    save_model(&folder.join("scatter.model"), &Saved { model, extras }).map_err(message)
}

fn kernel_models(folder: &Path) -> Result<(), String> {
    let values = values();
    let x = Dense::row_major(&values, N, P).map_err(message)?;
    let rbf = Kernel::Rbf { gamma: Gamma::Value(0.1) };
    let polynomial = Kernel::Polynomial { degree: 2.0, gamma: Gamma::Value(0.5), coef0: 1.0 };
    let plain = KernelPca { kernel: rbf, ..KernelPca::new(2) };
    let cases = [
        ("rbf", KernelPca { pre_image: Some(PreImage::FixedPoint), ..plain.clone() }),
        (
            "polynomial",
            KernelPca {
                kernel: polynomial,
                pre_image: Some(PreImage::Ridge { alpha: 1.0 }),
                ..plain.clone()
            },
        ),
        ("nystrom", KernelPca { solver: Some(KernelRoute::Nystrom), n_features: Some(5), ..plain.clone() }),
        ("fourier", KernelPca { solver: Some(KernelRoute::Fourier), n_features: Some(8), ..plain }),
    ];
    for (name, pca) in cases {
        let model = pca.fit(&x, &Weights::default()).map_err(message)?;
        let extras = TableColumns { feature_names: Some(names("x", P)), ..TableColumns::default() };
        let saved = Saved { model, extras };
        save_model(&folder.join(format!("kernel_{name}.model")), &saved).map_err(message)?;
    }
    let model = Nystrom { kernel: rbf, ..Nystrom::new(4) }.fit(&x, &Weights::default()).map_err(message)?;
    let saved = Saved { model, extras: TableColumns::default() };
    save_model(&folder.join("map.model"), &saved).map_err(message)
}

fn checkpoints(folder: &Path) -> Result<(), String> {
    let data: Observed<f64> = checkpoint_data()?;
    for method in [
        Method::Vb,
        Method::VbFull,
        Method::Cg,
        Method::Als,
        Method::Ppca,
        Method::Map,
        Method::Online,
        Method::Newton,
    ] {
        let regularization = (method == Method::Als).then_some(Regularization::Path);
        let early_stopping = (method == Method::Vb || method == Method::Als).then_some(0.1);
        let pca =
            IncompletePca { method, regularization, early_stopping, max_iter: 6, ..IncompletePca::new(2) };
        let path = folder.join(format!("checkpoint_{}.model", method.name().replace('-', "_")));
        let keep = |checkpoint: Checkpoint| Ok(save_checkpoint(&path, &checkpoint)?);
        let checkpoints = Some(Checkpoints { every: Every::Iterations(2), keep: &keep });
        let context = FitContext { checkpoints, ..FitContext::default() };
        pca.fit_with(&data, &context, &Run::default()).map_err(message)?;
    }
    Ok(())
}

fn options(folder: &Path) -> Result<(), String> {
    let write = |name: &str, kind: &str, options: serde_json::Result<serde_json::Value>| {
        let options = options.map_err(message)?;
        let text = serde_json::json!({ kind: options }).to_string();
        std::fs::write(folder.join(name).with_extension("json"), text).map_err(message)
    };
    write("pca", "pca", serde_json::to_value(Pca { tol: Some(1e-9), block_size: Some(3), ..Pca::new(2) }))?;
    let share = Pca { n_components: NComponents::Variance(0.9), scale: true.into(), ..Pca::new(2) };
    write("pca_share", "pca", serde_json::to_value(share))?;
    for method in Method::ALL {
        let pca = IncompletePca { method, max_iter: 15, ..IncompletePca::new(2) };
        write(&format!("incomplete_{}", method.name()), "incomplete", serde_json::to_value(pca))?;
    }
    let path = IncompletePca {
        method: Method::Als,
        regularization: Some(Regularization::Path),
        early_stopping: Some(0.2),
        n_starts: Some(2),
        ..IncompletePca::new(1)
    };
    write("incomplete_path", "incomplete", serde_json::to_value(path))?;
    for solver in [
        None,
        Some(KernelRoute::Full),
        Some(KernelRoute::Tiles),
        Some(KernelRoute::Nystrom),
        Some(KernelRoute::Fourier),
    ] {
        let name = solver.map_or("auto".to_owned(), |route| format!("{route:?}").to_lowercase());
        let kernel = Kernel::Rbf { gamma: Gamma::Value(0.2) };
        let pca =
            KernelPca { kernel, solver, pre_image: Some(PreImage::Auto { alpha: 1.0 }), ..KernelPca::new(2) };
        write(&format!("kernel_{name}"), "kernel", serde_json::to_value(pca))?;
    }
    let nystrom = Nystrom { landmarks: Landmarks::LeverageScores, ..Nystrom::new(3) };
    write("nystrom", "nystrom", serde_json::to_value(nystrom))
}

fn lists(folder: &Path) -> Result<(), String> {
    for (name, text) in [
        ("three_rows.csv", "a,b\n1,2\n3,5\n4,4\n"),
        ("weights.csv", "weight\n1\n0.5\n2\n"),
        ("weights.txt", "1\n0\n3\n2.5e-3\n"),
        ("names.txt", "first\nsecond, the other\n\"third\"\n"),
        ("names_windows.txt", "\u{feff}a\r\nb\r\nc\r\n\r\n"),
    ] {
        std::fs::write(folder.join(name), text).map_err(message)?;
    }
    Ok(())
}

/// Command lines, one argument per line; `EXAMPLES` is the folder of the example data.
fn commands(folder: &Path) -> Result<(), String> {
    let iris = "EXAMPLES/iris.csv --label class";
    let lines = [
        ("fit", format!("fit {iris} -k 2 --scale --solver auto --tol 1e-8 --max-iter 100 --block-size 4 --seed 3 --threads 2 --json")),
        ("fit_share", format!("fit {iris} -k 95% --no-center -o m.model --scores s.csv --loadings l.csv --whiten -q")),
        ("fit_text", format!("fit {iris} --delimiter , --header yes --row-names none --decimal-point --json=full")),
        ("missing", "fit EXAMPLES/iris.csv --label class --missing=als -k 2 --max-iter 20 --regularization 0.1 --mean-prior 2:0.5 --json".to_owned()),
        ("missing_vb", "fit EXAMPLES/iris.csv --label class --missing=vb -k 2 --max-iter 20 --starts 2 --early-stopping=0.1 --refit --time-limit 5 --checkpoint c.model -q".to_owned()),
        ("kernel", format!("fit {iris} --kernel rbf --gamma median -k 2 --solver nystrom --kernel-features 20 --landmarks uniform --memory-limit 64MB -q")),
        ("kernel_poly", format!("fit {iris} --kernel poly --degree 3 --gamma 0.5 --coef0 1 -k 2 --pre-image ridge --json")),
        ("folds", "cross-validate EXAMPLES/iris.csv --label class -k 1,2 --folds 3 --max-iter 10 --json".to_owned()),
        ("inspect", "inspect EXAMPLES/iris.csv --label class --json --threads 1".to_owned()),
        ("transform", "transform m.model EXAMPLES/iris.csv --label class --whiten -o t.csv".to_owned()),
    ];
    for (name, line) in lines {
        let text = format!("args:\n{}\n", line.replace(' ', "\n"));
        std::fs::write(folder.join(name).with_extension("args"), text).map_err(message)?;
    }
    Ok(())
}
