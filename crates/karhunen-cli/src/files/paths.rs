//! The files that a command reads and writes, checked before any work.

use std::path::{Path, PathBuf};

use crate::args::input::InputArgs;
use crate::error::{Failure, Result};

/// Refuses to read standard input twice.
///
/// # Errors
/// [`Failure::Usage`].
pub(crate) fn one_standard_input(inputs: &[Option<&PathBuf>]) -> Result<()> {
    let n = inputs.iter().flatten().filter(|path| is_standard(Some(path))).count();
    if n > 1 {
        return Err(Failure::Usage(
            "`-` is given twice, but the standard input can be read once; give a file".to_owned(),
        ));
    }
    Ok(())
}

/// The only data file.
///
/// # Errors
/// [`Failure::Usage`] for several files of a fit that reads one; `what` names the fit.
pub(crate) fn one_file(mut data: Vec<PathBuf>, what: &str) -> Result<PathBuf> {
    match (data.pop(), data.len()) {
        (Some(file), 0) => Ok(file),
        (_, more) => Err(Failure::Usage(format!(
            "{} data files are given, but {what} reads one; make one file of them",
            more + 1
        ))),
    }
}

/// Refuses outputs that overwrite each other or what is read, directly or through an input, and those whose folder does not exist.
///
/// # Errors
/// [`Failure::Usage`], [`Failure::File`].
pub(crate) fn check_outputs(outputs: &[(&str, Option<&Path>)], inputs: &[Option<&PathBuf>]) -> Result<()> {
    let given: Vec<(&str, &Path)> = outputs.iter().filter_map(|&(name, path)| Some((name, path?))).collect();
    for (i, (option, path)) in given.iter().enumerate() {
        if let Some((other, _)) = given[..i].iter().find(|(_, earlier)| same_file(earlier, path)) {
            return Err(Failure::Usage(format!(
                "{other} and {option} both write to {}; give each its own",
                show(path)
            )));
        }
        if is_standard(Some(path)) {
            continue;
        }
        if inputs.iter().flatten().any(|input| is_read(input, path)) {
            return Err(Failure::Usage(format!(
                "{option} {} would overwrite what is read; give another name",
                path.display()
            )));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            let source =
                std::io::Error::other(format!("there is no folder {}; make it first", folder.display()));
            return Err(karhunen_io::Error::io(path, "writing", source).into());
        }
    }
    Ok(())
}

/// Checks, before any work, the files of a command that applies a model to data, `[model, data]`, and writes one table.
///
/// # Errors
/// [`Failure::Usage`] if standard input would be read twice or an input overwritten; [`Failure::File`] for an
/// output that cannot be written.
pub(crate) fn check_files(read: [&PathBuf; 2], input: &InputArgs, output: &Path) -> Result<()> {
    check_tables(read, input, &[("-o", Some(output))])
}

/// As [`check_files`], for a command that writes several tables, each with its option.
///
/// # Errors
/// As [`check_files`].
pub(crate) fn check_tables(
    [model, data]: [&PathBuf; 2],
    input: &InputArgs,
    outputs: &[(&str, Option<&Path>)],
) -> Result<()> {
    let inputs = [Some(model), Some(data), input.feature_names.as_ref(), input.sample_names.as_ref()];
    one_standard_input(&inputs)?;
    check_outputs(outputs, &inputs)?;
    outputs.iter().filter_map(|(_, path)| *path).try_for_each(check_table_output)
}

/// Refuses a table with an unsupported extension.
///
/// # Errors
/// [`Failure::File`].
pub(crate) fn check_table_output(path: &Path) -> Result<()> {
    Ok(karhunen_io::check_table_path(path)?)
}

/// Tests whether two paths are one file. Devices such as /dev/null accept any number of outputs.
fn same_file(a: &Path, b: &Path) -> bool {
    let device = std::fs::metadata(a).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir());
    !device && (a == b || real_path(a) == real_path(b))
}

/// Tests whether a file is an input, or read through one: a folder, a store or a set of files.
fn is_read(input: &Path, file: &Path) -> bool {
    same_file(input, file) || karhunen_io::is_read_through(&real_path(input), &real_path(file))
}

/// The path without links and dots; the file need not exist.
fn real_path(path: &Path) -> PathBuf {
    let in_folder = || {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(std::fs::canonicalize(folder).ok()?.join(path.file_name()?))
    };
    std::fs::canonicalize(path).ok().or_else(in_folder).unwrap_or_else(|| path.to_owned())
}

/// Returns true if the path is `-`, a standard stream.
pub(crate) fn is_standard(path: Option<&Path>) -> bool {
    path.is_some_and(|path| path.as_os_str() == "-")
}

fn show(path: &Path) -> String {
    if is_standard(Some(path)) { "the standard output".to_owned() } else { path.display().to_string() }
}

/// The name of an input in messages.
pub(crate) fn input_name(path: &Path) -> String {
    if is_standard(Some(path)) { "standard input".to_owned() } else { path.display().to_string() }
}

/// The name of several inputs in messages: the name of the first, and how many follow.
pub(crate) fn input_names(paths: &[PathBuf]) -> String {
    let first = paths.first().map(|path| input_name(path)).unwrap_or_default();
    match paths.len() {
        0 | 1 => first,
        n => format!("{first} and {} more", n - 1),
    }
}
