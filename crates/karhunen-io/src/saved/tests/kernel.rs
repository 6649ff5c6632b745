//! Kernel models.

use std::sync::Arc;

use karhunen::kernel::{Gamma, Kernel, KernelRoute, PreImage};
use karhunen::{Dense, KernelPca, Matrix, Run, Scalar, Source, Sparse, Weights};

use super::*;

const N: usize = 40;
const P: usize = 3;

/// Values without a pattern, none negative, some zero.
fn values<T: Scalar>() -> Vec<T> {
    let value = |e: usize| {
        if e.is_multiple_of(5) { 0.0 } else { (e * e % 31) as f64 / 7.0 + (e % 3) as f64 / 3.0 }
    };
    (0..N * P).map(|e| T::from_f64(value(e))).collect()
}

fn saved(model: KernelModel) -> SavedKernel {
    let feature_names = Some(["a", "", "ü \"quoted\""].map(str::to_owned).to_vec());
    Saved { model, extras: TableColumns { feature_names, of_file: of_file(), log1p: Some(1e4) } }
}

/// Writes and reads a model; both are the same, and so are their scores and pre-images.
fn survives<T: Scalar>(model: &KernelModel, x: &dyn Source<T>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.safetensors");
    let names = (0..model.n_features()).map(|j| format!("x{j}")).collect();
    for feature_names in [None, Some(names)] {
        let SavedKernel { model: same, extras } = saved(model.clone());
        let saved = Saved { model: same, extras: TableColumns { feature_names, ..extras } };
        save_model(&path, &saved).unwrap();
        let again: SavedKernel = load_model(&path).unwrap();
        assert_eq!(again, saved);
        let scores = again.model.transform(x).unwrap();
        assert_eq!(scores, model.transform(x).unwrap());
        if model.parts().pre_image.is_some() {
            let rows = again.model.inverse_transform(&scores).unwrap();
            assert_eq!(rows, model.inverse_transform(&scores).unwrap());
        }
    }
}

fn kernels() -> [Kernel; 8] {
    let gamma = Gamma::Scale;
    [
        Kernel::Linear,
        Kernel::Polynomial { degree: 2.5, gamma, coef0: 1.0 / 3.0 },
        Kernel::Rbf { gamma: Gamma::Median },
        Kernel::Laplacian { gamma },
        Kernel::Sigmoid { gamma: Gamma::Value(1e-3), coef0: 0.1 },
        Kernel::Cosine,
        Kernel::AdditiveChi2,
        Kernel::Chi2 { gamma },
    ]
}

fn all_kernels<T: Scalar>() {
    let x = values::<T>();
    let dense = Dense::row_major(&x, N, P).unwrap();
    let stored: Vec<usize> = (0..N * P).filter(|e| x[*e].to_f64() != 0.0).collect();
    let entries: Vec<T> = stored.iter().map(|e| x[*e]).collect();
    let columns: Vec<u32> = stored.iter().map(|e| (e % P) as u32).collect();
    let pointers: Vec<u64> = (0..=N).map(|i| stored.iter().filter(|e| **e < i * P).count() as u64).collect();
    let sparse = Sparse::csr(N, P, &pointers, &columns, &entries).unwrap();
    let weights: Vec<f64> = (0..N).map(|i| (i % 4) as f64).collect();
    for kernel in kernels() {
        for solver in [KernelRoute::Full, KernelRoute::Stored] {
            let pca = KernelPca { kernel, solver: Some(solver), ..KernelPca::new(2) };
            let model = pca.fit(&dense, &Weights::of_samples(&weights)).unwrap();
            survives(&model, &dense);
            survives(&pca.fit(&sparse, &Weights::default()).unwrap(), &sparse);
        }
    }
}

#[test]
fn models_of_all_kernels_read_back_bit_for_bit() {
    all_kernels::<f64>();
    all_kernels::<f32>();
}

#[test]
fn approximations_pre_images_and_precomputed_kernels_read_back() {
    let x = values::<f64>();
    let dense = Dense::row_major(&x, N, P).unwrap();
    let rbf = Kernel::Rbf { gamma: Gamma::Value(0.1) };
    let options = KernelPca { kernel: rbf, ..KernelPca::new(3) };
    for (solver, pre_image) in [
        (KernelRoute::Nystrom, None),
        (KernelRoute::Nystrom, Some(PreImage::Ridge { alpha: 0.1 })),
        (KernelRoute::Nystrom, Some(PreImage::Auto { alpha: 0.1 })),
        (KernelRoute::Fourier, None),
        (KernelRoute::Full, Some(PreImage::Ridge { alpha: 1.0 / 3.0 })),
        (KernelRoute::Tiles, Some(PreImage::FixedPoint)),
        (KernelRoute::Stored, Some(PreImage::Auto { alpha: 0.1 })),
    ] {
        let n_features = solver.approximates().then_some(32);
        let options = KernelPca { solver: Some(solver), n_features, pre_image, ..options.clone() };
        survives(&options.fit(&dense, &Weights::default()).unwrap(), &dense);
    }
    let products = Matrix::from_fn(N, N, |i, j| (0..P).map(|c| x[i * P + c] * x[j * P + c]).sum::<f64>());
    let precomputed = KernelPca { kernel: Kernel::Precomputed, ..KernelPca::new(2) };
    let products = Dense::from(&products);
    survives(&precomputed.fit(&products, &Weights::default()).unwrap(), &products);
}

#[test]
fn a_function_of_the_caller_is_given_again() {
    let x = values::<f64>();
    let dense = Dense::row_major(&x, N, P).unwrap();
    let function = |a: &Matrix, b: &Matrix| -> karhunen::Result<Matrix> {
        let value = |i, j| a.row(i).iter().zip(b.row(j)).map(|(x, y): (&f64, &f64)| x * y).sum::<f64>();
        Ok(Matrix::from_fn(a.n_rows(), b.n_rows(), value))
    };
    let options = KernelPca { kernel: Kernel::Custom, ..KernelPca::new(2) };
    let model =
        options.fit_function(&dense, &Weights::default(), Arc::new(function), &Run::default()).unwrap();
    let again = read::<KernelModel>(written(&model.to_record().unwrap())).unwrap().model;
    let message = again.transform(&dense).unwrap_err().to_string();
    assert!(message.contains("`with_function`"), "{message}");
    let again = again.with_function(Arc::new(function));
    assert_eq!(again.transform(&dense).unwrap(), model.transform(&dense).unwrap());
}

#[test]
fn rows_are_kept_in_the_type_of_the_data() {
    let x = values::<f32>();
    let dense = Dense::row_major(&x, N, P).unwrap();
    let model = KernelPca::new(2).fit(&dense, &Weights::default()).unwrap();
    let record = model.to_record().unwrap();
    let rows = record.arrays.iter().find(|array| array.name == "rows").unwrap();
    assert_eq!(model_numbers::n_bytes(&rows.numbers), 4 * N * P);
}

fn small() -> SavedKernel {
    let x = [0.5, 1.0, 0.0, 2.0, 0.25, 3.0];
    let options = KernelPca {
        pre_image: Some(PreImage::FixedPoint),
        kernel: Kernel::Rbf { gamma: Gamma::Value(0.5) },
        ..KernelPca::new(1)
    };
    let model = options.fit(&Dense::row_major(&x, 3, 2).unwrap(), &Weights::default()).unwrap();
    let SavedKernel { model, extras } = saved(model);
    Saved { model, extras: TableColumns { feature_names: None, ..extras } }
}

#[test]
fn damage_of_a_kernel_model_is_named() {
    fn say(record: &mut Record<'_>, key: &str, text: &str) {
        record.texts.insert(key.to_owned(), text.to_owned());
    }
    let cases: [Case; 11] = [
        (
            |record| record.kind = "pca".to_owned(),
            "m: holds a model of the kind `pca`; `kernel-pca` is what can be read",
        ),
        (
            |record| record.arrays.retain(|array| array.name != "offsets"),
            "m: `offsets`: is missing; the model file is damaged, fit it again",
        ),
        (
            |record| replace(record, "offsets", &[2], vec![1.0, 2.0]),
            "m: `offsets`: has shape [2], expected [1]; the model file is damaged, fit it again",
        ),
        (
            |record| replace(record, "rows", &[3, 2], vec![f64::NAN; 6]),
            "m: `rows`: holds NaN; the model file is damaged, fit it again",
        ),
        (
            |record| replace(record, "rows", &[2, 2], vec![1.0; 4]),
            "m: coefficients: 3 values, but 2 are needed; the model file is damaged, fit it again",
        ),
        (
            |record| replace(record, "rows", &[3, 2], vec![1_i64; 6]),
            "m: `rows`: has dtype I64, and F64 is expected; fit the model again",
        ),
        (
            |record| say(record, "n_features", "3"),
            "m: rows: 2 columns, but 3 are needed; the model file is damaged, fit it again",
        ),
        (
            |record| say(record, "basis", "columns"),
            "m: compares new rows with `columns`, which is unknown; fit the model again",
        ),
        (
            |record| say(record, "kernel", r#"{"rbf":{"gamma":"scale"}}"#),
            "m: gamma is not allowed: a fitted kernel has a number for gamma",
        ),
        (
            |record| say(record, "kernel", r#"{"rbf":{"gamma":{"value":-1.0}}}"#),
            "m: gamma = -1 is not allowed: it must be finite and positive",
        ),
        (
            |record| {
                record.arrays.retain(|array| array.name != "rows");
                record.put("rows_pointers", &[4], vec![0_i64, 1, -1, 1]);
                record.put("rows_values", &[1], vec![1.0]);
                record.put("rows_columns", &[1], vec![0_u32]);
            },
            "m: `rows_pointers`: holds -1; the model file is damaged, fit it again",
        ),
    ];
    damage_is_named(&small(), &cases);
}

#[test]
fn damaged_files_never_panic() {
    let x = Matrix::<f64>::zeros(1, 2);
    no_damaged_byte_passes(&small(), |model| {
        let scores = model.transform(&Dense::from(&x));
        let _ = scores.and_then(|scores| model.inverse_transform(&scores));
    });
}

#[test]
fn names_that_do_not_fit_are_not_written() {
    let SavedKernel { model, extras } = small();
    let misnamed =
        Saved { model, extras: TableColumns { feature_names: Some(vec!["a".to_owned()]), ..extras } };
    let error = save_model(Path::new("/no/such/folder/m"), &misnamed).unwrap_err().to_string();
    assert!(error.contains("the feature names"), "{error}");
}
