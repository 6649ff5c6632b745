//! Mutations of the structural parts of Parquet and Arrow files: footers, page headers, metadata.

use super::Rng;
use super::bytes::{self, choose, position};

/// Mutates the footer and updates its length, or mutates the header of the first page.
pub(super) fn change_parquet(rng: &mut Rng, file: &mut Vec<u8>) {
    let Some((content, trailer)) = file.split_last_chunk::<8>() else { return bytes::change(rng, file) };
    let length = u32::from_le_bytes([trailer[0], trailer[1], trailer[2], trailer[3]]) as usize;
    let Some(begin) = content.len().checked_sub(length) else { return bytes::change(rng, file) };
    let mut footer = content[begin..].to_vec();
    if rng.gen_u8().is_multiple_of(3) {
        let end = begin.min(4 + 40);
        if let Some(header) = file.get_mut(4..end) {
            return thrift(rng, header);
        }
    }
    if rng.gen_bool() {
        thrift(rng, &mut footer);
    } else {
        bytes::change(rng, &mut footer);
    }
    let length = (footer.len() as u32).to_le_bytes();
    file.truncate(begin);
    file.extend(footer);
    file.extend(length);
    file.extend(b"PAR1");
}

/// Changes a byte to one with a meaning in Thrift's compact protocol; later bytes keep their positions.
fn thrift(rng: &mut Rng, bytes: &mut [u8]) {
    if bytes.is_empty() {
        return;
    }
    let at = position(rng, bytes.len());
    bytes[at] = match rng.gen_u8() % 6 {
        // The header of a field or of a list.
        0 => choose(rng, &[0x15, 0x16, 0x18, 0x19, 0x1c, 0x25, 0x2c, 0x00, 0x19, 0xf9]),
        // A number of one byte, or the first byte of a longer one.
        1 => choose(rng, &[0, 1, 2, 4, 10, 0x7e, 0x7f, 0x80, 0xff]),
        2 => bytes[at].wrapping_add(2),
        3 => bytes[at].wrapping_sub(2),
        4 => bytes[at] ^ 0x80,
        _ => rng.gen_u8(),
    };
}

/// Changes a number of the metadata: at the beginning, at the end, or at the start of a message.
// Takes `Vec`, because it is a `Strategy`.
#[allow(clippy::ptr_arg)]
pub(super) fn change_arrow(rng: &mut Rng, file: &mut Vec<u8>) {
    const NEAR: usize = 512;
    let len = file.len();
    let begin = match rng.gen_u8() % 3 {
        0 => 0,
        1 => len.saturating_sub(NEAR),
        _ => {
            // Messages begin with a marker of four bytes.
            let marks: Vec<usize> =
                file.windows(4).enumerate().filter(|(_, w)| *w == [0xff; 4]).map(|(at, _)| at).collect();
            if marks.is_empty() { 0 } else { choose(rng, &marks) }
        }
    };
    let end = (begin + NEAR).min(len);
    if begin < end {
        bytes::number(rng, &mut file[begin..end]);
    }
}
