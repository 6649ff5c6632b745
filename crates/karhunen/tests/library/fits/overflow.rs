//! Scores whose rows overflow the type.

use karhunen::{Error, Matrix, NComponents, Pca, Weights};

use crate::fits::sources::Layout;

#[test]
fn values_beyond_the_range_are_an_error_that_names_the_first() {
    let rows = vec![vec![1.0, 2.0, 0.0], vec![2.0, 5.0, 1.0], vec![3.0, 8.0, 7.0], vec![5.0, 1.0, 2.0]];
    let pca = Pca { n_components: NComponents::Count(2), ..Pca::default() };
    let model = Layout::RowMajor.with::<f64, _>(&rows, |x| pca.fit(x, &Weights::default())).unwrap();
    // The sum of two products overflows, no score does.
    let scores = Matrix::from_vec(3, 2, vec![1.0, 2.0, 1.7e308, 1.7e308, 0.0, 0.0]).unwrap();
    let found = model.inverse_transform(&scores).unwrap_err();
    assert!(matches!(found, Error::ValueOverflow { row: 1, dtype: "f64", .. }), "{found}");
    let scores = Matrix::from_vec(2, 2, vec![1.0_f32, 2.0, 3.4e38, -3.4e38]).unwrap();
    let found = model.inverse_transform(&scores).unwrap_err();
    assert!(matches!(found, Error::ValueOverflow { row: 1, dtype: "f32", .. }), "{found}");
    for value in [f64::NAN, f64::INFINITY] {
        let scores = Matrix::from_vec(2, 2, vec![1.0, 2.0, 0.0, value]).unwrap();
        let found = model.inverse_transform(&scores).unwrap_err();
        assert!(matches!(found, Error::NonFinite { row: 1, column: 1, .. }), "{found}");
    }
    let scores = Matrix::from_vec(1, 2, vec![1e300_f64, -1e300]).unwrap();
    let values = model.inverse_transform(&scores).unwrap();
    assert!(values.as_slice().iter().all(|x: &f64| x.is_finite()));
}
