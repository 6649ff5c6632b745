use karhunen::incomplete::{Duplicates, Method, Triples};
use karhunen::{IncompletePca, Observed};
use karhunen_testkit::Catalogue;

#[test]
#[ignore]
fn scratch() {
    let (n, p, entries) = (10_000, 1000, 100_000);
    let made = Catalogue::new(n, p, 2 * entries).make();
    let pick = |odd: usize| {
        let at: Vec<usize> = (0..made.samples.len()).filter(|i| i % 2 == odd).collect();
        let rows: Vec<u32> = at.iter().map(|i| made.samples[*i] as u32).collect();
        let columns: Vec<u32> = at.iter().map(|i| made.features[*i] as u32).collect();
        let values: Vec<f64> = at.iter().map(|i| f64::from(made.values[*i])).collect();
        (rows, columns, values)
    };
    let (train, test) = (pick(0), pick(1));
    let triples = Triples { rows: &train.0, columns: &train.1, values: &train.2, weights: None };
    let data: Observed<f64> = Observed::from_triples(&triples, (n, p), Duplicates::Refuse).unwrap();
    for (method, c) in [(Method::Ppca, 5), (Method::Ppca, 30)] {
        for max_iter in [300] {
            let began = std::time::Instant::now();
            let pca = IncompletePca { method, max_iter, ..IncompletePca::new(c) };
            let model = pca.fit(&data).unwrap();
            let squares: f64 = (0..test.0.len())
                .map(|i| {
                    let found = model.predict(test.0[i] as usize, test.1[i] as usize).unwrap().value;
                    (found - test.2[i]).powi(2)
                })
                .sum();
            let convergence = model.convergence();
            let trace = &convergence.trace;
            let last: Vec<f64> = trace.iter().rev().take(2).map(|e| e.cost).collect();
            println!(
                "{} {c} {max_iter}: {:?} after {} noise {:.4} rmse {:.4} held out {:.4} cost {:.2} falls {:.2e} far {:?} comps {} {:.1}s",
                method.name(),
                convergence.stop,
                trace.len(),
                model.noise_variance(),
                convergence.rmse,
                (squares / test.0.len() as f64).sqrt(),
                convergence.cost,
                (last.get(1).copied().unwrap_or(f64::NAN) - last[0]) / last[0].abs(),
                convergence.overfit,
                model.explained_variance().iter().filter(|v| **v > 0.0).count(),
                began.elapsed().as_secs_f64()
            );
            if trace.len() < max_iter {
                break;
            }
        }
    }
}
