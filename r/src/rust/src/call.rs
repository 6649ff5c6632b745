//! Arguments of a call of R other than its data: the function, the number of threads, the names of the columns.

use savvy::{ListSexp, Sexp, StringSexp, TypedSexp, savvy_err};

/// The R function that called, its threads, and the names of columns for messages.
pub(crate) struct Call {
    /// The name of the function, such as `kh_pca`.
    pub(crate) function: String,
    /// Number of threads, if given.
    pub(crate) threads: Option<usize>,
    /// Names of the columns, if there are any.
    pub(crate) columns: Option<Vec<&'static str>>,
}

impl Call {
    /// Reads the list that `engine_call` of the package makes.
    ///
    /// # Errors
    /// A list without the name of the function.
    pub(crate) fn read(list: &ListSexp) -> savvy::Result<Self> {
        let function = text(list, "function")?;
        let threads = match list.get("threads").filter(|threads| !threads.is_null()) {
            Some(threads) => Some(whole(&threads)?),
            None => None,
        };
        let columns = match list.get("columns").map(Sexp::into_typed) {
            Some(TypedSexp::String(names)) => Some(names.to_vec()),
            _ => None,
        };
        Ok(Self { function, threads, columns })
    }
}

/// The text of this name in a list.
///
/// # Errors
/// A list without it.
pub(crate) fn text(list: &ListSexp, name: &str) -> savvy::Result<String> {
    match element(list, name)?.into_typed() {
        TypedSexp::String(text) if text.len() == 1 => Ok(text.to_vec()[0].to_owned()),
        _ => Err(savvy_err!("internal error: `{name}` is not text")),
    }
}

/// The texts of this name in a list.
///
/// # Errors
/// A list without them.
pub(crate) fn texts(list: &ListSexp, name: &str) -> savvy::Result<Vec<&'static str>> {
    Ok(StringSexp::try_from(element(list, name)?)?.to_vec())
}

/// The element of this name in a list.
///
/// # Errors
/// A list without it.
pub(crate) fn element(list: &ListSexp, name: &str) -> savvy::Result<Sexp> {
    list.get(name).ok_or_else(|| savvy_err!("internal error: there is no `{name}`"))
}

/// A number that counts.
fn whole(value: &Sexp) -> savvy::Result<usize> {
    let number: i32 = Sexp(value.0).try_into()?;
    usize::try_from(number).map_err(|_| savvy_err!("threads = {number} must be positive"))
}
