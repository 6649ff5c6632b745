//! Choices by name: one table for each gives its names to the library, the command line, Python, files and messages.

use std::mem::discriminant;

use crate::error::OptionValue;

/// A choice with its names, a row of the table of an option.
#[derive(Clone, Copy, Debug)]
pub struct Named<C: 'static> {
    /// The choice; with its default parameters if it has parameters.
    pub choice: C,
    /// The name that users type and messages show.
    pub name: &'static str,
    /// The name in Python, where scikit-learn has one of its own.
    pub python: &'static str,
    /// The name in files.
    pub file: &'static str,
    /// The choice in a few words.
    pub help: &'static str,
    /// True if the choice needs a number, given alone or after the name.
    pub takes_number: bool,
}

impl<C> Named<C> {
    /// A choice with the same name everywhere.
    pub const fn new(choice: C, name: &'static str, help: &'static str) -> Self {
        Self { choice, name, python: name, file: name, help, takes_number: false }
    }

    /// Another name in Python.
    #[must_use]
    pub const fn in_python(mut self, name: &'static str) -> Self {
        self.python = name;
        self
    }

    /// Another name in files.
    #[must_use]
    pub const fn in_files(mut self, name: &'static str) -> Self {
        self.file = name;
        self
    }

    /// With a number to be given.
    #[must_use]
    pub const fn with_number(mut self) -> Self {
        self.takes_number = true;
        self
    }

    /// Returns true if `name` is one of the names of this choice, in any of the three columns.
    pub fn is_called(&self, name: &str) -> bool {
        [self.name, self.python, self.file].contains(&name)
    }
}

/// An option whose values are chosen by name.
///
/// ```
/// use karhunen::choice::Choice;
/// use karhunen::kernel::Landmarks;
/// assert_eq!(Landmarks::of_name("kmeans++"), Some(Landmarks::KMeansPlusPlus));
/// assert_eq!(Landmarks::KMeansPlusPlus.named().file, "k-means-plus-plus");
/// ```
pub trait Choice: Clone + 'static {
    /// Every choice, in the order of the documentation.
    const TABLE: &'static [Named<Self>];

    /// The row of this choice, whatever its parameters.
    fn named(&self) -> &'static Named<Self> {
        let row = Self::TABLE.iter().find(|row| discriminant(&row.choice) == discriminant(self));
        row.unwrap_or_else(|| unreachable!("a table of choices has a row for each"))
    }

    /// The choice as errors carry it.
    fn value(&self) -> OptionValue {
        let Named { name, python, .. } = *self.named();
        OptionValue::Name { name, python }
    }

    /// The choice of a name, with its default parameters; none that takes a number.
    fn of_name(name: &str) -> Option<Self> {
        Self::TABLE.iter().find(|row| !row.takes_number && row.is_called(name)).map(|row| row.choice.clone())
    }
}

/// Gives a type with a table the inherent methods that follow from it.
#[doc(hidden)]
#[macro_export]
macro_rules! named {
    ($choice:ty) => {
        impl $choice {
            /// Every choice, in the order of the documentation.
            pub const ALL: [Self; <Self as $crate::choice::Choice>::TABLE.len()] = {
                let table = <Self as $crate::choice::Choice>::TABLE;
                let mut all = [table[0].choice; <Self as $crate::choice::Choice>::TABLE.len()];
                let mut row = 0;
                while row < all.len() {
                    all[row] = table[row].choice;
                    row += 1;
                }
                all
            };

            /// The name that users type and messages show.
            pub fn name(self) -> &'static str {
                $crate::choice::Choice::named(&self).name
            }
        }
    };
}

/// As `named`, for choices without parameters, which are shown and stored by their names. A macro, because traits of
/// other crates cannot be implemented for every `Choice`.
#[doc(hidden)]
#[macro_export]
macro_rules! plain_names {
    ($choice:ty) => {
        $crate::choice::named!($choice);

        impl std::fmt::Display for $choice {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        #[cfg(feature = "serde")]
        impl serde::Serialize for $choice {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
                serializer.serialize_str($crate::choice::Choice::named(self).file)
            }
        }

        #[cfg(feature = "serde")]
        impl $choice {
            /// The names in files.
            const FILES: &'static [&'static str] = &{
                let table = <Self as $crate::choice::Choice>::TABLE;
                let mut names = [""; <Self as $crate::choice::Choice>::TABLE.len()];
                let mut row = 0;
                while row < names.len() {
                    names[row] = table[row].file;
                    row += 1;
                }
                names
            };
        }

        #[cfg(feature = "serde")]
        impl<'de> serde::Deserialize<'de> for $choice {
            fn deserialize<D: serde::Deserializer<'de>>(
                deserializer: D,
            ) -> std::result::Result<Self, D::Error> {
                let name = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                $crate::choice::Choice::of_name(&name)
                    .ok_or_else(|| serde::de::Error::unknown_variant(&name, Self::FILES))
            }
        }
    };
}

#[doc(hidden)]
pub use crate::{named, plain_names};
