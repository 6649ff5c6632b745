//! Room for options to come.

/// The last field of structs of options. Callers need not name it, so they write `..Default::default()`, and an option
/// that a later version adds does not break them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct More;
