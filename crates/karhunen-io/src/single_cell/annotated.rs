//! AnnData of every version, in HDF5 or Zarr: the matrix, the names of cells and genes, and the mask of genes.
//!
//! <https://anndata.readthedocs.io/en/stable/fileformat-prose.html>. Up to version 0.6 `obs` and `var` are arrays of
//! records, and sparse matrices have the attributes `h5sparse_format` and `h5sparse_shape`.

use karhunen::error::Phrase;
use karhunen::matrix::Major;

use super::matrix::Stored;
use crate::names::list;
use crate::option_names;
use crate::store::kind::Kind;
use crate::store::{Array, Store};
use crate::{Cause, Error, ReadOptions, Result};

/// The matrix that the options choose, with its names.
pub(super) struct Annotated {
    pub(super) matrix: Stored,
    pub(super) cells: Option<Vec<String>>,
    pub(super) genes: Option<Vec<String>>,
    /// True for the columns of the mask.
    pub(super) mask: Option<Vec<bool>>,
}

/// Returns true for the members of an AnnData.
pub(super) fn is_annotated(groups: &[String], datasets: &[String]) -> bool {
    let has = |name: &str| groups.iter().chain(datasets).any(|found| found == name);
    has("obs") && has("var")
}

/// Reads all but the values.
///
/// # Errors
/// [`Cause::Option`] for a layer or a mask that does not exist; [`Cause::Format`] for damage.
pub(super) fn read(file: &Store, options: &ReadOptions) -> Result<Annotated> {
    let (place, var) = place(file, options)?;
    let matrix = matrix(file, &place)?;
    let (n, p) = matrix.shape;
    // A number of names that differs is refused before any name is read.
    let named = |group: &str, expected: usize| {
        let check = |found: usize| {
            let problem = || {
                format!(
                    "`{group}` has {found} names, but `{place}` has shape ({n}, {p}); the file is damaged"
                )
            };
            let refused = || Error::new(file.path(), Cause::format(problem()));
            if found == expected { Ok(()) } else { Err(refused()) }
        };
        names(file, group, &check)
    };
    let (cells, genes) = (named("obs", n)?, named(&var, p)?);
    let mask = options.mask.as_ref().map(|column| mask(file, &var, column, p)).transpose()?;
    Ok(Annotated { matrix, cells, genes, mask })
}

/// The place of the matrix, and the group that describes its genes.
fn place(file: &Store, options: &ReadOptions) -> Result<(String, String)> {
    let (layers, arrays) = match file.kind("layers")? {
        Some(Kind::Group) => file.members("layers")?,
        _ => (Vec::new(), Vec::new()),
    };
    let layers = [layers, arrays].concat();
    let raw = match (file.kind("raw/X")?, file.kind("raw.X")?) {
        (Some(_), _) => Some(("raw/X", "raw/var")),
        (None, Some(_)) => Some(("raw.X", "raw.var")),
        (None, None) => None,
    };
    let choices = || {
        let mut all = layers.clone();
        all.extend(raw.map(|_| "raw".to_owned()));
        if all.is_empty() { "there is none".to_owned() } else { format!("there are {}", list(&all)) }
    };
    let Some(wanted) = &options.layer else {
        if file.kind("X")?.is_some() {
            return Ok(("X".to_owned(), "var".to_owned()));
        }
        if layers.is_empty() && raw.is_none() {
            let nothing = "the AnnData has neither X nor layers, so there is nothing to fit";
            return Err(Error::new(file.path(), Cause::format(nothing.to_owned())));
        }
        let message = Phrase::new("the AnnData has no X; choose a layer with ").option(option_names::LAYER);
        return Err(Error::new(file.path(), Cause::option(message.text(format!(": {}", choices())))));
    };
    if layers.contains(wanted) {
        return Ok((format!("layers/{wanted}"), "var".to_owned()));
    }
    match raw.filter(|_| wanted == "raw") {
        Some((matrix, var)) => Ok((matrix.to_owned(), var.to_owned())),
        None => Err(Error::new(
            file.path(),
            Cause::Column {
                option: option_names::LAYER,
                wanted: wanted.clone(),
                problem: format!("there is no such layer; {}", choices()),
            },
        )),
    }
}

fn matrix(file: &Store, place: &str) -> Result<Stored> {
    if file.kind(place)? == Some(Kind::Array) {
        return Stored::dense(file, place);
    }
    let refuse =
        |problem: String| Err(Error::new(file.path(), Cause::format(format!("`{place}` {problem}"))));
    let format = match file.text(place, "encoding-type")? {
        Some(format) => format,
        None => file.text(place, "h5sparse_format")?.unwrap_or_default(),
    };
    let major = match format.as_str() {
        "csr" | "csr_matrix" => Major::Rows,
        "csc" | "csc_matrix" => Major::Columns,
        "" => return refuse("is neither an array nor a sparse matrix; the file is damaged".to_owned()),
        other => {
            return refuse(format!(
                "is stored as {other}, which is not read; write a sparse matrix or an array"
            ));
        }
    };
    let shape = match file.whole(place, "shape")? {
        Some(shape) => Some(shape),
        None => file.whole(place, "h5sparse_shape")?,
    };
    let sizes: Vec<usize> =
        shape.unwrap_or_default().iter().filter_map(|&size| usize::try_from(size).ok()).collect();
    match sizes[..] {
        [n, p] => Stored::compressed(file, place, major, (n, p)),
        _ => refuse("has no shape; the file is damaged".to_owned()),
    }
}

/// The names in the index of `obs` or `var`, whose number `check` accepts.
fn names(file: &Store, group: &str, check: &dyn Fn(usize) -> Result<()>) -> Result<Option<Vec<String>>> {
    match file.kind(group)? {
        Some(Kind::Array) => {
            let records = file.array(group)?;
            let fields = records.field_names();
            let index =
                ["index", "_index"].into_iter().find(|index| fields.iter().any(|field| field == index));
            index.map(|index| check(records.len()?).and_then(|()| records.texts(Some(index)))).transpose()
        }
        Some(Kind::Group) => {
            let index = file.text(group, "_index")?.unwrap_or_else(|| "_index".to_owned());
            texts(file, &format!("{group}/{index}"), check)
        }
        None => Ok(None),
    }
}

/// Texts, whose number `check` accepts: an array, one with a mask, or categories with the number of each row.
fn texts(file: &Store, name: &str, check: &dyn Fn(usize) -> Result<()>) -> Result<Option<Vec<String>>> {
    match file.kind(name)? {
        Some(Kind::Array) => {
            let values = file.array(name)?;
            check(values.len()?)?;
            values.texts(None).map(Some)
        }
        Some(Kind::Group) if file.kind(&format!("{name}/values"))? == Some(Kind::Array) => {
            let values = file.array(&format!("{name}/values"))?;
            check(values.len()?)?;
            if file.kind(&format!("{name}/mask"))? == Some(Kind::Array) {
                let absent = file.array(&format!("{name}/mask"))?;
                check(absent.len()?)?;
                let absent = absent.flags(None)?.unwrap_or_default();
                if let Some(row) = absent.iter().position(|&absent| absent) {
                    return Err(
                        values.refuse(&format!("has no name at row {}; give each row a name", row + 1))
                    );
                }
            }
            values.texts(None).map(Some)
        }
        Some(Kind::Group) => {
            let (codes, categories) =
                (file.array(&format!("{name}/codes"))?, file.array(&format!("{name}/categories"))?);
            check(codes.len()?)?;
            if categories.len()? > codes.len()? {
                return Err(categories.refuse("has more categories than rows; remove those without rows"));
            }
            let (of_rows, texts) = (codes.positions::<usize>(0..codes.len()?)?, categories.texts(None)?);
            let found: Option<Vec<String>> = of_rows.iter().map(|&code| texts.get(code).cloned()).collect();
            found
                .map(Some)
                .ok_or_else(|| codes.refuse("names a category that does not exist; the file is damaged"))
        }
        None => Ok(None),
    }
}

/// The truth values of a column of categories, whose number of rows `check` accepts; `None` if those are not truth values.
fn of_categories(
    file: &Store,
    name: &str,
    check: &dyn Fn(&Array) -> Result<()>,
    refuse: &dyn Fn(String) -> Error,
) -> Result<Option<Vec<bool>>> {
    if file.kind(&format!("{name}/categories"))? != Some(Kind::Array) {
        return Ok(None);
    }
    let (categories, codes) =
        (file.array(&format!("{name}/categories"))?, file.array(&format!("{name}/codes"))?);
    check(&codes)?;
    if categories.len()? > 2 {
        return Ok(None);
    }
    let Some(flags) = categories.flags(None)? else { return Ok(None) };
    let of_rows = codes.positions::<i64>(0..codes.len()?)?;
    let flag = |&code: &i64| match usize::try_from(code) {
        Ok(code) => flags
            .get(code)
            .copied()
            .ok_or_else(|| codes.refuse("names a category that does not exist; the file is damaged")),
        // -1.
        Err(_) => Err(refuse("some of its values are missing".to_owned())),
    };
    of_rows.iter().map(flag).collect::<Result<_>>().map(Some)
}

/// The truth values of a column of `var`.
fn mask(file: &Store, var: &str, column: &str, p: usize) -> Result<Vec<bool>> {
    let refuse = |problem: String| {
        let (option, wanted) = (option_names::MASK, column.to_owned());
        Error::new(file.path(), Cause::Column { option, wanted, problem })
    };
    let no_flags = || refuse(format!("the column of `{var}` holds no values true and false"));
    let missing = |columns: &[String]| {
        let there = if columns.is_empty() { "none".to_owned() } else { list(columns) };
        refuse(format!("`{var}` has no such column; there are {there}"))
    };
    // The number of values is compared before they are read: a damaged file may declare any.
    let check = |values: &Array| match values.len()? {
        n if n == p => Ok(()),
        n => Err(refuse(format!("it has {n} values for {p} genes; the file is damaged"))),
    };
    let checked = |name: &str, field| {
        let values = file.array(name)?;
        check(&values)?;
        values.flags(field)
    };
    let flags = match file.kind(var)? {
        Some(Kind::Array) => {
            let records = file.array(var)?;
            let mut columns = records.field_names();
            if !columns.iter().any(|found| found == column) {
                columns.retain(|found| found != "index" && found != "_index");
                return Err(missing(&columns));
            }
            checked(var, Some(column))?
        }
        Some(Kind::Group) => {
            let name = format!("{var}/{column}");
            match file.kind(&name)? {
                Some(Kind::Array) => checked(&name, None)?,
                Some(Kind::Group) if file.kind(&format!("{name}/mask"))? == Some(Kind::Array) => {
                    let absent = checked(&format!("{name}/mask"), None)?;
                    if absent.is_some_and(|absent| absent.contains(&true)) {
                        return Err(refuse("some of its values are missing".to_owned()));
                    }
                    checked(&format!("{name}/values"), None)?
                }
                Some(Kind::Group) => of_categories(file, &name, &check, &refuse)?,
                None => {
                    let (groups, arrays) = file.members(var)?;
                    let mut columns = [groups, arrays].concat();
                    let index = file.text(var, "_index")?.unwrap_or_else(|| "_index".to_owned());
                    columns.retain(|found| *found != index && found != "__categories");
                    return Err(missing(&columns));
                }
            }
        }
        None => None,
    };
    let flags = flags.ok_or_else(no_flags)?;
    if !flags.contains(&true) {
        return Err(refuse(format!("it takes none of the {p} genes")));
    }
    Ok(flags)
}
