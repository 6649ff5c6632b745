//! `karhunen-fuzz`: see [`karhunen_fuzz`]. Called by `cargo xtask fuzz`.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use karhunen_fuzz::corpus::home;
use karhunen_fuzz::minimise::minimised;
use karhunen_fuzz::supervisor::{self, Report};
use karhunen_fuzz::targets::Target;
use karhunen_fuzz::worker::{self, Batch};
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const USAGE: &str = "\
usage: karhunen-fuzz search [--seed S] [--inputs N] [--minutes M] [--workers W] [--keep] [TARGET …]
       karhunen-fuzz replay FILE …          run inputs of tests/regressions again
       karhunen-fuzz make                   make the corpus again

Without --minutes a fixed number of inputs is run: --inputs in all, shared among the targets. --keep writes what is found
into tests/regressions.";

/// Number of inputs of each target per round; slower targets get fewer.
const SHARES: [(Target, u64); 5] = [
    (Target::Table, 5000),
    (Target::List, 2500),
    (Target::Model, 1500),
    (Target::Options, 960),
    (Target::Command, 40),
];
/// Number of inputs of a batch, for the target with the largest share.
const BATCH: u64 = 5000;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["work", target, seed, first, count, folder] => work(target, [seed, first, count], Path::new(folder)),
        ["once", target, path, folder] => once(target, Path::new(path), Path::new(folder)),
        ["make"] => karhunen_fuzz::make::corpus(),
        ["replay", ..] => replay(&words[1..]),
        ["search", ..] => search(&words[1..]),
        _ => Err(USAGE.to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn target(name: &str) -> Result<Target, String> {
    Target::named(name).ok_or_else(|| format!("there is no target {name}"))
}

fn work(name: &str, numbers: [&str; 3], folder: &Path) -> Result<(), String> {
    let [seed, first, count] = numbers.map(str::parse::<u64>);
    let message = |error: std::num::ParseIntError| error.to_string();
    let batch = Batch {
        target: target(name)?,
        seed: seed.map_err(message)?,
        first: first.map_err(message)?,
        count: count.map_err(message)?,
    };
    worker::record_panics();
    worker::run(&batch, folder, &MEMORY)
}

fn once(name: &str, path: &Path, folder: &Path) -> Result<(), String> {
    worker::record_panics();
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    let what = match worker::judge(target(name)?, path, &bytes) {
        Ok(outcome) => {
            println!("{outcome:?}");
            String::new()
        }
        Err(what) => what,
    };
    std::fs::write(folder.join("why"), what).map_err(|error| error.to_string())
}

/// Runs the given files; the name of a file's folder is its target.
fn replay(files: &[&str]) -> Result<(), String> {
    for file in files {
        let path = PathBuf::from(file);
        let folder =
            path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
        let finding = supervisor::Finding {
            target: target(&folder)?,
            extension: path.extension().unwrap_or_default().to_string_lossy().into_owned(),
            bytes: std::fs::read(&path).map_err(|error| format!("{file}: {error}"))?,
            what: String::new(),
        };
        let what = karhunen_fuzz::minimise::verdict(&finding)?;
        println!("{file}: {}", what.as_deref().unwrap_or("answered"));
    }
    Ok(())
}

/// Options of a search.
struct Search {
    seed: u64,
    inputs: u64,
    minutes: Option<f64>,
    workers: usize,
    keep: bool,
    targets: Vec<Target>,
}

impl Search {
    fn parse(words: &[&str]) -> Result<Self, String> {
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let mut search =
            Self { seed: 1, inputs: 100_000, minutes: None, workers, keep: false, targets: Vec::new() };
        let mut words = words.iter();
        while let Some(&word) = words.next() {
            let mut number = || {
                let text = words.next().ok_or_else(|| format!("{word} needs a number"))?;
                text.parse::<f64>().map_err(|error| format!("{word} {text}: {error}"))
            };
            match word {
                "--seed" => search.seed = number()? as u64,
                "--inputs" => search.inputs = number()? as u64,
                "--minutes" => search.minutes = Some(number()?),
                "--workers" => search.workers = (number()? as usize).max(1),
                "--keep" => search.keep = true,
                name => search.targets.push(target(name)?),
            }
        }
        Ok(search)
    }

    /// Batches of all targets, interleaved; unlimited if time is the limit.
    fn batches(&self) -> VecDeque<Batch> {
        let shares: Vec<(Target, u64)> = SHARES
            .into_iter()
            .filter(|(target, _)| self.targets.is_empty() || self.targets.contains(target))
            .collect();
        let all: u64 = shares.iter().map(|(_, share)| share).sum();
        let inputs = if self.minutes.is_some() { 10_000_000_000 } else { self.inputs };
        let n_rounds = inputs.div_ceil(all * BATCH / 5000).max(1);
        let n_rounds = n_rounds.min(200_000);
        let mut batches = VecDeque::new();
        for round in 0..n_rounds {
            for &(target, share) in &shares {
                // The last round runs the remaining inputs.
                let per_round = share * BATCH / 5000;
                let wanted = (inputs as u128 * u128::from(share) / u128::from(all)) as u64;
                let first = round * per_round;
                let count = per_round.min(wanted.saturating_sub(first));
                if count > 0 {
                    batches.push_back(Batch { target, seed: self.seed, first, count });
                }
            }
        }
        batches
    }
}

fn search(words: &[&str]) -> Result<(), String> {
    let search = Search::parse(words)?;
    let begin = Instant::now();
    let until = search.minutes.map(|minutes| begin + Duration::from_secs_f64(60.0 * minutes));
    let report = supervisor::run(search.batches(), search.workers, until)?;
    print(&search, &report, begin.elapsed());
    if report.findings.is_empty() {
        return Ok(());
    }
    keep(&report, search.keep)?;
    Err(format!("{} kinds of inputs broke an invariant", report.findings.len()))
}

fn print(search: &Search, report: &Report, time: Duration) {
    println!(
        "\n{:<8} {:>10} {:>9} {:>9} {:>10} {:>9}",
        "target", "inputs", "accepted", "peak MiB", "slowest s", "s"
    );
    for (name, figures) in &report.figures {
        println!(
            "{name:<8} {:>10} {:>8.1}% {:>9.1} {:>10.3} {:>9.1}",
            figures.n_inputs,
            100.0 * figures.n_accepted as f64 / figures.n_inputs.max(1) as f64,
            figures.peak as f64 / f64::from(1 << 20),
            figures.slowest.as_secs_f64(),
            figures.time.as_secs_f64()
        );
    }
    let n_inputs: u64 = report.figures.values().map(|figures| figures.n_inputs).sum();
    println!(
        "{n_inputs} inputs with seed {} in {:.1} s by {} workers; {} findings",
        search.seed,
        time.as_secs_f64(),
        search.workers,
        report.findings.len()
    );
}

/// Writes minimised findings into the folder of regressions or into the build folder.
fn keep(report: &Report, as_tests: bool) -> Result<(), String> {
    for (kind, finding) in &report.findings {
        let small = minimised(finding)?;
        let parent =
            if as_tests { home().join("tests/regressions") } else { home().join("../../target/fuzz") };
        let folder = parent.join(finding.target.name());
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let hash = kind
            .bytes()
            .fold(0xcbf2_9ce4_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        let path = folder.join(format!("found_{hash:08x}")).with_extension(&small.extension);
        std::fs::write(&path, &small.bytes).map_err(|error| format!("{}: {error}", path.display()))?;
        println!(
            "{}: {} bytes of {}: {}",
            path.display(),
            small.bytes.len(),
            finding.bytes.len(),
            finding.what
        );
    }
    Ok(())
}
