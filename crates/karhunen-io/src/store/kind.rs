//! The kinds of objects in a file of groups and arrays.

/// An object of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Group,
    Array,
}
