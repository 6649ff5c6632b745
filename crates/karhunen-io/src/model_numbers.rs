//! The numbers of one array of a model file, as bytes.

use std::io::Write;

use karhunen::record::Numbers;
use safetensors::Dtype;

/// Their size in a file.
pub(crate) fn n_bytes(numbers: &Numbers<'_>) -> usize {
    match numbers {
        Numbers::F64(values) => size_of_val(values.as_ref()),
        Numbers::F32(values) => size_of_val(values.as_ref()),
        Numbers::I64(values) => size_of_val(values.as_ref()),
        Numbers::U32(values) => size_of_val(values.as_ref()),
        Numbers::U8(values) => values.len(),
    }
}

/// Reads little-endian values; `None` for a type that no model has.
pub(crate) fn read(dtype: Dtype, bytes: &[u8]) -> Option<Numbers<'static>> {
    match dtype {
        Dtype::F64 => Some(Numbers::F64(values(bytes, f64::from_le_bytes).into())),
        Dtype::F32 => Some(Numbers::F32(values(bytes, f32::from_le_bytes).into())),
        Dtype::I64 => Some(Numbers::I64(values(bytes, i64::from_le_bytes).into())),
        Dtype::U32 => Some(Numbers::U32(values(bytes, u32::from_le_bytes).into())),
        Dtype::U8 => Some(Numbers::U8(bytes.to_vec().into())),
        _ => None,
    }
}

fn values<T, const N: usize>(bytes: &[u8], value: fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_chunks().0.iter().map(|bytes| value(*bytes)).collect()
}

/// Writes them, little-endian.
///
/// # Errors
/// Errors of `sink`.
pub(crate) fn write(numbers: &Numbers<'_>, sink: &mut dyn Write) -> std::io::Result<()> {
    match numbers {
        Numbers::F64(values) => write_all(sink, values, |x| x.to_le_bytes()),
        Numbers::F32(values) => write_all(sink, values, |x| x.to_le_bytes()),
        Numbers::I64(values) => write_all(sink, values, |x| x.to_le_bytes()),
        Numbers::U32(values) => write_all(sink, values, |x| x.to_le_bytes()),
        Numbers::U8(values) => sink.write_all(values),
    }
}

/// Some thousand values at a time.
fn write_all<T: Copy, const N: usize>(
    sink: &mut dyn Write,
    values: &[T],
    bytes: impl Fn(T) -> [u8; N],
) -> std::io::Result<()> {
    let mut buffer = Vec::new();
    for values in values.chunks(1 << 13) {
        buffer.clear();
        buffer.extend(values.iter().flat_map(|x| bytes(*x)));
        sink.write_all(&buffer)?;
    }
    Ok(())
}
