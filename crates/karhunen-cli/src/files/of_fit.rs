//! The outputs of a fit: files and the printed summary.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use crate::args::fit::{FitOutputArgs, SummaryArgs};
use crate::args::values::JsonExtent;
use crate::error::{Failure, Result};
use crate::files::outputs::{Outputs, check_standard_output, print, print_aside};
use crate::files::overwrite;
use crate::files::paths::{check_outputs, check_table_output, is_standard};
use crate::text::Layout;

/// The files that a fit writes, and the form of its summary.
#[derive(Debug)]
pub(crate) struct FitFiles {
    /// The file for the model.
    pub(crate) model: Option<PathBuf>,
    /// The file for the scores.
    pub(crate) scores: Option<PathBuf>,
    /// True if the scores are whitened.
    pub(crate) whiten: bool,
    /// The file for the loadings.
    pub(crate) loadings: Option<PathBuf>,
    /// The form of the printed summary.
    pub(crate) summary: SummaryForm,
    /// True if progress is not shown.
    pub(crate) quiet: bool,
    /// True if existing files of any content are replaced.
    pub(crate) force: bool,
}

/// The form of the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SummaryForm {
    /// No summary.
    None,
    /// Text on standard output.
    Text,
    /// Text on standard error, because standard output carries a file.
    TextAside,
    /// JSON on standard output.
    Json(JsonExtent),
}

/// An output file of a fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The model.
    Model,
    /// The scores of the fitted rows.
    Scores,
    /// The loadings of the features.
    Loadings,
}

impl FitFiles {
    /// The options of the files that are written, with the option of a checkpoint.
    pub(crate) fn outputs<'a>(
        &'a self,
        checkpoint: Option<&'a Path>,
    ) -> [(&'static str, Option<&'a Path>); 4] {
        [
            ("-o", self.model.as_deref()),
            ("--scores", self.scores.as_deref()),
            ("--loadings", self.loadings.as_deref()),
            ("--checkpoint", checkpoint),
        ]
    }

    /// Checks the outputs of a fit and determines the form of the summary. `inputs` are the files that the fit
    /// reads.
    ///
    /// # Errors
    /// [`Failure::Usage`] for contradictory outputs, [`Failure::File`] for one that cannot be written.
    pub(crate) fn resolve(output: FitOutputArgs, inputs: &[Option<&PathBuf>]) -> Result<Self> {
        let outputs = [
            ("-o", output.model.as_deref()),
            ("--scores", output.scores.as_deref()),
            ("--loadings", output.loadings.as_deref()),
        ];
        check_outputs(&outputs, inputs)?;
        for path in output.scores.iter().chain(&output.loadings) {
            check_table_output(path)?;
        }
        if is_standard(output.model.as_deref()) && std::io::stdout().is_terminal() {
            return Err(Failure::Usage(
                "-o - would write a model, which is binary, to the terminal; give a file, or pipe it on"
                    .to_owned(),
            ));
        }
        overwrite::check(&outputs, output.force)?;
        let summary = summary_form(output.summary, outputs.iter().any(|(_, path)| is_standard(*path)))?;
        // Checked before the fit rather than after.
        if matches!(summary, SummaryForm::Text | SummaryForm::Json(_)) {
            check_standard_output()?;
        }
        let FitOutputArgs { model, scores, whiten, loadings, force, summary: SummaryArgs { quiet, .. } } =
            output;
        Ok(Self { model, scores, whiten, loadings, summary, quiet, force })
    }

    /// The requested outputs and their paths.
    fn parts(&self) -> impl Iterator<Item = (Part, &Path)> {
        let all =
            [(Part::Model, &self.model), (Part::Scores, &self.scores), (Part::Loadings, &self.loadings)];
        all.into_iter().filter_map(|(part, path)| Some((part, path.as_deref()?)))
    }

    /// Prepares files, then writes to standard output, then renames the files to their targets. `write` writes a
    /// requested part to its path.
    ///
    /// # Errors
    /// Errors of `write` and of the renames.
    pub(crate) fn write(&self, write: impl Fn(&mut Outputs, Part, &Path) -> Result<()>) -> Result<()> {
        self.write_with(|_| Ok(()), write)
    }

    /// As [`FitFiles::write`], with the files that `more` prepares.
    ///
    /// # Errors
    /// Errors of `more`, of `write` and of the renames.
    pub(crate) fn write_with(
        &self,
        more: impl FnOnce(&mut Outputs) -> Result<()>,
        write: impl Fn(&mut Outputs, Part, &Path) -> Result<()>,
    ) -> Result<()> {
        let mut outputs = Outputs::new(self.force);
        more(&mut outputs)?;
        for standard in [false, true] {
            for (part, path) in self.parts().filter(|(_, path)| is_standard(Some(path)) == standard) {
                write(&mut outputs, part, path)?;
            }
        }
        outputs.commit()
    }

    /// Prints the summary: text with a list of the files written, or JSON.
    ///
    /// # Errors
    /// Errors of `json` and of standard output.
    pub(crate) fn print_summary(
        &self,
        text: impl Fn(Layout, &[String]) -> String,
        json: impl Fn(JsonExtent, BTreeMap<&'static str, String>) -> Result<String>,
    ) -> Result<()> {
        let written: BTreeMap<&'static str, String> = self
            .parts()
            .filter(|(_, path)| !is_standard(Some(path)))
            .map(|(part, path)| (part.name(), path.display().to_string()))
            .collect();
        let files: Vec<String> = written.iter().map(|(what, path)| format!("{what} to {path}")).collect();
        match self.summary {
            SummaryForm::None => Ok(()),
            SummaryForm::Text => print(&text(Layout::of(&console::Term::stdout()), &files)),
            SummaryForm::TextAside => {
                print_aside(&text(Layout::of(&console::Term::stderr()), &files));
                Ok(())
            }
            SummaryForm::Json(extent) => print(&json(extent, written)?),
        }
    }
}

impl Part {
    /// The name in reports.
    fn name(self) -> &'static str {
        match self {
            Part::Model => "model",
            Part::Scores => "scores",
            Part::Loadings => "loadings",
        }
    }
}

fn summary_form(summary: SummaryArgs, stdout_taken: bool) -> Result<SummaryForm> {
    match (summary.quiet, summary.json, stdout_taken) {
        (true, _, _) => Ok(SummaryForm::None),
        (_, Some(_), true) => Err(Failure::Usage(
            "--json and an output `-` both ask for the standard output; give that output a file".to_owned(),
        )),
        (_, Some(extent), false) => Ok(SummaryForm::Json(extent)),
        (_, None, true) => Ok(SummaryForm::TextAside),
        (_, None, false) => Ok(SummaryForm::Text),
    }
}
