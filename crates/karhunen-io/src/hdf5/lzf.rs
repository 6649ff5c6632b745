//! LZF, the fast compression of h5py (HDF5 filter 32000).

/// Unpacks to at most `most` bytes; `None` for damaged bytes.
pub(super) fn unpack(packed: &[u8], most: usize) -> Option<Vec<u8>> {
    let mut unpacked = Vec::new();
    let mut rest = packed.iter().copied();
    while let Some(control) = rest.next() {
        let control = usize::from(control);
        if control < 32 {
            // Bytes as they are.
            for _ in 0..=control {
                unpacked.push(rest.next()?);
            }
        } else {
            // Bytes that occurred before.
            let mut n = control >> 5;
            if n == 7 {
                n += usize::from(rest.next()?);
            }
            let back = ((control & 31) << 8) + usize::from(rest.next()?) + 1;
            let begin = unpacked.len().checked_sub(back)?;
            for place in begin..begin + n + 2 {
                // The bytes may overlap those that they become.
                unpacked.push(unpacked[place]);
            }
        }
        if unpacked.len() > most {
            return None;
        }
    }
    Some(unpacked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_references_are_unpacked() {
        assert_eq!(unpack(&[2, b'a', b'b', b'c'], 10).unwrap(), b"abc");
        // Three bytes, then five from three back, which overlap themselves.
        assert_eq!(unpack(&[2, b'a', b'b', b'c', 0x60, 2], 10).unwrap(), b"abcabcab");
        // A long reference: 7 + 1 + 2 bytes from one back.
        assert_eq!(unpack(&[0, b'x', 0xe0, 1, 0], 20).unwrap(), b"xxxxxxxxxxx");
        assert_eq!(unpack(&[], 10).unwrap(), b"");
    }

    #[test]
    fn damaged_bytes_are_refused() {
        for packed in
            [&[5, b'a'][..], &[0x60, 0], &[0, b'a', 0x60, 9], &[0, b'a', 0xe0], &[0, b'a', 0xe0, 255, 0]]
        {
            assert_eq!(unpack(packed, 100), None, "{packed:?}");
        }
    }
}
