use super::*;
use crate::exec::Run;
use crate::testing::oracle::{Case, cases, values};

/// `sum_i w_i m_i m_i'`, from the definition.
fn scatter_by_definition<T: Scalar>(case: &Case<T>, weights: Option<&[f64]>) -> Matrix {
    let m = case.mapped();
    Matrix::from_fn(m.n_cols(), m.n_cols(), |i, j| {
        (0..m.n_rows()).map(|k| weights.map_or(1.0, |w| w[k]) * m[(k, i)] * m[(k, j)]).sum()
    })
}

/// Checks that every entry is within rounding of the products of norms, for `n` terms.
fn assert_close(found: &Matrix, expected: &Matrix, what: &str) {
    assert_eq!(found.shape(), expected.shape(), "{what}");
    for i in 0..found.n_rows() {
        for j in 0..found.n_cols() {
            let size = (expected[(i, i)] * expected[(j, j)]).sqrt();
            let error = (found[(i, j)] - expected[(i, j)]).abs();
            assert!(error <= 1e-13 * size, "{what}: entry ({i}, {j}) is off by {error:e} of {size:e}");
            assert_eq!(
                found[(i, j)].to_bits(),
                found[(j, i)].to_bits(),
                "{what}: ({i}, {j}) is not symmetric"
            );
        }
    }
}

fn check_shapes<T: Scalar>() {
    for shape in [(1, 1), (1, 9), (9, 1), (7, 8), (33, 17), (300, 25), (40, 530), (515, 64)] {
        let weights: Vec<f64> = (0..shape.0).map(|i| (i % 4) as f64 * 0.3).collect();
        for case in cases::<T>(shape) {
            for weights in [None, Some(&weights[..])] {
                let what = format!("{} {shape:?} {} weighted {}", T::NAME, case.layout, weights.is_some());
                let expected = scatter_by_definition(&case, weights);
                let found = scatter(case.view(), case.map(), weights, &Exec::sequential()).unwrap();
                assert_close(&found, &expected, &what);

                let m = case.mapped();
                let factor = |i| weights.map_or(1.0, |w: &[f64]| w[i]);
                let expected = Matrix::from_fn(shape.0, shape.0, |i, j| {
                    factor(i) * factor(j) * m.row(i).iter().zip(m.row(j)).map(|(a, b)| a * b).sum::<f64>()
                });
                let found = gram(case.view(), case.map(), weights, &Exec::sequential()).unwrap();
                assert_close(&found, &expected, &format!("gram {what}"));
            }
        }
    }
}

#[test]
fn every_shape_order_and_weighting_agrees_with_the_definition_in_f64() {
    check_shapes::<f64>();
}

#[test]
fn every_shape_order_and_weighting_agrees_with_the_definition_in_f32() {
    check_shapes::<f32>();
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    // Several blocks of rows with private sums, and a wide result in bands.
    for shape in [(9_000, 40), (700, 600), (40, 9_000)] {
        let x = values::<f64>(shape.0 * shape.1, 3);
        let (shift, factor) = (values::<f64>(shape.1, 4), vec![1.0; shape.1]);
        let map = ColumnMap { shift: &shift, remainder: &[], factor: &factor };
        let x = Dense::row_major(&x, shape.0, shape.1).unwrap();
        let on = |threads| {
            Exec::run(&Run::threads(threads), |exec| {
                if shape.1 > 1_000 { gram(x, map, None, exec) } else { scatter(x, map, None, exec) }
            })
            .unwrap()
        };
        let one = on(1);
        assert!(one.as_slice().iter().any(|v| *v != 0.0));
        for threads in [2, 3] {
            assert_eq!(one, on(threads), "{shape:?}, {threads} threads");
        }
    }
}

#[test]
fn a_large_offset_costs_no_digits() {
    let (n, p) = (1_000, 9);
    let small: Vec<f64> = values::<f64>(n * p, 5).iter().map(|v| (v * 1024.0).round() / 1024.0).collect();
    let large: Vec<f64> = small.iter().map(|v| v + 1e8).collect();
    let factor = vec![1.0; p];
    let scatter = |x: &[f64], shift: f64| {
        let map = ColumnMap { shift: &vec![shift; p], remainder: &[], factor: &factor };
        scatter(Dense::row_major(x, n, p).unwrap(), map, None, &Exec::sequential()).unwrap()
    };
    assert_eq!(scatter(&small, 0.0), scatter(&large, 1e8));
}

#[test]
fn weights_may_span_hundreds_of_orders_of_magnitude() {
    let x = [1.0, 2.0, 3.0, -1.0];
    let map = ColumnMap { shift: &[0.0, 0.0], remainder: &[], factor: &[1.0, 1.0] };
    let x = Dense::row_major(&x, 2, 2).unwrap();
    let sum = scatter(x, map, Some(&[1e300, 1e-300]), &Exec::sequential()).unwrap();
    for (found, expected) in sum.as_slice().iter().zip([1e300, 2e300, 2e300, 4e300]) {
        assert!((found / expected - 1.0).abs() < 1e-14, "{found:e} for {expected:e}");
    }
    let sum = scatter(x.rows(1..2), map, Some(&[1e-300]), &Exec::sequential()).unwrap();
    assert!((sum[(0, 0)] / 9e-300 - 1.0).abs() < 1e-14);
}

#[test]
fn progress_never_falls_and_ends_with_the_span() {
    use std::sync::Mutex;
    struct Fractions(Mutex<Vec<f64>>);
    impl crate::exec::Observer for Fractions {
        fn update(&self, _: &'static str, fraction: f64) -> crate::exec::Flow {
            self.0.lock().unwrap().push(fraction);
            crate::exec::Flow::Continue
        }
    }
    for (n, p) in [(9_000, 40), (9_000, 530)] {
        let x = values::<f32>(n * p, 1);
        let (shift, factor) = (vec![0.0; p], vec![1.0; p]);
        let map = ColumnMap { shift: &shift, remainder: &[], factor: &factor };
        let seen = Fractions(Mutex::new(Vec::new()));
        Exec::run(&Run { n_threads: Some(1), observer: &seen, ..Run::default() }, |exec| {
            scatter(Dense::row_major(&x, n, p).unwrap(), map, None, &exec.part(0.25, 0.75))
        })
        .unwrap();
        let seen = seen.0.into_inner().unwrap();
        assert!(seen.len() > 1 && seen.windows(2).all(|w| w[0] <= w[1]), "{n} x {p}: {seen:?}");
        assert!(seen[0] >= 0.25 && (seen[seen.len() - 1] - 0.75).abs() < 1e-12, "{n} x {p}: {seen:?}");
    }
}
