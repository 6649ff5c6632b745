//! Decides which files a command may overwrite: those with content of the kind it is about to write.

use std::path::Path;

use karhunen_io::{Cause, Existing, SavedIncremental, check_writable};

use crate::component_names::{
    CATEGORY_COLUMNS, COMMUNALITY, FEATURE_COLUMNS, INCOMPLETE_ROW_COLUMNS, ROW_COLUMNS, SHARE, component_of,
};
use crate::error::{Failure, Result};
use crate::genotype_args::UNMATCHED_COLUMNS;
use crate::names::OFFSET;
use crate::outputs::check_standard_output;

/// The content of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A model of this kind.
    Model(&'static str),
    /// `PC1`, `PC2`, … beside row names.
    Scores,
    /// `PC1`, `PC2`, … beside `feature`.
    Loadings,
    /// The diagnostics of rows.
    RowDiagnostics,
    /// The diagnostics of features, beside `feature`.
    FeatureDiagnostics,
    /// Results by category, beside `category`.
    Categories,
    /// Two ids, a value and its standard deviation.
    Predictions,
    /// The choices of a cross-validation and their errors.
    Choices,
    /// A manual page.
    ManualPage,
    /// A page of `karhunen report`.
    Report,
    /// A table of PLINK 2.
    Plink,
    /// The variants that are not matched.
    Unmatched,
    /// Rows of features, indistinguishable from other data.
    Rows,
}

/// The first line of a manual page, a comment.
pub(crate) const MANUAL_PAGE: &str = ".\\\" Manual page of karhunen";

/// An output: the option, its path and its content.
pub(crate) type Output<'a> = (&'a str, Option<&'a Path>, Kind);

/// Refuses, before any work, outputs that cannot be written, and, without `force`, outputs that would overwrite
/// other content.
///
/// # Errors
/// [`Failure::Usage`] for an existing file with other content, [`Failure::Protected`] for a protected file,
/// [`Failure::File`] for a file that cannot be written, [`Failure::StandardOutput`] if standard output is closed.
pub(crate) fn check(outputs: &[Output<'_>], force: bool) -> Result<()> {
    for &(option, path, kind) in outputs {
        let Some(path) = path else { continue };
        if path.as_os_str() == "-" {
            check_standard_output()?;
            continue;
        }
        writable(path, force)?;
        if force {
            continue;
        }
        if let Some(held) = not_own(&Existing::of(path)?, kind) {
            return Err(Failure::Usage(format!(
                "{option} {}: the file exists and holds {held}; give another name, or use --force to overwrite it",
                path.display()
            )));
        }
    }
    Ok(())
}

/// Refuses a file that cannot be written or, without `force`, is protected.
///
/// # Errors
/// [`Failure::Protected`], [`Failure::File`].
fn writable(path: &Path, force: bool) -> Result<()> {
    check_writable(path, force).map_err(|error| match &*error.cause {
        Cause::Io { source, .. } if source.kind() == std::io::ErrorKind::PermissionDenied && !force => {
            Failure::Protected(error)
        }
        _ => error.into(),
    })
}

/// Refuses an existing file for checkpoints from which the fit would not resume.
///
/// # Errors
/// As [`check`].
pub(crate) fn check_checkpoint(path: &Path, resume: bool, force: bool) -> Result<()> {
    // Every checkpoint replaces the previous one, so `force` cannot lift a protection.
    check_writable(path, false)?;
    if resume || force {
        return Ok(());
    }
    let shown = path.display();
    match Existing::of(path)? {
        Existing::Nothing => Ok(()),
        Existing::Checkpoint => Err(Failure::Usage(format!(
            "--checkpoint {shown}: the file exists and holds the checkpoint of a fit; go on from it with --resume, begin \
             anew and overwrite it with --force, or give another name"
        ))),
        other => {
            let held = described(&other);
            Err(Failure::Usage(format!(
                "--checkpoint {shown}: the file exists and holds {held}; give another name, or use --force to overwrite it"
            )))
        }
    }
}

/// Tests whether a file holds a state that `update` continues; false if there is no such file.
///
/// # Errors
/// [`Failure::Usage`] for other content; [`Failure::File`] for a file that cannot be read or replaced.
pub(crate) fn holds_state(path: &Path) -> Result<bool> {
    check_writable(path, false)?;
    match Existing::of(path)? {
        Existing::Nothing => Ok(false),
        Existing::Model(kind) if kind == SavedIncremental::KIND => Ok(true),
        other => Err(Failure::Usage(format!(
            "{}: the file holds {}, and no state of `karhunen update`; give the name of a state, or of a new file",
            path.display(),
            described(&other)
        ))),
    }
}

/// Describes the content of an existing file, unless it is an output of this kind.
fn not_own(existing: &Existing, kind: Kind) -> Option<String> {
    let own = match (existing, kind) {
        (Existing::Nothing, _) => true,
        (Existing::Model(found), Kind::Model(kind)) => found == kind,
        (Existing::Table(names), kind) => is_own_table(names, kind),
        (Existing::Page(first), Kind::Report) => first == karhunen_report::FIRST_LINE,
        _ => false,
    };
    if own { None } else { Some(described(existing)) }
}

/// Tests whether a table with these columns is an output of this kind.
fn is_own_table(names: &[String], kind: Kind) -> bool {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    match (kind, names.as_slice()) {
        (Kind::Scores, ["feature", ..]) => false,
        (Kind::Scores, names) => {
            are_scores(names) || names.split_first().is_some_and(|(_, rest)| are_scores(rest))
        }
        (Kind::Loadings, ["feature", rest @ ..]) => are_components(rest),
        (Kind::RowDiagnostics, names) => {
            let are_own = |names: &[&str]| names == ROW_COLUMNS || names == INCOMPLETE_ROW_COLUMNS;
            are_own(names) || names.split_first().is_some_and(|(_, rest)| are_own(rest))
        }
        (Kind::FeatureDiagnostics, ["feature", rest @ .., COMMUNALITY]) => {
            rest.iter().all(|name| FEATURE_COLUMNS.iter().any(|prefix| name.starts_with(prefix)))
        }
        (Kind::Categories, ["category", SHARE, rest @ ..]) => {
            !rest.is_empty()
                && rest.iter().all(|name| CATEGORY_COLUMNS.iter().any(|prefix| name.starts_with(prefix)))
        }
        (Kind::Unmatched, names) => names == UNMATCHED_COLUMNS,
        // Tabs do not separate names in files of these extensions. Eigenvalues have no header.
        (Kind::Plink, [first, ..]) => {
            let own = ["#FID", "#IID", "#CHROM"].iter().any(|name| first.starts_with(name));
            own || (names.len() == 1 && first.parse::<f64>().is_ok())
        }
        (Kind::Predictions, [_, _, "value", "std"] | [_, _, "value", "std", "lower", "upper"]) => true,
        (Kind::ManualPage, [first]) => *first == MANUAL_PAGE,
        (Kind::Choices, ["components", .., last]) => {
            last.starts_with("fold") && names.contains(&"standard_error")
        }
        _ => false,
    }
}

fn are_scores(names: &[&str]) -> bool {
    are_components(names.strip_suffix(&[OFFSET]).unwrap_or(names))
}

fn are_components(names: &[&str]) -> bool {
    !names.is_empty() && names.iter().enumerate().all(|(c, name)| component_of(name) == Some(c))
}

fn described(existing: &Existing) -> String {
    match existing {
        Existing::Nothing => "nothing".to_owned(),
        Existing::Model(kind) => format!("a model of the kind `{kind}`"),
        Existing::Checkpoint => "the checkpoint of a fit".to_owned(),
        Existing::Table(_) => "text or a table that karhunen cannot tell from other data".to_owned(),
        Existing::Page(_) => "a page of HTML".to_owned(),
        Existing::Array => "an array, which cannot be told from other data".to_owned(),
        Existing::Other => "other data".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use karhunen_io::{SavedKernel, SavedModel};

    use super::*;

    fn table(names: &str) -> Existing {
        Existing::Table(names.split(',').map(str::to_owned).collect())
    }

    #[test]
    fn a_file_is_told_by_what_only_that_output_has() {
        let model = Kind::Model(SavedModel::KIND);
        let cases = [
            (Existing::Nothing, model, true),
            (Existing::Model("pca".to_owned()), model, true),
            (Existing::Model("pca".to_owned()), Kind::Model(SavedKernel::KIND), false),
            (Existing::Model("pca".to_owned()), Kind::Scores, false),
            (Existing::Checkpoint, model, false),
            (Existing::Other, model, false),
            (table("a,b"), model, false),
            (table("sample,PC1,PC2"), Kind::Scores, true),
            (table("sample,T2,SPE,distance2"), Kind::RowDiagnostics, true),
            (table("T2,SPE,distance2"), Kind::RowDiagnostics, true),
            (
                table("State,T2,T2_degrees,T2_limit,SPE,SPE_degrees,SPE_limit,distance2"),
                Kind::RowDiagnostics,
                true,
            ),
            (table("sample,T2,SPE"), Kind::RowDiagnostics, false),
            (table("feature,correlation_PC1,communality"), Kind::FeatureDiagnostics, true),
            (table("feature,a,communality"), Kind::FeatureDiagnostics, false),
            (table("sample,pc1,pc2"), Kind::Scores, true),
            (table("PC1"), Kind::Scores, true),
            (table("user,PC1,offset"), Kind::Scores, true),
            (table("sample,PC1,PC3"), Kind::Scores, false),
            (table("sample,a,b"), Kind::Scores, false),
            (table("sample"), Kind::Scores, false),
            (table("feature,PC1"), Kind::Scores, false),
            (table("feature,PC1"), Kind::Loadings, true),
            (table("feature,pc1"), Kind::Loadings, true),
            (table("sample,PC1"), Kind::Loadings, false),
            (table("user,item,value,std"), Kind::Predictions, true),
            (table("user,item,value"), Kind::Predictions, false),
            (table("components,regularization,mean,standard_error,fold1,fold2"), Kind::Choices, true),
            (table("components,mean"), Kind::Choices, false),
            (table("sample,PC1"), Kind::Rows, false),
            (table(MANUAL_PAGE), Kind::ManualPage, true),
            (table(".TH PRINTF 3"), Kind::ManualPage, false),
            (Existing::Other, Kind::ManualPage, false),
            (Existing::Page(karhunen_report::FIRST_LINE.to_owned()), Kind::Report, true),
            (Existing::Page("<!doctype html>".to_owned()), Kind::Report, false),
            (Existing::Array, Kind::Scores, false),
        ];
        for (existing, kind, own) in cases {
            assert_eq!(not_own(&existing, kind).is_none(), own, "{existing:?} {kind:?}");
        }
    }
}
