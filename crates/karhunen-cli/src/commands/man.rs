//! `karhunen man`: writes manual pages, one for the program and one for each command.

use std::path::PathBuf;

use clap::Command;
use clap::builder::Resettable;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::args::ManArgs;
use crate::error::Result;
use crate::files::outputs::Outputs;
use crate::files::overwrite;
use crate::help::{Notes, reference};

/// Writes the pages.
pub(crate) fn run(args: &ManArgs) -> Result<()> {
    if !args.folder.is_dir() {
        let message = format!("there is no folder {}; make it first", args.folder.display());
        return Err(karhunen_io::Error::io(&args.folder, "writing", std::io::Error::other(message)).into());
    }
    let mut all = reference();
    all.build();
    let commands = std::iter::once(&all).chain(all.get_subcommands());
    let pages: Vec<(PathBuf, &Command)> =
        commands.map(|command| (args.folder.join(format!("{}.1", name_of(command))), command)).collect();
    for (path, _) in &pages {
        overwrite::check(&[("man", Some(path))], args.force)?;
    }
    let mut outputs = Outputs::new(args.force);
    for (path, command) in &pages {
        let text = page(command).map_err(|source| karhunen_io::Error::io(path, "writing", source))?;
        outputs.stage(karhunen_io::stage_bytes(path, &text))?;
    }
    outputs.commit()
}

/// `karhunen`, `karhunen-fit`, ….
fn name_of(command: &Command) -> &str {
    command.get_display_name().unwrap_or_else(|| command.get_name())
}

/// The page of a command, in roff.
fn page(command: &Command) -> std::io::Result<Vec<u8>> {
    let usage = command.clone().render_usage().to_string();
    let options = command
        .clone()
        .override_usage(usage.trim_start_matches("Usage: ").to_owned())
        .after_help(Resettable::Reset)
        .after_long_help(Resettable::Reset);
    let program = concat!("karhunen ", env!("CARGO_PKG_VERSION"));
    let mut page = Vec::new();
    Man::new(options).source(program).manual("Karhunen manual").render(&mut page)?;
    let mut rest = Roff::new();
    let Notes { examples, prose } = Notes::of(command);
    if !examples.is_empty() {
        rest.control("SH", ["EXAMPLES"]).control("nf", []);
        for example in &examples {
            rest.text([roman(example.trim_start())]);
        }
        rest.control("fi", []);
    }
    if !prose.is_empty() {
        rest.control("SH", ["NOTES"]);
        for paragraph in &prose {
            rest.control("PP", []).text([roman(paragraph.as_str())]);
        }
    }
    if !command.has_subcommands() {
        rest.control("SH", ["SEE ALSO"]).text([roman("karhunen(1)")]);
    }
    rest.to_writer(&mut page)?;
    Ok(page)
}
