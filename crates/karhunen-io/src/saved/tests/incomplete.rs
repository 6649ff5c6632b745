//! Models of incomplete data.

use karhunen::incomplete::{Covariances, Method, Prior};
use karhunen::{Dense, IncompletePca, Matrix, Observed};

use super::*;
use crate::{Ids, TripleColumns};

const NAN: f64 = f64::NAN;
const X: [f64; 20] = [
    1.0,
    2.0,
    0.5,
    NAN,
    -3.0,
    0.25,
    7.0,
    1.0,
    1e-3,
    NAN,
    4.0,
    -5.0,
    NAN,
    2.5,
    1.0 / 3.0,
    2.0,
    3.0,
    0.5,
    -1.0,
    1.5,
];

fn fitted(pca: &IncompletePca) -> IncompleteModel {
    pca.fit(&Observed::from_dense(&Dense::row_major(&X, 5, 4).unwrap()).unwrap()).unwrap()
}

fn extras() -> RowsAndColumns {
    let names = ["a", "", "ü \"quoted\"", "d"].map(str::to_owned).to_vec();
    RowsAndColumns {
        row_ids: Some(Ids::Integers(vec![-1, 4, i64::MAX, 0, 3])),
        column_ids: Some(Ids::Texts(names)),
        triples: Some(TripleColumns {
            row: "user".to_owned(),
            column: "item".to_owned(),
            value: "rating".to_owned(),
            weight: None,
        }),
        of_file: of_file(),
    }
}

fn saved() -> SavedIncomplete {
    let options = IncompletePca { max_iter: 20, ..IncompletePca::new(2) };
    Saved { model: fitted(&options), extras: extras() }
}

#[test]
fn models_of_all_methods_read_back_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.safetensors");
    for method in Method::ALL {
        for (error_bars, early_stopping, row_offsets) in
            [(true, None, false), (false, Some(0.2), false), (true, None, true), (false, None, true)]
        {
            let options = IncompletePca {
                method,
                row_offsets,
                error_bars,
                early_stopping,
                max_iter: 5,
                ..IncompletePca::new(2)
            };
            let saved = Saved { model: fitted(&options), extras: extras() };
            save_model(&path, &saved).unwrap();
            assert_eq!(load_model(&path).unwrap(), saved, "{method:?}");
        }
    }
    let extras =
        RowsAndColumns { row_ids: Some(Ids::Texts(vec![String::new(); 5])), ..RowsAndColumns::default() };
    let saved = Saved { extras, ..saved() };
    save_model(&path, &saved).unwrap();
    assert_eq!(load_model(&path).unwrap(), saved);
}

#[test]
fn a_model_without_components_reads_back() {
    let mut parts = saved().model.parts().clone();
    let (n, p) = (parts.scores.n_rows(), parts.mean.len());
    (parts.components, parts.scores) = (Matrix::zeros(0, p), Matrix::zeros(n, 0));
    parts.prior = Prior { precision: Matrix::zeros(0, 0), per_entry: false, mean: Vec::new() };
    for values in
        [&mut parts.explained_variance, &mut parts.explained_variance_ratio, &mut parts.singular_values]
    {
        values.clear();
    }
    let none = Covariances { n_components: 0, packed: Vec::new(), unit: 1.0 };
    (parts.score_covariances, parts.loading_covariances) = (Some(none.clone()), Some(none));
    let saved = Saved { model: IncompleteModel::try_from(parts).unwrap(), extras: extras() };
    assert_eq!(read(written(&saved.record().unwrap())).unwrap(), saved);
}

#[test]
fn covariances_take_four_bytes_for_each_value() {
    let saved = saved();
    let record = saved.record().unwrap();
    let arrays = record.arrays.iter().filter(|array| array.name.ends_with("covariances"));
    let bytes: usize = arrays.map(|array| model_numbers::n_bytes(&array.numbers)).sum();
    assert_eq!(bytes, 4 * (5 + 4) * 3);
}

#[test]
fn damage_of_a_model_of_incomplete_data_is_named() {
    let cases: [Case; 12] = [
        (
            |record| record.kind = "pca".to_owned(),
            "m: holds a model of the kind `pca`; `incomplete-pca` is what can be read",
        ),
        (
            |record| record.arrays.retain(|array| array.name != "scores"),
            "m: `scores`: is missing; the model file is damaged, fit it again",
        ),
        (
            |record| replace(record, "scores", &[5, 1], vec![0.0; 5]),
            "m: scores: 1 value, but 2 are needed; the model file is damaged, fit it again",
        ),
        (
            |record| replace(record, "n_observed", &[4], vec![1_i64, 2, -3, 4]),
            "m: `n_observed`: holds -3; the model file is damaged, fit it again",
        ),
        (
            |record| replace(record, "n_observed", &[4], vec![1.0; 4]),
            "m: `n_observed`: has dtype F64, and I64 is expected; fit the model again",
        ),
        (
            |record| replace(record, "score_covariances", &[5, 3], vec![f32::NAN; 15]),
            "m: `score_covariances`: holds NaN; the model file is damaged, fit it again",
        ),
        (
            |record| replace(record, "score_covariances", &[4, 3], vec![1.0_f32; 12]),
            "m: score_covariances: 12 values, but 15 are needed; the model file is damaged, fit it again",
        ),
        (
            |record| replace(record, "trace_step", &[1], vec![1.0]),
            "m: `trace_step`: has shape [1], expected [20]; the model file is damaged, fit it again",
        ),
        (
            |record| replace(record, "row_ids", &[1], vec![1_i64]),
            "m: `row_ids`: has shape [1], expected [5]; the model file is damaged, fit it again",
        ),
        (
            |record| replace(record, "column_ids_ends", &[4], vec![1_i64, 0, 2, 3]),
            "m: `column_ids`: the ends of the ids do not match its text; the model file is damaged, fit it \
             again",
        ),
        (
            |record| replace(record, "column_ids_ends", &[1], vec![1_i64]),
            "m: `column_ids`: there are 1 ids, expected 4; the model file is damaged, fit it again",
        ),
        (
            |record| _ = record.texts.insert("prior_per_entry".to_owned(), "2".to_owned()),
            "m: `prior_per_entry` in the metadata is damaged (invalid type: integer `2`, expected a boolean at line 1 \
             column 1); fit the model again",
        ),
    ];
    damage_is_named(&saved(), &cases);
}

#[test]
fn damaged_files_never_panic() {
    let small = fitted(&IncompletePca { max_iter: 2, error_bars: false, ..IncompletePca::new(1) });
    no_damaged_byte_passes(&Saved { model: small, extras: extras() }, |_| {});
}

#[test]
fn ids_that_do_not_fit_are_not_written() {
    let extras = RowsAndColumns { row_ids: Some(Ids::Integers(vec![1])), ..extras() };
    let saved = Saved { extras, ..saved() };
    let error = save_model(Path::new("/no/such/folder/m"), &saved).unwrap_err().to_string();
    assert!(error.contains("the row ids"), "{error}");
}
