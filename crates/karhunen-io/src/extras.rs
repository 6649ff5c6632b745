//! The content of a model file besides the model: names of the rows and columns of the fitted table.

use karhunen::record::Record;
use karhunen::{Error, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::ids::Ids;
use crate::{FittedTable, Label, OfFile, ReadOptions, RowNames, TripleColumns};

/// The content of a model file besides the model, for one kind of model. The Python package uses the names of the
/// fields.
pub trait Extras: Clone + std::fmt::Debug + Default + PartialEq + Serialize + DeserializeOwned {
    /// Adds it to the record of a model; `shape` is (rows with ids, columns).
    ///
    /// # Errors
    /// [`Error::Shape`] unless there is one name or id for each.
    fn put<'a>(&'a self, record: &mut Record<'a>, shape: (usize, usize)) -> Result<()>;

    /// Takes it out of a record.
    ///
    /// # Errors
    /// [`Error::Record`] for damage, and for a wrong number of names or ids.
    fn take(record: &mut Record<'_>, shape: (usize, usize)) -> Result<Self>;

    /// The columns of the table that was fitted.
    fn fitted_table(&self, n_features: usize) -> FittedTable;
}

impl OfFile {
    /// Describes a file read with `options`, without the columns `labels` and `left_out`, with row names from
    /// `id_name`.
    #[must_use]
    pub fn of(
        options: &ReadOptions,
        (labels, left_out): (&[Label], &[String]),
        id_name: Option<&String>,
    ) -> Self {
        let names = labels.iter().map(|label| &label.name).chain(left_out).chain(&options.weights_column);
        Self {
            set_aside: names.cloned().collect(),
            id_column: match &options.row_names {
                RowNames::Column(name) => Some(name.clone()),
                RowNames::Auto | RowNames::None => id_name.filter(|name| !name.is_empty()).cloned(),
            },
            na: options.na.clone(),
            transposed: options.transpose,
        }
    }

    fn put(&self, record: &mut Record<'_>) -> Result<()> {
        for (name, words) in [("set_aside", &self.set_aside), ("na", &self.na)] {
            if !words.is_empty() {
                record.put_json(name, words)?;
            }
        }
        if self.transposed {
            record.put_json("transposed", &true)?;
        }
        self.id_column.as_ref().map_or(Ok(()), |name| record.put_json("id_column", name))
    }

    fn take(record: &Record<'_>) -> Result<Self> {
        let words = |name| Ok::<_, Error>(record.optional_json::<Vec<String>>(name)?.unwrap_or_default());
        Ok(Self {
            set_aside: words("set_aside")?,
            id_column: record.optional_json("id_column")?,
            na: words("na")?,
            transposed: record.optional_json("transposed")?.unwrap_or_default(),
        })
    }
}

/// The names of the columns of the fitted table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TableColumns {
    /// One name for each feature, if the data had names; for a precomputed kernel, one for each fitted row.
    pub feature_names: Option<Vec<String>>,
    /// How the file was read.
    pub of_file: OfFile,
    /// The sum of each row to which counts were normalised before the fit.
    pub log1p: Option<f64>,
}

impl Extras for TableColumns {
    fn put<'a>(&'a self, record: &mut Record<'a>, (_, n_features): (usize, usize)) -> Result<()> {
        if let Some(names) = &self.feature_names {
            expect("the feature names", "names", names.len(), n_features)?;
            record.put_json("feature_names", names)?;
        }
        if let Some(target) = &self.log1p {
            record.put_json("log1p", target)?;
        }
        self.of_file.put(record)
    }

    fn take(record: &mut Record<'_>, (_, n_features): (usize, usize)) -> Result<Self> {
        let feature_names: Option<Vec<String>> = record.optional_json("feature_names")?;
        if let Some(names) = feature_names.as_ref().filter(|names| names.len() != n_features) {
            let problem = format!(
                "the model has {n_features} features and {} names; it is damaged, fit it again",
                names.len()
            );
            return Err(Error::Record { array: None, problem });
        }
        let of_file = OfFile::take(record)?;
        Ok(Self { feature_names, of_file, log1p: record.optional_json("log1p")? })
    }

    fn fitted_table(&self, n_features: usize) -> FittedTable {
        let Self { feature_names, of_file, log1p } = self.clone();
        FittedTable { feature_names, n_features, of_file, log1p, ..FittedTable::default() }
    }
}

/// The ids of the rows and columns of incomplete data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RowsAndColumns {
    /// One id for each fitted row, if the data had ids.
    pub row_ids: Option<Ids>,
    /// One id for each column; for a table, the names of the features.
    pub column_ids: Option<Ids>,
    /// The columns of the fitted file, if it was a table of triples.
    pub triples: Option<TripleColumns>,
    /// How the file was read.
    pub of_file: OfFile,
}

impl Extras for RowsAndColumns {
    fn put<'a>(&'a self, record: &mut Record<'a>, (n, p): (usize, usize)) -> Result<()> {
        for (name, what, ids, expected) in [
            ("row_ids", "the row ids", &self.row_ids, n),
            ("column_ids", "the column ids", &self.column_ids, p),
        ] {
            let Some(ids) = ids else { continue };
            expect(what, "values", ids.len(), expected)?;
            put_ids(record, name, ids);
        }
        if let Some(columns) = &self.triples {
            record.put_json("triples", columns)?;
        }
        self.of_file.put(record)
    }

    fn take(record: &mut Record<'_>, (n, p): (usize, usize)) -> Result<Self> {
        let (row_ids, column_ids) = (take_ids(record, "row_ids", n)?, take_ids(record, "column_ids", p)?);
        let triples = record.optional_json("triples")?;
        Ok(Self { row_ids, column_ids, triples, of_file: OfFile::take(record)? })
    }

    fn fitted_table(&self, n_features: usize) -> FittedTable {
        FittedTable {
            feature_names: self.column_ids.as_ref().map(Ids::texts),
            n_features,
            of_file: self.of_file.clone(),
            ..FittedTable::default()
        }
    }
}

fn expect(what: &'static str, axis: &'static str, found: usize, expected: usize) -> Result<()> {
    if found == expected { Ok(()) } else { Err(Error::Shape { what, axis, found, expected }) }
}

/// Adds ids: integers as one array, texts as their bytes and the end of each.
fn put_ids<'a>(record: &mut Record<'a>, name: &str, ids: &'a Ids) {
    match ids {
        Ids::Integers(ids) => record.put_row(name, ids),
        Ids::Texts(ids) => {
            let ends = ids.iter().scan(0, |end, id| {
                *end += id.len();
                Some(*end)
            });
            record.put_counts(&format!("{name}_ends"), ends);
            record.put_row(name, ids.concat().into_bytes());
        }
    }
}

fn take_ids(record: &mut Record<'_>, name: &str, expected: usize) -> Result<Option<Ids>> {
    let ends_name = format!("{name}_ends");
    if !record.has(&ends_name) {
        return if record.has(name) {
            record.take_row(name, expected).map(|ids| Some(Ids::Integers(ids)))
        } else {
            Ok(None)
        };
    }
    let ends: Vec<usize> = record.take_counts(&ends_name)?;
    let damaged = |what: &str| Error::Record {
        array: Some(name.to_owned()),
        problem: format!("{what}; the model file is damaged, fit it again"),
    };
    if ends.len() != expected {
        return Err(damaged(&format!("there are {} ids, expected {expected}", ends.len())));
    }
    let ([_], bytes) = record.take::<u8, 1>(name)?;
    let text = String::from_utf8(bytes).map_err(|error| damaged(&error.to_string()))?;
    let mut start = 0;
    let ids: Option<Vec<String>> = ends
        .into_iter()
        .map(|end| text.get(std::mem::replace(&mut start, end)..end).map(str::to_owned))
        .collect();
    ids.map(|ids| Some(Ids::Texts(ids))).ok_or_else(|| damaged("the ends of the ids do not match its text"))
}
