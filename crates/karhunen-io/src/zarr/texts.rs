//! Texts of chunks.

use crate::npy_header::{Dtype, Kind};

/// A text of fixed length, up to the zeros at its end; `None` if it is not Unicode.
pub(super) fn fixed(bytes: &[u8], dtype: Dtype) -> Option<String> {
    if dtype.kind == Kind::Bytes {
        let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        return Some(String::from_utf8_lossy(&bytes[..end]).into_owned());
    }
    let (codes, _) = bytes.as_chunks::<4>();
    let code = |&code: &[u8; 4]| match dtype.big_endian {
        true => u32::from_be_bytes(code),
        false => u32::from_le_bytes(code),
    };
    let text: Option<String> = codes.iter().map(|bytes| char::from_u32(code(bytes))).collect();
    Some(text?.trim_end_matches('\0').to_owned())
}

/// The first `n` texts of a chunk of `vlen-utf8`: their number, then each after its length in bytes.
pub(super) fn any_length(bytes: &[u8], n: usize) -> Option<Vec<String>> {
    let (n_texts, mut rest) = bytes.split_first_chunk()?;
    // Each text has a length of four bytes.
    if (u32::from_le_bytes(*n_texts) as usize) < n || n > rest.len() / 4 {
        return None;
    }
    let mut texts = Vec::with_capacity(n);
    for _ in 0..n {
        let (length, after) = rest.split_first_chunk()?;
        let (text, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        texts.push(String::from_utf8_lossy(text).into_owned());
        rest = after;
    }
    Some(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_end_before_their_zeros() {
        let dtype = |kind, big_endian| Dtype { kind, size: 8, big_endian };
        assert_eq!(fixed(b"ab\0c\0\0\0\0", dtype(Kind::Bytes, false)).unwrap(), "ab\0c");
        assert_eq!(fixed(&[0xfc, 0, 0, 0, 0, 0, 0, 0], dtype(Kind::Unicode, false)).unwrap(), "ü");
        assert_eq!(fixed(&[0, 0, 0, 0x41, 0, 0, 0, 0x42], dtype(Kind::Unicode, true)).unwrap(), "AB");
        assert_eq!(fixed(&[0xff; 8], dtype(Kind::Unicode, false)), None);
    }

    #[test]
    fn lengths_that_lie_are_refused() {
        let bytes = [2, 0, 0, 0, 1, 0, 0, 0, b'a', 0, 0, 0, 0];
        assert_eq!(any_length(&bytes, 2).unwrap(), ["a", ""]);
        assert_eq!(any_length(&bytes, 1).unwrap(), ["a"]);
        assert_eq!(any_length(&bytes, 3), None);
        assert_eq!(any_length(&bytes[..12], 2), None);
        assert_eq!(any_length(&[0xff; 8], 2), None);
        assert_eq!(any_length(&[], 0), None);
    }
}
