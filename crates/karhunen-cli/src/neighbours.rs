//! Words of other programs in a command line, and what does the same here.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Options of scikit-learn, pandas, R, SIMCA, plink and scanpy, in lower case with hyphens, and what does the same.
const OPTIONS: [(&[&str], &str); 22] = [
    (
        &["standardize", "standardise", "std", "uv", "unit-variance", "correlation", "cor", "scale-unit"],
        "--scale",
    ),
    (&["n", "n-components", "ncomp", "ncp", "n-comps", "rank", "npcs", "n-pcs", "pcs", "nf", "dims"], "-k"),
    (&["drop", "exclude", "ignore", "labels", "class", "target", "quali-sup"], "--label"),
    (&["usecols", "cols", "select", "features", "variables"], "--columns"),
    (&["index-col", "row-name", "id", "ids", "rownames"], "--row-names"),
    (&["sep", "delim", "separator"], "--delimiter"),
    (&["dec", "decimal-comma", "decimal-point"], "--decimal"),
    (&["na-values", "na-strings", "missing-values", "nan", "missing-code"], "--na"),
    (&["skiprows", "skip-rows", "skip-lines"], "--skip"),
    (
        &["center", "centre", "with-mean", "zero-center"],
        "--no-center, to leave out the centring that is the default",
    ),
    (&["n-jobs", "jobs", "cores", "n-threads", "nthreads"], "--threads"),
    (&["svd-solver", "method"], "--solver, or --missing=METHOD for missing values"),
    (&["out", "save", "outfile", "out-file"], "-o for the model, --scores or --loadings for tables"),
    (&["sample-weight", "row-w", "wt", "freq"], "--weights"),
    (&["col-w", "variable-weights"], "--feature-weights"),
    (&["log", "normalize-total", "normalize"], "--log1p"),
    (&["use-highly-variable", "mask-var", "hvg"], "--mask highly_variable"),
    (&["random-state", "random-seed"], "--seed"),
    (&["impute", "fill"], "--missing, or `karhunen complete`"),
    (&["bfile", "bed", "pfile"], "the name of the .bed file as DATA"),
    (
        &["maf", "geno", "mind", "hwe", "keep", "extract", "remove"],
        "plink2 before: variants and samples are not filtered here",
    ),
    (&["format", "input-format", "type"], "nothing: the content of a file says its format"),
];

/// Values of options: the option, words of other programs, and the value here.
const VALUES: [(&str, &[&str], &str); 9] = [
    ("--kernel", &["gaussian", "gauss", "rbfdot", "radial"], "--kernel rbf"),
    ("--kernel", &["poly", "polydot"], "--kernel polynomial"),
    ("--kernel", &["vanilladot", "none"], "--kernel linear"),
    ("--kernel", &["laplacedot", "laplace"], "--kernel laplacian"),
    (
        "--solver",
        &["randomized", "randomised", "arpack", "lobpcg", "irlba", "propack"],
        "--solver block-krylov",
    ),
    ("--solver", &["covariance_eigh", "eigen", "princomp"], "--solver covariance"),
    ("--solver", &["lapack", "prcomp", "svds"], "--solver svd"),
    ("--scale", &["true", "yes", "uv", "unit", "std", "standard"], "--scale alone"),
    ("--scale", &["false", "no", "none", "ctr"], "no --scale: columns are not scaled by default"),
];

/// Commands of other programs, and what does the same.
const COMMANDS: [(&[&str], &str); 5] = [
    (&["pca", "prcomp", "princomp", "train", "run", "svd"], "karhunen fit"),
    (&["project", "apply", "score", "scores"], "karhunen transform"),
    (&["plot", "view", "html"], "karhunen report"),
    (&["info", "describe", "show", "head", "summary"], "karhunen inspect"),
    (&["fill", "interpolate"], "karhunen complete"),
];

/// The error with a tip for the words of other programs. A similar argument of clap stays only where it begins alike: others
/// change the meaning of the command.
pub(crate) fn advised(mut error: clap::Error) -> clap::Error {
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
    if error.kind() == ErrorKind::UnknownArgument && (tip.is_some() || !begins_alike(&argument, &similar)) {
        // The line of usage is that of the similar argument.
        for kind in [ContextKind::SuggestedArg, ContextKind::Suggested, ContextKind::Usage] {
            error.remove(kind);
        }
    }
    if let Some(here) = tip {
        let tip = StyledStr::from(format!("here it is {here}"));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    error
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
        let words = std::iter::once("karhunen").chain(words.split(' '));
        let error = crate::help::definition().try_get_matches_from(words).unwrap_err();
        advised(error).to_string()
    }

    #[test]
    fn words_of_other_programs_are_answered_with_ours() {
        for (words, tip) in [
            ("fit t.csv --standardize", "here it is --scale"),
            ("fit t.csv -n 3", "here it is -k"),
            ("fit t.csv --n_components 3", "here it is -k"),
            ("fit t.csv --na.strings x", "here it is --na"),
            ("fit t.csv --format csv", "here it is nothing: the content of a file says its format"),
            ("fit t.csv --maf 0.1", "here it is plink2 before"),
            ("fit t.csv --kernel gaussian", "here it is --kernel rbf"),
            ("fit t.csv --solver randomized", "here it is --solver block-krylov"),
            ("fit t.csv --scale=TRUE", "here it is --scale alone"),
            ("pca t.csv", "here it is karhunen fit"),
        ] {
            let message = message(words);
            assert!(message.contains(tip), "{words}: {message}");
            assert!(!message.contains("a similar argument exists"), "{words}: {message}");
        }
        assert!(message("fit t.csv --compnents 3").contains("'--components'"));
        assert!(message("fitt t.csv").contains("'fit'"));
        // Another meaning.
        assert!(!message("fit t.csv --inform x").contains("similar"), "{}", message("fit t.csv --inform x"));
    }

    #[test]
    fn every_option_that_is_named_exists_and_no_word_is_ours() {
        let definition = crate::help::definition();
        let fit = definition.find_subcommand("fit").unwrap();
        let exists = |name: &str| fit.get_arguments().any(|arg| arg.get_long() == Some(name));
        let all = OPTIONS.iter().map(|(_, here)| *here).chain(VALUES.iter().map(|(_, _, here)| *here));
        for here in
            all.flat_map(|text| text.split([' ', ',', '='])).filter_map(|word| word.strip_prefix("--"))
        {
            assert!(exists(here.trim_end_matches(':')), "--{here}");
        }
        for word in OPTIONS.iter().flat_map(|(words, _)| *words) {
            assert!(!exists(word), "--{word}");
        }
        for (words, here) in COMMANDS {
            assert!(definition.find_subcommand(here.split_once(' ').unwrap().1).is_some(), "{here}");
            assert!(words.iter().all(|word| definition.find_subcommand(word).is_none()));
        }
    }
}
