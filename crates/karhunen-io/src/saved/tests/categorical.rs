//! Models of categories.

use karhunen::categorical::{Analysis, CategoricalModel, CategoricalPca, Column};

use super::*;

fn saved() -> Saved<CategoricalModel> {
    let answers = [Some("yes"), Some("no"), None, Some("yes"), Some("no")];
    let columns = [
        Column::of_numbers("x", vec![0.1, 2.5, 0.3, 1.7, 1.1]),
        Column::of_texts("sex", ["m", "f", "f", "m", "m"].map(Some)),
        Column::of_texts("answer", answers),
    ];
    let model = CategoricalPca::new(Analysis::Famd).fit(&columns, None).unwrap();
    let names = ["x", "sex", "answer"].map(str::to_owned).to_vec();
    Saved { model, extras: TableColumns { feature_names: Some(names), ..TableColumns::default() } }
}

#[test]
fn a_model_reads_back() {
    let saved = saved();
    assert_eq!(read::<CategoricalModel>(written(&saved.record().unwrap())).unwrap(), saved);
}

#[test]
fn damage_is_named() {
    let cases: [Case; 4] = [
        (
            |record| replace(record, "category_shares", &[4], vec![0.5; 4]),
            "m: the shares of categories: 4 values, but 5 are needed; the model file is damaged, fit it again",
        ),
        (
            |record| replace(record, "category_shares", &[5], vec![0.5, 0.5, 2.0, 0.1, 0.1]),
            "m: a share of the model is 2: a share lies between 0 and 1; a model from a file is damaged, fit it again; \
             a fit of very large values needs them divided by a constant",
        ),
        (
            |record| replace(record, "number_deviations", &[1], vec![0.0]),
            "m: a deviation of the model is 0: columns are divided by it, so it is positive and finite; a model from a \
             file is damaged, fit it again; a fit of very large values needs them divided by a constant",
        ),
        (
            |record| replace(record, "number_means", &[2], vec![0.0, 1.0]),
            "m: `number_means`: has shape [2], expected [1]; the model file is damaged, fit it again",
        ),
    ];
    super::damage_is_named(&saved(), &cases);
}

#[test]
fn no_damaged_byte_passes() {
    super::no_damaged_byte_passes(&saved(), |model| {
        let _ = model.categories();
        let _ = model.eta2();
        let _ = model.transform(&[
            Column::of_numbers("x", vec![1.0]),
            Column::of_texts("sex", [Some("f")]),
            Column::of_texts("answer", [None]),
        ]);
    });
}
