//! The supervisor: distributes batches to workers, ends workers that hang, and keeps the inputs that crash them.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::corpus::{Seed, seeds};
use crate::targets::Target;
use crate::worker::{Batch, Progress, kind};

/// Limit of the processor time of one input, in seconds.
const MOST_WORK: f64 = 10.0;
/// Limit of the elapsed time of one input, on a busy machine.
const MOST_TIME: Duration = Duration::from_secs(180);
/// Limit of the address space of a worker in KiB, for inputs of at most 64 KiB. Code that estimates its memory
/// must return an error beyond it; other allocations beyond it end the worker.
const MOST_MEMORY: u64 = 1 << 20;
/// Longest delay between the end of a worker and its detection.
const LONGEST_SLEEP: Duration = Duration::from_millis(10);

/// An input that broke an invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The target.
    pub target: Target,
    /// The extension of the input.
    pub extension: String,
    /// The input.
    pub bytes: Vec<u8>,
    /// The broken invariant.
    pub what: String,
}

/// Statistics of one target.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// Number of inputs.
    pub n_inputs: u64,
    /// Number of accepted inputs.
    pub n_accepted: u64,
    /// Peak memory of an input in bytes, including trial allocations.
    pub peak: u64,
    /// Longest time of an input.
    pub slowest: Duration,
    /// Time of all workers.
    pub time: Duration,
}

/// Result of a search.
#[derive(Debug, Default)]
pub struct Report {
    /// Statistics by name of the target.
    pub figures: BTreeMap<&'static str, Figures>,
    /// One finding of each kind, by kind.
    pub findings: BTreeMap<String, Finding>,
}

/// Runs the batches, until none are left or the time is over, with `n_workers` workers.
///
/// # Errors
/// Files and processes of the search itself.
pub fn run(batches: VecDeque<Batch>, n_workers: usize, until: Option<Instant>) -> Result<Report, String> {
    let batches = Mutex::new(batches);
    let report = Mutex::new(Report::default());
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..n_workers {
            scope.spawn(|| {
                let next = || match until {
                    Some(until) if Instant::now() > until => None,
                    _ => batches.lock().ok()?.pop_front(),
                };
                while let Some(batch) = next() {
                    if let Err(failure) = run_batch(batch, &report) {
                        failures.lock().unwrap_or_else(|p| p.into_inner()).push(failure);
                        return;
                    }
                }
            });
        }
    });
    match failures.into_inner().unwrap_or_else(|p| p.into_inner()).pop() {
        Some(failure) => Err(failure),
        None => Ok(report.into_inner().unwrap_or_else(|p| p.into_inner())),
    }
}

/// A temporary folder, in memory if possible.
pub fn folder() -> Result<tempfile::TempDir, String> {
    let shared = Path::new("/dev/shm");
    let made = match shared.is_dir() {
        true => tempfile::Builder::new().prefix("karhunen-fuzz-").tempdir_in(shared),
        false => tempfile::tempdir(),
    };
    made.map_err(|error| format!("no folder for inputs: {error}"))
}

fn run_batch(mut batch: Batch, report: &Mutex<Report>) -> Result<(), String> {
    let end = batch.first + batch.count;
    while batch.first < end {
        batch.count = end - batch.first;
        let folder = folder()?;
        let begin = Instant::now();
        let words = [
            "work",
            batch.target.name(),
            &batch.seed.to_string(),
            &batch.first.to_string(),
            &batch.count.to_string(),
        ];
        let mut child = start(folder.path(), &words)?;
        let ended = watch(&mut child, folder.path())?;
        let progress = Progress::read(folder.path());
        let mut report = report.lock().unwrap_or_else(|p| p.into_inner());
        let figures = report.figures.entry(batch.target.name()).or_default();
        let done = if ended.is_some() { progress.index + 1 - batch.first } else { batch.count };
        figures.n_inputs += done;
        figures.n_accepted += progress.accepted;
        figures.peak = figures.peak.max(progress.peak);
        figures.slowest = figures.slowest.max(Duration::from_micros(progress.slowest));
        figures.time += begin.elapsed();
        batch.first += done;
        let mut found = kept(folder.path(), batch.target)?;
        if let Some(what) = ended {
            let Seed { extension, bytes, .. } = batch.input(&seeds(batch.target)?, progress.index);
            found.push(Finding { target: batch.target, extension, bytes, what });
        }
        for finding in found {
            let kind = format!("{}: {}", finding.target.name(), kind(&finding.what));
            if let Entry::Vacant(place) = report.findings.entry(kind) {
                println!(
                    "found: {} ({} bytes): {}",
                    finding.target.name(),
                    finding.bytes.len(),
                    finding.what
                );
                place.insert(finding);
            }
        }
    }
    Ok(())
}

/// Starts this program again with a limit of its memory.
pub fn start(folder: &Path, words: &[&str]) -> Result<Child, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let errors = std::fs::File::create(folder.join("stderr")).map_err(|error| error.to_string())?;
    Command::new("sh")
        .args(["-c", &format!("ulimit -v {MOST_MEMORY}; ulimit -c 0; exec \"$0\" \"$@\"")])
        .arg(own)
        .args(words)
        .arg(folder)
        .env("RAYON_NUM_THREADS", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(errors)
        .spawn()
        .map_err(|error| error.to_string())
}

/// Waits for a worker; returns the cause if it was ended.
pub fn watch(child: &mut Child, folder: &Path) -> Result<Option<String>, String> {
    let mut wait = Duration::from_millis(1);
    let (mut index, mut since, mut work) = (u64::MAX, Instant::now(), 0.0);
    loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            let said = std::fs::read_to_string(folder.join("stderr")).unwrap_or_default();
            let said = said
                .lines()
                .map(str::trim)
                .filter(|line| !line.is_empty())
                .take(3)
                .collect::<Vec<_>>()
                .join(" ");
            return match (status.code(), status.signal()) {
                (Some(0), _) => Ok(None),
                (_, Some(signal)) => Ok(Some(format!("ended by signal {signal}: {said}"))),
                (code, None) => Err(format!("a worker failed ({code:?}): {said}")),
            };
        }
        let now = Progress::read(folder).index;
        if now != index {
            (index, since, work) = (now, Instant::now(), processor_time(child.id()));
        } else if since.elapsed() > MOST_TIME || processor_time(child.id()) - work > MOST_WORK {
            child.kill().and_then(|()| child.wait()).map_err(|error| error.to_string())?;
            return Ok(Some(format!("hangs: over {MOST_WORK} s of processor time, or {MOST_TIME:?}")));
        }
        std::thread::sleep(wait);
        wait = (wait * 2).min(LONGEST_SLEEP);
    }
}

/// Processor time of a process in seconds (Linux); 0 if unknown.
fn processor_time(process: u32) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name, in brackets, may contain blanks; the times are the 14th and 15th field, in hundredths of a second.
    let Some((_, fields)) = text.rsplit_once(')') else { return 0.0 };
    fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum::<f64>()
        / 100.0
}

/// The findings that a worker has kept.
fn kept(folder: &Path, target: Target) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    let Ok(entries) = std::fs::read_dir(folder.join("findings")) else { return Ok(findings) };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths.iter().filter(|path| path.extension().is_none_or(|extension| extension != "why")) {
        let what = std::fs::read_to_string(path.with_extension("why")).unwrap_or_default();
        let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
        findings.push(Finding { target, extension: extension(path), bytes, what });
    }
    Ok(findings)
}

fn extension(path: &Path) -> String {
    path.extension().map(|extension| extension.to_string_lossy().into_owned()).unwrap_or_default()
}
