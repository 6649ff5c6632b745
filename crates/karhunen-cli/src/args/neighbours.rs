//! Words of other programs in a command line, and what does the same here.

use clap::Command;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Options of scikit-learn, pandas, R, SIMCA, plink and scanpy, in lower case with hyphens, and what does the same.
const OPTIONS: [(&[&str], &str); 25] = [
    (
        &["standardize", "standardise", "std", "uv", "unit-variance", "correlation", "cor", "scale-unit"],
        "use --scale",
    ),
    (
        &["n", "n-components", "ncomp", "ncp", "n-comps", "rank", "npcs", "n-pcs", "pcs", "nf", "dims"],
        "use -k",
    ),
    (&["drop", "exclude", "ignore", "labels", "class", "target", "quali-sup"], "use --label"),
    (&["usecols", "cols", "select", "features", "variables"], "use --columns"),
    (&["no-header", "noheader"], "use --header no"),
    (&["index-col", "row-name", "id", "ids", "id-column", "rownames"], "use --row-names"),
    (&["cov", "corr", "covariance", "covmat"], "use --from-covariance and --rows N"),
    (&["nobs", "n-obs", "n-samples"], "use --rows N, with --from-covariance"),
    (&["sep", "delim", "separator"], "use --delimiter"),
    (&["dec", "decimal-comma", "decimal-point"], "use --decimal"),
    (&["na-values", "na-strings", "missing-values", "nan", "missing-code"], "use --na"),
    (&["skiprows", "skip-rows", "skip-lines"], "use --skip"),
    (
        &["center", "centre", "with-mean", "zero-center"],
        "columns are centred by default; use --no-center to leave it out",
    ),
    (&["n-jobs", "jobs", "cores", "n-threads", "nthreads"], "use --threads"),
    (&["svd-solver", "method"], "use --solver, or --missing=METHOD for missing values"),
    (&["out", "save", "outfile", "out-file"], "use -o for the model, --scores or --loadings for tables"),
    (&["sample-weight", "row-w", "wt", "freq"], "use --weights"),
    (&["col-w", "variable-weights"], "use --feature-weights"),
    (&["log", "normalize-total", "normalize"], "use --log1p"),
    (&["use-highly-variable", "mask-var", "hvg"], "use --mask highly_variable"),
    (&["random-state", "random-seed"], "use --seed"),
    (&["impute", "fill"], "use --missing, or `karhunen complete`"),
    (&["bfile", "bed", "pfile"], "give the name of the .bed file as DATA"),
    (
        &["maf", "geno", "mind", "hwe", "keep", "extract", "remove"],
        "filter variants and samples with plink2 before the fit",
    ),
    (&["format", "input-format", "type"], "leave it out: the content of a file says its format"),
];

/// Values of options: the option, words of other programs, and the value here.
const VALUES: [(&str, &[&str], &str); 9] = [
    ("--kernel", &["gaussian", "gauss", "rbfdot", "radial"], "use --kernel rbf"),
    ("--kernel", &["poly", "polydot"], "use --kernel polynomial"),
    ("--kernel", &["vanilladot", "none"], "use --kernel linear"),
    ("--kernel", &["laplacedot", "laplace"], "use --kernel laplacian"),
    (
        "--solver",
        &["randomized", "randomised", "arpack", "lobpcg", "irlba", "propack"],
        "use --solver block-krylov",
    ),
    ("--solver", &["covariance_eigh", "eigen", "princomp"], "use --solver covariance"),
    ("--solver", &["lapack", "prcomp", "svds"], "use --solver svd"),
    ("--scale", &["true", "yes", "uv", "unit", "std", "standard"], "use --scale alone"),
    ("--scale", &["false", "no", "none", "ctr"], "leave --scale out: columns are not scaled by default"),
];

/// Commands of other programs, and what does the same.
const COMMANDS: [(&[&str], &str); 5] = [
    (&["pca", "prcomp", "princomp", "train", "run", "svd"], "use `karhunen fit`"),
    (&["project", "apply", "score", "scores"], "use `karhunen transform`"),
    (&["plot", "view", "html"], "use `karhunen report`"),
    (&["info", "describe", "show", "head", "summary"], "use `karhunen inspect`"),
    (&["fill", "interpolate"], "use `karhunen complete`"),
];

/// The error with a tip for the words of other programs, if `command` has the options that the tip names. A similar argument
/// of clap stays only where it begins alike: others change the meaning of the command.
pub(crate) fn advised(mut error: clap::Error, command: Option<&Command>) -> clap::Error {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        _ => String::new(),
    };
    let (argument, value) = (text(ContextKind::InvalidArg), text(ContextKind::InvalidValue));
    let similar = [text(ContextKind::SuggestedArg), text(ContextKind::SuggestedSubcommand)].concat();
    let tip = match error.kind() {
        ErrorKind::UnknownArgument => of_word(&OPTIONS, &plain(&argument)),
        ErrorKind::InvalidSubcommand => of_word(&COMMANDS, &plain(&text(ContextKind::InvalidSubcommand))),
        ErrorKind::InvalidValue => {
            let is_option = |option: &str| argument.split(['=', ' ', '[']).next() == Some(option);
            let found = VALUES.iter().find(|(option, words, _)| {
                is_option(option) && words.contains(&value.to_lowercase().as_str())
            });
            found.map(|(_, _, here)| *here)
        }
        _ => return error,
    };
    let tip =
        tip.filter(|tip| options_in(tip).all(|option| command.is_some_and(|command| has(command, option))));
    if error.kind() == ErrorKind::UnknownArgument && (tip.is_some() || !begins_alike(&argument, &similar)) {
        // The line of usage belongs to the similar argument.
        for kind in [ContextKind::SuggestedArg, ContextKind::Suggested, ContextKind::Usage] {
            error.remove(kind);
        }
    }
    if let Some(here) = tip {
        let tip = StyledStr::from(here);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    error
}

/// The options that a tip names.
fn options_in(tip: &str) -> impl Iterator<Item = &str> {
    let words = tip.split([' ', ',', '=', ';', ':']);
    words.filter(|word| word.len() > 1 && word.starts_with('-'))
}

/// Tests whether a command has an option, `-k` or `--kernel`.
fn has(command: &Command, option: &str) -> bool {
    command.get_arguments().any(|arg| match option.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long),
        None => arg.get_short() == option.chars().nth(1),
    })
}

fn of_word(table: &[(&[&str], &'static str)], word: &str) -> Option<&'static str> {
    table.iter().find(|(words, _)| words.contains(&word)).map(|(_, here)| *here)
}

/// An option in lower case, with hyphens and without those at its beginning.
fn plain(argument: &str) -> String {
    argument.trim_start_matches('-').to_lowercase().replace(['_', '.'], "-")
}

/// Tests whether two options have the first three letters and nearly the length in common.
fn begins_alike(one: &str, other: &str) -> bool {
    let (one, other) = (plain(one), plain(other));
    let other = other.split(['=', ' ', '[']).next().unwrap_or_default();
    one.len().abs_diff(other.len()) <= 2 && one.get(..3).is_some_and(|begin| other.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(words: &str) -> String {
        let words = std::iter::once("karhunen").chain(words.split(' ')).map(Into::into).collect();
        crate::parse(words).unwrap_err().to_string()
    }

    #[test]
    fn words_of_other_programs_are_answered_with_ours() {
        for (words, tip) in [
            ("fit t.csv --standardize", "use --scale"),
            ("fit t.csv -n 3", "use -k"),
            ("fit t.csv --n_components 3", "use -k"),
            ("fit t.csv --na.strings x", "use --na"),
            ("fit t.csv --no-header", "use --header no"),
            ("fit t.csv --id-column id", "use --row-names"),
            ("fit t.csv --format csv", "leave it out: the content of a file says its format"),
            ("fit t.csv --maf 0.1", "filter variants and samples with plink2"),
            ("fit t.csv --kernel gaussian", "use --kernel rbf"),
            ("fit t.csv --solver randomized", "use --solver block-krylov"),
            ("fit t.csv --scale=TRUE", "use --scale alone"),
            ("pca t.csv", "use `karhunen fit`"),
        ] {
            let message = message(words);
            assert!(message.contains(tip), "{words}: {message}");
            assert!(!message.contains("a similar argument exists"), "{words}: {message}");
        }
        assert!(message("fit t.csv --compnents 3").contains("'--components'"));
        assert!(message("fitt t.csv").contains("'fit'"));
        // An option that the command does not have.
        assert!(!message("transform m t.csv --standardize").contains("--scale"));
        // Another meaning.
        assert!(!message("fit t.csv --inform x").contains("similar"), "{}", message("fit t.csv --inform x"));
    }

    #[test]
    fn every_option_that_is_named_exists_and_no_word_is_ours() {
        let definition = crate::help::definition();
        let fit = definition.find_subcommand("fit").unwrap();
        for tip in OPTIONS.iter().map(|(_, tip)| *tip).chain(VALUES.iter().map(|(_, _, tip)| *tip)) {
            assert!(options_in(tip).all(|option| has(fit, option)), "{tip}");
        }
        let exists = |name: &str| has(fit, &format!("--{name}"));
        for word in OPTIONS.iter().flat_map(|(words, _)| *words) {
            assert!(!exists(word), "--{word}");
        }
        for (words, tip) in COMMANDS {
            let command = tip.trim_end_matches('`').split(' ').next_back().unwrap();
            assert!(definition.find_subcommand(command).is_some(), "{tip}");
            assert!(words.iter().all(|word| definition.find_subcommand(word).is_none()));
        }
    }
}
