//! Pseudo-observations of the mean in methods that estimate the noise.

use karhunen::IncompletePca;
use karhunen::incomplete::{MeanPrior, Method};
use karhunen_testkit::Incomplete;

use crate::incomplete::fixtures::{observed, test_rmse};

const LEARNING: [Method; 5] = [Method::Map, Method::Ppca, Method::Vb, Method::VbFixed, Method::VbFull];

fn prior(count: f64, value: f64) -> MeanPrior {
    MeanPrior { count, value: Some(value) }
}

#[test]
fn a_prior_far_from_the_data_widens_no_interval() {
    let table = Incomplete::planted(120, 15, &[2.0, 1.5], 0.5, 0.4, 3);
    let data = observed(&table);
    for method in LEARNING {
        let fit =
            |mean_prior| IncompletePca { method, mean_prior, ..IncompletePca::new(2) }.fit(&data).unwrap();
        let expected = fit(MeanPrior::default());
        for value in [10.0, -1e3, 1e6] {
            let found = fit(prior(5.0, value));
            let noise = found.noise_variance() / expected.noise_variance();
            let error = test_rmse(&found, &table) / test_rmse(&expected, &table);
            let name = method.name();
            assert!((noise - 1.0).abs() < 0.02, "{name} {value}: noise times {noise}");
            assert!((error - 1.0).abs() < 0.01, "{name} {value}: error times {error}");
            let (found, expected) = (found.predict(3, 4).unwrap(), expected.predict(3, 4).unwrap());
            let std = found.std().unwrap() / expected.std().unwrap();
            assert!((std - 1.0).abs() < 0.02, "{name} {value}: deviation times {std}");
        }
    }
}

#[test]
fn features_of_few_entries_are_shrunk_to_the_prior() {
    // A mean of 30 in every feature, one of which has a single outlying entry, and another none.
    let mut table = Incomplete::planted(120, 15, &[1.0], 0.5, 0.4, 3);
    table.complete.iter_mut().flatten().for_each(|x| *x += 30.0);
    table.observed.iter_mut().enumerate().for_each(|(j, row)| {
        row[4] = j == 7;
        row[5] = false;
    });
    table.complete[7][4] = 40.0;
    let data = observed(&table);
    for method in LEARNING {
        let mean_of = |count: f64| {
            let pca = IncompletePca { method, mean_prior: prior(count, 30.0), ..IncompletePca::new(1) };
            let model = pca.fit(&data).unwrap();
            (model.mean()[4], model.mean()[5], model.parts().mean_variance[5])
        };
        let (few, unseen, variance) = mean_of(2.0);
        let (many, ..) = mean_of(200.0);
        let name = method.name();
        assert!(few < 40.0 && (many - 30.0).abs() < (few - 30.0).abs() / 2.0, "{name}: {many} {few}");
        assert!((unseen - 30.0).abs() < 1e-9, "{name}: {unseen}");
        // Its variance follows from the prior alone: the variance of the entries about its value, divided by its count.
        let values = table.entries(true);
        let about = values.iter().map(|(.., x)| (x - 30.0).powi(2)).sum::<f64>() / values.len() as f64;
        assert!((variance / (about / 2.0) - 1.0).abs() < 1e-6, "{name}: {variance} of {about}");
    }
}
