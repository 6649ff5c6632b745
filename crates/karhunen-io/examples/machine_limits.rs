//! Measures what this machine can do at best, for the floors of `benchmarks/`, and prints it as JSON.
//!
//! `machine_limits N_THREADS`: multiply-adds a second of f64 and f32 in registers, bytes a second read from memory, and
//! cache lines a second gathered at random from 16 KB (the first cache), from 8 MB (an outer cache) and from 512 MB
//! (memory), of all threads together.

#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::sync::Barrier;
use std::time::Instant;

use pulp::{Arch, Simd, WithSimd};

/// Independent chains of multiply-adds: more than the products of latency and units of known processors.
const CHAINS: usize = 12;
/// Multiply-adds of each chain.
const STEPS: usize = 50_000_000;
/// Values of a cache line.
const LINE: usize = 8;
/// Values that each thread reads from memory.
const READ: usize = 1 << 26;
/// Lines that are gathered.
const GATHERED: usize = 1 << 22;
/// Repetitions, of which the fastest counts.
const ROUNDS: usize = 3;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let n_threads: usize = std::env::args().nth(1).ok_or("usage: machine_limits N_THREADS")?.parse()?;
    let arch = Arch::new();
    let chains = (CHAINS * STEPS) as f64;
    let double = |_| black_box(arch.dispatch(Chains::<f64>::new(STEPS)));
    let single = |_| black_box(arch.dispatch(Chains::<f32>::new(STEPS)));
    let values: Vec<Vec<f64>> = (0..n_threads).map(|_| vec![1.0; READ]).collect();
    let read = |thread: usize| black_box(arch.dispatch(Read(&values[thread])));
    let found = serde_json::json!({
        "fma_f64": chains * arch.dispatch(Chains::<f64>::new(0)) as f64 * rate(n_threads, &double),
        "fma_f32": chains * arch.dispatch(Chains::<f32>::new(0)) as f64 * rate(n_threads, &single),
        "read_bytes": (8 * READ) as f64 * rate(n_threads, &read),
        "cache_lines": lines(1 << 8, n_threads, arch),
        "outer_lines": lines(1 << 17, n_threads, arch),
        "memory_lines": lines(1 << 23, n_threads, arch),
    });
    println!("{found}");
    Ok(())
}

/// Runs of `work` a second, of all threads together: each runs it at the same time, with its number.
fn rate<R>(n_threads: usize, work: &(impl Fn(usize) -> R + Sync)) -> f64 {
    let seconds = |_| {
        let barrier = Barrier::new(n_threads);
        let timed = |thread: usize| {
            barrier.wait();
            let start = Instant::now();
            work(thread);
            start.elapsed().as_secs_f64()
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..n_threads).map(|thread| scope.spawn(move || timed(thread))).collect();
            threads.into_iter().filter_map(|thread| thread.join().ok()).max_by(f64::total_cmp).unwrap_or(0.0)
        })
    };
    n_threads as f64 / (0..ROUNDS).map(seconds).fold(f64::INFINITY, f64::min)
}

/// Lines gathered a second from a table of `n_lines` lines.
fn lines(n_lines: usize, n_threads: usize, arch: Arch) -> f64 {
    let table = vec![1.0; n_lines * LINE];
    let mut state = 1u64;
    let places: Vec<u32> = (0..GATHERED)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) as usize % n_lines) as u32
        })
        .collect();
    let gather = |_| black_box(arch.dispatch(Gather { table: &table, places: &places }));
    GATHERED as f64 * rate(n_threads, &gather)
}

/// Chains of `steps` multiply-adds of `T` each. Returns the number of lanes of a register.
struct Chains<T> {
    steps: usize,
    value: std::marker::PhantomData<T>,
}

impl<T> Chains<T> {
    fn new(steps: usize) -> Self {
        Self { steps, value: std::marker::PhantomData }
    }
}

impl WithSimd for Chains<f64> {
    type Output = usize;
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> usize {
        let (factor, term) = (simd.splat_f64s(black_box(0.999)), simd.splat_f64s(black_box(1e-3)));
        let mut chains = [simd.splat_f64s(black_box(1.0)); CHAINS];
        for _ in 0..self.steps {
            for chain in &mut chains {
                *chain = simd.mul_add_f64s(*chain, factor, term);
            }
        }
        black_box(chains);
        S::F64_LANES
    }
}

impl WithSimd for Chains<f32> {
    type Output = usize;
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> usize {
        let (factor, term) = (simd.splat_f32s(black_box(0.999)), simd.splat_f32s(black_box(1e-3)));
        let mut chains = [simd.splat_f32s(black_box(1.0)); CHAINS];
        for _ in 0..self.steps {
            for chain in &mut chains {
                *chain = simd.mul_add_f32s(*chain, factor, term);
            }
        }
        black_box(chains);
        S::F32_LANES
    }
}

/// Reads values in their order.
struct Read<'a>(&'a [f64]);

impl WithSimd for Read<'_> {
    type Output = f64;
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f64 {
        let mut sums = [0.0; 8 * LINE];
        for values in self.0.as_chunks::<{ 8 * LINE }>().0 {
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum += value;
            }
        }
        sums.iter().sum()
    }
}

/// Adds lines at random places.
struct Gather<'a> {
    table: &'a [f64],
    places: &'a [u32],
}

impl WithSimd for Gather<'_> {
    type Output = f64;
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f64 {
        let lines = self.table.as_chunks::<LINE>().0;
        let mut sums = [[0.0; LINE]; 4];
        for places in self.places.as_chunks::<4>().0 {
            for (sum, &place) in sums.iter_mut().zip(places) {
                let line = &lines[place as usize];
                for c in 0..LINE {
                    sum[c] += line[c];
                }
            }
        }
        sums.as_flattened().iter().sum()
    }
}
