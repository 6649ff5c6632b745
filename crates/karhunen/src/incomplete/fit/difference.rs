//! The option in which a fit differs from the one that made a checkpoint.

use crate::error::Error;
use crate::incomplete::options::IncompletePca;

/// The error for a fit with other options than the checkpoint, naming the first option that differs.
#[cfg(feature = "serde")]
pub(super) fn difference(then: &IncompletePca, now: &IncompletePca) -> Error {
    first(then, now).unwrap_or_else(|| all(then, now))
}

/// The error for a fit with other options than the checkpoint.
#[cfg(not(feature = "serde"))]
pub(super) fn difference(then: &IncompletePca, now: &IncompletePca) -> Error {
    all(then, now)
}

/// Both fits with all options.
fn all(then: &IncompletePca, now: &IncompletePca) -> Error {
    Error::OtherFit { what: "options", found: format!("{then:?}"), expected: format!("{now:?}") }
}

#[cfg(feature = "serde")]
use by_serde::first;

/// Fields by the names and values that files give them: a new option needs no line here.
#[cfg(feature = "serde")]
mod by_serde {
    use std::fmt;

    use serde::de::{Deserialize, Deserializer, Error as _, Visitor};
    use serde_json::Value;

    use super::{Error, IncompletePca};
    use crate::error::{OptionName, OptionValue, options};

    pub(super) fn first(then: &IncompletePca, now: &IncompletePca) -> Option<Error> {
        let stored = |pca| serde_json::to_value(pca).ok();
        let values = (stored(then)?, stored(now)?);
        let field = fields()?.iter().find(|field| values.0[**field] != values.1[**field])?;
        let option = OptionName::new(field);
        let found = Box::new(shown(then, option, &values.0[*field]));
        let expected = Box::new(shown(now, option, &values.1[*field]));
        Some(Error::OtherOption { option, found, expected })
    }

    /// A value as messages show it, from its form in files where that is one value.
    fn shown(pca: &IncompletePca, option: OptionName, stored: &Value) -> OptionValue {
        match (option, stored) {
            (options::REGULARIZATION, _) => pca.regularization.into(),
            (options::MEAN_PRIOR, _) => match pca.mean_prior.value {
                None => pca.mean_prior.count.into(),
                Some(value) => OptionValue::Pair(pca.mean_prior.count, value),
            },
            (_, Value::Bool(flag)) => (*flag).into(),
            (_, Value::Number(number)) => match (number.as_u64(), number.as_f64()) {
                (Some(whole), _) => whole.into(),
                (None, number) => number.into(),
            },
            (_, Value::String(name)) => OptionValue::Text(name.clone()),
            (_, Value::Null) => OptionValue::NotGiven,
            (_, Value::Array(_) | Value::Object(_)) => OptionValue::Given,
        }
    }

    /// The names of the fields that are stored.
    pub(super) fn fields() -> Option<&'static [&'static str]> {
        IncompletePca::deserialize(FieldNames).err()?.0
    }

    /// Reads nothing; the error is the list of names that a struct asks for.
    struct FieldNames;

    #[derive(Debug)]
    struct Asked(Option<&'static [&'static str]>);

    impl fmt::Display for Asked {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "{:?}", self.0)
        }
    }

    impl std::error::Error for Asked {}

    impl serde::de::Error for Asked {
        fn custom<T: fmt::Display>(_: T) -> Self {
            Self(None)
        }
    }

    impl<'de> Deserializer<'de> for FieldNames {
        type Error = Asked;

        fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Asked> {
            Err(Asked::custom("no struct"))
        }

        fn deserialize_struct<V: Visitor<'de>>(
            self,
            _: &'static str,
            fields: &'static [&'static str],
            _: V,
        ) -> Result<V::Value, Asked> {
            Err(Asked(Some(fields)))
        }

        serde::forward_to_deserialize_any! {
            bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
            unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
        }
    }
}

#[cfg(all(test, feature = "serde"))]
mod tests {
    use super::*;
    use crate::incomplete::options::{MeanPrior, Method, Regularization};

    #[test]
    fn the_option_that_differs_is_named_with_both_values() {
        let then = IncompletePca::default();
        let cases: [(IncompletePca, &str); 9] = [
            (
                IncompletePca { n_components: 3, ..then.clone() },
                "n_components = 2, now there is n_components = 3",
            ),
            (
                IncompletePca { method: Method::Als, ..then.clone() },
                "method = auto, now there is method = als",
            ),
            (
                IncompletePca { alpha: 1.0, ..then.clone() },
                "alpha = 0.6666666666666666, now there is alpha = 1",
            ),
            (
                IncompletePca { regularization: Some(Regularization::Weighted(0.5)), ..then.clone() },
                "regularization = none, now there is regularization = weighted:0.5",
            ),
            (
                IncompletePca { mean_prior: MeanPrior { count: 22.0, value: Some(3.0) }, ..then.clone() },
                "mean_prior = 0, now there is mean_prior = 22:3",
            ),
            (IncompletePca { step: Some(0.25), ..then.clone() }, "step = none, now there is step = 0.25"),
            (IncompletePca { refit: true, ..then.clone() }, "refit = false, now there is refit = true"),
            (
                IncompletePca { seed: u64::MAX, ..then.clone() },
                "seed = 0, now there is seed = 18446744073709551615",
            ),
            (
                IncompletePca { error_bars: false, ..then.clone() },
                "error_bars = true, now there is error_bars = false",
            ),
        ];
        for (now, expected) in cases {
            let message = difference(&then, &now).to_string();
            assert!(message.contains(&format!("made with {expected}; resume")), "{message}");
        }
    }

    /// Options with nothing that serde sees would be named as a whole, in the words of Rust.
    #[test]
    fn every_stored_option_has_a_name() {
        let stored = serde_json::to_value(IncompletePca::default()).unwrap();
        let names: Vec<&str> = stored.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(by_serde::fields().unwrap(), names);
    }
}
