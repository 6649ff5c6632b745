//! Fits one workload of `benchmarks/` and prints time, growth of peak memory and variances as JSON.
//!
//! `time_fit dense|sparse FOLDER N_FEATURES N_COMPONENTS N_THREADS`

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::time::Instant;

use karhunen::{Dense, NComponents, Pca, PcaModel, Run, Scalar, Source, Sparse, Weights};
use npyz::{DType, NpyHeader};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, folder, n_features, n_components, n_threads] = arguments.as_slice() else {
        return Err("usage: time_fit dense|sparse FOLDER N_FEATURES N_COMPONENTS N_THREADS".into());
    };
    let folder = Path::new(folder);
    let pca = Pca { n_components: NComponents::Count(n_components.parse()?), ..Pca::default() };
    let run = Run::threads(n_threads.parse()?);
    let p = n_features.parse()?;
    let values = folder.join(if kind == "sparse" { "values.npy" } else { "x.npy" });
    match (kind.as_str(), item_size(&values)?) {
        ("dense", 4) => dense::<f32>(&pca, &values, p, &run),
        ("dense", 8) => dense::<f64>(&pca, &values, p, &run),
        ("sparse", 4) => sparse::<f32>(&pca, &values, folder, p, &run),
        ("sparse", 8) => sparse::<f64>(&pca, &values, folder, p, &run),
        _ => Err("neither `dense` nor `sparse`, or values of neither 4 nor 8 bytes".into()),
    }
}

fn dense<T: Scalar>(pca: &Pca, path: &Path, p: usize, run: &Run<'_>) -> Outcome<()> {
    let x = load::<T>(path)?;
    let n = x.len() / p;
    measure::<T>(pca, run, || Ok(Box::new(Dense::row_major(&x, n, p)?)))
}

fn sparse<T: Scalar>(pca: &Pca, values: &Path, folder: &Path, p: usize, run: &Run<'_>) -> Outcome<()> {
    let values = load::<T>(values)?;
    let (indices, indptr) =
        (load::<i32>(&folder.join("indices.npy"))?, load::<i32>(&folder.join("indptr.npy"))?);
    let n = indptr.len() - 1;
    measure::<T>(pca, run, || Ok(Box::new(Sparse::csr(n, p, &indptr, &indices, &values)?)))
}

/// Times one fit, checks of the source's structure included, after a small one that starts threads.
fn measure<'a, T: Scalar>(
    pca: &Pca,
    run: &Run<'_>,
    source: impl FnOnce() -> karhunen::Result<Box<dyn Source<T> + 'a>>,
) -> Outcome<()> {
    let small: Vec<T> = (0..600).map(|i| T::from_f64(f64::from(i * i % 101))).collect();
    Pca { n_components: NComponents::Count(5), ..pca.clone() }.fit_with(
        &Dense::row_major(&small, 60, 10)?,
        &Weights::default(),
        run,
    )?;
    std::fs::write("/proc/self/clear_refs", "5")?;
    let before = memory_kb("VmRSS:")?;
    let start = Instant::now();
    let model = pca.fit_with(source()?.as_ref(), &Weights::default(), run)?;
    let seconds = start.elapsed().as_secs_f64();
    let growth_mb = (memory_kb("VmHWM:")? - before) / 1024.0;
    println!("{}", report(&model, seconds, growth_mb));
    Ok(())
}

fn report(model: &PcaModel, seconds: f64, growth_mb: f64) -> serde_json::Value {
    let convergence = model.convergence();
    serde_json::json!({
        "seconds": seconds,
        "growth_mb": growth_mb,
        "explained_variance": model.explained_variance(),
        "route": convergence.solver.name(),
        "n_passes": convergence.n_passes,
        "n_converged": convergence.n_converged,
    })
}

fn memory_kb(field: &str) -> Outcome<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(field)).ok_or("no such field")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

fn item_size(path: &Path) -> Outcome<usize> {
    match NpyHeader::from_reader(File::open(path)?)?.dtype() {
        DType::Plain(kind) => kind.num_bytes().ok_or_else(|| "values without a size".into()),
        _ => Err("a structured array".into()),
    }
}

/// All values of a little-endian NPY file, in anonymous memory.
fn load<T: bytemuck::Pod>(path: &Path) -> Outcome<Vec<T>> {
    let mut reader = BufReader::new(File::open(path)?);
    let n_values = usize::try_from(NpyHeader::from_reader(&mut reader)?.len())?;
    let mut values = vec![T::zeroed(); n_values];
    reader.read_exact(bytemuck::cast_slice_mut(&mut values))?;
    Ok(values)
}
