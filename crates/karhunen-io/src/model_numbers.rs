//! The numbers of one array of a model file, of the types that models have.

use std::io::Write;

use safetensors::Dtype;

/// The values of an array.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Numbers {
    F64(Vec<f64>),
    F32(Vec<f32>),
    I64(Vec<i64>),
    U32(Vec<u32>),
    U8(Vec<u8>),
}

impl Numbers {
    /// Their type.
    pub(crate) fn dtype(&self) -> Dtype {
        match self {
            Numbers::F64(_) => Dtype::F64,
            Numbers::F32(_) => Dtype::F32,
            Numbers::I64(_) => Dtype::I64,
            Numbers::U32(_) => Dtype::U32,
            Numbers::U8(_) => Dtype::U8,
        }
    }

    /// Their size in a file.
    pub(crate) fn n_bytes(&self) -> usize {
        match self {
            Numbers::F64(values) => size_of_val(values.as_slice()),
            Numbers::F32(values) => size_of_val(values.as_slice()),
            Numbers::I64(values) => size_of_val(values.as_slice()),
            Numbers::U32(values) => size_of_val(values.as_slice()),
            Numbers::U8(values) => values.len(),
        }
    }

    /// Reads little-endian values; `None` for a type that no model has.
    pub(crate) fn read(dtype: Dtype, bytes: &[u8]) -> Option<Self> {
        match dtype {
            Dtype::F64 => {
                Some(Numbers::F64(bytes.as_chunks().0.iter().map(|x| f64::from_le_bytes(*x)).collect()))
            }
            Dtype::F32 => {
                Some(Numbers::F32(bytes.as_chunks().0.iter().map(|x| f32::from_le_bytes(*x)).collect()))
            }
            Dtype::I64 => {
                Some(Numbers::I64(bytes.as_chunks().0.iter().map(|x| i64::from_le_bytes(*x)).collect()))
            }
            Dtype::U32 => {
                Some(Numbers::U32(bytes.as_chunks().0.iter().map(|x| u32::from_le_bytes(*x)).collect()))
            }
            Dtype::U8 => Some(Numbers::U8(bytes.to_vec())),
            _ => None,
        }
    }

    /// Writes them, little-endian.
    ///
    /// # Errors
    /// Those of `sink`.
    pub(crate) fn write(&self, sink: &mut dyn Write) -> std::io::Result<()> {
        match self {
            Numbers::F64(values) => write_all(sink, values, |x| x.to_le_bytes()),
            Numbers::F32(values) => write_all(sink, values, |x| x.to_le_bytes()),
            Numbers::I64(values) => write_all(sink, values, |x| x.to_le_bytes()),
            Numbers::U32(values) => write_all(sink, values, |x| x.to_le_bytes()),
            Numbers::U8(values) => sink.write_all(values),
        }
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

/// A type of the values of an array.
pub(crate) trait Element: Copy {
    /// What messages call it.
    const DTYPE: Dtype;
    /// The values as those of an array.
    fn numbers(values: Vec<Self>) -> Numbers;
    /// The values of an array, or its type if it is another.
    fn values(numbers: Numbers) -> Result<Vec<Self>, Dtype>;
    /// The first value that is not finite, but for infinity where that may be.
    fn first_damage(values: &[Self], may_overflow: bool) -> Option<String>;
}

/// Five types that differ in nothing but the variant: a generic function cannot name a variant.
macro_rules! element {
    ($type:ty, $variant:ident, $damaged:expr) => {
        impl Element for $type {
            const DTYPE: Dtype = Dtype::$variant;

            fn numbers(values: Vec<Self>) -> Numbers {
                Numbers::$variant(values)
            }

            fn values(numbers: Numbers) -> Result<Vec<Self>, Dtype> {
                match numbers {
                    Numbers::$variant(values) => Ok(values),
                    other => Err(other.dtype()),
                }
            }

            fn first_damage(values: &[Self], may_overflow: bool) -> Option<String> {
                let damaged: fn(Self, bool) -> bool = $damaged;
                values.iter().find(|x| damaged(**x, may_overflow)).map(|x| x.to_string())
            }
        }
    };
}

element!(f64, F64, |x, may_overflow| !(x.is_finite() || (may_overflow && x == f64::INFINITY)));
element!(f32, F32, |x, may_overflow| !(x.is_finite() || (may_overflow && x == f32::INFINITY)));
element!(i64, I64, |_, _| false);
element!(u32, U32, |_, _| false);
element!(u8, U8, |_, _| false);
