//! Time and memory that reading triples takes:
//! `time_triples FILE ROW,COLUMN,VALUE [THREADS]`, and without columns for Matrix Market.

use std::path::Path;
use std::time::Instant;

use karhunen_io::{ObserveOptions, ReadOptions, TripleColumns, read_observed};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let triples = arguments.get(1).filter(|columns| !columns.is_empty()).map(|columns| {
        let names: Vec<&str> = columns.split(',').collect();
        TripleColumns {
            row: names[0].to_owned(),
            column: names[1].to_owned(),
            value: names[2].to_owned(),
            weight: None,
        }
    });
    let n_threads = arguments.get(2).and_then(|threads| threads.parse().ok());
    let options = ReadOptions { n_threads, ..ReadOptions::default() };
    let how = ObserveOptions { triples, ..ObserveOptions::default() };
    let started = Instant::now();
    let table = read_observed(Path::new(&arguments[0]), &options, &how).expect("the file can be read");
    let seconds = started.elapsed().as_secs_f64();
    let n = table.data.n_observed() as f64;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: f64 = peak.and_then(|text| text.split_whitespace().next()?.parse().ok()).unwrap_or(f64::NAN);
    #[allow(clippy::print_stdout)]
    {
        println!(
            "{:?}, {n} entries: {seconds:.2} s, {:.0} ns each; peak {:.0} MiB, {:.2} times the triples of 12 bytes",
            table.data.shape(),
            seconds * 1e9 / n,
            kib / 1024.0,
            kib * 1024.0 / (12.0 * n)
        );
    }
}
