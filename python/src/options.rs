//! The options of a fit: a dict of Python with the names of the fields of an estimator.

use std::collections::HashMap;

use karhunen::IncompletePca;
use karhunen::choice::Choice;
use karhunen::kernel::{Kernel, Landmarks};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3::types::dict::BoundDictIterator;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, Error, MapAccess};

use crate::value::{Refusal, Value};

/// The key of the number of threads, which is not an option of the engine.
const N_THREADS: &str = "n_threads";

/// Options of the engine, and the number of threads.
pub(crate) struct Options<O> {
    pub(crate) engine: O,
    pub(crate) n_threads: Option<usize>,
}

impl<O: DeserializeOwned> Options<O> {
    /// Reads a dict with the names of the fields of `O`, in the forms of model files. A missing name is the default.
    ///
    /// # Errors
    /// `ValueError` for a value of another kind, and for a name that the engine does not know; `TypeError` for
    /// an option that it does not have.
    pub(crate) fn read(options: &Bound<'_, PyDict>) -> PyResult<Self> {
        let n_threads = options.get_item(N_THREADS)?.map(|n| n.extract()).transpose()?.flatten();
        let mut fields = Fields { items: options.iter(), current: None };
        let engine = O::deserialize(MapAccessDeserializer::new(&mut fields));
        let engine = engine.map_err(|refusal| match fields.current {
            Some((option, value)) => refusal.exception(&option, &value, in_python),
            None => refusal.exception("options", options, in_python),
        })?;
        Ok(Self { engine, n_threads })
    }
}

impl Options<IncompletePca> {
    /// As [`Options::read`], for `n_observed` entries: `early_stopping` may be `True`, the default share of them.
    ///
    /// # Errors
    /// As [`Options::read`].
    pub(crate) fn of_entries(options: &Bound<'_, PyDict>, n_observed: usize) -> PyResult<Self> {
        const EARLY_STOPPING: &str = "early_stopping";
        let options = options.copy()?;
        if let Some(usual) = options.get_item(EARLY_STOPPING)?.and_then(|share| share.extract::<bool>().ok())
        {
            let share = usual.then(|| IncompletePca::held_out_of(n_observed));
            options.set_item(EARLY_STOPPING, share)?;
        }
        Self::read(&options)
    }
}

/// The items of a dict of options. An error belongs to the current one.
struct Fields<'py> {
    items: BoundDictIterator<'py>,
    current: Option<(String, Bound<'py, PyAny>)>,
}

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = Refusal;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Refusal> {
        self.current = None;
        for (name, value) in self.items.by_ref() {
            let option: String = name.extract()?;
            if option != N_THREADS {
                self.current = Some((option, value));
                return seed.deserialize(Value(name)).map(Some);
            }
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Refusal> {
        let (_, value) = self.current.as_ref().ok_or_else(|| Refusal::custom("a value without a name"))?;
        seed.deserialize(Value(value.clone()))
    }
}

/// A value in the form of model files.
///
/// # Errors
/// As [`Options::read`].
pub(crate) fn value<V: DeserializeOwned>(option: &str, value: Bound<'_, PyAny>) -> PyResult<V> {
    V::deserialize(Value(value.clone())).map_err(|refusal| refusal.exception(option, &value, in_python))
}

/// The names in files of choices that have another name in Python, each with that name.
fn renamed() -> impl Iterator<Item = (&'static str, &'static str)> {
    fn of<C: Choice>() -> impl Iterator<Item = (&'static str, &'static str)> {
        C::TABLE.iter().filter(|row| row.file != row.python).map(|row| (row.file, row.python))
    }
    of::<Kernel>().chain(of::<Landmarks>())
}

/// The name in Python of a choice with this name in files.
fn in_python(name: &'static str) -> &'static str {
    renamed().find(|(file, _)| *file == name).map_or(name, |(_, python)| python)
}

/// The names in files of choices that have another name here, each with that name.
#[pyfunction]
pub(crate) fn names_in_files() -> HashMap<&'static str, &'static str> {
    renamed().collect()
}
