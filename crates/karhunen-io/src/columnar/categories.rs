//! Categories and numbers in Parquet and Arrow files.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use karhunen::categorical::{Column, ColumnValues};

use super::columns::Columns;
use super::conversions;
use super::roles::{Role, Roles, is_number, place};
use crate::categories::coded::Coded;
use crate::categories::{CategoryTable, ColumnKinds};
use crate::names::shortened;
use crate::{Cause, Error, ReadOptions, Result, RowNames};

#[cfg(test)]
mod tests;

/// Text of a floating-point number that is missing.
const NAN: &str = "NaN";

impl Columns<'_> {
    /// Reads a table of categories and numbers.
    ///
    /// # Errors
    /// Columns that are neither numbers nor text, options that match no column, damaged files.
    pub(crate) fn categories(&self, kinds: ColumnKinds<'_>, options: &ReadOptions) -> Result<CategoryTable> {
        let mut roles = Roles::of_categories(self.path, &self.schema, options)?;
        let mut notes = std::mem::take(&mut roles.notes);
        let mut warnings = Vec::new();
        let mut sample_names = self.sample_names(&roles, &mut notes, &mut warnings)?;
        let weights = match roles.columns(Role::Weights)[..] {
            [column] => Some(self.numbers::<f64>(&[column], false)?.0),
            _ => None,
        };
        let mut id_name = match roles.columns(Role::Id)[..] {
            [column] if sample_names.is_some() => Some(self.name(column)),
            _ => None,
        };
        let may_name_rows = options.row_names == RowNames::Auto
            && id_name.is_none()
            && options
                .fitted
                .as_ref()
                .is_none_or(|fitted| roles.columns(Role::Value).len() > fitted.n_features);
        let mut columns = Vec::new();
        for (at, column) in roles.columns(Role::Value).into_iter().enumerate() {
            let name = self.name(column);
            let kind = self.schema.field(column).data_type();
            let numbers = kinds.holds_numbers(Some(&name), at).unwrap_or_else(|| {
                is_number(kind)
                    && !matches!(kind, DataType::Boolean | DataType::Null | DataType::Dictionary(..))
            });
            if numbers {
                if !is_number(kind) {
                    let cause = Cause::value("holds text, and the fit had numbers there".to_owned());
                    return Err(Error::at(self.path, place(&self.schema, None, column), cause));
                }
                columns.push(Column::of_numbers(name, self.numbers(&[column], true)?.0));
                continue;
            }
            let coded = self.coded(column)?;
            if at == 0
                && may_name_rows
                && let Some(names) = coded.as_row_names()
            {
                notes.push(format!("the column `{}` names the rows", shortened(&name)));
                (sample_names, id_name) = (Some(names), Some(name));
                continue;
            }
            if matches!(kinds, ColumnKinds::ByContent) {
                warnings.extend(coded.warning(&name));
            }
            columns.push(Column { name, values: self.ordered(column, coded) });
        }
        Ok(CategoryTable {
            columns,
            n_rows: self.n_rows,
            has_names: true,
            sample_names,
            id_name,
            labels: roles.labels.iter().chain(&roles.left_out).map(|column| self.name(*column)).collect(),
            weights,
            format: self.format,
            notes,
            warnings,
        })
    }

    /// The values of a column; dictionaries keep their order.
    fn ordered(&self, column: usize, coded: Coded) -> ColumnValues {
        match self.schema.field(column).data_type() {
            DataType::Dictionary(..) => ColumnValues::Categories { names: coded.names, codes: coded.codes },
            _ => coded.sorted(),
        }
    }

    /// The categories of a column as text.
    fn coded(&self, column: usize) -> Result<Coded> {
        let mut coded = Coded::default();
        let too_many = || {
            let cause = Cause::value("holds more than 2^32 - 1 categories".to_owned());
            Error::at(self.path, place(&self.schema, None, column), cause)
        };
        let is_float = self.schema.field(column).data_type().is_floating();
        let mut n_rows = 0;
        self.batches.visit(&[column], &mut |batch| {
            let array = batch.column(0);
            n_rows += array.len();
            for name in self.dictionary(array)?.iter().flatten() {
                coded.code(name).ok_or_else(too_many)?;
            }
            for text in conversions::text(self.path, array)?.iter() {
                match text.filter(|text| !(is_float && *text == NAN)) {
                    Some(text) => coded.push(text).ok_or_else(too_many)?,
                    None => coded.push_missing(),
                }
            }
            Ok(true)
        })?;
        self.check_count(n_rows)?;
        Ok(coded)
    }

    /// The values of a dictionary; none of another array.
    fn dictionary(&self, array: &ArrayRef) -> Result<Vec<Option<String>>> {
        match array.as_any_dictionary_opt() {
            None => Ok(Vec::new()),
            Some(dictionary) => {
                let values = conversions::text(self.path, dictionary.values())?;
                Ok(values.iter().map(|text| text.map(str::to_owned)).collect())
            }
        }
    }
}
