//! The worker process, which runs inputs. It reports panics and broken invariants; the supervisor detects other
//! ends.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

use peak_alloc::PeakAlloc;

use crate::corpus::{Seed, seeds};
use crate::mutate::mutated;
use crate::targets::{Outcome, Target};

/// Progress of a worker, which the supervisor reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Index of the current input.
    pub index: u64,
    /// Number of accepted inputs.
    pub accepted: u64,
    /// Peak memory of an input in bytes, including trial allocations.
    pub peak: u64,
    /// Longest time of an input in microseconds.
    pub slowest: u64,
}

impl Progress {
    /// Name of the file.
    pub const FILE: &str = "progress";

    fn words(self) -> [u64; 4] {
        [self.index, self.accepted, self.peak, self.slowest]
    }

    /// Reads the file of a worker; zeros before it exists.
    pub fn read(folder: &Path) -> Self {
        let bytes = std::fs::read(folder.join(Self::FILE)).unwrap_or_default();
        let word = |index: usize| {
            let word = bytes.get(8 * index..8 * index + 8).and_then(|word| word.first_chunk());
            word.map_or(0, |word| u64::from_le_bytes(*word))
        };
        Self { index: word(0), accepted: word(1), peak: word(2), slowest: word(3) }
    }
}

/// A batch of inputs, determined by numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The target.
    pub target: Target,
    /// Seed of the search.
    pub seed: u64,
    /// Index of the first input.
    pub first: u64,
    /// Number of inputs.
    pub count: u64,
}

impl Batch {
    /// An input of the search.
    pub fn input(&self, seeds: &[Seed], index: u64) -> Seed {
        mutated(seeds, mix(self.seed ^ mix(index ^ mix(self.target as u64))))
    }
}

/// The finaliser of SplitMix64, which gives unrelated numbers for consecutive arguments.
fn mix(z: u64) -> u64 {
    let z = z.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Runs the inputs of a batch in `folder`, and keeps one finding of each kind in its folder `findings`.
///
/// # Errors
/// Files of the search itself that cannot be read or written.
pub fn run(batch: &Batch, folder: &Path, memory: &PeakAlloc) -> Result<(), String> {
    let describe = |error: std::io::Error| format!("{}: {error}", folder.display());
    let seeds = seeds(batch.target)?;
    let findings = folder.join("findings");
    std::fs::create_dir_all(&findings).map_err(describe)?;
    let file = File::create(folder.join(Progress::FILE)).map_err(describe)?;
    let mut progress = Progress::default();
    let mut known = BTreeSet::new();
    for index in batch.first..batch.first + batch.count {
        let input = batch.input(&seeds, index);
        let path = folder.join("input").with_extension(&input.extension);
        std::fs::write(&path, &input.bytes).map_err(describe)?;
        progress.index = index;
        file.write_all_at(&progress.words().map(u64::to_le_bytes).concat(), 0).map_err(describe)?;
        let begin = Instant::now();
        memory.reset_peak_usage();
        let before = memory.current_usage();
        let verdict = judge(batch.target, &path, &input.bytes);
        let peak = memory.peak_usage().saturating_sub(before);
        progress.peak = progress.peak.max(peak as u64);
        progress.slowest = progress.slowest.max(begin.elapsed().as_micros() as u64);
        match verdict {
            Ok(outcome) => progress.accepted += u64::from(outcome == Outcome::Accepted),
            Err(what) if known.insert(kind(&what)) => {
                let name = format!("{}-{index}", batch.target.name());
                let kept = findings.join(&name).with_extension(&input.extension);
                std::fs::write(kept, &input.bytes).map_err(describe)?;
                std::fs::write(findings.join(name + ".why"), what).map_err(describe)?;
            }
            Err(_) => {}
        }
    }
    progress.index = batch.first + batch.count;
    file.write_all_at(&progress.words().map(u64::to_le_bytes).concat(), 0).map_err(describe)
}

/// Runs one input; a panic is a broken invariant.
pub fn judge(target: Target, path: &Path, bytes: &[u8]) -> crate::targets::Verdict {
    PANIC.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clear();
    let verdict = catch_unwind(AssertUnwindSafe(|| target.run(path, bytes))).unwrap_or_else(|_| {
        Err(format!("panic: {}", PANIC.lock().unwrap_or_else(|poisoned| poisoned.into_inner())))
    });
    // The name of the folder changes from run to run.
    let folder = path.parent().unwrap_or(path).display().to_string();
    verdict.map_err(|what| what.replace(&folder, "."))
}

/// Position and message of the last panic.
static PANIC: Mutex<String> = Mutex::new(String::new());

/// Records the messages of panics for the report, except from decoders, which are not findings.
pub fn record_panics() {
    std::panic::set_hook(Box::new(|panic| {
        if !karhunen_io::is_decoding() {
            *PANIC.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = panic.to_string();
        }
    }));
}

/// The kind of a finding: its message without numbers and quotes.
pub fn kind(what: &str) -> String {
    let mut kind = String::new();
    let mut quoted = false;
    for c in what.chars().take(300) {
        match c {
            '`' | '"' => quoted = !quoted,
            _ if quoted => {}
            '0'..='9' | '.' | '-' if !what.starts_with("panic") => {}
            c => kind.push(c),
        }
    }
    kind
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_a_message_without_numbers() {
        assert_eq!(
            kind("scores have 3 rows, inspect counts 17"),
            kind("scores have 1 rows, inspect counts 2")
        );
        assert_ne!(kind("scores have 3 rows"), kind("labels have 3 rows"));
        assert_ne!(kind("panic: at a.rs:1"), kind("panic: at a.rs:2"));
    }

    #[test]
    fn inputs_are_a_function_of_seed_and_number() {
        let batch = |seed| Batch { target: Target::List, seed, first: 0, count: 9 };
        let seeds = seeds(Target::List).unwrap();
        let inputs =
            |seed: u64| (0..50).map(|index| batch(seed).input(&seeds, index).bytes).collect::<Vec<_>>();
        assert_eq!(inputs(1), inputs(1));
        assert_ne!(inputs(1), inputs(2));
    }
}
