//! The elements of NPY arrays as numbers.

use crate::Cause;
use crate::npy_header::{Header, Kind};
use crate::rounded::is_held;

pub(crate) use half::f16 as F16;

/// Tests whether the elements are `f32` of this machine.
pub(crate) fn is_single(header: &Header) -> bool {
    header.dtype.kind == Kind::Float && header.dtype.size == 4 && native(header)
}

/// Returns true if the elements have the byte order of this machine.
pub(crate) fn native(header: &Header) -> bool {
    header.dtype.big_endian == cfg!(target_endian = "big") || header.dtype.size == 1
}

/// Converts numbers of any type, in their order.
///
/// # Errors
/// [`Cause::Format`] for text.
pub(crate) fn to_f64(bytes: &[u8], header: &Header) -> std::result::Result<Vec<f64>, Cause> {
    let big = header.dtype.big_endian;
    Ok(match (header.dtype.kind, header.dtype.size) {
        (Kind::Float, 2) => convert(bytes, big, |b| F16::from_le_bytes(b).to_f64()),
        (Kind::Float, 4) => convert(bytes, big, |b| f64::from(f32::from_le_bytes(b))),
        (Kind::Float, _) => convert(bytes, big, f64::from_le_bytes),
        (Kind::Int, 1) => convert(bytes, big, |b| f64::from(i8::from_le_bytes(b))),
        (Kind::Int, 2) => convert(bytes, big, |b| f64::from(i16::from_le_bytes(b))),
        (Kind::Int, 4) => convert(bytes, big, |b| f64::from(i32::from_le_bytes(b))),
        (Kind::Int, _) => convert(bytes, big, |b| i64::from_le_bytes(b) as f64),
        (Kind::Uint, 1) => convert(bytes, big, |b: [u8; 1]| f64::from(b[0])),
        (Kind::Uint, 2) => convert(bytes, big, |b| f64::from(u16::from_le_bytes(b))),
        (Kind::Uint, 4) => convert(bytes, big, |b| f64::from(u32::from_le_bytes(b))),
        (Kind::Uint, _) => convert(bytes, big, |b| u64::from_le_bytes(b) as f64),
        (Kind::Bool, _) => convert(bytes, big, |b: [u8; 1]| f64::from(u8::from(b[0] != 0))),
        (Kind::Bytes | Kind::Unicode, _) => {
            return Err(Cause::format(
                "holds text; PCA needs numbers: save the columns that are numbers".to_owned(),
            ));
        }
    })
}

/// The first integer that `f64` cannot represent, with its index.
pub(crate) fn first_rounded(bytes: &[u8], header: &Header) -> Option<(usize, String)> {
    let big = header.dtype.big_endian;
    let (elements, _) = bytes.as_chunks::<8>();
    let number = |element: &[u8; 8]| match (header.dtype.kind, big) {
        (Kind::Int, false) => i128::from(i64::from_le_bytes(*element)),
        (Kind::Int, true) => i128::from(i64::from_be_bytes(*element)),
        (_, false) => i128::from(u64::from_le_bytes(*element)),
        (_, true) => i128::from(u64::from_be_bytes(*element)),
    };
    match (header.dtype.kind, header.dtype.size) {
        (Kind::Int | Kind::Uint, 8) => {
            let place = elements.iter().position(|element| !is_held::<f64>(number(element)))?;
            Some((place, number(&elements[place]).to_string()))
        }
        _ => None,
    }
}

/// Applies `from_le` to each element, with its bytes reversed if they are big-endian.
pub(crate) fn convert<const N: usize, V>(bytes: &[u8], big: bool, from_le: impl Fn([u8; N]) -> V) -> Vec<V> {
    let (elements, _) = bytes.as_chunks::<N>();
    let turn = |mut element: [u8; N]| {
        element.reverse();
        element
    };
    if big {
        elements.iter().map(|&element| from_le(turn(element))).collect()
    } else {
        elements.iter().map(|&element| from_le(element)).collect()
    }
}
