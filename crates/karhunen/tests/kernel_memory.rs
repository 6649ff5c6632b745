//! Memory of the route `tiles`, measured in a process of its own.

#![cfg(target_os = "linux")]

use karhunen::kernel::KernelRoute;
use karhunen::{Dense, KernelPca, Weights};
use karhunen_testkit::SplitMix64;

/// Peak memory of this process in MB.
fn peak() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1024.0
}

#[test]
fn tiles_take_memory_proportional_to_the_rows() {
    let (n, p) = (12_000, 10);
    let mut random = SplitMix64::new(1);
    let values: Vec<f32> = (0..n * p).map(|_| random.normal() as f32).collect();
    let x = Dense::row_major(&values, n, p).unwrap();
    let before = peak();
    let pca = KernelPca { solver: Some(KernelRoute::Tiles), tol: Some(1e-3), ..KernelPca::new(4) };
    let model = pca.fit(&x, &Weights::default()).unwrap();
    assert!(model.convergence().converged());
    let growth = peak() - before;
    // The kernel matrix would take 576 MB, one triangle 288 MB.
    assert!(growth < 60.0, "{growth} MB");
    assert_eq!(model.transform(&x).unwrap().shape(), (n, 4));
    let growth = peak() - before;
    assert!(growth < 60.0, "{growth} MB");
}
