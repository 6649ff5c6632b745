//! Failures that the fuzzer must detect: every way in which an input can end a program or break an invariant.

use super::{Outcome, Verdict};

pub(super) fn run(bytes: &[u8]) -> Verdict {
    match bytes {
        b"panic" => panic!("on purpose"),
        b"abort" => std::process::abort(),
        b"stack" => Err(format!("{} levels deep", deeper(0))),
        b"memory" => {
            // More than the memory limit of a worker.
            std::hint::black_box(vec![1_u8; 1 << 30]);
            Ok(Outcome::Accepted)
        }
        b"hang" => loop {
            std::hint::black_box(bytes);
        },
        b"invariant" => Err("1 rows are 2".to_owned()),
        _ => Ok(Outcome::Refused),
    }
}

fn deeper(depth: u64) -> u64 {
    let levels = std::hint::black_box([depth; 64]);
    if levels[0] == u64::MAX { depth } else { deeper(depth + 1).max(levels[1]) }
}
