//! Fitted models as lists of R's vectors, from which a later session restores them.

use karhunen::record::{Array, Number, Numbers, Record, Recorded};
use savvy::{ListSexp, OwnedListSexp, OwnedRawSexp, OwnedRealSexp, OwnedStringSexp, Sexp, savvy_err};

use crate::call::{Call, element, text, texts};
use crate::results::Fields;

const DAMAGED: &str = "the model is damaged, fit it again";

/// The record of a model: texts, and arrays in C order with their type and shape.
///
/// # Errors
/// Memory that R does not have.
pub(crate) fn to_list<M: Recorded>(call: &Call, model: &M) -> savvy::Result<Sexp> {
    let record = model.to_record().map_err(|error| call.error(&error))?;
    let mut out = Fields::new(8)?;
    out.text("kind", &record.kind)?;
    out.text("version", &record.version)?;
    out.put("keys", OwnedStringSexp::try_from_iter(record.texts.keys())?)?;
    out.put("texts", OwnedStringSexp::try_from_iter(record.texts.values())?)?;
    out.put("names", OwnedStringSexp::try_from_iter(record.arrays.iter().map(|array| &array.name))?)?;
    out.put(
        "types",
        OwnedStringSexp::try_from_iter(record.arrays.iter().map(|array| array.numbers.dtype()))?,
    )?;
    let mut shapes = OwnedListSexp::new(record.arrays.len(), false)?;
    let mut values = OwnedListSexp::new(record.arrays.len(), false)?;
    for (i, Array { shape, numbers, .. }) in record.arrays.iter().enumerate() {
        let shape: Vec<f64> = shape.iter().map(|&length| length as f64).collect();
        shapes.set_value(i, OwnedRealSexp::try_from_slice(shape)?)?;
        match numbers {
            Numbers::F64(numbers) => values.set_value(i, OwnedRealSexp::try_from_slice(&numbers[..])?)?,
            Numbers::F32(numbers) => values.set_value(i, wide(numbers, f64::from)?)?,
            Numbers::I64(numbers) => values.set_value(i, wide(numbers, |x| x as f64)?)?,
            Numbers::U32(numbers) => values.set_value(i, wide(numbers, f64::from)?)?,
            Numbers::U8(numbers) => values.set_value(i, OwnedRawSexp::try_from_slice(&numbers[..])?)?,
        }
    }
    out.put("shapes", shapes)?;
    out.put("values", values)?;
    out.done()
}

/// Numbers as doubles, which hold all that models have: singles, and integers that count or number.
fn wide<T: Copy>(numbers: &[T], convert: impl Fn(T) -> f64) -> savvy::Result<OwnedRealSexp> {
    let numbers: Vec<f64> = numbers.iter().map(|&number| convert(number)).collect();
    OwnedRealSexp::try_from_slice(numbers)
}

/// The model of a list that [`to_list`] made.
///
/// # Errors
/// Another list.
pub(crate) fn from_list<M: Recorded>(call: &Call, list: &ListSexp) -> savvy::Result<M> {
    let mut record = Record::new(M::KIND);
    record.kind = text(list, "kind")?;
    record.version = text(list, "version")?;
    for (key, value) in texts(list, "keys")?.into_iter().zip(texts(list, "texts")?) {
        record.put_text(key, value);
    }
    let (names, types) = (texts(list, "names")?, texts(list, "types")?);
    let shapes = ListSexp::try_from(element(list, "shapes")?)?;
    let values = ListSexp::try_from(element(list, "values")?)?;
    for (i, (name, dtype)) in names.into_iter().zip(types).enumerate() {
        let (Some(shape), Some(values)) = (shapes.get_by_index(i), values.get_by_index(i)) else {
            return Err(savvy_err!("{DAMAGED}"));
        };
        let shape: Vec<usize> =
            savvy::RealSexp::try_from(shape)?.iter().map(|&length| length as usize).collect();
        put(&mut record, (name, &shape), dtype, values)?;
    }
    M::from_record(&mut record).map_err(|error| call.error(&error))
}

fn put(
    record: &mut Record<'_>,
    (name, shape): (&str, &[usize]),
    dtype: &str,
    values: Sexp,
) -> savvy::Result<()> {
    if dtype == u8::DTYPE {
        record.put(name, shape, savvy::RawSexp::try_from(values)?.to_vec());
        return Ok(());
    }
    let values = savvy::RealSexp::try_from(values)?;
    let values = values.as_slice();
    match dtype {
        f64::DTYPE => record.put(name, shape, values.to_vec()),
        f32::DTYPE => record.put(name, shape, values.iter().map(|&x| x as f32).collect::<Vec<_>>()),
        i64::DTYPE => record.put(name, shape, values.iter().map(|&x| x as i64).collect::<Vec<_>>()),
        u32::DTYPE => record.put(name, shape, values.iter().map(|&x| x as u32).collect::<Vec<_>>()),
        _ => return Err(savvy_err!("{DAMAGED}")),
    }
    Ok(())
}
