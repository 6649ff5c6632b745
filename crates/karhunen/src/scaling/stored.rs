//! Centring and scaling in files: `true` and `false`, as written by versions that knew no other choice, a name, or the
//! given numbers.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::choice::Choice;
use crate::scaling::{Centring, Scaling};

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Stored {
    Flag(bool),
    Name(String),
    Numbers(Vec<f64>),
}

impl Serialize for Centring {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::None => false.serialize(serializer),
            Self::Mean => true.serialize(serializer),
            Self::Given(values) => values.serialize(serializer),
        }
    }
}

impl Serialize for Scaling {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::None => false.serialize(serializer),
            Self::Deviation => true.serialize(serializer),
            Self::Pareto | Self::Range | Self::Binomial => self.named().file.serialize(serializer),
            Self::Given(values) => values.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Centring {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Stored::deserialize(deserializer)? {
            Stored::Flag(center) => Ok(center.into()),
            Stored::Numbers(values) => Ok(values.into()),
            Stored::Name(name) => Err(D::Error::unknown_variant(&name, &["true", "false"])),
        }
    }
}

impl<'de> Deserialize<'de> for Scaling {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Stored::deserialize(deserializer)? {
            Stored::Flag(scale) => Ok(scale.into()),
            Stored::Numbers(values) => Ok(values.into()),
            Stored::Name(name) => Self::of_name(&name).ok_or_else(|| {
                D::Error::unknown_variant(&name, &["true", "false", "pareto", "range", "binomial"])
            }),
        }
    }
}
