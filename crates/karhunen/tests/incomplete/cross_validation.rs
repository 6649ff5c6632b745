//! Cross-validation over entries.

use karhunen::{CrossValidation, Dense, Error, IncompletePca, Method, Observed, Regularization, Unobserved};
use karhunen_testkit::Holes;

use crate::fixtures::{StopAt, observed};

fn data() -> Observed<f64> {
    observed(&Holes::planted(150, 30, &[3.0, 2.0], 0.5, 0.4, 5))
}

fn grid() -> CrossValidation {
    CrossValidation { n_components: vec![1, 2, 3, 5], ..CrossValidation::default() }
}

#[test]
fn the_planted_rank_is_found() {
    for method in [Method::Em, Method::VbFull, Method::Als] {
        let pca = IncompletePca { method, ..IncompletePca::default() };
        let table = grid().run(&pca, &data(), &Unobserved).unwrap();
        assert_eq!(table.choices().len(), 4);
        assert_eq!(table.simplest().n_components, 2, "{}", method.name());
        let chosen = table.simplest().options(&pca);
        assert_eq!((chosen.n_components, chosen.method), (2, method));
    }
}

#[test]
fn errors_are_those_of_fits_of_the_other_folds() {
    let (data, n_folds) = (data(), 3);
    let ridge = [5.0, 0.5].map(Regularization::Ridge);
    let grid = CrossValidation { n_folds, n_components: vec![2, 4], regularization: ridge.to_vec() };
    let pca = IncompletePca { method: Method::Ridge, seed: 3, ..IncompletePca::default() };
    let table = grid.run(&pca, &data, &Unobserved).unwrap();
    let order: Vec<_> = table.choices().iter().map(|x| (x.n_components, x.regularization)).collect();
    assert_eq!(
        order,
        [(2, ridge[0]), (2, ridge[1]), (4, ridge[0]), (4, ridge[1])].map(|(c, r)| (c, Some(r)))
    );
    // The entries of each fold, found from what a fold's fit does not see: fits of data without them.
    let mut seen = vec![0; data.n_observed()];
    for choice in table.choices() {
        let n = n_folds as f64;
        let mean = choice.errors.iter().sum::<f64>() / n;
        let variance = choice.errors.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / (n - 1.0);
        assert!((choice.mean - mean).abs() < 1e-14);
        assert!((choice.standard_error - (variance / n).sqrt()).abs() < 1e-14);
    }
    for fold in 0..n_folds {
        let (mut kept, mut aside) = (vec![f64::NAN; 150 * 30], Vec::new());
        let mut entry = 0;
        for row in 0..150 {
            let (columns, values) = data.row(row);
            for (column, value) in columns.iter().zip(values) {
                if fold_of(3, row as u64, u64::from(*column), n_folds) == fold {
                    aside.push((row, *column as usize, *value));
                    seen[entry] += 1;
                } else {
                    kept[row * 30 + *column as usize] = *value;
                }
                entry += 1;
            }
        }
        let kept = Observed::from_dense(&Dense::row_major(&kept, 150, 30).unwrap(), None).unwrap();
        for choice in table.choices() {
            let model = choice.options(&pca).fit(&kept).unwrap();
            let square = |(row, column, value): &(usize, usize, f64)| {
                (model.predict(*row, *column).unwrap().value - value).powi(2)
            };
            let rmse = (aside.iter().map(square).sum::<f64>() / aside.len() as f64).sqrt();
            assert!((rmse - choice.errors[fold]).abs() < 1e-12, "{rmse} {}", choice.errors[fold]);
        }
    }
    assert!(seen.iter().all(|n| *n == 1));
}

/// Folds as the documentation of the format of splits has them: three rounds of SplitMix64's finaliser.
fn fold_of(seed: u64, row: u64, column: u64, n_folds: usize) -> usize {
    let mix = |z: u64| {
        let z = z.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    };
    ((mix(mix(mix(seed) ^ row) ^ column) >> 11) as f64 * 0.5f64.powi(53) * n_folds as f64) as usize
}

#[test]
fn threads_change_no_bit() {
    let data = data();
    let run = |n_threads| {
        let pca = IncompletePca { n_threads: Some(n_threads), ..IncompletePca::default() };
        grid().run(&pca, &data, &Unobserved).unwrap()
    };
    assert_eq!(run(1), run(3));
}

#[test]
fn the_simplest_is_within_one_standard_error() {
    let pca = IncompletePca { method: Method::Als, ..IncompletePca::new(4) };
    let lambdas = [20.0, 10.0, 5.0, 2.0, 1.0, 0.5, 0.25];
    let grid = CrossValidation {
        regularization: lambdas.map(Regularization::Ridge).to_vec(),
        ..CrossValidation::default()
    };
    let table = grid.run(&pca, &data(), &Unobserved).unwrap();
    let (best, simplest) = (table.best(), table.simplest());
    assert!(table.choices().iter().all(|choice| choice.mean >= best.mean));
    let bound = best.mean + best.standard_error;
    let expected = table.choices().iter().find(|choice| choice.mean <= bound).unwrap();
    assert_eq!(simplest, expected);
}

#[test]
fn refusals() {
    let run = |grid: &CrossValidation, data: &Observed<f64>| {
        grid.run(&IncompletePca::new(1), data, &Unobserved).map(|_| ()).unwrap_err().to_string()
    };
    let one = CrossValidation { n_folds: 1, ..grid() };
    assert_eq!(run(&one, &data()), "n_folds = 1 is not allowed: at least two folds are needed");
    let many = CrossValidation { n_components: vec![1, 31], ..grid() };
    assert!(run(&many, &data()).contains("n_components = 31"));
    // Every entry is the last of its row.
    let diagonal: Vec<f64> = (0..9).map(|e| if e % 4 == 0 { 1.0 } else { f64::NAN }).collect();
    let diagonal = Observed::from_dense(&Dense::row_major(&diagonal, 3, 3).unwrap(), None).unwrap();
    assert!(run(&CrossValidation::default(), &diagonal).contains("not the last of their row or column"));
    let error = grid().run(&IncompletePca::default(), &data(), &StopAt("cross-validation", 0.3)).unwrap_err();
    assert!(matches!(error, Error::Stopped { .. }));
}
