//! What the choice of a route needs to know of a fit.

/// What a prediction needs to know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Problem {
    /// Rows.
    pub(crate) n: usize,
    /// Columns.
    pub(crate) p: usize,
    /// Components wanted; `None` where a share of the variance decides.
    pub(crate) k: Option<usize>,
    /// Stored entries.
    pub(crate) n_stored: usize,
    /// Whether what is not stored is zero.
    pub(crate) sparse: bool,
    /// Bytes of a value.
    pub(crate) value_bytes: usize,
}

impl Problem {
    /// Components wanted, or a guess where a share of the variance decides: it may need many.
    pub(super) fn k_or_guess(&self) -> usize {
        let smaller = self.smaller();
        self.k.unwrap_or((smaller / 8).max(8.min(smaller)))
    }

    /// Rows or columns, whichever are fewer.
    pub(super) fn smaller(&self) -> usize {
        self.n.min(self.p)
    }

    /// The same with `k` components.
    pub(crate) fn with(&self, k: usize) -> Self {
        Self { k: Some(k.min(self.smaller())), ..*self }
    }
}
