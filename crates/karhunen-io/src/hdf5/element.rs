//! Elements of data sets as bytes: numbers of one size, whatever their type, are read by the same code.

use hdf5_reader::error::{Error, Result};
use hdf5_reader::{ByteOrder, Datatype, H5Type};

/// The byte order of this machine.
const NATIVE: ByteOrder =
    if cfg!(target_endian = "little") { ByteOrder::LittleEndian } else { ByteOrder::BigEndian };

/// A number of `N` bytes in the byte order of this machine.
#[derive(Clone, Copy)]
pub(super) struct Element<const N: usize>(pub(super) [u8; N]);

/// The size and the byte order of a number.
fn layout(datatype: &Datatype) -> Option<(usize, ByteOrder)> {
    match datatype {
        Datatype::FixedPoint { size, byte_order, .. } | Datatype::FloatingPoint { size, byte_order } => {
            Some((usize::from(*size), *byte_order))
        }
        _ => None,
    }
}

impl<const N: usize> Element<N> {
    fn of(mut bytes: [u8; N], order: ByteOrder) -> Self {
        if order != NATIVE {
            bytes.reverse();
        }
        Self(bytes)
    }
}

impl<const N: usize> H5Type for Element<N> {
    fn hdf5_type() -> Datatype {
        Datatype::FixedPoint { size: N as u8, signed: false, byte_order: NATIVE }
    }

    fn from_bytes(bytes: &[u8], datatype: &Datatype) -> Result<Self> {
        match (bytes.first_chunk(), layout(datatype)) {
            (Some(bytes), Some((size, order))) if size == N => Ok(Self::of(*bytes, order)),
            _ => Err(Error::InvalidData(format!("expected {N} bytes, got {}", bytes.len()))),
        }
    }

    fn element_size(_: &Datatype) -> usize {
        N
    }

    fn decode_vec(raw: &[u8], datatype: &Datatype, count: usize) -> Option<Result<Vec<Self>>> {
        let (size, order) = layout(datatype)?;
        let (elements, _) = raw.as_chunks();
        let elements = elements.get(..count).filter(|_| size == N)?;
        Some(Ok(elements.iter().map(|bytes| Self::of(*bytes, order)).collect()))
    }

    fn native_copy_compatible(datatype: &Datatype) -> bool {
        layout(datatype) == Some((N, NATIVE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_either_order_get_the_order_of_the_machine() {
        let number = 0x0102_0304_i32;
        for (byte_order, raw) in
            [(ByteOrder::LittleEndian, number.to_le_bytes()), (ByteOrder::BigEndian, number.to_be_bytes())]
        {
            let datatype = Datatype::FixedPoint { size: 4, signed: true, byte_order };
            let one = Element::<4>::from_bytes(&raw, &datatype).unwrap();
            assert_eq!(i32::from_ne_bytes(one.0), number);
            let two = Element::<4>::decode_vec(&raw.repeat(2), &datatype, 2).unwrap().unwrap();
            assert!(two.len() == 2 && two.iter().all(|element| i32::from_ne_bytes(element.0) == number));
            assert_eq!(Element::<4>::native_copy_compatible(&datatype), byte_order == NATIVE);
            assert!(Element::<4>::decode_vec(&raw, &datatype, 2).is_none());
            assert!(Element::<8>::from_bytes(&raw.repeat(2), &datatype).is_err());
        }
    }
}
