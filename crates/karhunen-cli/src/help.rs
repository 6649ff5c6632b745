//! Help that fits on a screen: `-h` shows the common options, `--help TOPIC` those below one heading.
//!
//! The definition in [`args`](crate::args) is the only table. Its headings are the topics: the name of a topic is
//! the first word of its heading. Help pages, completions and manual pages are made from this definition.

use std::convert::Infallible;
use std::ffi::OsStr;

use clap::builder::{PossibleValue, PossibleValuesParser, Resettable, StyledStr, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, Command, CommandFactory};

use crate::args::Cli;

/// Options below a heading that `-h` also shows, if a command has them.
const COMMON: [&str; 9] =
    ["missing", "kernel", "weights", "model", "scores", "loadings", "json", "quiet", "labels"];
/// Maximum number of examples of all commands that `-h` shows.
const COMMON_EXAMPLES: usize = 6;
/// Maximum number of values of an option that `-h` lists; it always lists all topics.
const LISTED_VALUES: usize = 4;
/// The topic that shows all options.
const ALL: &str = "all";
/// The ids of `-h` and `--help`.
const SCREEN: &str = "screen";
const HELP: &str = "help";

/// The command line, with help by topic for every command that has headings.
pub(crate) fn definition() -> Command {
    let command = Cli::command();
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    command
        .mut_subcommands(|sub| if topics(&sub).is_empty() { sub } else { with_topics(sub) })
        .mut_subcommand(HELP, |help| {
            help.mut_args(|arg| match arg.get_id().as_str() {
                "command" => arg.value_parser(PossibleValuesParser::new(names.clone())),
                _ => arg,
            })
        })
}

/// The definition with every option and value visible, for manual pages.
pub(crate) fn reference() -> Command {
    definition().mut_subcommands(|sub| sub.mut_args(complete))
}

/// The text after the options of a help page.
pub(crate) struct Notes {
    /// Command lines.
    pub(crate) examples: Vec<String>,
    /// Paragraphs.
    pub(crate) prose: Vec<String>,
}

impl Notes {
    /// The notes of a command.
    pub(crate) fn of(command: &Command) -> Self {
        let text = command.get_after_long_help().or(command.get_after_help());
        let text = text.map_or_else(String::new, StyledStr::to_string);
        let blocks = text.split("\n\n").filter(|block| !block.is_empty());
        let (examples, prose): (Vec<&str>, Vec<&str>) =
            blocks.partition(|block| block.starts_with("Example"));
        Self {
            examples: examples.iter().flat_map(|block| block.lines().skip(1)).map(str::to_owned).collect(),
            prose: prose.into_iter().map(str::to_owned).collect(),
        }
    }

    /// The text below a help page.
    fn render(self) -> Resettable<StyledStr> {
        let mut blocks = self.prose;
        match self.examples.len() {
            0 => {}
            1 => blocks.insert(0, format!("Example:\n{}", self.examples[0])),
            _ => blocks.insert(0, format!("Examples:\n{}", self.examples.join("\n"))),
        }
        if blocks.is_empty() { Resettable::Reset } else { Resettable::Value(blocks.join("\n\n").into()) }
    }
}

/// A heading of options.
struct Topic {
    name: String,
    heading: String,
}

/// The topics of a command, in the order of their headings.
fn topics(command: &Command) -> Vec<Topic> {
    let mut topics: Vec<Topic> = Vec::new();
    for heading in command.get_arguments().filter_map(Arg::get_help_heading) {
        if topics.iter().all(|topic| topic.heading != heading) {
            let name = heading.split(' ').next().unwrap_or_default().to_lowercase();
            topics.push(Topic { name, heading: heading.to_owned() });
        }
    }
    topics
}

/// Gives a command `-h`, which shows the common options in one list, and `--help [TOPIC]`.
fn with_topics(command: Command) -> Command {
    let names = topics(&command).into_iter().map(|topic| topic.name);
    let topics: Vec<String> = names.chain([ALL.to_owned()]).collect();
    let header = command.get_styles().get_header();
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n\
         {header}Arguments:{header:#}\n{{positionals}}\n\n\
         {header}Options:{header:#}\n{{options}}{{after-help}}"
    );
    let all_notes = Notes::of(&command);
    let mut first_examples = all_notes.examples.clone();
    first_examples.truncate(COMMON_EXAMPLES);
    command
        .help_template(template)
        .after_help(Notes { examples: first_examples, prose: Vec::new() }.render())
        .after_long_help(all_notes.render())
        .mut_args(|arg| {
            let is_shown = arg.get_help_heading().is_none() || COMMON.contains(&arg.get_id().as_str());
            let is_long = arg.get_possible_values().len() > LISTED_VALUES;
            arg.hide_short_help(!is_shown).hide_possible_values(is_long)
        })
        .disable_help_flag(true)
        .arg(
            Arg::new(SCREEN)
                .short('h')
                .action(ArgAction::HelpShort)
                .help_heading(None::<&'static str>)
                .help("Print the common options"),
        )
        .arg(
            Arg::new(HELP)
                .long("help")
                .value_name("TOPIC")
                .num_args(0..=1)
                .default_missing_value(ALL)
                .value_parser(TopicParser(PossibleValuesParser::new(topics)))
                .help_heading(None::<&'static str>)
                .help("Print all options, or one topic"),
        )
}

/// Reverses the hiding by [`with_topics`].
fn complete(arg: Arg) -> Arg {
    arg.hide_short_help(false).hide_possible_values(false)
}

/// Parses a topic and ends the parsing with its page: `--help` works anywhere among other arguments.
#[derive(Clone)]
struct TopicParser(PossibleValuesParser);

impl TypedValueParser for TopicParser {
    type Value = Infallible;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> std::result::Result<Infallible, clap::Error> {
        let topic = self.0.parse_ref(command, arg, value)?;
        Err(page(command, &topic))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        self.0.possible_values()
    }
}

/// The help page of a topic, in clap's form of an error.
fn page(command: &Command, topic: &str) -> clap::Error {
    let topic = topics(command).into_iter().find(|candidate| candidate.name == topic);
    let page = command.clone().help_template(Resettable::Reset).mut_args(|arg| {
        let arg = if arg.get_id() == SCREEN { arg.action(ArgAction::HelpLong) } else { arg };
        complete(arg)
    });
    let page = match topic {
        None => page,
        Some(Topic { heading, .. }) => {
            let notes = notes_on(&page, &heading);
            page.after_long_help(notes.render()).mut_args(|arg| {
                let is_other = arg.get_help_heading() != Some(heading.as_str());
                if is_other { arg.hide(true) } else { arg }
            })
        }
    };
    // `-h` prints this page in full. It ends the parsing, so there are never matches.
    match page.try_get_matches_from(["karhunen", "-h"]) {
        Err(help) => help,
        Ok(_) => clap::Error::new(ErrorKind::DisplayHelp).with_cmd(command),
    }
}

/// The examples of a command that use an option below `heading`.
fn notes_on(command: &Command, heading: &str) -> Notes {
    let options: Vec<String> = command
        .get_arguments()
        .filter(|arg| arg.get_help_heading() == Some(heading))
        .flat_map(|arg| {
            let long = arg.get_long().map(|long| format!("--{long}"));
            let short = arg.get_short().map(|short| format!("-{short}"));
            [long, short].into_iter().flatten()
        })
        .collect();
    let uses = |example: &String| {
        let mut words = example.split(' ').map(|word| word.split('=').next().unwrap_or(word));
        words.any(|word| options.iter().any(|option| option == word))
    };
    let examples = Notes::of(command).examples.into_iter().filter(uses).collect();
    Notes { examples, prose: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definitions_are_consistent() {
        definition().debug_assert();
        reference().debug_assert();
    }

    #[test]
    fn notes_are_examples_and_paragraphs() {
        let command = Command::new("x").after_help("Examples:\n  x --a\n  x -b\n\nOne.\n\nTwo\nlines.");
        let Notes { examples, prose } = Notes::of(&command);
        assert_eq!(examples, ["  x --a", "  x -b"]);
        assert_eq!(prose, ["One.", "Two\nlines."]);
        assert!(Notes::of(&Command::new("x")).examples.is_empty());
    }
}
