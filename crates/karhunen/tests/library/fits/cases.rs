//! The case table: every solver x source x type x weighting x centring x scaling x feature weights against the
//! oracle.

use karhunen::{NComponents, Scalar};
use karhunen_testkit::{Columns, Options, Rows, Weighting, planted, power_law, sparse, uniform_weights};

use crate::fits::expect::{Problem, SOLVERS, assert_none};
use crate::fits::sources::Layout;

const BOTH: [bool; 2] = [false, true];

/// Sample weights and their meaning.
const WEIGHTINGS: [(Weighting, bool); 4] = [
    (Weighting::Frequency, false),
    (Weighting::Frequency, true),
    (Weighting::Importance, true),
    (Weighting::Population, true),
];

/// Every combination of options on one matrix.
fn table<T: Scalar>(name: &str, rows: &Rows, layouts: &[Layout], n_components: &[NComponents]) {
    let sample_weights = uniform_weights(rows.len(), 5);
    let feature_weights = uniform_weights(rows[0].len(), 6);
    let mut failures = Vec::new();
    for (weighting, weighted) in WEIGHTINGS {
        for center in BOTH {
            for scale in BOTH {
                for featured in BOTH {
                    let options = Options {
                        sample_weights: weighted.then_some(sample_weights.as_slice()),
                        feature_weights: featured.then_some(feature_weights.as_slice()),
                        center,
                        scale,
                        weighting,
                    };
                    let label = format!(
                        "{name} {weighting:?} weighted={weighted} center={center} scale={scale} features={featured}"
                    );
                    let problem = Problem::new::<T>(&label, rows, options);
                    failures.extend(problem.failures::<T>(layouts, &SOLVERS, n_components));
                }
            }
        }
    }
    assert_none(&failures);
}

const THREE_AND_ALL: [NComponents; 2] = [NComponents::Count(3), NComponents::All];

fn counts(n: usize, p: usize) -> Rows {
    sparse(n, p, 0.4, Columns::Uniform, 31).to_rows()
}

#[test]
fn tall_f64_fits_agree_with_the_oracle() {
    table::<f64>("23 x 7", &counts(23, 7), &Layout::ALL, &THREE_AND_ALL);
}

#[test]
fn tall_f32_fits_agree_with_the_oracle() {
    table::<f32>("23 x 7", &counts(23, 7), &Layout::ALL, &THREE_AND_ALL);
}

#[test]
fn wide_f64_fits_agree_with_the_oracle() {
    table::<f64>("8 x 21", &counts(8, 21), &Layout::ALL, &THREE_AND_ALL);
}

#[test]
fn wide_f32_fits_agree_with_the_oracle() {
    table::<f32>("8 x 21", &counts(8, 21), &Layout::ALL, &THREE_AND_ALL);
}

#[test]
fn square_f64_fits_agree_with_the_oracle() {
    table::<f64>("9 x 9", &counts(9, 9), &Layout::ALL, &THREE_AND_ALL);
}

#[test]
fn square_f32_fits_agree_with_the_oracle() {
    table::<f32>("9 x 9", &counts(9, 9), &Layout::ALL, &THREE_AND_ALL);
}

/// Data large enough for several pieces of rows and of columns, and for several iterations.
fn large<T: Scalar>(n: usize, p: usize) {
    let zipf = sparse(n, p, 0.2, Columns::Zipf, 12).to_rows();
    let dense = planted(n, p, &power_law(n.min(p) - 1, 1.0), 0.5, 13).rows;
    let (weights, feature_weights) = (uniform_weights(n, 14), uniform_weights(p, 15));
    let mut failures = Vec::new();
    for (name, rows) in [("zipf", &zipf), ("power law", &dense)] {
        for full in BOTH {
            let options = Options {
                sample_weights: full.then_some(weights.as_slice()),
                feature_weights: full.then_some(feature_weights.as_slice()),
                scale: full,
                weighting: if full { Weighting::Importance } else { Weighting::Frequency },
                center: true,
            };
            let problem = Problem::new::<T>(&format!("{n} x {p} {name} full={full}"), rows, options);
            failures.extend(problem.failures::<T>(&Layout::FEW, &SOLVERS, &[NComponents::Count(6)]));
        }
    }
    assert_none(&failures);
}

#[test]
fn large_tall_f64_fits_agree_with_the_oracle() {
    large::<f64>(1100, 90);
}

#[test]
fn large_tall_f32_fits_agree_with_the_oracle() {
    large::<f32>(1100, 90);
}

#[test]
fn large_wide_f64_fits_agree_with_the_oracle() {
    large::<f64>(90, 1100);
}

#[test]
fn large_wide_f32_fits_agree_with_the_oracle() {
    large::<f32>(90, 1100);
}

#[test]
fn large_square_f64_fits_agree_with_the_oracle() {
    large::<f64>(270, 260);
}
