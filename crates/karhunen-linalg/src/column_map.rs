//! Centring and scaling of columns within products.

/// A map of columns, `x_j -> (x_j - shift_j) * factor_j`, applied to rows as they are read: centring and scaling.
/// All slices have one entry per column.
#[derive(Clone, Copy, Debug)]
pub struct ColumnMap<'a> {
    /// Subtracted from each column, before the factor.
    pub shift: &'a [f64],
    /// The digits of the shift beyond f64, subtracted from dense values after the shift. Empty if all are zero.
    /// Sparse products omit it, because they lose more digits than these.
    pub remainder: &'a [f64],
    /// Factor of each column.
    pub factor: &'a [f64],
}
