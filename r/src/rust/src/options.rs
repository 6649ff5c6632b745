//! The options of a fit: a list of R with the names of the fields of an estimator.

use karhunen::error::OptionName;
use savvy::{ListSexp, Sexp, TypedSexp, savvy_err};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value, json};

use crate::call::Call;

/// Reads a list with the names of the fields of `O`, over the defaults.
///
/// # Errors
/// An option that `O` does not have; a value of another kind.
pub(crate) fn read<O>(call: &Call, list: &ListSexp) -> savvy::Result<O>
where
    O: Default + Serialize + DeserializeOwned,
{
    let Value::Object(mut fields) = serde_json::to_value(O::default())? else {
        return Err(savvy_err!("internal error: options have names"));
    };
    for (name, value) in list.iter() {
        if !fields.contains_key(name) {
            return Err(savvy_err!("unused argument ({name}): {}() has no such option", call.function));
        }
        let value = json_of(value)?;
        // Every field has a default, so that one field alone is the whole of the options.
        if let Err(error) = serde_json::from_value::<O>(json!({ name: value })) {
            let argument = argument(call, name);
            return Err(savvy_err!("{argument} = {value} is not allowed: {error}"));
        }
        fields.insert(name.to_owned(), value);
    }
    Ok(serde_json::from_value(Value::Object(fields))?)
}

/// The R argument of a field.
fn argument(call: &Call, field: &'static str) -> &'static str {
    call.argument(OptionName::new(field))
}

/// A value in the form of model files: a list with names is an object, one without names an array.
fn json_of(value: Sexp) -> savvy::Result<Value> {
    let all =
        |mut values: Vec<Value>| if values.len() == 1 { values.remove(0) } else { Value::Array(values) };
    Ok(match value.into_typed() {
        TypedSexp::Null(_) => Value::Null,
        TypedSexp::Logical(flags) => all(flags.iter().map(Value::Bool).collect()),
        TypedSexp::Integer(numbers) => all(numbers.iter().map(|number| json!(number)).collect()),
        TypedSexp::Real(numbers) => all(numbers.iter().map(|number| json_number(*number)).collect()),
        TypedSexp::String(texts) => all(texts.iter().map(|text| json!(text)).collect()),
        TypedSexp::List(list) if list.names_iter().any(|name| !name.is_empty()) => {
            let mut object = Map::new();
            for (name, value) in list.iter() {
                object.insert(name.to_owned(), json_of(value)?);
            }
            Value::Object(object)
        }
        TypedSexp::List(list) => Value::Array(list.values_iter().map(json_of).collect::<savvy::Result<_>>()?),
        _ => return Err(savvy_err!("an option is a number, a text, TRUE, FALSE or NULL")),
    })
}

/// A whole number as an integer, because R's `3` is a double; `null` for NaN and infinity, which no option takes.
fn json_number(value: f64) -> Value {
    /// Doubles hold every integer up to this one.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() <= EXACT {
        json!(value as i64)
    } else {
        Number::from_f64(value).map_or(Value::Null, Value::Number)
    }
}
