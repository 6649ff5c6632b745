use super::*;
use crate::exec::Run;
use crate::testing::oracle::{Case, cases, values};

/// Rows of 510 f64 and 1,020 f32 values are padded into another group of columns.
const SHAPES: [(usize, usize); 10] =
    [(1, 1), (1, 30), (30, 1), (7, 8), (33, 17), (270, 25), (9, 510), (9, 1_020), (40, 1_100), (600, 64)];

/// `A B`, from the definition.
fn product(a: &Matrix, b: &Matrix) -> Matrix {
    Matrix::from_fn(a.n_rows(), b.n_cols(), |i, c| {
        a.row(i).iter().enumerate().map(|(j, a)| a * b[(j, c)]).sum()
    })
}

fn block(n_rows: usize, n_cols: usize, seed: u64) -> Matrix {
    Matrix::from_vec(n_rows, n_cols, values(n_rows * n_cols, seed)).unwrap()
}

fn weighted(a: &Matrix, weights: Option<&[f64]>) -> Matrix {
    Matrix::from_fn(a.n_rows(), a.n_cols(), |i, c| a[(i, c)] * weights.map_or(1.0, |w| w[i]))
}

/// `M' W M q` of rows passed in one run.
fn normal<T: Scalar>(
    x: Dense<'_, T>,
    map: ColumnMap<'_>,
    weights: Option<&[f64]>,
    q: &Matrix,
    exec: &Exec<'_>,
) -> Result<Matrix> {
    let mut sum = RowSum::of_product::<T>(x.n_rows(), q, weights);
    sum.add(0, x, map, exec)?;
    Ok(sum.finish().unwrap())
}

fn norm(a: &[f64]) -> f64 {
    a.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// Checks that the norm of the error is within `tolerance`, a few rounding errors, times `size`.
fn assert_close(found: &[f64], expected: &Matrix, size: f64, tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.as_slice().len(), "{what}");
    let error: Vec<f64> = found.iter().zip(expected.as_slice()).map(|(a, b)| a - b).collect();
    assert!(norm(&error) <= tolerance * size, "{what}: off by {:e} of {size:e}", norm(&error));
}

fn check<T: Scalar>(case: &Case<T>, l: usize) {
    let m = case.mapped();
    let (n, p) = m.shape();
    let (q, u) = (block(p, l, 7), block(n, l, 8));
    let weights: Vec<f64> = (0..n).map(|i| (i % 4) as f64 * 0.3).collect();
    let what = format!("{} ({n}, {p}) {} l = {l}", T::NAME, case.layout);
    let exec = Exec::sequential();
    // Both sides add hundreds of products of the same sign and size one by one.
    let tolerance = 16.0 * T::EPSILON;
    let size = norm(m.as_slice());

    let expected = product(&m, &q);
    let mut out = vec![f64::NAN; n * l];
    project(case.view(), case.map(), &q, &mut out, &exec).unwrap();
    assert_close(&out, &expected, size * norm(q.as_slice()), tolerance, &format!("project {what}"));
    let mut out = vec![f32::NAN; n * l];
    project(case.view(), case.map(), &q, &mut out, &exec).unwrap();
    let out: Vec<f64> = out.into_iter().map(f64::from).collect();
    assert_close(
        &out,
        &expected,
        size * norm(q.as_slice()),
        4.0 * f64::from(f32::EPSILON),
        &format!("project {what}"),
    );

    let found = apply_t(case.view(), case.map(), &u, &exec).unwrap();
    let expected = product(&m.transposed(), &u);
    assert_close(
        found.as_slice(),
        &expected,
        size * norm(u.as_slice()),
        tolerance,
        &format!("apply_t {what}"),
    );

    for weights in [None, Some(&weights[..])] {
        let found = normal(case.view(), case.map(), weights, &q, &exec).unwrap();
        let expected = product(&m.transposed(), &weighted(&product(&m, &q), weights));
        let size = size * size * norm(q.as_slice());
        assert_close(found.as_slice(), &expected, size, tolerance, &format!("normal {what}"));
        let packed = PackedRows::new(case.view(), case.map(), false, &exec).unwrap().unwrap();
        assert!(packed.normal(weights, &q, &exec).unwrap() == Some(found), "normal {what}, packed");
    }

    let found = normal_t(case.view(), case.map(), &u, &exec).unwrap();
    let expected = product(&m, &product(&m.transposed(), &u));
    let size = size * size * norm(u.as_slice());
    assert_close(found.as_slice(), &expected, size, tolerance, &format!("normal_t {what}"));
    let packed = PackedRows::new(case.view(), case.map(), true, &exec).unwrap().unwrap();
    assert!(packed.normal(None, &u, &exec).unwrap() == Some(found), "normal_t {what}, packed");
}

#[test]
fn every_shape_order_and_weighting_agrees_with_the_definition() {
    for shape in SHAPES {
        for l in [1, 2, 7, 8, 11, 16, 21, 40] {
            cases::<f64>(shape).iter().for_each(|case| check(case, l));
            cases::<f32>(shape).iter().for_each(|case| check(case, l));
        }
    }
}

/// Sums of one sign lose more digits the more values are added one by one. Powers of two make the products exact.
#[test]
fn sums_over_long_rows_keep_their_digits() {
    let (n, p, l) = (64, 20_000, 16);
    let x: Vec<f64> = values::<f64>(n * p, 11).into_iter().map(f64::abs).collect();
    let q = Matrix::from_fn(p, l, |j, c| f64::from(1 << ((7 * j + 5 * c) % 3)));
    let (shift, factor) = (vec![0.0; p], vec![1.0; p]);
    let map = ColumnMap { shift: &shift, remainder: &[], factor: &factor };
    let mut found = vec![f64::NAN; n * l];
    project(Dense::row_major(&x, n, p).unwrap(), map, &q, &mut found, &Exec::sequential()).unwrap();
    let mut squares = 0.0;
    for (i, row) in x.chunks_exact(p).enumerate() {
        for c in 0..l {
            // The sum and its rounding errors (Neumaier 1974, for values of one sign).
            let (mut sum, mut lost) = (0.0_f64, 0.0);
            for (j, x) in row.iter().enumerate() {
                let next = sum + x * q[(j, c)];
                lost += (sum - next) + x * q[(j, c)];
                sum = next;
            }
            squares += ((found[i * l + c] - sum - lost) / sum).powi(2);
        }
    }
    let error = (squares / (n * l) as f64).sqrt() / f64::EPSILON;
    // 0.87 by sums of 64, of 512 and of the row; 2.20 where all sums of 64 are added to one.
    assert!(error < 1.5, "{error:.2} eps");
}

#[test]
fn the_transposed_product_is_adjoint() {
    for shape in SHAPES {
        for case in cases::<f64>(shape) {
            let (q, u) = (block(shape.1, 5, 1), block(shape.0, 5, 2));
            let mut mq = vec![0.0; shape.0 * 5];
            project(case.view(), case.map(), &q, &mut mq, &Exec::sequential()).unwrap();
            let mu = apply_t(case.view(), case.map(), &u, &Exec::sequential()).unwrap();
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            let size = norm(&mq) * norm(u.as_slice()) + norm(q.as_slice()) * norm(mu.as_slice());
            let difference = (dot(&mq, u.as_slice()) - dot(q.as_slice(), mu.as_slice())).abs();
            assert!(difference <= 1e-14 * size, "{shape:?} {}: {difference:e} of {size:e}", case.layout);
        }
    }
}

fn check_threads<T: Scalar>() {
    // Less than the clock looks at: packing that a busy machine interrupts is given up.
    for (n, p, l) in [(3_000, 70, 8), (250, 2_000, 3)] {
        let x = values::<T>(n * p, 3);
        let (shift, factor) = (values::<f64>(p, 4), vec![1.0; p]);
        let map = ColumnMap { shift: &shift, remainder: &[], factor: &factor };
        let x = Dense::row_major(&x, n, p).unwrap();
        let (q, u) = (block(p, l, 5), block(n, l, 6));
        let on = |threads| {
            Exec::run(&Run::threads(threads), |exec| {
                let mut scores = Matrix::<T>::zeros(n, l);
                project(x, map, &q, scores.as_mut_slice(), exec)?;
                Ok((
                    scores,
                    apply_t(x, map, &u, exec)?,
                    normal(x, map, None, &q, exec)?,
                    normal_t(x, map, &u, exec)?,
                    PackedRows::new(x, map, false, exec)?.unwrap().normal(None, &q, exec)?,
                ))
            })
            .unwrap()
        };
        let one = on(1);
        assert!(one.0.as_slice().iter().any(|v| *v != T::default()));
        assert!(one == on(2) && one == on(3), "{} {n} x {p}, {l} vectors", T::NAME);
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    check_threads::<f64>();
    check_threads::<f32>();
}

/// Values that remain exact after an offset is added.
fn exact_values(len: usize, scale: f64) -> Vec<f64> {
    values::<f64>(len, 9).iter().map(|v| (v * scale).round() / scale).collect()
}

#[test]
fn a_large_offset_costs_no_digits() {
    let (n, p, l) = (300, 20, 4);
    let (q, factor) = (block(p, l, 3), vec![1.0; p]);
    let both = |x: Dense<'_, f64>, shift: f64| {
        let map = ColumnMap { shift: &vec![shift; p], remainder: &[], factor: &factor };
        normal(x, map, None, &q, &Exec::sequential()).unwrap()
    };
    let small = exact_values(n * p, 1024.0);
    let large: Vec<f64> = small.iter().map(|v| v + 1e8).collect();
    let view = |x| Dense::row_major(x, n, p).unwrap();
    assert_eq!(both(view(&small), 0.0), both(view(&large), 1e8));

    let single = |x: &[f32], shift: f64| {
        let map = ColumnMap { shift: &vec![shift; p], remainder: &[], factor: &factor };
        normal(Dense::row_major(x, n, p).unwrap(), map, None, &q, &Exec::sequential()).unwrap()
    };
    let small: Vec<f32> = exact_values(n * p, 16.0).iter().map(|v| *v as f32).collect();
    let large: Vec<f32> = small.iter().map(|v| v + 1e6).collect();
    assert_eq!(single(&small, 0.0), single(&large, 1e6));
}

#[test]
fn single_precision_neither_overflows_nor_underflows() {
    let (n, p) = (50, 6);
    let q = block(p, 3, 3);
    let (shift, factor) = (vec![0.0; p], vec![1.0; p]);
    let map = ColumnMap { shift: &shift, remainder: &[], factor: &factor };
    let x = values::<f32>(n * p, 2);
    let on = |size: f32, weight: f64| {
        let x: Vec<f32> = x.iter().map(|v| v * size).collect();
        let weights = vec![weight; n];
        normal(Dense::row_major(&x, n, p).unwrap(), map, Some(&weights), &q, &Exec::sequential()).unwrap()
    };
    let expected = on(1.0, 1.0);
    let powers: [(f32, f64); 4] =
        [(1.0, 2f64.powi(900)), (1.0, 2f64.powi(-900)), (2f32.powi(100), 1.0), (2f32.powi(-90), 1.0)];
    for (size, weight) in powers {
        let unit = f64::from(size).powi(2) * weight;
        let found = on(size, weight);
        let found = Matrix::from_fn(p, 3, |i, j| found[(i, j)] / unit);
        assert_eq!(found, expected, "data times {size:e}, weights {weight:e}");
    }
}

/// Sums of wide rows against the definition, in both orders, with and without weights; in runs and on several threads.
fn check_wide<T: Scalar>(n: usize, l: usize) {
    let p = PRIVATE_BYTES / (2 * size_of::<f64>() * l) + 700;
    assert!(wide::are_wide(p, l) && n > wide::group_rows(p) && !p.is_multiple_of(1024));
    let values_by_rows = values::<T>(n * p, 3);
    let by_columns: Vec<T> =
        (0..p).flat_map(|j| (0..n).map(move |i| (i, j))).map(|(i, j)| values_by_rows[i * p + j]).collect();
    let (shift, factor) = (values::<f64>(p, 4), values::<f64>(p, 5));
    let map = ColumnMap { shift: &shift, remainder: &[], factor: &factor };
    let (q, u) = (block(p, l, 6), block(n, l, 7));
    let weights: Vec<f64> = (0..n).map(|i| (i % 4) as f64 * 0.3).collect();
    let mapped = |i: usize, j: usize| (values_by_rows[i * p + j].to_f64() - shift[j]) * factor[j];
    let squares: f64 =
        (0..n).flat_map(|i| (0..p).map(move |j| (i, j))).map(|(i, j)| mapped(i, j).powi(2)).sum();
    // `M q` and `M' y`, from the definition.
    let product = Matrix::from_fn(n, l, |i, c| (0..p).map(|j| mapped(i, j) * q[(j, c)]).sum());
    let transposed = |y: &Matrix| {
        let mut out = Matrix::zeros(p, l);
        for i in 0..n {
            for j in 0..p {
                for c in 0..l {
                    out[(j, c)] += mapped(i, j) * y[(i, c)];
                }
            }
        }
        out
    };
    let group = wide::group_rows(p);
    let orders =
        [Dense::row_major(&values_by_rows, n, p).unwrap(), Dense::column_major(&by_columns, n, p).unwrap()];
    let sums = [
        (transposed(&product), norm(q.as_slice()) * squares),
        (transposed(&weighted(&product, Some(&weights))), norm(q.as_slice()) * squares),
        (transposed(&u), norm(u.as_slice()) * squares.sqrt()),
    ];
    for (number, (expected, size)) in sums.iter().enumerate() {
        let begin = || match number {
            0 => RowSum::of_product::<T>(n, &q, None),
            1 => RowSum::of_product::<T>(n, &q, Some(&weights)),
            _ => RowSum::of_given::<T>(&u),
        };
        let mut all = Vec::new();
        for x in orders {
            assert!(row_pieces(&x, n, l).shared && row_pieces(&x, n, l).n_rows == group);
            for threads in [1, 3] {
                let mut sum = begin();
                Exec::run(&Run::threads(threads), |exec| sum.add(0, x, map, exec)).unwrap();
                all.push(sum.finish().unwrap());
            }
            // In two blocks.
            let mut sum = begin();
            sum.add(0, x.rows(0..group), map, &Exec::sequential()).unwrap();
            sum.add(group, x.rows(group..n), map, &Exec::sequential()).unwrap();
            all.push(sum.finish().unwrap());
        }
        assert_close(all[0].as_slice(), expected, *size, 16.0 * T::EPSILON, &format!("{} {number}", T::NAME));
        assert!(all.iter().all(|found| *found == all[0]), "{} {number}", T::NAME);
    }
}

#[test]
fn sums_of_wide_rows_agree_with_the_definition() {
    check_wide::<f64>(12, 2);
    check_wide::<f32>(66, 33);
}
