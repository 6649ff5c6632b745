//! The README is executed.

use std::path::Path;

use crate::karhunen;

fn readme() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).unwrap()
}

/// The output that the README shows after a command, up to the end of the block.
fn shown<'a>(readme: &'a str, prompt: &str) -> (&'a str, &'a str) {
    let block = readme.split_once(prompt).unwrap().1;
    let (command, rest) = block.split_once('\n').unwrap();
    (command, rest.split_once("```").unwrap().0)
}

/// Removes the numbers that differ between runs and machines.
fn steady(output: &str) -> Vec<&str> {
    output.lines().filter(|line| !line.starts_with("time") && !line.starts_with("accuracy")).collect()
}

#[test]
fn the_first_command_prints_what_the_readme_shows() {
    let readme = readme();
    let (command, expected) = shown(&readme, "$ cargo run --release --no-default-features -- ");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let done = karhunen(command).current_dir(root).assert().success();
    let output = String::from_utf8(done.get_output().stdout.clone()).unwrap();
    assert!(steady(expected).len() > 15);
    assert_eq!(steady(&output), steady(expected), "{output}");
}

#[test]
fn the_other_commands_are_well_formed() {
    let readme = readme();
    let commands: Vec<&str> = readme.lines().filter_map(|line| line.strip_prefix("$ karhunen ")).collect();
    assert!(commands.len() >= 6);
    let empty = tempfile::tempdir().unwrap();
    for command in commands {
        let arguments = command.split(['#', '|']).next().unwrap();
        // Their files do not exist, which is a failed input and not a wrong usage.
        karhunen(arguments).current_dir(&empty).assert().code(4);
    }
}
