//! Mutations of bytes, independent of structure.

use super::Rng;

/// Boundary values of integers.
pub(super) const NUMBERS: [i64; 24] = [
    0,
    1,
    -1,
    2,
    3,
    7,
    8,
    16,
    64,
    100,
    127,
    128,
    255,
    256,
    32_767,
    65_535,
    65_536,
    1 << 20,
    i32::MAX as i64,
    1 << 31,
    u32::MAX as i64,
    1 << 53,
    i64::MAX,
    i64::MIN,
];

/// Draws an index into a list of `len`, 0 if it is empty.
pub(super) fn position(rng: &mut Rng, len: usize) -> usize {
    rng.gen_index(len).unwrap_or(0)
}

/// Draws an element.
pub(super) fn choose<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[position(rng, from.len())]
}

/// Draws a range, short ones more often than long ones.
pub(super) fn range(rng: &mut Rng, len: usize) -> std::ops::Range<usize> {
    let begin = position(rng, len);
    let longest = 1 << (rng.gen_u8() % 10);
    begin..(begin + 1 + position(rng, longest)).min(len)
}

/// Makes one mutation.
pub(super) fn change(rng: &mut Rng, bytes: &mut Vec<u8>) {
    if bytes.is_empty() {
        bytes.push(rng.gen_u8());
        return;
    }
    let at = position(rng, bytes.len());
    match rng.gen_u8() % 12 {
        0..=1 => bytes[at] ^= 1 << (rng.gen_u8() % 8),
        2 => bytes[at] = rng.gen_u8(),
        3 => bytes[at] = choose(rng, &[0, 1, 0x7f, 0x80, 0xff, b'0', b'-', b'\n', b'"']),
        4..=5 => number(rng, bytes),
        6 => {
            let range = range(rng, bytes.len());
            bytes.drain(range);
        }
        7 => {
            let range = range(rng, bytes.len());
            let copy = bytes[range].to_vec();
            bytes.splice(at..at, copy);
        }
        8 => {
            let range = range(rng, bytes.len());
            let copy = bytes[range].to_vec();
            let end = (at + copy.len()).min(bytes.len());
            bytes[at..end].copy_from_slice(&copy[..end - at]);
        }
        9 => bytes.truncate(at),
        10 => {
            let mut new = vec![0; 1 + position(rng, 16)];
            rng.gen_bytes(&mut new);
            bytes.splice(at..at, new);
        }
        _ => {
            let range = range(rng, bytes.len());
            let fill = choose(rng, &[0, 0xff, 0x80]);
            bytes[range].fill(fill);
        }
    }
}

/// Overwrites bytes with a number, in a random size and byte order.
pub(super) fn number(rng: &mut Rng, bytes: &mut [u8]) {
    let size = choose(rng, &[1, 2, 4, 4, 8, 8]);
    let Some(last) = bytes.len().checked_sub(size) else { return };
    let mut at = position(rng, last + 1);
    if rng.gen_bool() {
        // Numbers of files are often aligned.
        at -= at % size;
    }
    let value = match rng.gen_u8() % 4 {
        0 => choose(rng, &NUMBERS).wrapping_add(i64::from(rng.gen_i8() % 3)),
        1 => bytes.len() as i64 + i64::from(rng.gen_i8()),
        2 => rng.gen_i64(),
        _ => {
            let mut old = [0; 8];
            old[..size].copy_from_slice(&bytes[at..at + size]);
            i64::from_le_bytes(old).wrapping_add(i64::from(rng.gen_i8()))
        }
    };
    let mut new = value.to_le_bytes();
    if rng.gen_u8().is_multiple_of(4) {
        new[..size].reverse();
    }
    bytes[at..at + size].copy_from_slice(&new[..size]);
}

/// Replaces a part of `bytes` by a part of another file.
pub(super) fn splice(rng: &mut Rng, bytes: &mut Vec<u8>, other: &[u8]) {
    if other.is_empty() {
        return;
    }
    let from = range(rng, other.len());
    let into = range(rng, bytes.len().max(1));
    bytes.splice(into.start.min(bytes.len())..into.end.min(bytes.len()), other[from].iter().copied());
}
