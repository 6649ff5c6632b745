//! Mutations of files: of bytes in general, and by structure if it is known.

mod arrays;
mod bytes;
mod columnar;
mod json;
mod model;
mod text;

use mutatis::{Candidates, Mutate, Session};

use crate::corpus::Seed;

pub use mutatis::Rng;

/// Largest size of an input.
const MOST_BYTES: usize = 64 << 10;

/// The structure of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Structure {
    Text,
    Json,
    Gzip,
    Npy,
    Zip,
    Parquet,
    Arrow,
    Model,
    Unknown,
}

impl Structure {
    fn of(bytes: &[u8]) -> Self {
        if bytes.starts_with(b"\x93NUMPY") {
            Structure::Npy
        } else if bytes.starts_with(b"PK\x03\x04") {
            Structure::Zip
        } else if bytes.starts_with(b"PAR1") {
            Structure::Parquet
        } else if bytes.starts_with(b"ARROW1") || bytes.starts_with(b"\xff\xff\xff\xff") {
            Structure::Arrow
        } else if bytes.starts_with(b"\x1f\x8b") {
            Structure::Gzip
        } else if bytes.get(5..9) == Some(b"\0\0\0{") {
            Structure::Model
        } else if bytes.starts_with(b"{") {
            Structure::Json
        } else if bytes
            .iter()
            .take(256)
            .filter(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace())
            .count()
            * 10
            >= bytes.len().min(256) * 9
        {
            Structure::Text
        } else {
            Structure::Unknown
        }
    }
}

/// A mutation of the bytes in one place or a few.
type Strategy = fn(&mut Rng, &mut Vec<u8>);

/// The mutations of each structure, with their relative frequencies.
fn strategies(structure: Structure) -> &'static [(u32, Strategy)] {
    match structure {
        Structure::Text => &[(2, bytes::change), (8, text::change)],
        Structure::Json => &[(1, bytes::change), (1, text::change), (8, json::change)],
        Structure::Gzip => &[(2, bytes::change), (8, arrays::change_gzip)],
        Structure::Npy => &[(3, bytes::change), (7, arrays::change_npy)],
        Structure::Zip => &[(2, bytes::change), (8, arrays::change_zip)],
        Structure::Parquet => &[(4, bytes::change), (6, columnar::change_parquet)],
        Structure::Arrow => &[(4, bytes::change), (6, columnar::change_arrow)],
        Structure::Model => &[(1, bytes::change), (9, model::change)],
        Structure::Unknown => &[(1, bytes::change)],
    }
}

/// Mutates a file by its current structure, which a mutation may change.
struct ByStructure;

impl Mutate<Vec<u8>> for ByStructure {
    fn mutate(&mut self, candidates: &mut Candidates<'_>, bytes: &mut Vec<u8>) -> mutatis::Result<()> {
        for &(weight, strategy) in strategies(Structure::of(bytes)) {
            candidates.mutation_group(weight, |context, _| {
                strategy(context.rng(), bytes);
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// Splices parts of two files.
struct Splice<'a>(&'a [u8]);

impl Mutate<Vec<u8>> for Splice<'_> {
    fn mutate(&mut self, candidates: &mut Candidates<'_>, bytes: &mut Vec<u8>) -> mutatis::Result<()> {
        candidates.mutation(|context| {
            bytes::splice(context.rng(), bytes, self.0);
            Ok(())
        })
    }
}

/// A mutated file of the corpus, a function of `number`.
pub fn mutated(seeds: &[Seed], number: u64) -> Seed {
    let mut session = Session::new().seed(number);
    // The first draw of the session's generator determines the file and the number of mutations.
    let draw: u64 = session.generate().unwrap_or_default();
    let index = (draw % seeds.len() as u64) as usize;
    let mut seed = seeds[index].clone();
    if (draw >> 32).is_multiple_of(16) {
        let other = &seeds[(draw >> 40) as usize % seeds.len()];
        let _ = session.mutate_with(&mut Splice(&other.bytes), &mut seed.bytes);
    }
    // Most inputs are mutated once, because they reach more code; few are mutated often.
    let times = 1 + ((draw >> 20) % 64).trailing_zeros().min(6);
    for _ in 0..times {
        // An input without candidates stays unchanged.
        let _ = session.mutate_with(&mut ByStructure, &mut seed.bytes);
        seed.bytes.truncate(MOST_BYTES);
    }
    seed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::seeds;
    use crate::targets::Target;

    #[test]
    fn mutation_changes_most_inputs_and_is_reproducible() {
        for target in Target::ALL {
            let seeds = seeds(target).unwrap();
            let unchanged = (0..400).filter(|number| {
                let found = mutated(&seeds, *number);
                assert_eq!(found, mutated(&seeds, *number));
                seeds.iter().any(|seed| seed.bytes == found.bytes)
            });
            let unchanged = unchanged.count();
            assert!(unchanged < 60, "{}: {unchanged} of 400", target.name());
        }
    }
}
