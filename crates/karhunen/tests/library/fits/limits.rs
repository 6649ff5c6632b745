//! The memory limit of a fit: refusals before the data are read, and the memory that is left for rows.

use karhunen::error::{Available, MemoryLimit};
use karhunen::memory::Advice;
use karhunen::pca::Route;
use karhunen::source::Block;
use karhunen::{Dense, Error, ErrorKind, Matrix, NComponents, Pca, RowBlocks, Run, Weights};
use karhunen_testkit::{planted, power_law, row_major};

use crate::fits::disk::Disk;

const MIB: f64 = (1u64 << 20) as f64;

fn values(n: usize, p: usize) -> Vec<f64> {
    row_major(&planted(n, p, &power_law(15, 0.7), 0.5, 3).rows)
}

/// The smallest limit that a refusal names.
fn least(error: &Error) -> f64 {
    let Error::Memory { advice, .. } = error else { panic!("{error}") };
    let named = advice.iter().find_map(|way| match way {
        Advice::MemoryLimit { bytes } => Some(*bytes),
        _ => None,
    });
    named.unwrap_or_else(|| panic!("{error} names no limit"))
}

#[test]
fn a_limit_is_checked_before_the_first_visit_and_the_smallest_one_named_suffices() {
    let (n, p) = (300, 260);
    let values = values(n, p);
    let routes =
        [None, Some(Route::Svd), Some(Route::Covariance), Some(Route::Gram), Some(Route::BlockKrylov)];
    for solver in routes {
        for n_components in [NComponents::Count(3), NComponents::All, NComponents::Variance(0.5)] {
            let fit = |limit: u64| {
                let disk = Disk::holding(7.0 * MIB, &values, (n, p), 100);
                let pca = Pca { solver, n_components, memory_limit: Some(limit), ..Pca::default() };
                let outcome = pca.fit_with(&disk, &Weights::default(), &Run::threads(2));
                (outcome, disk.visits(), disk.kept())
            };
            let what = format!("{solver:?}, {n_components:?}");
            if solver == Some(Route::BlockKrylov) && n_components == NComponents::All {
                continue;
            }
            // 64 MiB for the program and 7 for the blocks leave nothing.
            let (outcome, visits, _) = fit((72.0 * MIB) as u64);
            let error = outcome.unwrap_err();
            assert_eq!((visits, error.kind()), (0, ErrorKind::Argument), "{what}");
            let Error::Memory { available, bytes, .. } = &error else { panic!("{what}: {error}") };
            assert_eq!(*available, Some(Available { bytes: 72.0 * MIB, limit: MemoryLimit::Option }));
            assert!(*bytes > 72.0 * MIB);
            assert!(error.to_string().contains("but `memory_limit` is 75.5 MB"), "{error}");
            let least = least(&error);
            if n_components == NComponents::Variance(0.5) && solver.is_none() {
                continue;
            }
            let (model, _, kept) = fit(least.ceil() as u64);
            model.unwrap_or_else(|error| panic!("{what}: the limit {least} was named, but {error}"));
            assert!(kept.iter().all(|bytes| *bytes < 1.0), "{what}: {kept:?}");
            let (outcome, visits, _) = fit((0.98 * least) as u64);
            if solver.is_some() {
                assert!(outcome.is_err() && visits == 0, "{what}: less than {least} suffices");
            }
        }
    }
}

/// The limit in the text of a refusal.
pub(crate) fn written_limit(text: &str) -> u64 {
    let words = text.split("set `memory_limit` to at least ").nth(1).unwrap_or_else(|| panic!("{text}"));
    let mut words = words.split([' ', ',']);
    let number: f64 = words.next().unwrap().parse().unwrap();
    let unit = match words.next().unwrap() {
        "kB" => 1e3,
        "MB" => 1e6,
        unit => panic!("{unit} in {text}"),
    };
    (number * unit).round() as u64
}

#[test]
#[ignore = "seconds: cargo xtask test slow"]
fn a_fit_succeeds_within_each_limit_or_within_the_one_it_names() {
    let routes =
        [None, Some(Route::Svd), Some(Route::Covariance), Some(Route::Gram), Some(Route::BlockKrylov)];
    for (n, p) in [(1_600, 700), (700, 1_600), (30_000, 20)] {
        let values = values(n, p);
        for (n_threads, megabytes) in [(1, 5), (2, 5), (4, 13), (7, 13)] {
            let fit = |solver, limit: u64, n_components| {
                let disk = Disk::holding(3e6, &values, (n, p), 100).within(limit as f64, 0.12);
                let pca = Pca { solver, n_components, memory_limit: Some(limit), ..Pca::default() };
                (pca.fit_with(&disk, &Weights::default(), &Run::threads(n_threads)), disk.visits())
            };
            let mut smallest = None;
            for limit in (0..200).step_by(megabytes).map(|m| 1 + m * 1_000_000).chain([75_500_000]) {
                let what = format!("{n} x {p}, {n_threads} threads, {limit}");
                let (outcome, visits) = fit(None, limit, NComponents::Count(5));
                let Err(error) = outcome else { continue };
                assert_eq!(visits, 0);
                let text = error.to_string();
                let named = written_limit(&text);
                assert!(named > limit, "{what}: {text}");
                // Every limit below names the same. The choice does not depend on the number of threads: where many of them
                // need more than it leaves, the text names the route that fits.
                let smallest = *smallest.get_or_insert(named);
                let other_fits = n_threads > 4 && text.contains("use solver = ");
                assert!(named == smallest || other_fits, "{what}: {text}");
                let (outcome, _) = fit(None, named, NComponents::Count(5));
                assert!(outcome.is_ok(), "{what}: {text}, but then {}", outcome.unwrap_err());
                // No other route fits either, nor fewer components or threads unless they are named.
                for solver in &routes[1..] {
                    let (other, _) = fit(*solver, limit, NComponents::Count(5));
                    assert!(other.is_err() || other_fits, "{what}: {solver:?} fits, but {text}");
                }
                let (fewer, _) = fit(None, limit, NComponents::Count(1));
                assert_eq!(fewer.is_ok(), text.contains("fewer components"), "{what}: {text}");
            }
            assert!(smallest.is_some_and(|limit| (70e6..170e6).contains(&(limit as f64))), "{smallest:?}");
            // A route that was asked for names another that fits.
            for solver in &routes[1..] {
                let limit = 1_000_000 * 80;
                let Err(error) = fit(*solver, limit, NComponents::Count(5)).0 else { continue };
                if least(&error) > 5e8 {
                    continue;
                }
                let text = error.to_string();
                let (outcome, _) = fit(*solver, written_limit(&text), NComponents::Count(5));
                assert!(outcome.is_ok(), "{text}, but then {}", outcome.unwrap_err());
                if let Error::Memory { advice, .. } = &error {
                    let named = advice.iter().any(|way| matches!(way, Advice::Solver { .. }));
                    let any =
                        routes[1..].iter().any(|other| fit(*other, limit, NComponents::Count(5)).0.is_ok());
                    assert_eq!(named, any, "{text}");
                }
            }
        }
    }
}

#[test]
fn the_memory_that_a_route_leaves_is_granted_once_if_there_are_further_visits() {
    let (n, p) = (400, 60);
    let values = values(n, p);
    let limit = 300.0 * MIB;
    for (solver, granted) in [
        (Route::Svd, true),
        (Route::Gram, true),
        (Route::BlockKrylov, true),
        // One visit, after which no row is read again.
        (Route::Covariance, false),
    ] {
        let disk = Disk::holding(7.0 * MIB, &values, (n, p), 100);
        let pca = Pca { solver: Some(solver), memory_limit: Some(limit as u64), ..Pca::new(3) };
        let run = Run::threads(2);
        let need = pca.memory_need(&disk, &run);
        // The need counts weights.
        let weights: Vec<f64> = (0..n).map(|i| 1.0 + (i % 2) as f64).collect();
        pca.fit_with(&disk, &Weights::of_samples(&weights), &run).unwrap();
        let expected = if granted { vec![limit - 71.0 * MIB - need] } else { Vec::new() };
        let kept = disk.kept();
        let near = kept.iter().zip(&expected).all(|(kept, expected)| (kept - expected).abs() < 1.0);
        assert!(kept.len() == expected.len() && near, "{solver}: {kept:?} for {expected:?}");
    }
}

#[test]
fn rows_in_memory_have_no_limit_but_the_one_asked_for_which_counts_the_route() {
    let (n, p) = (700, 600);
    let values = values(n, p);
    let array = Dense::row_major(&values, n, p).unwrap();
    let run = Run::threads(1);
    let pca = Pca { solver: Some(Route::Covariance), ..Pca::new(3) };
    let need = pca.memory_need(&array, &run);
    let fit =
        |limit| Pca { memory_limit: Some(limit), ..pca.clone() }.fit_with(&array, &Weights::default(), &run);
    fit(need.ceil() as u64).unwrap();
    let error = fit((0.9 * need) as u64).unwrap_err();
    assert!((least(&error) - need).abs() < 1.0, "{} for {need}", least(&error));
    assert!(error.to_string().starts_with("the covariance route needs "), "{error}");
    // Sums of rows, and matrices that are known by their products.
    let scatter = karhunen::moments::Scatter::of(&array, None, &run).unwrap();
    let limited = Pca { memory_limit: Some(1_000_000), ..Pca::new(3) };
    for error in [
        limited.fit_scatter(&scatter, None).unwrap_err(),
        limited.fit_stream(&mut crate::fits::disk::Batches::new(&values, p, 50), None).unwrap_err(),
    ] {
        assert!(least(&error) > 1e6, "{error}");
    }
}

type Found = (Matrix, Vec<f64>, Vec<f64>, usize);

/// Components, variances, residuals and number of passes of a fit.
fn found(pca: &Pca, x: Dense<'_, f64>, weights: &Weights<'_>) -> Found {
    let model = pca.fit_with(&x, weights, &Run::threads(2)).unwrap();
    let convergence = model.convergence();
    let residuals = convergence.residuals.clone();
    (model.components().clone(), model.explained_variance().to_vec(), residuals, convergence.n_passes)
}

/// The results of `pca` without a limit and with the least one, which leaves no room for packed values, and the memory of
/// these.
fn packed_and_not(pca: &Pca, x: Dense<'_, f64>, weights: &Weights<'_>) -> ([Found; 2], f64) {
    let run = Run::threads(2);
    let least = Pca { memory_limit: Some(1), ..pca.clone() }.memory_need(&x, &run);
    let limited = Pca { memory_limit: Some(least.ceil() as u64), ..pca.clone() };
    assert!(limited.memory_need(&x, &run) <= least);
    ([pca, &limited].map(|pca| found(pca, x, weights)), pca.memory_need(&x, &run) - least)
}

fn bytes(x: &Dense<'_, f64>) -> f64 {
    (size_of::<f64>() * x.n_rows() * x.n_cols()) as f64
}

#[test]
fn values_that_are_kept_packed_change_no_bit() {
    for (n, p) in [(700, 310), (310, 700)] {
        let values = values(n, p);
        let by_rows = Dense::row_major(&values, n, p).unwrap();
        let transposed: Vec<f64> = (0..n * p).map(|at| values[at % n * p + at / n]).collect();
        let by_columns = Dense::column_major(&transposed, n, p).unwrap();
        let weights: Vec<f64> = (0..n).map(|i| 1.0 + (i % 3) as f64).collect();
        for x in [by_rows, by_columns] {
            for samples in [None, Some(&weights[..])] {
                let weights = Weights { samples, ..Weights::default() };
                let pca = Pca { solver: Some(Route::BlockKrylov), ..Pca::new(4) };
                let ([packed, not], memory) = packed_and_not(&pca, x, &weights);
                assert!(packed == not, "{n} x {p}");
                assert!(memory >= bytes(&x), "{n} x {p}: {memory} bytes");
            }
        }
    }
}

#[test]
#[ignore = "seconds: cargo xtask test slow"]
fn blocks_of_very_many_vectors_are_multiplied_by_values_that_are_not_packed() {
    // Two private sums of as many vectors of 1,460 values exceed 32 MiB.
    let (n, p) = (1_500, 1_460);
    let values = values(n, p);
    let x = Dense::row_major(&values, n, p).unwrap();
    let wide = Pca { solver: Some(Route::BlockKrylov), block_size: Some(p), ..Pca::new(4) };
    let narrow = found(&Pca { block_size: None, ..wide.clone() }, x, &Weights::default());
    let ([packed, not], memory) = packed_and_not(&wide, x, &Weights::default());
    assert!(packed == not);
    assert_eq!(memory, 0.0);
    for (a, b) in packed.1.iter().zip(&narrow.1) {
        assert!((a - b).abs() <= 1e-9 * narrow.1[0], "{a} {b}");
    }
}

/// New memory may be slow, and packed values of more than some megabytes are then given up.
#[test]
fn large_values_change_no_bit_and_no_number_of_passes_packed_or_given_up() {
    let (n, p) = (2_600, 1_000);
    let values = values(n, p);
    let x = Dense::row_major(&values, n, p).unwrap();
    // The limit leaves no room for other routes, and how long a share is estimated depends on these.
    let solver = Some(Route::BlockKrylov);
    for n_components in [NComponents::Count(3), NComponents::Variance(0.6)] {
        let pca = Pca { solver, n_components, ..Pca::default() };
        let ([packed, not], memory) = packed_and_not(&pca, x, &Weights::default());
        assert!(packed == not, "{n_components:?}: {} and {} passes", packed.3, not.3);
        assert!(memory >= bytes(&x), "{n_components:?}: {memory} bytes");
    }
}

/// Rows in several blocks are not packed, and have the bits of the array.
#[test]
fn an_estimate_that_is_continued_packs_the_values_and_changes_no_bit() {
    let (n, p) = (2_600, 1_000);
    let values = values(n, p);
    let x = Dense::row_major(&values, n, p).unwrap();
    let blocks =
        RowBlocks::new([0..1_300, 1_300..n].map(|rows| Block::Dense(x.rows(rows))).to_vec()).unwrap();
    let pca = Pca { n_components: NComponents::Variance(0.2), ..Pca::default() };
    let packed = found(&pca, x, &Weights::default());
    let model = pca.fit_with(&blocks, &Weights::default(), &Run::threads(2)).unwrap();
    assert_eq!(model.convergence().solver, Route::BlockKrylov);
    assert!(model.convergence().reason.contains("for about"), "{}", model.convergence().reason);
    assert!(packed.0 == *model.components() && packed.1 == model.explained_variance());
    assert_eq!(packed.2, model.convergence().residuals);
}

#[test]
fn values_are_not_packed_in_several_blocks_or_if_padding_would_make_them_much_longer() {
    let run = Run::threads(2);
    let pca = Pca { solver: Some(Route::BlockKrylov), ..Pca::new(1) };
    let without = Pca { memory_limit: Some(1), ..pca.clone() };
    let values = values(600, 40);
    let x = Dense::row_major(&values, 600, 40).unwrap();
    assert!(pca.memory_need(&x, &run) > without.memory_need(&x, &run));
    let blocks = RowBlocks::new([0..300, 300..600].map(|rows| Block::Dense(x.rows(rows))).to_vec()).unwrap();
    assert_eq!(pca.memory_need(&blocks, &run), without.memory_need(&blocks, &run));
    let narrow = Dense::row_major(&values, 12_000, 2).unwrap();
    assert_eq!(pca.memory_need(&narrow, &run), without.memory_need(&narrow, &run));
}
