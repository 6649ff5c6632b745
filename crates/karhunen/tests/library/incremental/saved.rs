//! Fits saved in records continue with the same bits.

use karhunen::Run;
use karhunen::incremental::{IncrementalFit, IncrementalMethod, IncrementalPca};
use karhunen::record::{Numbers, Record, Recorded};
use karhunen_testkit::{gaussian, uniform_weights};

use crate::incremental::fixtures::{Layout, fitted, model, push};

fn kinds() -> Vec<IncrementalPca> {
    let sketch =
        IncrementalPca { method: IncrementalMethod::Sketch, batch_size: Some(16), ..IncrementalPca::new(2) };
    vec![
        IncrementalPca::new(2),
        IncrementalPca { scale: true, half_life: Some(77.0), ..IncrementalPca::new(2) },
        IncrementalPca { forget: 0.9, ..IncrementalPca::new(2) },
        IncrementalPca { n_oversamples: Some(3), seed: 4, ..sketch.clone() },
        IncrementalPca { scale: true, warm_rows: 100, ..sketch.clone() },
        IncrementalPca { scale: true, warm_rows: 10_000, half_life: Some(300.0), ..sketch.clone() },
        IncrementalPca { scale: true, column_scale: Some(vec![2.0; 12]), forget: 0.5, ..sketch },
    ]
}

#[test]
fn a_saved_fit_continues_with_the_same_bits() {
    let (rows, weights) = (gaussian(1200, 12, 1), uniform_weights(1200, 2));
    for (kind, pca) in kinds().iter().enumerate() {
        for layout in [Layout::RowMajor, Layout::Csr] {
            for (n, with_weights) in [(0, false), (1, true), (333, false), (1100, true)] {
                let weights = with_weights.then_some(&weights[..]);
                let part = |rows: std::ops::Range<usize>| weights.map(|w| &w[rows]);
                let mut fit = match n {
                    0 => pca.start(12).unwrap(),
                    n => fitted(pca, &rows[..n], part(0..n), 37, layout),
                };
                let record = fit.to_record().unwrap();
                assert_eq!(record.kind, "incremental");
                let mut saved = record.clone();
                let mut resumed = IncrementalFit::from_record(&mut saved).unwrap();
                assert!(saved.arrays.is_empty(), "all arrays are used");
                assert_eq!(resumed.to_record().unwrap(), record, "{kind} {layout:?} {n}");
                for fit in [&mut fit, &mut resumed] {
                    push::<f64>(fit, &rows[n..], part(n..1200), layout, &Run::threads(1)).unwrap();
                }
                assert_eq!(model(&resumed), model(&fit), "{kind} {layout:?} {n}");
                assert_eq!(resumed.n_samples_seen(), 1200);
                assert_eq!(resumed.options(), pca);
            }
        }
    }
}

/// Every array shortened, removed, of another type or with values that no fit has.
#[test]
fn damaged_records_are_refused() {
    let rows = gaussian(30, 12, 1);
    let weights = uniform_weights(30, 2);
    for pca in &kinds() {
        for layout in [Layout::RowMajor, Layout::Csr] {
            let fit = fitted(pca, &rows, Some(&weights), 7, layout);
            let record = fit.to_record().unwrap();
            let refused = |damaged: &Record<'_>, what: &str| {
                let outcome = IncrementalFit::from_record(&mut damaged.clone());
                assert!(outcome.is_err(), "{what} of {:?} is not noticed", pca.method);
            };
            for (at, array) in record.arrays.iter().enumerate() {
                let mut damaged = record.clone();
                damaged.arrays[at].numbers = Numbers::U8(vec![1; 3].into());
                refused(&damaged, &format!("another type of {}", array.name));
                let mut damaged = record.clone();
                match &mut damaged.arrays[at].numbers {
                    Numbers::F64(values) if !values.is_empty() => values.to_mut()[0] = f64::NAN,
                    Numbers::I64(values) if !values.is_empty() => values.to_mut()[0] = -1,
                    _ => continue,
                }
                refused(&damaged, &format!("a damaged value of {}", array.name));
                let mut damaged = record.clone();
                if let Some(last) = damaged.arrays[at].shape.last_mut() {
                    *last += 1;
                    refused(&damaged, &format!("another shape of {}", array.name));
                }
            }
            for name in ["scatter", "directions", "mean", "probe"] {
                let mut damaged = record.clone();
                damaged.arrays.retain(|array| array.name != name);
                if damaged.arrays.len() < record.arrays.len() {
                    refused(&damaged, &format!("the lack of {name}"));
                }
            }
            for key in ["counts", "options", "method"] {
                let mut damaged = record.clone();
                damaged.texts.remove(key);
                refused(&damaged, key);
            }
            let mut damaged = record.clone();
            let counts = record.texts["counts"].replace("\"n_samples\":30", "\"n_samples\":29");
            assert_ne!(counts, record.texts["counts"]);
            damaged.texts.insert("counts".to_owned(), counts);
            refused(&damaged, "the number of rows");
            let huge =
                record.texts["counts"].replace("\"n_features\":12", "\"n_features\":18446744073709551615");
            damaged.texts.insert("counts".to_owned(), huge);
            refused(&damaged, "the number of columns");
        }
    }
}
