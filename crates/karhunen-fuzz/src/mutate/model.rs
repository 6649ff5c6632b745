//! Mutations of model files and checkpoints: the JSON of the header and of its texts, the arrays, the values.
//! Lengths and offsets are updated, and the checksum is usually left out, so that inputs reach the code after
//! these checks.

use serde_json::{Map, Value, json};

use super::Rng;
use super::bytes::{self, choose, position};
use super::json::change_value;

/// Numbers that no fit produces.
const VALUES: [f64; 14] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    5e-324,
    f64::MIN_POSITIVE,
    1e-200,
    1e200,
    f64::MAX,
    f64::MIN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    1e15,
];

/// Makes one mutation.
pub(super) fn change(rng: &mut Rng, file: &mut Vec<u8>) {
    let Some((mut header, mut data)) = parts(file) else { return bytes::change(rng, file) };
    match rng.gen_u8() % 10 {
        0..=3 => metadata(rng, &mut header),
        4 => {
            change_tree(rng, &mut header);
        }
        5..=7 => value(rng, &header, &mut data),
        8 => resize(rng, &mut header, &mut data),
        _ => drop_or_copy(rng, &mut header),
    }
    // With a checksum most inputs would be refused at once; files of version 0.1.0 have none.
    if !rng.gen_u8().is_multiple_of(16)
        && let Some(Value::Object(texts)) = header.get_mut("__metadata__")
    {
        texts.remove("checksum");
    }
    *file = whole(&header, &data);
}

fn change_tree(rng: &mut Rng, header: &mut Map<String, Value>) {
    let mut tree = Value::Object(std::mem::take(header));
    change_value(rng, &mut tree);
    if let Value::Object(changed) = tree {
        *header = changed;
    }
}

/// The JSON of the header and the bytes after it.
fn parts(file: &[u8]) -> Option<(Map<String, Value>, Vec<u8>)> {
    let length = usize::try_from(u64::from_le_bytes(*file.first_chunk()?)).ok()?;
    let header = file.get(8..)?.get(..length)?;
    match serde_json::from_slice(header).ok()? {
        Value::Object(header) => Some((header, file[8 + length..].to_vec())),
        _ => None,
    }
}

fn whole(header: &Map<String, Value>, data: &[u8]) -> Vec<u8> {
    let mut text = Value::Object(header.clone()).to_string();
    text.extend(std::iter::repeat_n(' ', text.len().next_multiple_of(8) - text.len()));
    [&(text.len() as u64).to_le_bytes()[..], text.as_bytes(), data].concat()
}

/// Mutates a text of the metadata, by its structure if it is JSON.
fn metadata(rng: &mut Rng, header: &mut Map<String, Value>) {
    let Some(Value::Object(texts)) = header.get_mut("__metadata__") else { return };
    let at = position(rng, texts.len());
    let Some((key, Value::String(text))) = texts.iter_mut().nth(at) else { return };
    if rng.gen_u8().is_multiple_of(12) {
        let key = key.clone();
        texts.remove(&key);
        return;
    }
    match serde_json::from_str::<Value>(text) {
        Ok(mut inner) => {
            change_value(rng, &mut inner);
            *text = inner.to_string();
        }
        Err(_) => {
            let mut inner = text.clone().into_bytes();
            super::text::change(rng, &mut inner);
            *text = String::from_utf8_lossy(&inner).into_owned();
        }
    }
}

/// Mutates one number of an array, or a range of it.
fn value(rng: &mut Rng, header: &Map<String, Value>, data: &mut [u8]) {
    let arrays: Vec<&Value> =
        header.iter().filter(|(name, _)| *name != "__metadata__").map(|(_, array)| array).collect();
    if arrays.is_empty() {
        return;
    }
    let Some((begin, end)) = offsets(choose(rng, &arrays)) else { return };
    let Some(values) = data.get_mut(begin..end) else { return };
    let n = values.len() / 8;
    if n == 0 {
        return bytes::number(rng, values);
    }
    let at = position(rng, n);
    let times = if rng.gen_u8().is_multiple_of(4) { n - at } else { 1 };
    let new = match rng.gen_u8() % 4 {
        0 => return bytes::number(rng, values),
        1 => {
            f64::from_le_bytes(std::array::from_fn(|byte| values[8 * at + byte]))
                * choose(rng, &[-1.0, 2.0, 1e-3, 1e3, 1e150])
        }
        _ => choose(rng, &VALUES),
    };
    for index in at..at + times {
        values[8 * index..8 * index + 8].copy_from_slice(&new.to_le_bytes());
    }
}

fn offsets(array: &Value) -> Option<(usize, usize)> {
    let offset = |index: usize| usize::try_from(array["data_offsets"][index].as_u64()?).ok();
    Some((offset(0)?, offset(1)?))
}

/// Adds a value to the last array, removes one, or removes all, and updates offsets and shape.
fn resize(rng: &mut Rng, header: &mut Map<String, Value>, data: &mut Vec<u8>) {
    let last =
        header.iter_mut().filter(|(name, _)| *name != "__metadata__").max_by_key(|(_, array)| offsets(array));
    let Some((_, array)) = last else { return };
    let Some((begin, _)) = offsets(array).filter(|(begin, _)| *begin <= data.len()) else { return };
    let n: usize = choose(rng, &[0, 1, 2, 3, 17]);
    data.truncate(begin);
    data.resize(begin + 8 * n, 1);
    let shapes = [json!([n]), json!([n, 1]), json!([1, n]), json!([])];
    array["shape"] = shapes[position(rng, shapes.len())].clone();
    array["data_offsets"] = json!([begin, begin + 8 * n]);
    array["dtype"] = json!("F64");
}

fn drop_or_copy(rng: &mut Rng, header: &mut Map<String, Value>) {
    let keys: Vec<String> = header.keys().cloned().collect();
    if keys.is_empty() {
        return;
    }
    let key = &keys[position(rng, keys.len())];
    let Some(array) = header.remove(key) else { return };
    if rng.gen_bool() {
        header.insert(keys[position(rng, keys.len())].clone(), array);
    }
}
