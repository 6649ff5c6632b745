//! Results as R's vectors, matrices and lists.

use karhunen::Matrix;
use savvy::{ListSexp, OwnedListSexp, OwnedRealSexp, RealSexp, Sexp, savvy_err};

/// A list with names, filled in order.
pub(crate) struct Fields {
    list: OwnedListSexp,
    next: usize,
}

impl Fields {
    /// A list of `n` elements.
    ///
    /// # Errors
    /// Memory that R does not have.
    pub(crate) fn new(n: usize) -> savvy::Result<Self> {
        Ok(Self { list: OwnedListSexp::new(n, true)?, next: 0 })
    }

    /// Adds an element.
    ///
    /// # Errors
    /// Memory that R does not have.
    pub(crate) fn put(&mut self, name: &str, value: impl Into<Sexp>) -> savvy::Result<()> {
        self.list.set_name_and_value(self.next, name, value)?;
        self.next += 1;
        Ok(())
    }

    /// Adds numbers.
    ///
    /// # Errors
    /// As [`Fields::put`].
    pub(crate) fn numbers(&mut self, name: &str, values: &[f64]) -> savvy::Result<()> {
        self.put(name, OwnedRealSexp::try_from_slice(values)?)
    }

    /// Adds one number.
    ///
    /// # Errors
    /// As [`Fields::put`].
    pub(crate) fn number(&mut self, name: &str, value: f64) -> savvy::Result<()> {
        self.numbers(name, &[value])
    }

    /// Adds a text.
    ///
    /// # Errors
    /// As [`Fields::put`].
    pub(crate) fn text(&mut self, name: &str, text: &str) -> savvy::Result<()> {
        self.put(name, savvy::OwnedStringSexp::try_from_scalar(text)?)
    }

    /// Adds a truth value.
    ///
    /// # Errors
    /// As [`Fields::put`].
    pub(crate) fn flag(&mut self, name: &str, flag: bool) -> savvy::Result<()> {
        self.put(name, savvy::OwnedLogicalSexp::try_from_scalar(flag)?)
    }

    /// Adds a matrix.
    ///
    /// # Errors
    /// As [`Fields::put`].
    pub(crate) fn matrix(&mut self, name: &str, matrix: &Matrix) -> savvy::Result<()> {
        self.put(name, r_matrix(matrix)?)
    }

    /// The list.
    pub(crate) fn done(self) -> savvy::Result<Sexp> {
        self.list.into()
    }
}

/// A matrix of R, whose order is by columns.
///
/// # Errors
/// Memory that R does not have.
pub(crate) fn r_matrix(matrix: &Matrix) -> savvy::Result<OwnedRealSexp> {
    let (n, p) = matrix.shape();
    let mut out = OwnedRealSexp::new(n * p)?;
    for (j, column) in out.as_mut_slice().chunks_exact_mut(n.max(1)).enumerate() {
        column.iter_mut().enumerate().for_each(|(i, value)| *value = matrix[(i, j)]);
    }
    out.set_dim(&[n, p])?;
    Ok(out)
}

/// The values of a list of the form of [`crate::data::Given`] that holds a dense matrix.
///
/// # Errors
/// Another form.
pub(crate) fn engine_matrix(list: &ListSexp) -> savvy::Result<Matrix> {
    let values = RealSexp::try_from(crate::call::element(list, "values")?)?;
    let dim = savvy::IntegerSexp::try_from(crate::call::element(list, "dim")?)?;
    let &[n, k] = dim.as_slice() else {
        return Err(savvy_err!("internal error: scores have two dimensions"));
    };
    let (n, k) = (usize::try_from(n).unwrap_or(0), usize::try_from(k).unwrap_or(0));
    let values = values.as_slice();
    Ok(Matrix::from_fn(n, k, |i, j| values[j * n + i]))
}
