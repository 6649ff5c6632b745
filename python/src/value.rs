//! Deserialization of Python values by serde. Types are strict: a flag is not a number, a float is not a count.

use std::fmt;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyType};
use serde::de::value::{MapAccessDeserializer, MapDeserializer, SeqDeserializer};
use serde::de::{Deserializer, Error, IntoDeserializer, Visitor};

/// A Python value, deserialized to the type that serde requests.
pub(crate) struct Value<'py>(pub(crate) Bound<'py, PyAny>);

impl<'py> Value<'py> {
    /// Tests whether the value is an instance of the class, or of `module.name`; a boolean is an instance of neither.
    fn is_number<C: pyo3::PyTypeCheck>(
        &self,
        other: &'static PyOnceLock<Py<PyType>>,
        name: &str,
    ) -> PyResult<bool> {
        if self.0.cast::<C>().is_ok() {
            return Ok(!self.0.is_instance_of::<PyBool>());
        }
        self.0.is_instance(other.import(self.0.py(), "numbers", name)?)
    }

    /// Tests whether the value is an integer, of Python or of another library.
    fn is_whole(&self) -> PyResult<bool> {
        static INTEGRAL: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        self.is_number::<PyInt>(&INTEGRAL, "Integral")
    }

    /// Tests whether the value is a real number, of Python or of another library.
    fn is_real(&self) -> PyResult<bool> {
        static REAL: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        Ok(self.is_number::<PyFloat>(&REAL, "Real")? && !self.0.is_instance_of::<PyBool>())
    }

    fn is_flag(&self) -> PyResult<bool> {
        static FLAG: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        Ok(self.0.is_instance_of::<PyBool>()
            || self.0.is_instance(FLAG.import(self.0.py(), "numpy", "bool_")?)?)
    }

    fn text(&self) -> PyResult<Option<String>> {
        self.0.cast::<PyString>().ok().map(|text| Ok(text.to_cow()?.into_owned())).transpose()
    }

    /// The items of a dict.
    fn items(&self) -> Result<Vec<(String, Self)>, Refusal> {
        let dict = self.0.cast::<PyDict>().map_err(Refusal::custom)?;
        dict.iter().map(|(name, value)| Ok((name.extract()?, Self(value)))).collect()
    }
}

/// Refusal of a value.
#[derive(Debug)]
pub(crate) struct Refusal {
    reason: Reason,
    /// True if the option may also be `None`.
    or_none: bool,
}

#[derive(Debug)]
enum Reason {
    /// The value breaks this rule.
    Rule(&'static str),
    /// The value is not a string, but a name is needed.
    NoName,
    /// The value is none of these names of files.
    Unknown(&'static [&'static str]),
    /// The engine has no such option.
    NoOption,
    /// The Python package passed a value of another form than the engine reads.
    Form(String),
}

impl Refusal {
    /// The exception for the value of an option. `in_python` returns the name in Python of a name in files.
    pub(crate) fn exception(
        self,
        option: &str,
        value: &Bound<'_, PyAny>,
        in_python: impl Fn(&'static str) -> &'static str,
    ) -> PyErr {
        let shown = match value.repr() {
            Ok(shown) => shown.to_string(),
            Err(error) => return error,
        };
        let fault = match self.reason {
            Reason::Rule(rule) if self.or_none => format!("is not allowed: {rule}, or None"),
            Reason::Rule(rule) => format!("is not allowed: {rule}"),
            Reason::NoName => "is not known; it must be a string".to_owned(),
            Reason::Unknown(names) => {
                // In Python, `None` as the choice of the engine is called "auto".
                let auto = self.or_none.then_some("auto");
                let names = auto.into_iter().chain(names.iter().map(|name| in_python(name)));
                let names: Vec<_> = names.map(|name| format!("'{name}'")).collect();
                format!("is not known; choose one of {}", names.join(", "))
            }
            Reason::NoOption => {
                return PyTypeError::new_err(format!("internal error: the engine has no option {option}"));
            }
            Reason::Form(fault) => {
                return PyTypeError::new_err(format!("internal error: {option} = {shown}: {fault}"));
            }
        };
        PyValueError::new_err(format!("{option} = {shown} {fault}"))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.reason)
    }
}

impl std::error::Error for Refusal {}

impl From<Reason> for Refusal {
    fn from(reason: Reason) -> Self {
        Self { reason, or_none: false }
    }
}

impl From<PyErr> for Refusal {
    fn from(error: PyErr) -> Self {
        Self::custom(error)
    }
}

impl Error for Refusal {
    fn custom<T: fmt::Display>(fault: T) -> Self {
        Reason::Form(fault.to_string()).into()
    }

    fn unknown_variant(_: &str, names: &'static [&'static str]) -> Self {
        Reason::Unknown(names).into()
    }
}

impl IntoDeserializer<'_, Refusal> for Value<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Value<'_> {
    type Error = Refusal;

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        if !self.is_flag()? {
            return Err(Reason::Rule("it must be True or False").into());
        }
        visitor.visit_bool(self.0.is_truthy()?)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        if !self.is_whole()? {
            return Err(Reason::Rule("it must be a whole number").into());
        }
        match self.0.extract() {
            Ok(number) => visitor.visit_u64(number),
            Err(_) if self.0.lt(0)? => {
                Err(Reason::Rule("it must be a whole number, and not a negative one").into())
            }
            Err(_) => Err(Reason::Rule("it must be below 18446744073709551616").into()),
        }
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        if !self.is_real()? {
            return Err(Reason::Rule("it must be a number").into());
        }
        match self.0.extract() {
            Ok(number) => visitor.visit_f64(number),
            Err(_) => Err(Reason::Rule("it must be a number in the range of float64").into()),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        visitor.visit_string(self.text()?.ok_or(Reason::NoName)?)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        if self.0.is_none() {
            return visitor.visit_none();
        }
        visitor.visit_some(self).map_err(|refusal: Refusal| Refusal { or_none: true, ..refusal })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        match self.text()? {
            Some(variant) => visitor.visit_enum(variant.into_deserializer()),
            None => MapAccessDeserializer::new(MapDeserializer::new(self.items()?.into_iter()))
                .deserialize_enum(name, variants, visitor),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        let values = self.0.try_iter()?.map(|value| value.map(Value)).collect::<PyResult<Vec<_>>>()?;
        visitor.visit_seq(SeqDeserializer::new(values.into_iter()))
    }

    /// Called by structs only, for a value of an unknown field.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Refusal> {
        Err(Reason::NoOption.into())
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match self.text()? {
            Some(text) => visitor.visit_string(text),
            None if self.is_flag()? => self.deserialize_bool(visitor),
            None if self.0.is_instance_of::<PyList>() => self.deserialize_seq(visitor),
            None if self.is_whole()? => self.deserialize_u64(visitor),
            None if self.is_real()? => self.deserialize_f64(visitor),
            None => visitor.visit_map(MapDeserializer::new(self.items()?.into_iter())),
        }
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u32 u128 f32 char str bytes byte_buf unit unit_struct newtype_struct tuple
        tuple_struct map struct identifier
    }
}
