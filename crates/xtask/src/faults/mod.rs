//! Fault injection: killed processes, full disks, changing files, lack of memory. Each kind of fault strikes the
//! command line at many moments, drawn from a seed, and the same properties are checked each time: no result is
//! lost, no output is incomplete, and the command reports the fault.
//!
//! `cargo xtask faults [--moments N] [--seed S] [KIND …]`; the step `faults` of the test command runs all kinds.

mod bench;
mod changes;
mod kills;
mod memory;
mod run;
mod space;
mod stops;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use karhunen_testkit::SplitMix64;

use crate::steps::Counts;
use bench::Bench;

/// Number of moments of each kind in the test command.
const MOMENTS: usize = 30;
/// Seed of the test command.
const SEED: u64 = 12;
/// Number of violations shown of each kind.
const SHOWN: usize = 5;

/// Injects a fault at one moment; the error is the violated property.
type Strike<'a> = Box<dyn Fn(&mut Moment) -> Result<(), String> + Sync + 'a>;

/// A kind of fault: name, description, and preparation, which may refuse.
struct Kind {
    name: &'static str,
    about: &'static str,
    prepare: for<'a> fn(&'a Bench) -> Result<Strike<'a>, Unable>,
}

/// Reason why a kind of fault is not tried.
enum Unable {
    /// The machine lacks the means: skipped with this message.
    Skip(String),
    /// The preparation failed.
    Fail(String),
}

impl From<String> for Unable {
    fn from(message: String) -> Self {
        Unable::Fail(message)
    }
}

const KINDS: [Kind; 5] = [
    Kind {
        name: "kill",
        about: "SIGKILL during a fit with checkpoints, resumed to the same bits, or while outputs are written",
        prepare: kills_at_any_time,
    },
    Kind {
        name: "stop",
        about: "SIGINT, SIGTERM or SIGHUP during a fit with checkpoints or while outputs are written",
        prepare: stops_at_any_time,
    },
    Kind { name: "full-disk", about: "outputs on a file system that fills up", prepare: space::disk },
    Kind {
        name: "changed-data",
        about: "data cut, rewritten, lengthened or replaced while they are used",
        prepare: changes::files_that_change,
    },
    Kind { name: "memory", about: "memory that runs out, over every command", prepare: memory::limits },
];

fn kills_at_any_time(bench: &Bench) -> Result<Strike<'_>, Unable> {
    Ok(one_of([kills::fits(bench)?, kills::writes(bench)?]))
}

fn stops_at_any_time(bench: &Bench) -> Result<Strike<'_>, Unable> {
    Ok(one_of([stops::fits(bench)?, stops::writes(bench)?]))
}

/// Strikes in one of two ways, drawn for each moment.
fn one_of<'a>(strikes: [Strike<'a>; 2]) -> Strike<'a> {
    Box::new(move |moment| moment.choose(&strikes)(moment))
}

/// One moment at which a fault strikes.
pub(super) struct Moment {
    /// Index, from zero.
    pub(super) index: usize,
    /// Position within the work, in 0..1: one random position in each of equal intervals.
    pub(super) at: f64,
    /// Generator of all other choices.
    pub(super) random: SplitMix64,
    /// An empty folder.
    pub(super) folder: PathBuf,
}

impl Moment {
    fn new(bench: &Bench, kind: &str, index: usize, n: usize, seed: u64) -> Result<Self, String> {
        let mixed = kind.bytes().fold(seed, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        let mut random = SplitMix64::new(mixed.wrapping_add((index as u64) << 32));
        random.bits();
        let folder = bench.folder.join(format!("{kind}-{index}"));
        std::fs::create_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Self { index, at: (index as f64 + random.uniform()) / n as f64, random, folder })
    }

    /// One of several.
    pub(super) fn choose<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[((self.random.uniform() * of.len() as f64) as usize).min(of.len() - 1)]
    }
}

/// Outcome of a kind.
struct Outcome {
    name: &'static str,
    moments: usize,
    lost: Vec<String>,
    skipped: Option<String>,
    time: Duration,
}

/// The arguments of `cargo xtask faults`.
struct Wanted {
    moments: usize,
    seed: u64,
    kinds: Vec<String>,
}

impl Wanted {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut wanted = Self { moments: MOMENTS, seed: SEED, kinds: Vec::new() };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let mut number = |what: &str| {
                let value = rest.next().ok_or_else(|| format!("{argument} needs {what}"))?;
                value.parse::<u64>().map_err(|_| format!("{argument} {value}: it must be {what}"))
            };
            match argument.as_str() {
                "--moments" => {
                    wanted.moments = usize::try_from(number("a count")?).unwrap_or(usize::MAX).max(1);
                }
                "--seed" => wanted.seed = number("a whole number")?,
                name if KINDS.iter().any(|kind| kind.name == name) => wanted.kinds.push(name.to_owned()),
                other => return Err(format!("{other} is neither an option nor a kind of fault")),
            }
        }
        Ok(wanted)
    }
}

/// Runs `cargo xtask faults`.
pub(crate) fn main(arguments: &[String]) -> ExitCode {
    match Wanted::parse(arguments).and_then(|wanted| strike(&wanted)) {
        Ok(outcomes) if outcomes.iter().all(|outcome| outcome.lost.is_empty()) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}\nusage: cargo xtask faults [--moments N] [--seed S] [KIND …]\n\nkinds:");
            KINDS.iter().for_each(|kind| eprintln!("  {:<13} {}", kind.name, kind.about));
            ExitCode::from(2)
        }
    }
}

/// The step of the test command: every kind but the manual ones, at a few moments, with a fixed seed.
pub(crate) fn step(counts: &mut Counts) -> Result<(), String> {
    let kinds = KINDS.iter().map(|kind| kind.name);
    let wanted = Wanted { moments: MOMENTS, seed: SEED, kinds: kinds.map(str::to_owned).collect() };
    let outcomes = strike(&wanted)?;
    let lost: usize = outcomes.iter().map(|outcome| outcome.lost.len()).sum();
    counts.failed += lost as u64;
    counts.passed += outcomes.iter().map(|o| o.moments.saturating_sub(o.lost.len()) as u64).sum::<u64>();
    if lost == 0 { Ok(()) } else { Err(format!("{lost} moments broke a promise")) }
}

/// Tries the wanted kinds, all if none is named, and prints a table.
fn strike(wanted: &Wanted) -> Result<Vec<Outcome>, String> {
    let bench = Bench::new()?;
    let mut outcomes = Vec::new();
    for kind in &KINDS {
        if wanted.kinds.is_empty() || wanted.kinds.iter().any(|name| name == kind.name) {
            let outcome = moments(&bench, kind, wanted);
            for message in outcome.lost.iter().take(SHOWN) {
                eprintln!("{}: {message}", kind.name);
            }
            outcomes.push(outcome);
        }
    }
    println!("seed {}", wanted.seed);
    println!("{:<13} {:>8} {:>6} {:>9}", "kind", "moments", "lost", "seconds");
    for Outcome { name, moments, lost, skipped, time } in &outcomes {
        let note = skipped.as_ref().map_or_else(String::new, |why| format!("  skipped: {why}"));
        println!("{name:<13} {moments:>8} {:>6} {:>9.1}{note}", lost.len(), time.as_secs_f64());
    }
    for Outcome { name, .. } in outcomes.iter().filter(|outcome| !outcome.lost.is_empty()) {
        println!(
            "repeat with: cargo xtask faults --moments {} --seed {} {name}",
            wanted.moments, wanted.seed
        );
    }
    Ok(outcomes)
}

/// Runs all moments of a kind, several at a time.
fn moments(bench: &Bench, kind: &Kind, wanted: &Wanted) -> Outcome {
    let started = Instant::now();
    let outcome =
        |moments, lost, skipped| Outcome { name: kind.name, moments, lost, skipped, time: started.elapsed() };
    let strike = match (kind.prepare)(bench) {
        Ok(strike) => strike,
        Err(Unable::Skip(why)) => return outcome(0, Vec::new(), Some(why)),
        Err(Unable::Fail(message)) => return outcome(0, vec![format!("preparation: {message}")], None),
    };
    let (next, lost) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= wanted.moments {
                break;
            }
            let result =
                Moment::new(bench, kind.name, index, wanted.moments, wanted.seed).and_then(|mut moment| {
                    strike(&mut moment)?;
                    // Folders of failed moments are kept for inspection.
                    std::fs::remove_dir_all(&moment.folder).map_err(|error| error.to_string())
                });
            if let (Err(message), Ok(mut lost)) = (result, lost.lock()) {
                lost.push(format!("moment {index}: {message}"));
            }
        }
    };
    std::thread::scope(|scope| {
        (0..std::thread::available_parallelism().map_or(1, usize::from)).for_each(|_| {
            scope.spawn(work);
        });
    });
    outcome(wanted.moments, lost.into_inner().unwrap_or_default(), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_name_kinds_and_numbers() {
        let parse = |text: &str| {
            let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            Wanted::parse(&words)
        };
        let wanted = parse("kill --moments 1000 --seed 7 memory").unwrap();
        assert_eq!((wanted.moments, wanted.seed), (1000, 7));
        assert_eq!(wanted.kinds, ["kill", "memory"]);
        assert_eq!(parse("").unwrap().moments, MOMENTS);
        for wrong in ["--moments", "--moments many", "earthquake"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
