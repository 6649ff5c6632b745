//! Help that fits on a screen, help by topic, manual pages and completions, all from one definition.

use std::collections::BTreeSet;

use crate::karhunen;

/// The output of a command that must succeed, on a terminal of 80 columns.
fn printed(arguments: &str) -> String {
    let done = karhunen(arguments).env("COLUMNS", "80").assert().success().stderr("");
    String::from_utf8(done.get_output().stdout.clone()).unwrap()
}

/// The error message for a wrong command line.
fn refusal(arguments: &str) -> String {
    let done = karhunen(arguments).env("COLUMNS", "80").assert().code(2).stdout("");
    String::from_utf8(done.get_output().stderr.clone()).unwrap()
}

/// A help page by its headings: the lines below each.
fn sections(page: &str) -> Vec<(String, Vec<String>)> {
    let mut sections: Vec<(String, Vec<String>)> = Vec::new();
    for line in page.lines() {
        match line.strip_suffix(':') {
            Some(heading) if !line.starts_with(' ') => sections.push((heading.to_owned(), Vec::new())),
            _ => {
                if let Some((_, lines)) = sections.last_mut() {
                    lines.push(line.to_owned());
                }
            }
        }
    }
    sections
}

/// The option that a line of a help page begins with, by its longest name.
fn option(line: &str) -> Option<String> {
    let text = line.trim_start();
    if !text.starts_with('-') || text.starts_with("- ") || line.len() - text.len() > 6 {
        return None;
    }
    let names = text.split_once("  ").map_or(text, |(names, _)| names);
    let names = names.split([' ', ',', '[', '=']).filter(|word| word.starts_with('-'));
    names.max_by_key(|name| name.len()).map(str::to_owned)
}

fn options(lines: &[String]) -> Vec<String> {
    lines.iter().filter_map(|line| option(line)).collect()
}

/// All options of a page.
fn all_options(page: &str) -> BTreeSet<String> {
    sections(page)
        .iter()
        .filter(|(heading, _)| heading != "Examples")
        .flat_map(|(_, lines)| options(lines))
        .collect()
}

fn commands() -> Vec<String> {
    let page = printed("--help");
    let (_, lines) = sections(&page).into_iter().find(|(heading, _)| heading == "Commands").unwrap();
    let name =
        |line: &String| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')).map(str::to_owned);
    lines.iter().filter_map(name).map(|line| line.split(' ').next().unwrap().to_owned()).collect()
}

/// The topics of a command, as `-h` lists them.
fn topics(command: &str) -> Vec<String> {
    let screen = printed(&format!("{command} -h")).split_whitespace().collect::<Vec<_>>().join(" ");
    let Some((_, list)) = screen.split_once("or one topic [possible values: ") else {
        return Vec::new();
    };
    list.split_once(']').unwrap().0.split(", ").map(str::to_owned).collect()
}

#[test]
fn every_screen_has_40_lines_of_80_columns_at_most() {
    let all = commands();
    assert!(all.len() >= 10 && all.contains(&"cross-validate".to_owned()), "{all:?}");
    for command in all.iter().map(String::as_str).chain([""]) {
        let screen = printed(&format!("{command} -h"));
        let (lines, columns) =
            (screen.lines().count(), screen.lines().map(|line| line.chars().count()).max());
        assert!(lines <= 40, "{command} -h has {lines} lines:\n{screen}");
        assert!(columns <= Some(80), "{command} -h has {columns:?} columns:\n{screen}");
        let (shown, there) = (all_options(&screen), all_options(&printed(&format!("{command} --help"))));
        assert!(!shown.is_empty() && shown.is_subset(&there), "{command}: {shown:?} {there:?}");
    }
    let screen = printed("fit -h");
    let common =
        ["--components", "--scale", "--missing", "--kernel", "--weights", "--output", "--label", "--scores"];
    for name in common {
        assert!(all_options(&screen).contains(name), "{name}");
    }
}

#[test]
fn a_topic_shows_the_options_of_its_heading() {
    let mut n_topics = 0;
    for command in commands() {
        let listed = topics(&command);
        let page = printed(&format!("{command} --help"));
        let sections_of_all = sections(&page);
        let headed: Vec<_> = sections_of_all
            .iter()
            .filter(|(heading, _)| {
                !["Arguments", "Options", "Commands", "Example", "Examples"].contains(&heading.as_str())
            })
            .collect();
        // The last topic is `all`.
        assert_eq!(
            listed.len(),
            if headed.is_empty() { 0 } else { headed.len() + 1 },
            "{command}: {listed:?}"
        );
        for (topic, (heading, lines)) in listed.iter().zip(headed) {
            let page = printed(&format!("{command} --help {topic}"));
            let shown = sections(&page);
            assert_eq!(shown[0].0, *heading, "{command} {topic}");
            assert!(heading.to_lowercase().starts_with(topic.as_str()), "{heading} {topic}");
            let expected = options(lines);
            assert!(!expected.is_empty(), "{command} {topic}: {lines:?}");
            assert_eq!(options(&shown[0].1), expected, "{command} {topic}");
            // Only the examples follow, and each uses an option of the topic.
            assert_eq!(shown.len(), 2, "{page}");
            assert!(shown[1].0.starts_with("Example") && !shown[1].1.is_empty(), "{page}");
            for example in &shown[1].1 {
                let uses = |option: &String| {
                    example
                        .split([' ', '='])
                        .any(|word| word == option.as_str() || (word == "-o" && option == "--output"))
                };
                assert!(expected.iter().any(uses), "{command} {topic}: {example}");
            }
            n_topics += 1;
        }
    }
    assert!(n_topics >= 18, "{n_topics}");
}

#[test]
fn topics_are_found_in_any_place_and_by_the_command_help() {
    let page = printed("fit --help missing");
    for values in ["- vb-fixed:", "- joint:", "Possible values:"] {
        assert!(page.contains(values), "{page}");
    }
    assert!(!page.contains("--kernel"), "{page}");
    for arguments in [
        "fit --help=missing",
        "fit no_such.csv --scale --help missing",
        "fit --help missing -k 3",
        "help fit missing",
    ] {
        assert_eq!(printed(arguments), page, "{arguments}");
    }
    for arguments in ["fit --help all", "help fit", "help fit all", "fit --help --scale"] {
        assert_eq!(printed(arguments), printed("fit --help"), "{arguments}");
    }
    assert_eq!(printed("help"), printed("--help"));
    assert_eq!(printed("help completions"), printed("completions --help"));
}

#[test]
fn topics_that_are_not_there_are_refused_with_those_that_are() {
    for arguments in ["fit --help kernels", "help fit kernels", "fit --help kernels x.csv"] {
        let message = refusal(arguments);
        let expected =
            "error: invalid value 'kernels' for '--help [<TOPIC>]'\n  [possible values: missing, stopping, ";
        assert!(message.starts_with(expected) && message.contains("'kernel'"), "{message}");
    }
    assert!(
        refusal("transform --help kernel")
            .contains("[possible values: triples, input, memory, genotypes, all]")
    );
    assert!(refusal("help fits").contains("possible values: fit, update"));
    assert!(refusal("help completions kernel").contains("'kernel'"));
    // Errors in other arguments refer to the screen.
    assert!(refusal("fit x.csv --kernle rbf").ends_with("For more information, try '-h'.\n"));
}

#[test]
fn examples_are_well_formed() {
    let empty = tempfile::tempdir().unwrap();
    let mut n_examples = 0;
    for command in commands() {
        let page = printed(&format!("{command} --help"));
        for line in page.lines().filter(|line| line.starts_with("  ") && line.contains("karhunen ")) {
            let line = line.split_once("karhunen ").unwrap().1;
            let arguments = line.split('|').next().unwrap();
            if !arguments.starts_with(&command) {
                continue;
            }
            // Their files do not exist, or standard input is empty.
            let code = if arguments.contains(" - ") { 3 } else { 4 };
            karhunen(arguments).current_dir(&empty).assert().code(code);
            n_examples += 1;
        }
    }
    assert!(n_examples >= 30, "{n_examples}");
}

#[test]
fn manual_pages_hold_every_option_and_value() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display().to_string();
    karhunen(&format!("man {path}")).assert().success().stdout("").stderr("");
    let all = commands();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), all.len() + 1);
    for command in all.iter().map(String::as_str).chain([""]) {
        let name = if command.is_empty() { "karhunen.1".to_owned() } else { format!("karhunen-{command}.1") };
        let page = std::fs::read_to_string(folder.path().join(&name)).unwrap().replace("\\-", "-");
        assert!(page.contains(&format!(".TH {}", name.trim_end_matches(".1"))), "{name}: {page:.200}");
        let help = printed(&format!("{command} --help"));
        for option in all_options(&help) {
            let begins =
                |line: &str| line.contains(&format!("{option}\\fR")) || line.contains(&format!("{option} "));
            assert!(page.lines().any(begins), "{name}: {option}");
        }
        for value in help.lines().filter_map(|line| line.trim_start().strip_prefix("- ")) {
            let value = value.split(':').next().unwrap();
            assert!(
                page.lines().any(|line| line == value || line.starts_with(&format!("{value}:"))),
                "{name}: {value}"
            );
        }
    }
    let fit = std::fs::read_to_string(folder.path().join("karhunen-fit.1")).unwrap();
    // Every option is followed by its help.
    assert!(fit.contains("Coefficient of the kernel") && fit.contains(".SH EXAMPLES"), "{fit}");
}

#[test]
fn manual_pages_are_overwritten_by_force() {
    let folder = tempfile::tempdir().unwrap();
    let (path, page) = (folder.path().display().to_string(), folder.path().join("karhunen-fit.1"));
    karhunen(&format!("man {path}")).assert().success();
    let written = std::fs::read_to_string(&page).unwrap();
    std::fs::write(&page, "a,b\n1,2\n").unwrap();
    let message = refusal(&format!("man {path}"));
    assert!(message.contains("karhunen.1: the file exists; give another name, or use --force"), "{message}");
    assert_eq!(std::fs::read_to_string(&page).unwrap(), "a,b\n1,2\n");
    karhunen(&format!("man {path} --force")).assert().success();
    assert_eq!(std::fs::read_to_string(&page).unwrap(), written);
    karhunen(&format!("man {path}/none")).assert().code(4).stdout("");
}

#[test]
fn completions_know_every_option_and_topic() {
    let script = printed("completions bash");
    for command in commands() {
        let begin = script.find(&format!("karhunen__subcmd__{})\n", command.replace('-', "__subcmd__")));
        let block = &script[begin.unwrap_or_else(|| panic!("{command}"))..];
        let words: BTreeSet<&str> =
            block.split_once("opts=\"").unwrap().1.split_once('"').unwrap().0.split(' ').collect();
        for option in all_options(&printed(&format!("{command} --help"))) {
            assert!(words.contains(option.as_str()), "{command}: {option} {words:?}");
        }
    }
    for topic in topics("fit") {
        assert!(printed("completions fish").contains(&topic), "{topic}");
    }
    assert!(script.contains(
        "missing stopping triples kernel categories weights output genotypes input solver memory checkpoints all"
    ));
}
