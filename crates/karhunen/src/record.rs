//! Fitted models and unfinished fits as records: named arrays, and everything else as text. Model files, checkpoints and
//! pickles are records, so that each part of a model is described once, next to its struct.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::linalg::Matrix;

/// Arrays that may hold infinity: if only normalised weights matter, the sum of the weights may exceed the range of
/// f64, and the singular values with it.
const MAY_OVERFLOW: [&str; 3] = ["sum_of_weights", "singular_values", "new_rows"];

/// A fitted model, or the state of a fit, that a record holds completely, except a user-defined kernel function.
///
/// ```
/// use karhunen::record::{Record, Recorded};
/// use karhunen::{Dense, Pca, PcaModel, Weights};
/// let x = Dense::row_major(&[0.0, 1.0, 2.0, 5.0], 2, 2)?;
/// let model = Pca::new(1).fit(&x, &Weights::default())?;
/// let record: Record<'_> = model.to_record()?;
/// assert_eq!(record.kind, "pca");
/// assert_eq!(PcaModel::from_record(&mut record.clone())?, model);
/// # Ok::<(), karhunen::Error>(())
/// ```
pub trait Recorded: Sized {
    /// The name of this kind in records.
    const KIND: &'static str;

    /// Returns the record; large arrays are borrowed.
    ///
    /// # Errors
    /// [`Error::Record`] for a value that JSON cannot represent.
    fn to_record(&self) -> Result<Record<'_>>;

    /// Restores the model or fit from a record, and removes its arrays from the record; other arrays and texts are
    /// ignored.
    ///
    /// # Errors
    /// [`Error::Record`] for parts that are missing or damaged, or of another kind; errors of parts that do not
    /// agree with each other.
    fn from_record(record: &mut Record<'_>) -> Result<Self>;
}

/// Named arrays, and everything else as text.
#[derive(Clone, Debug, PartialEq)]
pub struct Record<'a> {
    /// [`Recorded::KIND`] of the content.
    pub kind: String,
    /// The version of karhunen that made the record.
    pub version: String,
    /// The arrays, in the order in which a file stores them.
    pub arrays: Vec<Array<'a>>,
    /// All other content: names as they are, values as JSON.
    pub texts: BTreeMap<String, String>,
}

/// A named array.
#[derive(Clone, Debug, PartialEq)]
pub struct Array<'a> {
    /// Its name.
    pub name: String,
    /// Its length along each axis; empty for a single number.
    pub shape: Vec<usize>,
    /// Its values in C order.
    pub numbers: Numbers<'a>,
}

/// The values of an array, of the types that models have.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the type of the values is the name")]
pub enum Numbers<'a> {
    F64(Cow<'a, [f64]>),
    F32(Cow<'a, [f32]>),
    I64(Cow<'a, [i64]>),
    U32(Cow<'a, [u32]>),
    U8(Cow<'a, [u8]>),
}

impl Numbers<'_> {
    /// The name of their type in messages: `F64` and so on.
    pub fn dtype(&self) -> &'static str {
        match self {
            Numbers::F64(_) => f64::DTYPE,
            Numbers::F32(_) => f32::DTYPE,
            Numbers::I64(_) => i64::DTYPE,
            Numbers::U32(_) => u32::DTYPE,
            Numbers::U8(_) => u8::DTYPE,
        }
    }
}

/// A type of the values of an array.
pub trait Number: Copy + 'static {
    /// The name of the type in messages.
    const DTYPE: &'static str;
    /// Wraps the values of an array.
    fn numbers(values: Cow<'_, [Self]>) -> Numbers<'_>;
    /// Returns the values of an array of this type.
    ///
    /// # Errors
    /// The name of the array's type, if it is another.
    fn values(numbers: Numbers<'_>) -> std::result::Result<Vec<Self>, &'static str>;
    /// Returns the first value that is NaN or infinite; positive infinity is accepted if `may_overflow`.
    fn first_damage(values: &[Self], may_overflow: bool) -> Option<String>;
}

/// A macro, because the five implementations differ only in the variant, which a generic function cannot name.
macro_rules! number {
    ($type:ty, $variant:ident, $damaged:expr) => {
        impl Number for $type {
            const DTYPE: &'static str = stringify!($variant);

            fn numbers(values: Cow<'_, [Self]>) -> Numbers<'_> {
                Numbers::$variant(values)
            }

            fn values(numbers: Numbers<'_>) -> std::result::Result<Vec<Self>, &'static str> {
                match numbers {
                    Numbers::$variant(values) => Ok(values.into_owned()),
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

number!(f64, F64, |x, may_overflow| !(x.is_finite() || (may_overflow && x == f64::INFINITY)));
number!(f32, F32, |x, may_overflow| !(x.is_finite() || (may_overflow && x == f32::INFINITY)));
number!(i64, I64, |_, _| false);
number!(u32, U32, |_, _| false);
number!(u8, U8, |_, _| false);

impl<'a> Record<'a> {
    /// An empty record of this version.
    pub fn new(kind: &str) -> Self {
        Self {
            kind: kind.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            arrays: Vec::new(),
            texts: BTreeMap::new(),
        }
    }

    /// Adds an array.
    pub fn put<T: Number>(&mut self, name: &str, shape: &[usize], values: impl Into<Cow<'a, [T]>>) {
        let (name, shape) = (name.to_owned(), shape.to_vec());
        self.arrays.push(Array { name, shape, numbers: T::numbers(values.into()) });
    }

    /// Adds an array of one axis.
    pub fn put_row<T: Number>(&mut self, name: &str, values: impl Into<Cow<'a, [T]>>) {
        let values = values.into();
        self.put(name, &[values.len()], values);
    }

    /// Adds a single number.
    pub fn put_scalar(&mut self, name: &str, value: f64) {
        self.put(name, &[], vec![value]);
    }

    /// Adds a matrix.
    pub fn put_matrix(&mut self, name: &str, matrix: &'a Matrix) {
        self.put(name, &[matrix.n_rows(), matrix.n_cols()], matrix.as_slice());
    }

    /// Adds counts, as `i64`.
    pub fn put_counts(&mut self, name: &str, counts: impl Iterator<Item = usize>) {
        self.put_row(name, counts.map(|count| count as i64).collect::<Vec<_>>());
    }

    /// Adds a text as it is.
    pub fn put_text(&mut self, key: &str, text: &str) {
        self.texts.insert(key.to_owned(), text.to_owned());
    }

    /// Adds a value as JSON.
    ///
    /// # Errors
    /// [`Error::Record`] for a value that JSON cannot represent.
    pub fn put_json<V: Serialize>(&mut self, key: &str, value: &V) -> Result<()> {
        let text = serde_json::to_string(value).map_err(|error| unsaid(key, &error))?;
        self.texts.insert(key.to_owned(), text);
        Ok(())
    }

    /// As [`Record::put_json`], without the field `list`, which is stored as arrays; [`Record::json_with_no`] reads it.
    ///
    /// # Errors
    /// As [`Record::put_json`].
    pub fn put_json_without<V: Serialize>(&mut self, key: &str, value: &V, list: &str) -> Result<()> {
        let mut value = serde_json::to_value(value).map_err(|error| unsaid(key, &error))?;
        if let Value::Object(fields) = &mut value {
            fields.remove(list);
        }
        self.texts.insert(key.to_owned(), value.to_string());
        Ok(())
    }

    /// Refuses a record of another kind.
    ///
    /// # Errors
    /// [`Error::Record`].
    pub fn check_kind(&self, kind: &str) -> Result<()> {
        if self.kind == kind {
            return Ok(());
        }
        let found = shortened(&self.kind);
        Err(damaged(format!("holds a model of the kind `{found}`; `{kind}` is what can be read")))
    }

    /// Returns true if the record has an array of this name.
    pub fn has(&self, name: &str) -> bool {
        self.arrays.iter().any(|array| array.name == name)
    }

    /// Returns true if the record has an array of this name and type.
    pub(crate) fn holds<T: Number>(&self, name: &str) -> bool {
        self.arrays.iter().any(|array| array.name == name && array.numbers.dtype() == T::DTYPE)
    }

    /// Takes an array of `N` axes out of the record.
    ///
    /// # Errors
    /// [`Error::Record`] if it is missing, is of another type, has another number of axes, or holds NaN or infinity.
    pub fn take<T: Number, const N: usize>(&mut self, name: &str) -> Result<([usize; N], Vec<T>)> {
        let (shape, values) = self.take_with_missing(name)?;
        match T::first_damage(&values, MAY_OVERFLOW.contains(&name)) {
            Some(value) => {
                Err(in_array(name, format!("holds {value}; the model file is damaged, fit it again")))
            }
            None => Ok((shape, values)),
        }
    }

    /// As [`Record::take`], for arrays in which NaN marks a missing value.
    ///
    /// # Errors
    /// As [`Record::take`], except that values are not checked.
    pub fn take_with_missing<T: Number, const N: usize>(
        &mut self,
        name: &str,
    ) -> Result<([usize; N], Vec<T>)> {
        let Some(place) = self.arrays.iter().position(|array| array.name == name) else {
            return Err(in_array(name, "is missing; the model file is damaged, fit it again".to_owned()));
        };
        let Array { shape, numbers, .. } = self.arrays.swap_remove(place);
        let Ok(shape) = <[usize; N]>::try_from(shape.as_slice()) else {
            let problem = format!("has shape {shape:?}, and {N} axes are expected; fit the model again");
            return Err(in_array(name, problem));
        };
        match T::values(numbers) {
            Ok(values) if Some(values.len()) == n_values(&shape) => Ok((shape, values)),
            Ok(values) => Err(in_array(name, format!("has shape {shape:?} and {} values", values.len()))),
            Err(found) => {
                let problem = format!("has dtype {found}, and {} is expected; fit the model again", T::DTYPE);
                Err(in_array(name, problem))
            }
        }
    }

    /// Takes an array of `expected` values on one axis.
    ///
    /// # Errors
    /// As [`Record::take`], also for another number of values.
    pub fn take_row<T: Number>(&mut self, name: &str, expected: usize) -> Result<Vec<T>> {
        let ([found], values) = self.take(name)?;
        expect_length(name, found, expected)?;
        Ok(values)
    }

    /// As [`Record::take_row`], for sums of weights or of squares.
    ///
    /// # Errors
    /// As [`Record::take_row`], also for negative values.
    pub(crate) fn take_not_negative(&mut self, name: &str, expected: usize) -> Result<Vec<f64>> {
        let values: Vec<f64> = self.take_row(name, expected)?;
        match values.iter().find(|value| **value < 0.0) {
            Some(value) => Err(in_array(name, format!("holds {value}; the file is damaged, fit it again"))),
            None => Ok(values),
        }
    }

    /// As [`Record::take_row`], with `None` for NaN.
    pub(crate) fn take_row_with_missing(&mut self, name: &str, expected: usize) -> Result<Vec<Option<f64>>> {
        let ([found], values) = self.take_with_missing::<f64, 1>(name)?;
        expect_length(name, found, expected)?;
        Ok(values.into_iter().map(|x| Some(x).filter(|x| !x.is_nan())).collect())
    }

    /// Takes an array of one axis, of any length.
    pub(crate) fn take_any_row(&mut self, name: &str) -> Result<Vec<f64>> {
        self.take::<f64, 1>(name).map(|(_, values)| values)
    }

    /// Takes a single number.
    pub(crate) fn take_scalar(&mut self, name: &str) -> Result<f64> {
        self.take::<f64, 0>(name).map(|(_, values)| values[0])
    }

    /// Takes a matrix.
    pub(crate) fn take_matrix(&mut self, name: &str) -> Result<Matrix> {
        let ([n_rows, n_cols], values) = self.take(name)?;
        Matrix::from_vec(n_rows, n_cols, values)
    }

    /// Takes counts: integers that are not negative.
    ///
    /// # Errors
    /// As [`Record::take`], also for negative numbers.
    pub fn take_counts<C: TryFrom<i64>>(&mut self, name: &str) -> Result<Vec<C>> {
        let ([_], values) = self.take::<i64, 1>(name)?;
        let problem = |value: i64| format!("holds {value}; the model file is damaged, fit it again");
        values.into_iter().map(|x| C::try_from(x).map_err(|_| in_array(name, problem(x)))).collect()
    }

    /// Applies `take` if there is an array of this name.
    pub(crate) fn if_there<V>(
        &mut self,
        name: &str,
        take: impl FnOnce(&mut Self, &str) -> Result<V>,
    ) -> Result<Option<V>> {
        if self.has(name) { take(self, name).map(Some) } else { Ok(None) }
    }

    /// Returns a text.
    ///
    /// # Errors
    /// [`Error::Record`] if it is missing.
    pub fn text(&self, key: &str) -> Result<&str> {
        let missing = || format!("the metadata has no `{key}`; the model file is damaged, fit it again");
        self.texts.get(key).map(String::as_str).ok_or_else(|| damaged(missing()))
    }

    /// Returns a value that is stored as JSON.
    ///
    /// # Errors
    /// [`Error::Record`] if it is missing or is not a valid value of the type.
    pub fn json<V: DeserializeOwned>(&self, key: &str) -> Result<V> {
        serde_json::from_str(self.text(key)?).map_err(|error| bad_text(key, &error))
    }

    /// As [`Record::json`]; `None` if there is no such value.
    ///
    /// # Errors
    /// [`Error::Record`] if it is not a valid value of the type.
    pub fn optional_json<V: DeserializeOwned>(&self, key: &str) -> Result<Option<V>> {
        if self.texts.contains_key(key) { self.json(key).map(Some) } else { Ok(None) }
    }

    /// As [`Record::json`], for a value that [`Record::put_json_without`] added: its field `list` is empty.
    ///
    /// # Errors
    /// As [`Record::json`].
    pub fn json_with_no<V: DeserializeOwned>(&self, key: &str, list: &str) -> Result<V> {
        let mut value: Value = self.json(key)?;
        if let Value::Object(fields) = &mut value {
            fields.insert(list.to_owned(), json!([]));
        }
        serde_json::from_value(value).map_err(|error| bad_text(key, &error))
    }
}

/// Returns the number of values of a shape; `None` if it exceeds the range of `usize`.
fn n_values(shape: &[usize]) -> Option<usize> {
    shape.iter().try_fold(1, |product: usize, length| product.checked_mul(*length))
}

fn expect_length(name: &str, found: usize, expected: usize) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    let problem =
        format!("has shape [{found}], expected [{expected}]; the model file is damaged, fit it again");
    Err(in_array(name, problem))
}

/// An error of one array of a record.
pub(crate) fn in_array(name: &str, problem: String) -> Error {
    Error::Record { array: Some(name.to_owned()), problem }
}

/// An error of a record that concerns no single array.
pub(crate) fn damaged(problem: String) -> Error {
    Error::Record { array: None, problem }
}

fn unsaid(key: &str, error: &serde_json::Error) -> Error {
    damaged(format!("`{key}` cannot be written as JSON: {error}"))
}

fn bad_text(key: &str, error: &serde_json::Error) -> Error {
    // The error repeats the value, which may have any length in a damaged file.
    let (key, reason) = (shortened(key), cut(&error.to_string(), 200));
    damaged(format!("`{key}` in the metadata is damaged ({reason}); fit the model again"))
}

/// The first 80 characters of an untrusted text, escaped.
pub(crate) fn shortened(text: &str) -> String {
    cut(text, 80).escape_debug().to_string()
}

/// A text, cut after `most` characters with an ellipsis.
fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_taken_with_the_axes_expected() {
        let mut record = Record::new("pca");
        record.put("components", &[1, 2], vec![0.6, -0.8]);
        record.put_scalar("total", f64::MIN_POSITIVE);
        record.put("single", &[3], vec![1.0_f32, f32::MAX, -0.0]);
        assert_eq!(record.take::<f64, 0>("total").unwrap(), ([], vec![f64::MIN_POSITIVE]));
        assert_eq!(
            record.take::<f64, 1>("components").unwrap_err().to_string(),
            "`components`: has shape [1, 2], and 1 axes are expected; fit the model again"
        );
        assert_eq!(
            record.take::<f64, 1>("mean").unwrap_err().to_string(),
            "`mean`: is missing; the model file is damaged, fit it again"
        );
        assert_eq!(
            record.take::<f64, 1>("single").unwrap_err().to_string(),
            "`single`: has dtype F32, and F64 is expected; fit the model again"
        );
        record.put_row("mean", vec![f64::NAN]);
        assert_eq!(
            record.take::<f64, 1>("mean").unwrap_err().to_string(),
            "`mean`: holds NaN; the model file is damaged, fit it again"
        );
        // A shape that disagrees with the number of values.
        record.put("total", &[], Vec::<f64>::new());
        assert!(record.take_scalar("total").is_err());
    }
}
