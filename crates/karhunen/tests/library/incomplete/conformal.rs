//! Intervals from the errors of entries that a fit has held out.

use karhunen::incomplete::IncompleteParts;
use karhunen::{Dense, Error, IncompleteModel, IncompletePca, Observed, Run};
use karhunen_testkit::{Incomplete, SplitMix64};

fn observed(table: &Incomplete) -> Observed<f64> {
    let (n, p) = table.shape();
    Observed::from_dense(&Dense::row_major(&table.with_nan(), n, p).unwrap()).unwrap()
}

fn with(share: f64, seed: u64) -> IncompletePca {
    IncompletePca { conformal: Some(share), seed, ..IncompletePca::new(2) }
}

/// A table whose noise has far outliers: a twentieth of the entries have ten times the deviation of the others.
fn contaminated(seed: u64) -> Incomplete {
    let mut table = Incomplete::planted(80, 12, &[2.0, 1.0], 0.2, 0.3, seed);
    let mut rng = SplitMix64::new(1000 + seed);
    for (complete, noise_free) in table.complete.iter_mut().zip(&table.noise_free) {
        for (x, value) in complete.iter_mut().zip(noise_free) {
            if rng.uniform() < 0.05 {
                *x = value + 10.0 * (*x - value);
            }
        }
    }
    table
}

/// The shares of the missing entries of tables within conformal intervals of a level, and within `normal` deviations.
fn coverage(level: f64, normal: f64) -> [f64; 2] {
    let (mut n, mut inside) = (0.0, [0.0; 2]);
    for seed in 0..60 {
        let table = contaminated(seed);
        let model = with(0.2, seed).fit(&observed(&table)).unwrap();
        let factors = [model.interval_factor(level).unwrap(), normal];
        for (i, j, x) in table.entries(false) {
            let found = model.predict(i, j).unwrap();
            let error = (x - found.value).abs() / found.std().unwrap();
            n += 1.0;
            inside
                .iter_mut()
                .zip(factors)
                .for_each(|(inside, factor)| *inside += f64::from(u8::from(error <= factor)));
        }
    }
    inside.map(|inside| inside / n)
}

#[test]
fn intervals_hold_whatever_the_distribution() {
    for (level, normal) in [(0.6, 0.841_621), (0.9, 1.644_854)] {
        let [conformal, of_normal] = coverage(level, normal);
        assert!((conformal - level).abs() < 0.02, "{level}: {conformal}");
        // The outliers widen intervals of normal errors.
        assert!(of_normal > level + 0.02, "{level}: of normal errors {of_normal}");
    }
}

#[test]
fn entries_held_out_are_not_fitted() {
    let table = contaminated(0);
    let data = observed(&table);
    let model = with(0.2, 3).fit(&data).unwrap();
    let held_out = (0.2 * data.n_observed() as f64).round();
    assert_eq!(model.conformal().unwrap().n_entries() as f64, held_out);
    assert_eq!(model.row_totals().entries, data.n_observed() as f64 - held_out);
    // Other entries with another seed; none without the option.
    let other = with(0.2, 4).fit(&data).unwrap();
    assert_ne!(model.parts().conformal_errors, other.parts().conformal_errors);
    let none = IncompletePca::new(2).fit(&data).unwrap();
    assert!(none.conformal().is_none());
    assert!((none.interval_factor(0.95).unwrap() - 1.959_963_985).abs() < 1e-9);
}

#[test]
fn conformal_intervals_that_cannot_hold_are_refused() {
    let table = contaminated(0);
    let data = observed(&table);
    let rule = |pca: IncompletePca, data: &Observed<f64>| match pca.fit(data) {
        Err(Error::Option { option, rule, .. }) => format!("{}: {rule}", option.field()),
        found => panic!("{found:?}"),
    };
    for share in [0.0, 1.0, f64::NAN] {
        assert!(rule(with(share, 0), &data).starts_with("conformal: "), "{share}");
    }
    let bare = IncompletePca { error_bars: false, ..with(0.2, 0) };
    assert!(rule(bare, &data).contains("error_bars"));
    let weighted = data.clone().with_sample_weights(&vec![2.0; 80]).unwrap();
    assert!(rule(with(0.2, 0), &weighted).contains("with weights"));
    let few = with(0.001, 0).fit(&data).unwrap();
    assert!(matches!(few.interval_factor(0.95), Err(Error::Option { .. })));
    // A model whose errors do not ascend is damaged.
    let errors = few.parts().conformal_errors.clone().map(|errors| [errors, vec![0.0]].concat());
    let parts = IncompleteParts { conformal_errors: errors, ..few.parts().clone() };
    assert!(IncompleteModel::try_from(parts).is_err());
}

#[test]
fn errors_held_out_have_the_same_bits_for_every_number_of_threads() {
    let data = observed(&contaminated(1));
    let run =
        |n_threads| with(0.1, 1).fit_with(&data, &Default::default(), &Run::threads(n_threads)).unwrap();
    assert_eq!(run(1).parts().conformal_errors, run(3).parts().conformal_errors);
}
