//! Loops over elements and tiles of kernel matrices in isolation, on one thread. IDs read `kernel/shape/scalar`; the sum of
//! each result is checked to be finite. Elements are multiply-adds of products of tiles, pairs of features of distances,
//! and values of elementwise functions.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};

use karhunen_linalg::finite::all_finite;
use karhunen_linalg::random::Purpose;
use karhunen_linalg::scalar::Scalar;
use karhunen_linalg::simd::Lane;
use karhunen_linalg::tiles::exp::{Exp, exp_scaled, tanh_affine};
use karhunen_linalg::tiles::pairs::{Pairing, pair_sums, squared_distances, width};
use karhunen_linalg::tiles::products::{Strips, add_tile_product, add_tile_t_product};
use karhunen_linalg::tiles::trig::{Wave, wave};

/// Rows on either side of a tile, and features of a row.
const SIDE: usize = 256;
const FEATURES: usize = 48;
/// Columns of a block of vectors.
const COLUMNS: usize = 32;

/// Positive values below one.
fn values<E: Scalar>(n: usize, seed: u64) -> Vec<E> {
    let drawn = karhunen_linalg::normals::gaussian(n, 1, Purpose::Probes.of(seed));
    drawn.as_slice().iter().map(|x| E::from_f64(x.abs() / 8.0)).collect()
}

/// Times `work` on a buffer that it changes.
fn time<E: Scalar>(
    c: &mut Criterion,
    id: &str,
    n: usize,
    mut buffer: Vec<E>,
    mut work: impl FnMut(&mut [E]),
) {
    let mut group = c.benchmark_group(format!("{id}/{}", E::NAME));
    group.throughput(Throughput::Elements(n as u64));
    group.bench_function("1", |b| b.iter(|| work(&mut buffer)));
    assert!(buffer.iter().map(|x| x.to_f64()).sum::<f64>().is_finite(), "{id}");
    group.finish();
}

fn tiles<E: Lane>(c: &mut Criterion) {
    let (left, right) = (values::<E>(SIDE * FEATURES, 1), values::<E>(SIDE * FEATURES, 2));
    let tile = values::<E>(SIDE * SIDE, 3);
    let shape = format!("{SIDE}x{SIDE}/{FEATURES}");
    for (name, pairing) in [
        ("product", Pairing::Product),
        ("difference", Pairing::Difference),
        ("chi-squared", Pairing::ChiSquared),
    ] {
        time(c, &format!("pairs-{name}/{shape}"), SIDE * SIDE * FEATURES, tile.clone(), |tile| {
            pair_sums(pairing, &left, &right, FEATURES, tile);
        });
    }
    let (squares, of_right) = (values::<E>(SIDE, 4), values::<E>(SIDE, 5));
    time(c, &format!("squared-distances/{SIDE}x{SIDE}"), SIDE * SIDE, tile.clone(), |tile| {
        squared_distances(&squares, &of_right, tile);
    });
    let q = values::<E>(SIDE * COLUMNS, 6);
    let strip = SIDE * width::<E>();
    let strips = Strips { values: &q, stride: strip, n_strips: COLUMNS / width::<E>() };
    let shape = format!("{SIDE}x{SIDE}/{COLUMNS}/{}", E::NAME);
    let n = SIDE * SIDE * COLUMNS;
    time(c, &format!("tile-product/{shape}"), n, vec![0.0; SIDE * COLUMNS], |out| {
        add_tile_product(&tile, SIDE, strips, out, strip);
    });
    time(c, &format!("tile-t-product/{shape}"), n, vec![0.0; SIDE * COLUMNS], |out| {
        add_tile_t_product(&tile, SIDE, strips, out, strip);
    });
}

fn functions<E: Lane + Exp>(c: &mut Criterion) {
    const N: usize = 1 << 14;
    let argument = values::<E>(N, 7);
    // The argument is copied each time: a function of its own result would converge.
    time(c, &format!("exp/{N}"), N, argument.clone(), |out| {
        out.copy_from_slice(&argument);
        exp_scaled(out, E::from_f64(-3.0));
    });
    time(c, &format!("tanh/{N}"), N, argument.clone(), |out| {
        out.copy_from_slice(&argument);
        tanh_affine(out, E::from_f64(3.0), E::from_f64(0.1));
    });
    time(c, &format!("cosine/{N}"), N, argument.clone(), |out| {
        out.copy_from_slice(&argument);
        wave(Wave::Cosine, 1.5, out);
    });
    time(c, &format!("finite/{N}"), N, argument.clone(), |out| assert!(all_finite(out)));
}

fn all(c: &mut Criterion) {
    tiles::<f64>(c);
    tiles::<f32>(c);
    functions::<f64>(c);
    functions::<f32>(c);
    let n = 1 << 16;
    time(c, "gaussian/65536", n, vec![0.0f64], |out| out[0] = values::<f64>(n, 8)[0]);
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = all
}
criterion_main!(benches);
