//! Memory estimates of fits compared with the memory they take, measured by a counting allocator, in a process of
//! its own and one fit after the other.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use karhunen::incomplete::{FitContext, Method};
use karhunen::kernel::{Kernel, KernelRoute, Landmarks};
use karhunen::matrix::{Major, SparseMatrix};
use karhunen::memory::Advice;
use karhunen::pca::Route;
use karhunen::source::Block;
use karhunen::{
    Dense, Error, IncompletePca, KernelPca, NComponents, Observed, Pca, Result, Run, Source, Weights,
};
use karhunen_testkit::SplitMix64;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes in use, and the peak since [`taken`] began.
static IN_USE: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator with a count of all but the trial allocations of [`karhunen::memory`].
struct Counting;

// SAFETY: every call is passed on unchanged to the system's allocator, which fulfils the contract; counting
// neither allocates nor unwinds. `realloc` has its default, which calls `alloc` and `dealloc`.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if karhunen::memory::asking() {
            return unsafe { System.alloc(layout) };
        }
        let now = IN_USE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(now, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if !karhunen::memory::asking() {
            IN_USE.fetch_sub(layout.size(), Ordering::Relaxed);
        }
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Largest ratio of the estimate to the memory taken, apart from buffers of a fixed size for each of two threads.
const FACTOR: f64 = 3.0;
const BUFFERS: f64 = 48e6;

/// Peak memory of `work` in bytes, without memory in use before, and the result of `work`.
fn taken<R>(work: impl FnOnce() -> R) -> (f64, R) {
    let before = IN_USE.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let result = work();
    ((MOST.load(Ordering::Relaxed) - before) as f64, result)
}

/// Compares an estimate with the memory taken; returns both unless they agree.
fn check(name: &str, need: f64, taken: f64) -> Option<String> {
    let (need_mb, taken_mb) = (need / 1e6, taken / 1e6);
    let line = format!("{name}: asks for {need_mb:.1} MB, takes {taken_mb:.1} MB");
    (need < taken || need > FACTOR * taken + BUFFERS).then_some(line)
}

fn normals(n: usize, seed: u64) -> Vec<f64> {
    let mut random = SplitMix64::new(seed);
    (0..n).map(|_| random.normal()).collect()
}

/// About one entry in `every`.
fn sparse(n: usize, p: usize, every: u64) -> SparseMatrix<f64> {
    let mut random = SplitMix64::new(3);
    let (mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..n {
        for j in 0..p {
            if random.bits().is_multiple_of(every) {
                rows.push(i as u32);
                columns.push(j as u32);
                values.push(random.normal());
            }
        }
    }
    SparseMatrix::from_triples(n, p, &rows, &columns, &values).unwrap()
}

fn routes(name: &str, x: &dyn Source<f64>, ks: &[usize], failures: &mut Vec<String>) {
    let routes = [Route::Svd, Route::Covariance, Route::Gram, Route::BlockKrylov];
    let (n, p) = x.shape();
    let dearest = |route| match route {
        Route::Covariance => p,
        Route::Gram => n,
        Route::Svd => n.min(p),
        Route::BlockKrylov => 0,
    };
    for route in routes.into_iter().filter(|route| dearest(*route) <= 1500) {
        for k in ks.iter().filter(|k| route != Route::BlockKrylov || **k <= 60) {
            for n_threads in [1, 2] {
                let pca = Pca { n_components: NComponents::Count(*k), solver: Some(route), ..Pca::default() };
                let run = Run::threads(n_threads);
                let need = pca.memory_need(x, &run);
                let (taken, model) = taken(|| pca.fit_with(x, &Weights::default(), &run));
                model.unwrap();
                failures.extend(check(&format!("{name} {route} k={k} threads={n_threads}"), need, taken));
            }
        }
    }
}

/// A source that repeats the same rows and states that every visit reads them.
struct Repeated {
    rows: Vec<f64>,
    n_features: usize,
    n_blocks: usize,
}

impl Source<f64> for Repeated {
    fn shape(&self) -> (usize, usize) {
        (self.rows.len() / self.n_features * self.n_blocks, self.n_features)
    }
    fn n_stored(&self) -> usize {
        self.rows.len() * self.n_blocks
    }
    fn is_sparse(&self) -> bool {
        false
    }
    fn visit(&self, f: &mut dyn FnMut(usize, Block<'_, f64>) -> Result<()>) -> Result<()> {
        let n_rows = self.rows.len() / self.n_features;
        let rows = Dense::row_major(&self.rows, n_rows, self.n_features)?;
        (0..self.n_blocks).try_for_each(|block| f(block * n_rows, Block::Dense(rows)))
    }
}

/// Many rows, of which only the weights take memory.
fn reading(failures: &mut Vec<String>) {
    let x = Repeated { rows: normals(40_000 * 20, 7), n_features: 20, n_blocks: 100 };
    let weights: Vec<f64> = (0..x.shape().0).map(|row| 1.0 + (row % 3) as f64).collect();
    for solver in [Route::Covariance, Route::BlockKrylov] {
        for samples in [None, Some(&weights[..])] {
            let limit = |bytes| Pca { solver: Some(solver), memory_limit: Some(bytes), ..Pca::new(3) };
            let weights = Weights { samples, ..Weights::default() };
            let run = Run::threads(2);
            let refused = limit(1).fit_with(&x, &weights, &run);
            let Err(Error::Memory { advice, .. }) = refused else { panic!("{solver}: a byte sufficed") };
            let least = advice.iter().find_map(|way| match way {
                Advice::MemoryLimit { bytes } => Some(*bytes),
                _ => None,
            });
            let bytes = least.unwrap();
            let (taken, model) = taken(|| limit(bytes as u64 + 1).fit_with(&x, &weights, &run));
            model.unwrap();
            let program = f64::from(64_u32 << 20);
            failures.extend(check(
                &format!("reading {solver} {}", samples.is_some()),
                bytes - program,
                taken,
            ));
            // Six numbers for each row would take more.
            assert!(
                samples.is_some() || bytes < program + 6.0 * 8.0 * x.shape().0 as f64,
                "{solver}: {bytes}"
            );
        }
    }
}

fn pca(failures: &mut Vec<String>) {
    reading(failures);
    let tall = normals(20_000 * 100, 1);
    routes("20000 x 100", &Dense::row_major(&tall, 20_000, 100).unwrap(), &[5, 100], failures);
    routes("100 x 20000", &Dense::row_major(&tall, 100, 20_000).unwrap(), &[5, 99], failures);
    let square = normals(900 * 800, 2);
    routes("900 x 800", &Dense::row_major(&square, 900, 800).unwrap(), &[10, 300], failures);
    routes("800 x 900 by columns", &Dense::column_major(&square, 800, 900).unwrap(), &[10], failures);
    let matrix = sparse(6000, 1000, 100);
    routes("sparse 6000 x 1000", &matrix.view(), &[10], failures);
    routes("sparse 1000 x 6000", &matrix.view().t(), &[10], failures);
    let empty =
        SparseMatrix::<f64>::canonical(Major::Rows, 3, 400_000, &[0, 1, 2, 3], &[7, 9, 11], &[1.0, 2.0, 3.0])
            .unwrap();
    routes("sparse 3 x 400000", &empty.view(), &[1], failures);
}

fn incomplete(failures: &mut Vec<String>) {
    let (n, p) = (4000, 300);
    let mut x = normals(n * p, 4);
    x.iter_mut().enumerate().filter(|(e, _)| e % 5 != 2).for_each(|(_, x)| *x = f64::NAN);
    let dense = Observed::from_dense_with(&Dense::row_major(&x, n, p).unwrap(), &Run::threads(2)).unwrap();
    let wide = sparse(300, 100_000, 1000);
    let wide = Observed::from_sparse_with(&wide.view(), None, &Run::threads(2)).unwrap();
    for (name, data, c) in [("4000 x 300", &dense, 12), ("300 x 100000", &wide, 3)] {
        for method in Method::ALL {
            for (n_threads, error_bars) in [(1, true), (2, false)] {
                let pca = IncompletePca { method, error_bars, max_iter: 3, ..IncompletePca::new(c) };
                let run = Run::threads(n_threads);
                let need = pca.memory_need(data, &run);
                let (taken, model) = taken(|| pca.fit_with(data, &FitContext::default(), &run));
                model.unwrap();
                failures.extend(check(
                    &format!("{name} {} threads={n_threads} bars={error_bars}", method.name()),
                    need,
                    taken,
                ));
            }
        }
    }
}

fn kernel(failures: &mut Vec<String>) {
    let (n, p) = (2500, 20);
    let x = normals(n * p, 5);
    let x = Dense::row_major(&x, n, p).unwrap();
    let kernel = Kernel::Rbf { gamma: karhunen::kernel::Gamma::Value(0.02) };
    for route in [
        KernelRoute::Full,
        KernelRoute::Stored,
        KernelRoute::Tiles,
        KernelRoute::Nystrom,
        KernelRoute::Fourier,
    ] {
        for landmarks in [Landmarks::Uniform, Landmarks::KMeansPlusPlus, Landmarks::LeverageScores] {
            if route != KernelRoute::Nystrom && landmarks != Landmarks::Uniform {
                continue;
            }
            // With the larger tolerance an iteration begins in f32.
            for (n_threads, k, tol) in [(1, 6, 1e-8), (2, 6, 1e-8), (1, 50, 1e-4), (2, 50, 1e-4)] {
                let pca = KernelPca {
                    kernel,
                    solver: Some(route),
                    landmarks,
                    n_features: route.approximates().then_some(400),
                    tol: Some(tol),
                    ..KernelPca::new(k)
                };
                let iterates = matches!(route, KernelRoute::Stored | KernelRoute::Tiles);
                if route == KernelRoute::Full && n_threads == 2 || k == 50 && !iterates {
                    continue;
                }
                let run = Run::threads(n_threads);
                let need = pca.memory_need(&x, &run);
                let (taken, model) = taken(|| pca.fit_with(&x, &Weights::default(), &run));
                model.unwrap();
                failures.extend(check(
                    &format!("{route} {} threads={n_threads} k={k}", landmarks.name()),
                    need,
                    taken,
                ));
            }
        }
    }
}

/// Block Krylov iteration keeps values packed where nothing limits it, and not within the least limit.
fn packed(failures: &mut Vec<String>) {
    let (n, p) = (700, 310);
    let values = normals(n * p, 5);
    let x = Dense::row_major(&values, n, p).unwrap();
    let run = Run::threads(1);
    let within = |memory_limit| Pca { solver: Some(Route::BlockKrylov), memory_limit, ..Pca::new(4) };
    let least = within(Some(1)).memory_need(&x, &run);
    let [free, limited] = [None, Some(least.ceil() as u64)].map(|limit| {
        let (taken, model) = taken(|| within(limit).fit_with(&x, &Weights::default(), &run));
        model.unwrap();
        taken
    });
    let bytes = size_of_val(&values[..]) as f64;
    if free - limited < bytes || limited > least {
        let (free, limited) = (free / 1e6, limited / 1e6);
        failures.push(format!("packed values take {free:.2} MB in all, and {limited:.2} MB without them"));
    }
}

/// The route `tiles` takes memory in proportion to the rows: the kernel matrix would take 576 MB, one triangle 288 MB.
fn tiles(failures: &mut Vec<String>) {
    let (n, p) = (12_000, 10);
    let values: Vec<f32> = normals(n * p, 1).into_iter().map(|x| x as f32).collect();
    let x = Dense::row_major(&values, n, p).unwrap();
    let pca = KernelPca { solver: Some(KernelRoute::Tiles), tol: Some(1e-3), ..KernelPca::new(4) };
    let (fitting, model) = taken(|| pca.fit(&x, &Weights::default()).unwrap());
    assert!(model.convergence().converged());
    let (transforming, scores) = taken(|| model.transform(&x).unwrap());
    assert_eq!(scores.shape(), (n, 4));
    for (work, taken) in [("the fit", fitting), ("transform", transforming)] {
        if taken > 60e6 {
            failures.push(format!("tiles of {n} rows: {work} takes {:.1} MB", taken / 1e6));
        }
    }
}

#[test]
fn memory_estimates_agree_with_the_memory_taken() {
    let mut failures = Vec::new();
    pca(&mut failures);
    packed(&mut failures);
    incomplete(&mut failures);
    kernel(&mut failures);
    tiles(&mut failures);
    assert!(failures.is_empty(), "asked for too little or too much:\n{}", failures.join("\n"));
}
