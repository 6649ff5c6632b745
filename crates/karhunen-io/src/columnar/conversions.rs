//! Conversions of Arrow arrays to the types that this crate reads, in one pass. Arrow has one function that casts every type
//! to every other, a few of which are asked for; to call it would link all of them.

use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::LargeStringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType, Float16Type, Float32Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, Int64Array, LargeStringArray};
use arrow_cast::cast::single_decimal_to_float_lossy;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{ArrowError, DataType};
use karhunen::Scalar;

use crate::Result;
use crate::decoder::{self, damaged};

/// Writes the values of an array to `out`, which has the same length; nulls become NaN.
///
/// # Errors
/// [`crate::Cause::Format`] for values of other types, and for damaged dictionaries.
pub(crate) fn copy<T: Scalar>(path: &Path, array: &ArrayRef, out: &mut [T]) -> Result<()> {
    macro_rules! convert {
        ($array:expr, $kind:ty, $to_f64:expr) => {
            for (out, value) in out.iter_mut().zip($array.as_primitive::<$kind>().values()) {
                *out = T::from_f64($to_f64(*value));
            }
        };
    }
    macro_rules! decimal {
        ($kind:ty, $scale:expr, $to_f64:expr) => {
            convert!(array, $kind, |value| single_decimal_to_float_lossy::<$kind, _>(
                &$to_f64,
                value,
                i32::from(*$scale)
            ))
        };
    }
    match array.data_type() {
        DataType::Float64 => convert!(array, Float64Type, f64::from),
        DataType::Float32 => convert!(array, Float32Type, f64::from),
        DataType::Float16 => convert!(array, Float16Type, f64::from),
        DataType::Int64 => convert!(array, Int64Type, |value| value as f64),
        DataType::Int32 => convert!(array, Int32Type, f64::from),
        DataType::Int16 => convert!(array, Int16Type, f64::from),
        DataType::Int8 => convert!(array, Int8Type, f64::from),
        DataType::UInt64 => convert!(array, UInt64Type, |value| value as f64),
        DataType::UInt32 => convert!(array, UInt32Type, f64::from),
        DataType::UInt16 => convert!(array, UInt16Type, f64::from),
        DataType::UInt8 => convert!(array, UInt8Type, f64::from),
        DataType::Boolean => {
            for (out, value) in out.iter_mut().zip(array.as_boolean().values()) {
                *out = T::from_f64(f64::from(value));
            }
        }
        DataType::Decimal32(_, scale) => decimal!(Decimal32Type, scale, f64::from),
        DataType::Decimal64(_, scale) => decimal!(Decimal64Type, scale, |value| value as f64),
        DataType::Decimal128(_, scale) => decimal!(Decimal128Type, scale, |value| value as f64),
        // Rounded once, as the others are.
        DataType::Decimal256(precision, scale) => convert!(array, Decimal256Type, |value| {
            Decimal256Type::format_decimal(value, *precision, *scale).parse().unwrap_or(f64::NAN)
        }),
        DataType::Dictionary(_, _) => {
            return copy(path, &decoder::run(path, || unpacked(array))?, out);
        }
        DataType::Null => {}
        kind => return Err(damaged(path, &format!("values of {kind} as numbers"))),
    }
    if let Some(nulls) = array.logical_nulls() {
        let missing = T::from_f64(f64::NAN);
        (0..out.len()).filter(|row| nulls.is_null(*row)).for_each(|row| out[row] = missing);
    }
    Ok(())
}

/// The value of each row of a dictionary.
///
/// # Errors
/// Errors of Arrow for keys without a value.
pub(super) fn unpacked(array: &ArrayRef) -> std::result::Result<ArrayRef, ArrowError> {
    let dictionary = array.as_any_dictionary();
    arrow_select::take::take(dictionary.values(), dictionary.keys(), None)
}

/// Converts an array of integers to 64-bit integers; values beyond their range become null. Arrays of other types are
/// returned unchanged.
pub(crate) fn integers(array: &ArrayRef) -> ArrayRef {
    macro_rules! convert {
        ($kind:ty) => {
            Arc::new(array.as_primitive::<$kind>().unary::<_, Int64Type>(i64::from))
        };
    }
    match array.data_type() {
        DataType::Int32 => convert!(Int32Type),
        DataType::Int16 => convert!(Int16Type),
        DataType::Int8 => convert!(Int8Type),
        DataType::UInt32 => convert!(UInt32Type),
        DataType::UInt16 => convert!(UInt16Type),
        DataType::UInt8 => convert!(UInt8Type),
        DataType::UInt64 => {
            let numbers: Int64Array =
                array.as_primitive::<UInt64Type>().unary_opt(|value| i64::try_from(value).ok());
            Arc::new(numbers)
        }
        _ => Arc::clone(array),
    }
}

/// Converts an array to text.
///
/// # Errors
/// [`crate::Cause::Format`] for types that are neither text nor can be written as text.
pub(crate) fn text(path: &Path, array: &ArrayRef) -> Result<LargeStringArray> {
    match array.data_type() {
        DataType::LargeUtf8 => Ok(array.as_string::<i64>().clone()),
        DataType::Utf8 => Ok(array.as_string::<i32>().iter().collect()),
        DataType::Utf8View => Ok(array.as_string_view().iter().collect()),
        DataType::Dictionary(_, _) => {
            let dictionary = array.as_any_dictionary();
            let values = text(path, dictionary.values())?;
            if values.is_empty() {
                return Ok(LargeStringArray::new_null(array.len()));
            }
            let (keys, nulls) = (dictionary.normalized_keys(), array.logical_nulls());
            let is_null = |row: usize| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
            let at = |(row, key): (usize, &usize)| (!is_null(row)).then(|| values.value(*key));
            Ok(keys.iter().enumerate().map(at).collect())
        }
        DataType::Binary => Ok(array.as_binary::<i32>().iter().map(unicode).collect()),
        DataType::LargeBinary => Ok(array.as_binary::<i64>().iter().map(unicode).collect()),
        DataType::BinaryView => Ok(array.as_binary_view().iter().map(unicode).collect()),
        DataType::Null => Ok(LargeStringArray::new_null(array.len())),
        kind if kind.is_primitive() => decoder::run(path, || formatted(array)),
        DataType::Boolean
        | DataType::List(_)
        | DataType::LargeList(_)
        | DataType::ListView(_)
        | DataType::LargeListView(_)
        | DataType::RunEndEncoded(..) => decoder::run(path, || formatted(array)),
        kind => Err(damaged(path, &format!("values of {kind} as texts"))),
    }
}

/// Bytes as text; none if they are not Unicode.
fn unicode(bytes: Option<&[u8]>) -> Option<&str> {
    std::str::from_utf8(bytes?).ok()
}

/// Numbers, times, truth values and lists as Arrow writes them.
fn formatted(array: &ArrayRef) -> std::result::Result<LargeStringArray, ArrowError> {
    let options = FormatOptions::default();
    let formatter = ArrayFormatter::try_new(array, &options)?;
    let nulls = array.logical_nulls();
    let mut texts = LargeStringBuilder::new();
    for row in 0..array.len() {
        if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            texts.append_null();
        } else {
            formatter.value(row).write(&mut texts)?;
            // Ends the text that was written.
            texts.append_value("");
        }
    }
    Ok(texts.finish())
}

#[cfg(test)]
mod tests {
    use arrow_array::{
        BinaryArray, BooleanArray, Date32Array, DictionaryArray, DurationSecondArray, Float32Array,
        Float64Array, Int8Array, Int16Array, Int32Array, ListArray, NullArray, StringArray, StringViewArray,
        Time64MicrosecondArray, TimestampMillisecondArray, TimestampSecondArray, UInt8Array, UInt16Array,
        UInt32Array, UInt64Array,
    };
    use arrow_cast::cast;

    use super::*;

    /// Whole numbers of every type with a null; the last is beyond the 64-bit integers.
    fn whole_numbers() -> Vec<ArrayRef> {
        vec![
            Arc::new(Int8Array::from(vec![Some(-128), None, Some(127)])),
            Arc::new(Int16Array::from(vec![Some(i16::MIN), None, Some(i16::MAX)])),
            Arc::new(Int32Array::from(vec![Some(i32::MIN), None, Some(i32::MAX)])),
            Arc::new(Int64Array::from(vec![Some(i64::MIN), None, Some((1 << 53) + 1)])),
            Arc::new(UInt8Array::from(vec![Some(0), None, Some(u8::MAX)])),
            Arc::new(UInt16Array::from(vec![Some(0), None, Some(u16::MAX)])),
            Arc::new(UInt32Array::from(vec![Some(0), None, Some(u32::MAX)])),
            Arc::new(UInt64Array::from(vec![Some(0), None, Some(u64::MAX)])),
        ]
    }

    /// Arrays of text, as they are and by dictionaries with nulls among the keys and among the values.
    fn texts() -> Vec<ArrayRef> {
        let words = || vec![Some("a"), None, Some(""), Some("Zürich")];
        vec![
            Arc::new(StringArray::from(words())),
            Arc::new(LargeStringArray::from(words())),
            Arc::new(StringViewArray::from(words())),
            by_dictionary(Arc::new(StringArray::from(words()))),
            by_dictionary(Arc::new(StringViewArray::from(words()))),
            Arc::new(BinaryArray::from_opt_vec(vec![Some("é".as_bytes()), None, Some(b"\xff")])),
            Arc::new(Date32Array::from(vec![Some(-1), None, Some(20_000)])),
            Arc::new(TimestampMillisecondArray::from(vec![Some(-1), None, Some(1_700_000_000_123)])),
            Arc::new(TimestampSecondArray::from(vec![Some(0), None]).with_timezone("+02:00")),
            Arc::new(Time64MicrosecondArray::from(vec![Some(1), None])),
            Arc::new(DurationSecondArray::from(vec![Some(90_061), None])),
            Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1), None]), None])),
            by_dictionary(Arc::new(Date32Array::from(vec![Some(0), None, Some(1), Some(20_000)]))),
            Arc::new(DictionaryArray::new(Int32Array::new_null(2), Arc::new(StringArray::new_null(0)))),
        ]
    }

    /// A dictionary of four values, with a null among the keys.
    fn by_dictionary(values: ArrayRef) -> ArrayRef {
        let keys = Int32Array::from(vec![Some(3), None, Some(1), Some(0), Some(3)]);
        Arc::new(DictionaryArray::new(keys, values))
    }

    /// Four decimals, one of them null.
    fn decimals(kind: &DataType) -> ArrayRef {
        cast(&StringArray::from(vec![Some("1230"), None, Some("-9876540"), Some("0.1")]), kind).unwrap()
    }

    fn others() -> Vec<ArrayRef> {
        let floats: ArrayRef =
            Arc::new(Float64Array::from(vec![Some(0.1), None, Some(-1e300), Some(65504.0)]));
        vec![
            Arc::clone(&floats),
            Arc::new(Float32Array::from(vec![Some(0.1), None, Some(f32::MAX)])),
            cast(&floats, &DataType::Float16).unwrap(),
            Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)])),
            Arc::new(NullArray::new(2)),
            by_dictionary(Arc::new(Float32Array::from(vec![Some(0.5), None, Some(-3.0), Some(7.25)]))),
            by_dictionary(Arc::new(Int64Array::from(vec![Some(1), None, Some(2), Some((1 << 53) + 1)]))),
            by_dictionary(decimals(&DataType::Decimal64(18, 2))),
            decimals(&DataType::Decimal32(9, 1)),
            decimals(&DataType::Decimal64(18, 0)),
            decimals(&DataType::Decimal128(38, 2)),
            decimals(&DataType::Decimal128(38, 30)),
            decimals(&DataType::Decimal128(12, -1)),
            decimals(&DataType::Decimal256(76, 40)),
        ]
    }

    #[test]
    fn numbers_agree_with_casts_and_nulls_are_nan() {
        for array in whole_numbers().into_iter().chain(others()) {
            let (mut double, mut single) = (vec![0.0; array.len()], vec![0.0; array.len()]);
            copy::<f64>(Path::new("x"), &array, &mut double).unwrap();
            copy::<f32>(Path::new("x"), &array, &mut single).unwrap();
            let expected = cast(&array, &DataType::Float64).unwrap();
            for (row, expected) in expected.as_primitive::<Float64Type>().iter().enumerate() {
                let expected = expected.unwrap_or(f64::NAN);
                assert_eq!(double[row].to_bits(), expected.to_bits(), "{array:?}");
                assert_eq!(single[row].to_bits(), (expected as f32).to_bits(), "{array:?}");
            }
        }
    }

    #[test]
    fn integers_and_text_agree_with_casts() {
        for array in whole_numbers() {
            assert_eq!(&integers(&array), &cast(&array, &DataType::Int64).unwrap());
        }
        for array in whole_numbers().into_iter().chain(others()).chain(texts()) {
            let expected = cast(&array, &DataType::LargeUtf8).unwrap();
            let found = text(Path::new("x"), &array).unwrap();
            assert!(found.iter().eq(expected.as_string::<i64>().iter()), "{array:?}");
        }
    }
}
