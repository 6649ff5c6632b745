//! Mutations of JSON: changes a value anywhere in the tree.

use serde_json::{Value, json};

use super::Rng;
use super::bytes::{NUMBERS, choose, position};

/// Changes one value of a JSON text, or some bytes of another text.
pub(super) fn change(rng: &mut Rng, bytes: &mut Vec<u8>) {
    match serde_json::from_slice::<Value>(bytes) {
        Ok(mut value) => {
            change_value(rng, &mut value);
            *bytes = value.to_string().into_bytes();
        }
        Err(_) => super::text::change(rng, bytes),
    }
}

/// Changes one value of the tree.
pub(super) fn change_value(rng: &mut Rng, root: &mut Value) {
    let n = count(root);
    // Two draws favour deep values: the root and values near it contain the others.
    let target = position(rng, n).max(position(rng, n));
    let copy = rng.gen_bool().then(|| nth(root, position(rng, n)).cloned()).flatten();
    if let Some(value) = nth_mut(root, &mut { target }) {
        change_one(rng, value, copy);
    }
}

fn change_one(rng: &mut Rng, value: &mut Value, other: Option<Value>) {
    match (value, rng.gen_u8() % 8) {
        (Value::Object(fields), 0..=2) if !fields.is_empty() => {
            let key = fields.keys().nth(position(rng, fields.len())).cloned().unwrap_or_default();
            let removed = fields.remove(&key);
            // Renames or removes a member.
            if rng.gen_bool() {
                fields.insert(
                    choose(rng, &["", "x", "seed", "tol", "n_components"]).to_owned(),
                    removed.into(),
                );
            }
        }
        (Value::Array(list), 0..=2) if !list.is_empty() => {
            let at = position(rng, list.len());
            if rng.gen_bool() {
                list.remove(at);
            } else {
                let copy = list[at].clone();
                list.insert(at, copy);
            }
        }
        (Value::Number(number), 0..=3) => {
            let old = number.as_f64().unwrap_or_default();
            let new = match rng.gen_u8() % 6 {
                0 => json!(old * choose(rng, &[-1.0, 0.5, 2.0, 1e3, 1e-3, 1e300])),
                1 => json!(old as i64 + i64::from(rng.gen_i8() % 4)),
                2 => json!(u64::MAX),
                _ => return replace(rng, number),
            };
            if let Value::Number(new) = new {
                *number = new;
            }
        }
        (Value::String(text), 0..=3) => {
            let mut bytes = std::mem::take(text).into_bytes();
            super::text::change(rng, &mut bytes);
            *text = String::from_utf8_lossy(&bytes).into_owned();
        }
        (value, _) => *value = other.unwrap_or_else(|| fresh(rng)),
    }
}

fn replace(rng: &mut Rng, number: &mut serde_json::Number) {
    *number = choose(rng, &NUMBERS).into();
}

fn fresh(rng: &mut Rng) -> Value {
    match rng.gen_u8() % 12 {
        0 => Value::Null,
        1 => json!(true),
        2 => json!(false),
        3 => json!(choose(rng, &NUMBERS)),
        4 => {
            json!(choose(rng, &[0.0, -0.0, 0.5, 1.0, 1e-300, 1e308, -1e308, 5e-324, 0.999_999_999_999_999_9]))
        }
        5 => json!(""),
        6 => json!("NaN"),
        7 => json!([]),
        8 => json!({}),
        // Deeper than the limit of the parser.
        9 => (0..200).fold(json!(1), |value, _| json!([value])),
        10 => json!("a".repeat(3000)),
        _ => json!([0, -1, 1e308, null]),
    }
}

/// Number of values in the tree, including the root.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(list) => list.iter().map(count).sum::<usize>(),
        Value::Object(fields) => fields.values().map(count).sum(),
        _ => 0,
    }
}

fn nth(value: &Value, mut n: usize) -> Option<&Value> {
    fn find<'a>(value: &'a Value, n: &mut usize) -> Option<&'a Value> {
        if *n == 0 {
            return Some(value);
        }
        *n -= 1;
        match value {
            Value::Array(list) => list.iter().find_map(|value| find(value, n)),
            Value::Object(fields) => fields.values().find_map(|value| find(value, n)),
            _ => None,
        }
    }
    find(value, &mut n)
}

fn nth_mut<'a>(value: &'a mut Value, n: &mut usize) -> Option<&'a mut Value> {
    if *n == 0 {
        return Some(value);
    }
    *n -= 1;
    match value {
        Value::Array(list) => list.iter_mut().find_map(|value| nth_mut(value, n)),
        Value::Object(fields) => fields.values_mut().find_map(|value| nth_mut(value, n)),
        _ => None,
    }
}
