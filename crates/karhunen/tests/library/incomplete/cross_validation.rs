//! Cross-validation over entries.

use karhunen::incomplete::{CrossValidation, Method, Regularization};
use karhunen::{Dense, Error, IncompletePca, Observed, Run};
use karhunen_testkit::Incomplete;

use crate::incomplete::fixtures::{StopAt, entries, hold_out, in_random_order, observed, rmse_of};

fn data() -> Observed<f64> {
    observed(&Incomplete::planted(150, 30, &[3.0, 2.0], 0.5, 0.4, 5))
}

fn grid() -> CrossValidation {
    CrossValidation { n_components: vec![1, 2, 3, 5], ..CrossValidation::default() }
}

#[test]
fn the_planted_rank_is_found() {
    for method in [Method::Em, Method::VbFull, Method::Als] {
        let pca = IncompletePca { method, ..IncompletePca::default() };
        let table = grid().run(&pca, &data(), &Run::default()).unwrap();
        assert_eq!(table.choices().len(), 4);
        assert_eq!(table.simplest().n_components, 2, "{}", method.name());
        let chosen = table.simplest().options(&pca);
        assert_eq!((chosen.n_components, chosen.method), (2, method));
    }
}

#[test]
fn fold_errors_match_fits_without_the_fold() {
    let (data, n_folds) = (data(), 3);
    let ridge = [5.0, 0.5].map(Regularization::Ridge);
    let grid = CrossValidation {
        n_folds,
        n_components: vec![2, 4],
        regularization: ridge.to_vec(),
        ..Default::default()
    };
    let pca = IncompletePca { method: Method::Ridge, seed: 3, ..IncompletePca::default() };
    let table = grid.run(&pca, &data, &Run::default()).unwrap();
    let order: Vec<_> = table.choices().iter().map(|x| (x.n_components, x.regularization)).collect();
    assert_eq!(
        order,
        [(2, ridge[0]), (2, ridge[1]), (4, ridge[0]), (4, ridge[1])].map(|(c, r)| (c, Some(r)))
    );
    for choice in table.choices() {
        let n = n_folds as f64;
        let mean = choice.errors.iter().sum::<f64>() / n;
        let variance = choice.errors.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / (n - 1.0);
        assert!((choice.mean - mean).abs() < 1e-14);
        assert!((choice.standard_error - (variance / n).sqrt()).abs() < 1e-14);
    }
    // The folds are the thirds of all entries in their random order.
    let order = in_random_order(&data, 3, "folds");
    let first = |fold: usize| fold * order.len() / n_folds;
    for fold in 0..n_folds {
        let held_out = &order[first(fold)..first(fold + 1)];
        let kept = hold_out(&data, held_out);
        for choice in table.choices() {
            let rmse = rmse_of(&choice.options(&pca).fit(&kept).unwrap(), held_out);
            assert!((rmse - choice.errors[fold]).abs() < 1e-12, "{rmse} {}", choice.errors[fold]);
        }
    }
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let data = data();
    let run = |n_threads| grid().run(&IncompletePca::default(), &data, &Run::threads(n_threads)).unwrap();
    assert_eq!(run(1), run(3));
}

#[test]
fn the_simplest_choice_is_within_one_standard_error() {
    let pca = IncompletePca { method: Method::Als, ..IncompletePca::new(4) };
    let lambdas = [20.0, 10.0, 5.0, 2.0, 1.0, 0.5, 0.25];
    let grid = CrossValidation {
        regularization: lambdas.map(Regularization::Ridge).to_vec(),
        ..CrossValidation::default()
    };
    let table = grid.run(&pca, &data(), &Run::default()).unwrap();
    let (best, simplest) = (table.best(), table.simplest());
    assert!(table.choices().iter().all(|choice| choice.mean >= best.mean));
    let bound = best.mean + best.standard_error;
    let expected = table.choices().iter().find(|choice| choice.mean <= bound).unwrap();
    assert_eq!(simplest, expected);
}

#[test]
fn invalid_folds_and_grids_are_refused() {
    let run = |grid: &CrossValidation, data: &Observed<f64>| {
        grid.run(&IncompletePca::new(1), data, &Run::default()).map(|_| ()).unwrap_err().to_string()
    };
    let one = CrossValidation { n_folds: 1, ..grid() };
    assert_eq!(run(&one, &data()), "n_folds = 1 is not allowed: at least two folds are needed");
    let many = CrossValidation { n_components: vec![1, 31], ..grid() };
    assert!(run(&many, &data()).contains("n_components = 31"));
    // Every entry is the only one of its row.
    let diagonal: Vec<f64> = (0..9).map(|e| if e % 4 == 0 { 1.0 } else { f64::NAN }).collect();
    let diagonal = Observed::from_dense(&Dense::row_major(&diagonal, 3, 3).unwrap()).unwrap();
    assert_eq!(
        run(&CrossValidation::default(), &diagonal),
        "n_folds = 5 is more than the 0 entries that can be held out (of 3 observed, 3 are alone in their \
         row or column); cross-validation needs two such entries"
    );
    let n = data().n_observed();
    for n_folds in [n + 1, 1 << 32, i64::MAX as usize, usize::MAX] {
        let rule = format!("n_folds = {n_folds} is more than the {n} entries that can be held out; ");
        let message = run(&CrossValidation { n_folds, ..grid() }, &data());
        assert!(
            message.starts_with(&rule) && message.ends_with(&format!("ask for at most {n}")),
            "{message}"
        );
    }
    let observer = StopAt("cross-validation", 0.3);
    let error = grid().run(&IncompletePca::default(), &data(), &Run::observed(&observer)).unwrap_err();
    assert!(matches!(error, Error::Stopped { .. }));
}

/// In version 0.1.0 the first fold after a split lacked the entries with small random numbers, which the split had
/// taken.
#[test]
fn folds_after_a_split_are_of_equal_size_and_spread_over_the_rows() {
    let (kept, _) = observed(&Incomplete::planted(150, 30, &[3.0, 2.0], 0.5, 0.0, 5)).split(0.3, 0).unwrap();
    let n_folds = 5;
    let order = in_random_order(&kept, 0, "folds");
    let grid = CrossValidation { n_folds, n_components: vec![2], ..CrossValidation::default() };
    let pca = IncompletePca { method: Method::Em, early_stopping: Some(0.05), ..IncompletePca::default() };
    let table = grid.run(&pca, &kept, &Run::default()).unwrap();
    let first = |fold: usize| fold * order.len() / n_folds;
    for fold in 0..n_folds {
        let held_out = &order[first(fold)..first(fold + 1)];
        assert!(held_out.len().abs_diff(kept.n_observed() / n_folds) <= 1);
        // The fit of the other folds holds out entries for itself.
        let model = table.best().options(&pca).fit(&hold_out(&kept, held_out)).unwrap();
        assert!(model.convergence().held_out_rmse.is_some());
        assert!((rmse_of(&model, held_out) - table.best().errors[fold]).abs() < 1e-12);
        // Each fold is spread over the table: means of rows have a standard error of 43 / sqrt(630) = 1.7.
        let mean = held_out.iter().map(|entry| entry.0 as f64).sum::<f64>() / held_out.len() as f64;
        assert!((mean - 74.5).abs() < 7.0, "{mean}");
    }
    assert_eq!(entries(&kept).len(), order.len());
}

#[test]
fn as_many_folds_as_entries_leave_one_out() {
    let x: Vec<f64> = (0..24).map(|e| ((e / 4) * (e % 4)) as f64 + 0.1 * ((e * e) % 7) as f64).collect();
    let data = Observed::from_dense(&Dense::row_major(&x, 6, 4).unwrap()).unwrap();
    let grid = CrossValidation { n_folds: 24, n_components: vec![1], ..CrossValidation::default() };
    let pca = IncompletePca { method: Method::Em, ..IncompletePca::default() };
    let table = grid.run(&pca, &data, &Run::default()).unwrap();
    let order = in_random_order(&data, 0, "folds");
    for (fold, entry) in order.iter().enumerate() {
        let model =
            IncompletePca { n_components: 1, ..pca.clone() }.fit(&hold_out(&data, &[*entry])).unwrap();
        assert!((rmse_of(&model, &[*entry]) - table.best().errors[fold]).abs() < 1e-12);
    }
}
