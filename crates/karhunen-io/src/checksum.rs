//! The checksum of a model file: XXH3-128 of every byte of the file but the checksum's own digits.
//!
//! It tells damage, not forgery. At 128 bits no damage of any extent passes by chance, a thread sums up 6 GB in a second, and the
//! crate has no dependencies.

use std::collections::BTreeMap;
use std::io::Write;

use xxhash_rust::xxh3::Xxh3;

use crate::names::shortened;

/// The entry of the metadata.
const KEY: &str = "checksum";
/// How the checksum is computed, in front of its digits.
const METHOD: &str = "xxh3-128:";
/// The number of its digits.
const N_DIGITS: usize = 32;
/// How a header with a checksum begins, up to the digits: their place in the file is always the same.
const LEAD: &str = r#"{"__metadata__":{"checksum":"xxh3-128:"#;
/// Bytes in front of the header: its length.
const LENGTH: usize = 8;
/// Where the digits begin in the file.
const PLACE: usize = LENGTH + LEAD.len();

/// The entry of the metadata for a file whose checksum is still to be computed; it must come first.
pub(crate) fn placeholder() -> (String, String) {
    (KEY.to_owned(), format!("{METHOD}{:0N_DIGITS$}", 0))
}

/// Puts the checksum into a header that has the [`placeholder`], with the length in front of it. `numbers` writes what
/// follows the header.
///
/// # Errors
/// Those of `numbers`.
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

/// Compares the checksum of a file with its content, and takes it out of the metadata. Files without one, such as those of
/// version 0.1.0, pass.
///
/// # Errors
/// What is wrong and what to do.
pub(crate) fn check(file: &[u8], metadata: &mut BTreeMap<String, String>) -> Result<(), String> {
    let Some(written) = metadata.remove(KEY) else {
        // A damaged byte hides the name of the entry or the method, but not both.
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

/// The file with the checksum of its content, whatever that is: what lies behind the check must stand damage too.
#[cfg(test)]
pub(crate) fn sealed_again(mut file: Vec<u8>) -> Vec<u8> {
    if file.len() > PLACE + N_DIGITS {
        let rest = file.split_off(PLACE + N_DIGITS);
        seal(&mut file, |sink| sink.write_all(&rest)).unwrap();
        file.extend(rest);
    }
    file
}
