//! Files of moments, merged.

use std::path::{Path, PathBuf};

use crate::tables::places;
use crate::{Cause, Error, Existing, Result, SavedScatter, load_model};

/// Reads moments from files that [`crate::save_model`] wrote and merges them in the order given. Columns are matched by
/// name if they have names; the names of the first file give their order. Memory: twice the memory of one file.
///
/// # Errors
/// Same errors as [`load_model`]; [`Cause::Format`] for other columns or another normalisation than in the first file,
/// and if no file is given.
pub fn load_moments(paths: &[PathBuf]) -> Result<SavedScatter> {
    let Some((first, others)) = paths.split_first() else {
        return Err(Error::new(Path::new("-"), Cause::format("no file is given".to_owned())));
    };
    let mut total = load(first)?;
    for path in others {
        let part = load(path)?;
        let (expected, found) = (total.model.moments.mean.len(), part.model.moments.mean.len());
        if found != expected {
            let message = format!("holds moments of {found} columns, but {} of {expected}", first.display());
            return Err(Error::new(path, Cause::format(message)));
        }
        if part.extras.log1p != total.extras.log1p {
            let how = |log1p: Option<f64>| {
                log1p
                    .map_or("not normalised".to_owned(), |sum| format!("normalised to {sum}, with ln(1 + x)"))
            };
            let message = format!(
                "holds moments of values that are {}, but the values of {} are {}; give every \
                 part the same sum of each row",
                how(part.extras.log1p),
                first.display(),
                how(total.extras.log1p)
            );
            return Err(Error::new(path, Cause::format(message)));
        }
        let names = (total.extras.feature_names.as_deref(), part.extras.feature_names.as_deref());
        let library = |error: karhunen::Error| Error::new(path, error.into());
        let model = match places(first, path, names)? {
            Some(places) => part.model.with_columns_at(&places).map_err(library)?,
            None => part.model,
        };
        total.model.merge(&model).map_err(library)?;
        let (of_part, of_total) = (part.extras.of_file, &mut total.extras.of_file);
        for (words, all) in [(of_part.set_aside, &mut of_total.set_aside), (of_part.na, &mut of_total.na)] {
            for word in words {
                if !all.contains(&word) {
                    all.push(word);
                }
            }
        }
    }
    Ok(total)
}

fn load(path: &Path) -> Result<SavedScatter> {
    let refuse = |held: &str| {
        let message = format!("holds {held}, not moments; give a file that `karhunen moments` wrote");
        Err(Error::new(path, Cause::format(message)))
    };
    match Existing::of(path)? {
        // Missing, or a stream.
        Existing::Nothing => load_model(path),
        Existing::Model(kind) if kind == SavedScatter::KIND => load_model(path),
        Existing::Model(_) => refuse("a model"),
        Existing::Checkpoint => refuse("a checkpoint"),
        Existing::Other => refuse("data"),
    }
}

#[cfg(test)]
mod tests {
    use karhunen::moments::Scatter;
    use karhunen::{Dense, Pca, Run};

    use super::*;
    use crate::{Saved, SavedModel, TableColumns, save_model};

    const ROWS: [f64; 12] = [1.0, 5.0, 2.0, 0.5, 3.0, 1.0, -2.0, 4.0, 0.25, 1.0, 1.0, 6.0];

    fn saved(values: &[f64], names: Option<[&str; 3]>) -> SavedScatter {
        let x = Dense::row_major(values, values.len() / 3, 3).unwrap();
        let model = Scatter::of(&x, None, &Run::threads(1)).unwrap();
        let feature_names = names.map(|names| names.map(str::to_owned).to_vec());
        Saved { model, extras: TableColumns { feature_names, ..TableColumns::default() } }
    }

    /// The rows with their columns in the order third, first, second.
    fn turned(values: &[f64]) -> Vec<f64> {
        values.chunks(3).flat_map(|row| [row[2], row[0], row[1]]).collect()
    }

    fn merged(parts: &[SavedScatter]) -> Result<SavedScatter> {
        let folder = tempfile::tempdir().unwrap();
        let paths: Vec<PathBuf> =
            (0..parts.len()).map(|i| folder.path().join(format!("{i}.scatter"))).collect();
        paths.iter().zip(parts).for_each(|(path, part)| save_model(path, part).unwrap());
        load_moments(&paths)
    }

    fn refusal(parts: &[SavedScatter]) -> String {
        merged(parts).unwrap_err().to_string()
    }

    #[test]
    fn parts_are_merged_in_their_order_by_the_names_of_columns() {
        let (first, second) =
            (saved(&ROWS[..6], Some(["a", "b", "c"])), saved(&ROWS[6..], Some(["a", "b", "c"])));
        let mut expected = first.model.clone();
        expected.merge(&second.model).unwrap();
        let together = merged(&[first.clone(), second]).unwrap();
        assert_eq!(together.model, expected);
        let mut other = saved(&turned(&ROWS[6..]), Some(["c", "a", "b"]));
        other.extras.of_file.set_aside = vec!["w".to_owned()];
        let together = merged(&[first.clone(), other]).unwrap();
        assert_eq!(together.model, expected);
        assert_eq!(together.extras.feature_names, first.extras.feature_names);
        assert_eq!(together.extras.of_file.set_aside, ["w"]);
        assert_eq!(merged(std::slice::from_ref(&first)).unwrap(), first);
    }

    #[test]
    fn other_columns_and_other_files_are_refused() {
        let first = saved(&ROWS[..6], Some(["a", "b", "c"]));
        let other = refusal(&[first.clone(), saved(&ROWS, Some(["a", "b", "d"]))]);
        assert!(other.contains("1.scatter: has another column `d` than"), "{other}");
        let without = refusal(&[first.clone(), saved(&ROWS, None)]);
        assert!(without.contains("1.scatter: its columns have no names"), "{without}");
        let mut narrow = first.clone();
        narrow.model = Scatter::empty(2);
        narrow.extras.feature_names = None;
        let narrow = refusal(&[first, narrow]);
        assert!(narrow.contains("moments of 2 columns, but") && narrow.contains("of 3"), "{narrow}");
        assert!(load_moments(&[]).unwrap_err().to_string().contains("no file is given"));

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.model");
        let held = |held: &str| {
            let message = load_moments(std::slice::from_ref(&path)).unwrap_err().to_string();
            assert!(message.contains(&format!("holds {held}, not moments")), "{message}");
        };
        std::fs::write(&path, "a,b\n1,2\n").unwrap();
        held("data");
        let model = Pca::new(1).fit(&Dense::row_major(&ROWS, 4, 3).unwrap(), &karhunen::Weights::default());
        save_model(&path, &SavedModel { model: model.unwrap(), extras: TableColumns::default() }).unwrap();
        held("a model");
        let missing = load_moments(&[folder.path().join("none")]).unwrap_err().to_string();
        assert!(missing.contains("none"), "{missing}");
    }
}
