//! Size and storage of a fit, from which the route is chosen.

/// Size and storage of a fit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Problem {
    /// Number of rows.
    pub(crate) n: usize,
    /// Number of columns.
    pub(crate) p: usize,
    /// Number of components wanted; `None` for a share of the variance.
    pub(crate) k: Option<usize>,
    /// Number of stored entries.
    pub(crate) n_stored: usize,
    /// True if the data are sparse: entries that are not stored are zero.
    pub(crate) sparse: bool,
    /// Bytes of a value.
    pub(crate) value_bytes: usize,
    /// The limit in bytes that was asked for, of the memory of the fit; `None` if none was.
    pub(crate) limit: Option<f64>,
}

impl Problem {
    /// Number of components wanted. For a share of the variance a guess, as it may need many.
    pub(super) fn k_or_guess(&self) -> usize {
        let smaller = self.smaller();
        self.k.unwrap_or((smaller / 8).max(8.min(smaller)))
    }

    /// The smaller of rows and columns.
    pub(super) fn smaller(&self) -> usize {
        self.n.min(self.p)
    }

    /// This problem with `k` components.
    pub(crate) fn with(&self, k: usize) -> Self {
        Self { k: Some(k.min(self.smaller())), ..*self }
    }
}
