//! `karhunen completions`: prints a script that completes commands and options in a shell.

use clap_complete::Shell;

use crate::error::Result;
use crate::files::outputs::print;
use crate::help::definition;

/// Prints the script for `shell`.
pub(crate) fn run(shell: Shell) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut definition(), "karhunen", &mut script);
    print(&String::from_utf8_lossy(&script))
}
