//! Identity of the data of a fit.

use crate::error::Result;
use crate::exec::Fact;
use crate::linalg::Major;
use crate::random::mix;
use crate::scalar::Scalar;
use crate::source::{Block, Source};

/// Describes the data of a fit. Values are read unless the source has a fingerprint.
///
/// # Errors
/// Errors of reading.
pub(crate) fn describe<T: Scalar>(
    x: &dyn Source<T>,
    weights: &[(&'static str, Option<&[f64]>)],
) -> Result<Vec<Fact>> {
    let (n, p) = x.shape();
    let values = match x.fingerprint() {
        Some(fingerprint) => fingerprint,
        None => of_values(x)?,
    };
    let mut facts = vec![
        Fact::Data("numbers of rows", n.to_string()),
        Fact::Data("numbers of columns", p.to_string()),
        Fact::Data("numbers of stored entries", x.n_stored().to_string()),
        Fact::Data("types of values", T::NAME.to_owned()),
        Fact::Data("values", format!("checksum {values:016x}")),
    ];
    facts.extend(weights.iter().map(|(name, weights)| describe_weights(name, *weights)));
    Ok(facts)
}

/// Describes weights, of which there may be none.
pub(crate) fn describe_weights(name: &'static str, weights: Option<&[f64]>) -> Fact {
    let value = weights.map_or_else(
        || "none".to_owned(),
        |weights| {
            let entries = weights.iter().enumerate();
            let sum = entries.fold(0, |sum: u64, (i, w)| sum.wrapping_add(entry(i as u64, *w)));
            format!("checksum {sum:016x}")
        },
    );
    Fact::Data(name, value)
}

/// Sum over all entries of a hash of place and value.
fn of_values<T: Scalar>(x: &dyn Source<T>) -> Result<u64> {
    let p = x.shape().1 as u64;
    let mut sum = 0_u64;
    x.visit(&mut |first, block| {
        match block {
            Block::Dense(rows) => {
                for i in 0..rows.n_rows() {
                    let start = (first + i) as u64 * p;
                    for j in 0..rows.n_cols() {
                        sum = sum.wrapping_add(entry(start + j as u64, rows.get(i, j).to_f64()));
                    }
                }
            }
            Block::Sparse(rows) => {
                let (indices, values) = (rows.indices(), rows.values());
                for (line, range) in rows.pointers().windows(2).enumerate() {
                    let entries = range[0]..range[1];
                    for (value, e) in values[entries.clone()].iter().zip(entries) {
                        let (i, j) = match rows.major() {
                            Major::Rows => (line, indices.at(e)),
                            Major::Columns => (indices.at(e), line),
                        };
                        sum = sum.wrapping_add(entry((first + i) as u64 * p + j as u64, value.to_f64()));
                    }
                }
            }
        }
        Ok(())
    })?;
    Ok(sum)
}

fn entry(place: u64, value: f64) -> u64 {
    mix(mix(place) ^ value.to_bits())
}
