//! The checksum of a model file: XXH3-128 of every byte of the file except the checksum's own digits.
//!
//! It detects damage, not forgery. With 128 bits, undetected damage is practically impossible; one thread
//! processes 6 GB/s, and the crate has no dependencies.

use std::collections::BTreeMap;
use std::io::Write;

use xxhash_rust::xxh3::Xxh3;

use crate::names::shortened;

/// Key of the metadata entry.
const KEY: &str = "checksum";
/// Method of the checksum, written before its digits.
const METHOD: &str = "xxh3-128:";
/// Number of hexadecimal digits.
const N_DIGITS: usize = 32;
/// Start of a header with a checksum, up to the digits: their offset in the file is constant.
const LEAD: &str = r#"{"__metadata__":{"checksum":"xxh3-128:"#;
/// Number of bytes before the header, which hold its length.
const LENGTH: usize = 8;
/// Offset of the digits in the file.
const PLACE: usize = LENGTH + LEAD.len();

/// The metadata entry for a checksum not yet computed; it must come first.
pub(crate) fn placeholder() -> (String, String) {
    (KEY.to_owned(), format!("{METHOD}{:0N_DIGITS$}", 0))
}

/// Writes the checksum into a header that contains the [`placeholder`] and begins with its length. `numbers`
/// writes the bytes that follow the header.
///
/// # Errors
/// Errors of `numbers`.
pub(crate) fn seal(
    head: &mut [u8],
    numbers: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let mut sum = Sum(Xxh3::new());
    sum.0.update(&head[..PLACE]);
    sum.0.update(&head[PLACE + N_DIGITS..]);
    numbers(&mut sum)?;
    head[PLACE..PLACE + N_DIGITS].copy_from_slice(sum.digits().as_bytes());
    Ok(())
}

/// Compares the checksum with the content of a file and removes it from the metadata. Files without a checksum,
/// such as files of version 0.1.0, are accepted.
///
/// # Errors
/// A message that states the damage and the remedy.
pub(crate) fn check(file: &[u8], metadata: &mut BTreeMap<String, String>) -> Result<(), String> {
    let Some(written) = metadata.remove(KEY) else {
        // A damaged byte may change the name of the entry or the method, but not both.
        return match metadata.values().any(|text| text.starts_with(METHOD)) {
            true => Err(damaged("its checksum has lost its name")),
            false => Ok(()),
        };
    };
    let Some(digits) = written.strip_prefix(METHOD) else {
        let written = shortened(&written).escape_debug().to_string();
        return Err(format!(
            "has the checksum `{written}`, of a kind that this version does not know: the file is damaged, or of a newer \
             karhunen; upgrade, restore a copy, or fit it again"
        ));
    };
    let in_place = file.get(LENGTH..).is_some_and(|header| header.starts_with(LEAD.as_bytes()))
        && file.get(PLACE..PLACE + N_DIGITS) == Some(digits.as_bytes());
    if !in_place {
        return Err(damaged(
            "its checksum is not where karhunen writes it, so another program rewrote the file",
        ));
    }
    let mut sum = Sum(Xxh3::new());
    sum.0.update(&file[..PLACE]);
    sum.0.update(&file[PLACE + N_DIGITS..]);
    let found = sum.digits();
    if found == digits {
        return Ok(());
    }
    Err(damaged(&format!("the checksum of its content is {found}, and {digits} is written in it")))
}

fn damaged(why: &str) -> String {
    format!("is damaged: {why}; restore a copy, or fit it again")
}

struct Sum(Xxh3);

impl Sum {
    fn digits(&self) -> String {
        format!("{:0N_DIGITS$x}", self.0.digest128())
    }
}

impl Write for Sum {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Returns the file with the checksum of its content, valid or not: later code must also withstand damage.
#[cfg(test)]
pub(crate) fn sealed_again(mut file: Vec<u8>) -> Vec<u8> {
    if file.len() > PLACE + N_DIGITS {
        let rest = file.split_off(PLACE + N_DIGITS);
        seal(&mut file, |sink| sink.write_all(&rest)).unwrap();
        file.extend(rest);
    }
    file
}
