//! Text tables: blocks of lines, parsed again in every visit.

use super::{Blocks, FileRows, RowFile, Rows, Stop};
use crate::csv::RowText;
use crate::input::Input;
use crate::{ReadOptions, Result};

/// # Errors
/// Those of [`crate::read`].
pub(super) fn open(input: Input, options: &ReadOptions) -> Result<RowFile> {
    let mut text = RowText::open(input, options)?;
    let (shape, feature_names) = (text.shape(), text.feature_names());
    let (format, weights) = (text.format(), text.take_weights());
    Ok(RowFile::F64(FileRows::new(Box::new(text), shape, feature_names, weights, format)))
}

impl Blocks<f64> for RowText {
    fn each(
        &self,
        rows_at_once: usize,
        reached: &mut usize,
        f: &mut dyn FnMut(Rows<f64>) -> karhunen::Result<()>,
    ) -> std::result::Result<(), Stop> {
        let p = self.shape().1;
        self.visit(&mut |values, n_rows| {
            for start in (0..n_rows).step_by(rows_at_once) {
                let n_rows = rows_at_once.min(n_rows - start);
                let values = values[start * p..(start + n_rows) * p].to_vec();
                *reached += n_rows;
                f(Rows { values, n_rows, column_major: false })?;
            }
            Ok(())
        })
    }
}
