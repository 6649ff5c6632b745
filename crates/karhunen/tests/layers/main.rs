//! Tests that the modules of the library import only from lower layers.

mod cycles;
mod shelves;
mod words;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The modules and their layers. Modules of `karhunen-linalg` have the names by which this crate imports them. A module
/// imports from lower layers only.
const LAYERS: [(&str, u8); 29] = [
    ("choice", 1),
    ("error", 0),
    ("growth", 0),
    ("random", 0),
    ("scalar", 0),
    // Matrices for unit tests, from `karhunen-linalg`.
    ("testing", 0),
    ("memory", 1),
    ("exec", 2),
    ("weights", 2),
    ("scaling", 2),
    ("linalg", 3),
    ("record", 4),
    ("source", 4),
    ("moments", 5),
    ("affine", 6),
    ("operator", 7),
    ("solver", 8),
    ("cluster", 8),
    ("pca", 9),
    ("incomplete", 5),
    ("kernel", 10),
    ("incremental", 10),
    ("completion", 10),
    ("categorical", 11),
    ("rotation", 11),
    ("selection", 11),
    ("diagnostics", 12),
    ("resampling", 13),
    // Documentation and re-exports: imports all modules, and no module imports it.
    ("lib", 14),
];

/// All modules that solvers may import: matrices, without statistics.
const SOLVER_IMPORTS: [&str; 8] =
    ["operator", "linalg", "random", "scalar", "choice", "error", "exec", "testing"];

/// Names that one module alone may use: the creation of generators, the hash of positions.
const OWNED: [(&str, &str); 8] = [
    ("rand_chacha", "random"),
    ("SeedableRng", "random"),
    ("seed_from_u64", "random"),
    ("from_seed", "random"),
    ("rngs", "random"),
    ("rand::rng", "random"),
    ("rand::random", "random"),
    ("wrapping_mul", "random"),
];

/// Unit-test files that make their matrices by formulas of their own.
const TEST_MATRICES: [&str; 2] = ["testing/oracle.rs", "testing/cases.rs"];

/// Banned in a library: printing, reading the environment, ending the process, starting another.
const BANNED: [&str; 9] = [
    "println",
    "eprintln",
    "print",
    "eprint",
    "dbg",
    "std::env",
    "std::process::exit",
    "std::process::abort",
    "std::process::Command",
];

#[test]
fn modules_import_only_from_lower_layers() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    rust_files(&src, &mut files);
    assert!(files.len() > 10, "only {} files under {}", files.len(), src.display());
    let violations: Vec<String> = files
        .iter()
        .flat_map(|file| {
            let text = fs::read_to_string(file).expect("a source file can be read");
            check(file.strip_prefix(&src).expect("it lies under src"), &text)
        })
        .collect();
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

/// The shelves of `karhunen-linalg` are in `shelves.rs`.
#[test]
fn products_and_decompositions_draw_and_print_nothing() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("../karhunen-linalg/src");
    let mut files = Vec::new();
    rust_files(&src, &mut files);
    assert!(files.len() > 10, "only {} files under {}", files.len(), src.display());
    for file in files {
        let text = fs::read_to_string(&file).expect("a source file can be read");
        let path = file.strip_prefix(&src).expect("it lies under src");
        let found = misused(path, &code_only(&text));
        assert!(found.is_empty(), "{}: {found:?}", path.display());
    }
}

/// `f64::max` drops NaN: maxima use `scalar::largest`, and in tests `karhunen_testkit::largest`.
#[test]
fn no_maximum_drops_nan() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for folder in [
        "karhunen/src",
        "karhunen/tests",
        "karhunen-linalg/src",
        "karhunen-testkit/src",
        "karhunen-io/src",
        "karhunen-report/src",
        "karhunen-cli/src",
        "karhunen-device/src",
        "karhunen-device/tests",
    ] {
        rust_files(&crates.join(folder), &mut files);
    }
    let drops = |line: &str| {
        let code = line.split("//").next().unwrap_or("");
        code.contains("fold(") && (code.contains("f64::max)") || code.contains(".max("))
    };
    // Simultaneous minimum and maximum of numbers that are not results.
    let allowed = [
        "(f64::MAX, 0.0_f64)",
        "(f64::INFINITY, f64::NEG_INFINITY)",
        "(0.0_f64, 0.0_f64)",
        "contains(\"fold(\")",
    ];
    for file in files {
        let text = fs::read_to_string(&file).expect("a source file can be read");
        for (at, line) in text.lines().enumerate() {
            let allowed = allowed.iter().any(|known| line.contains(known));
            assert!(!drops(line) || allowed, "{}:{}: {}", file.display(), at + 1, line.trim());
        }
    }
}

fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a source folder can be read") {
        let path = entry.expect("a folder entry can be read").path();
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
}

/// One message for each broken rule in the file at `path` (relative to `src`).
fn check(path: &Path, text: &str) -> Vec<String> {
    let mut parts: Vec<String> =
        path.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
    parts.retain(|part| part != "mod");
    let module = parts[0].as_str();
    let Some(layer) = layer_of(module) else {
        return vec![format!("{}: module `{module}` has no layer; add it to LAYERS", path.display())];
    };
    let code = code_only(text);
    let mut messages = BTreeSet::new();
    for name in imports(&code, parts.len()) {
        if name == module {
            continue;
        }
        match layer_of(&name) {
            None => messages.insert(format!("names `crate::{name}`, which is not a module of LAYERS")),
            Some(other) if other >= layer => {
                messages.insert(format!("layer {layer} imports `{name}` of layer {other}"))
            }
            Some(_) if module == "solver" && !SOLVER_IMPORTS.contains(&name.as_str()) => {
                messages.insert(format!("a solver imports `{name}`; it may import only {SOLVER_IMPORTS:?}"))
            }
            Some(_) => continue,
        };
    }
    messages.extend(misused(path, &code));
    messages.into_iter().map(|message| format!("{}: {message}", path.display())).collect()
}

/// One message for each name in the code of the file at `path` that another module owns, or that a library may not use.
fn misused(path: &Path, code: &str) -> BTreeSet<String> {
    let module = path.with_extension("").iter().next().map(|name| name.to_string_lossy().into_owned());
    let module = module.unwrap_or_default();
    let exempt = TEST_MATRICES.contains(&path.to_string_lossy().as_ref());
    let owned = OWNED.iter().filter(|(name, owner)| module != *owner && !exempt && contains_path(code, name));
    let owned = owned.map(|(name, owner)| format!("names `{name}`, which only `{owner}` may"));
    let banned = BANNED.iter().filter(|name| contains_path(code, name));
    let banned =
        banned.map(|name| format!("uses `{name}`; a library neither prints nor touches its process"));
    owned.chain(banned).collect()
}

fn layer_of(module: &str) -> Option<u8> {
    LAYERS.iter().find(|(name, _)| *name == module).map(|(_, layer)| *layer)
}

/// The names after `crate::`, and after a `super::` that leaves the top-level module.
fn imports(code: &str, depth: usize) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for prefix in ["crate::", "super::"] {
        for (at, _) in code.match_indices(prefix) {
            if code[..at].ends_with(is_word) {
                continue;
            }
            let before = code[..at].trim_end_matches("super::");
            let supers_before = (at - before.len()) / "super::".len();
            let followed = first_names(&code[at + prefix.len()..]);
            if prefix == "crate::" {
                names.extend(followed);
            } else if supers_before + 1 >= depth {
                // An inner `mod tests` uses `super::` as well: only names of other modules are outside.
                names.extend(followed.into_iter().filter(|name| layer_of(name).is_some()));
            }
        }
    }
    names
}

/// The first name of a path, or of each path in braces.
fn first_names(rest: &str) -> Vec<String> {
    let word = |s: &str| s.trim_start().chars().take_while(|c| is_word(*c)).collect::<String>();
    let Some(group) = rest.trim_start().strip_prefix('{') else {
        return Some(word(rest)).filter(|name| !name.is_empty()).into_iter().collect();
    };
    let (mut open, mut names, mut start) = (0, Vec::new(), 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => open += 1,
            '}' if open > 0 => open -= 1,
            ',' | '}' if open == 0 => {
                names.extend(Some(word(&group[start..at])).filter(|name| !name.is_empty()));
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    names
}

/// Tests that `path` occurs as a whole path or macro name, not within a longer word.
fn contains_path(code: &str, path: &str) -> bool {
    code.match_indices(path)
        .any(|(at, _)| !code[..at].ends_with(is_word) && !code[at + path.len()..].starts_with(is_word))
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The text without comments and without the contents of string literals.
fn code_only(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if rest.starts_with("'\"'") {
            3
        } else if rest.starts_with("r#\"") {
            rest.find("\"#").map_or(rest.len(), |end| end + 2)
        } else if c == '"' {
            string_length(rest)
        } else {
            0
        };
        if skipped == 0 {
            code.push(c);
        }
        rest = &rest[skipped.max(c.len_utf8())..];
    }
    code
}

/// The length of the string literal at the start of `text`, quotes included.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '"' if !escaped => return at + 1,
            _ => escaped = c == '\\' && !escaped,
        }
    }
    text.len()
}

mod checker {
    use super::*;

    fn messages(path: &str, text: &str) -> Vec<String> {
        check(Path::new(path), text)
    }

    #[test]
    fn lower_layers_and_the_own_module_may_be_imported() {
        let text = "use crate::error::{Error, Result};\nuse crate::{linalg::Matrix, exec};\nuse crate::source::Block;";
        assert_eq!(messages("source/row_blocks.rs", text), [""; 0]);
    }

    #[test]
    fn a_higher_layer_fails() {
        assert_eq!(
            messages("source/matrix.rs", "use crate::moments::Moments;"),
            ["source/matrix.rs: layer 4 imports `moments` of layer 5"]
        );
        assert_eq!(
            messages(
                "source/mod.rs",
                "use crate::{error::Result, operator::{LinOp, SymOp}, scalar::Scalar};"
            ),
            ["source/mod.rs: layer 4 imports `operator` of layer 7"]
        );
        assert_eq!(messages("moments.rs", "fn f(x: &crate::pca::Pca) {}").len(), 1);
    }

    #[test]
    fn the_same_layer_fails() {
        assert_eq!(
            messages("kernel/mod.rs", "use crate::incremental::Partial;"),
            ["kernel/mod.rs: layer 10 imports `incremental` of layer 10"]
        );
    }

    #[test]
    fn a_module_without_a_layer_fails() {
        assert_eq!(
            messages("helpers.rs", ""),
            ["helpers.rs: module `helpers` has no layer; add it to LAYERS"]
        );
        assert_eq!(
            messages("pca/mod.rs", "use crate::Matrix;"),
            ["pca/mod.rs: names `crate::Matrix`, which is not a module of LAYERS"]
        );
    }

    #[test]
    fn solvers_may_not_import_statistics() {
        assert_eq!(messages("solver/svd.rs", "use crate::{operator::LinOp, linalg::Matrix};"), [""; 0]);
        let found = messages("solver/svd.rs", "use crate::moments::Moments;");
        assert!(found[0].starts_with("solver/svd.rs: a solver imports `moments`"), "{found:?}");
    }

    #[test]
    fn super_does_not_bypass_the_layers() {
        assert_eq!(messages("linalg/mod.rs", "use super::pca::Pca;").len(), 1);
        assert_eq!(messages("linalg/matrix.rs", "use super::super::pca::Pca;").len(), 1);
        assert_eq!(
            messages("linalg/matrix.rs", "use super::simd::Lane; mod tests { use super::*; }"),
            [""; 0]
        );
    }

    #[test]
    fn random_numbers_come_from_one_module() {
        for line in [
            "use rand_chacha::ChaCha8Rng;",
            "use rand::{Rng, SeedableRng};",
            "let rng = Generator::seed_from_u64(1);",
            "let rng = rand::rng();",
            "let z = (row as u64).wrapping_mul(0xBF58_476D_1CE4_E5B9);",
        ] {
            assert_eq!(messages("random.rs", line), [""; 0], "{line}");
            assert_eq!(messages("kernel/sampling.rs", line).len(), 1, "{line}");
        }
        assert_eq!(messages("kernel/sampling.rs", "use rand::{Rng, RngExt};"), [""; 0]);
        assert_eq!(messages("testing/oracle.rs", "state.wrapping_mul(3)"), [""; 0]);
    }

    /// The other crates draw no random numbers: they call the library with its seed.
    #[test]
    fn no_other_crate_of_the_product_draws_random_numbers() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for manifest in [
            "crates/karhunen-io/Cargo.toml",
            "crates/karhunen-device/Cargo.toml",
            "crates/karhunen-report/Cargo.toml",
            "crates/karhunen-cli/Cargo.toml",
            "python/Cargo.toml",
        ] {
            let text = fs::read_to_string(root.join(manifest)).expect("a manifest can be read");
            let (_, after) = text.split_once("[dependencies]").expect("it has dependencies");
            let dependencies = after.split("\n[").next().expect("the first part of a split");
            assert!(!dependencies.contains("rand"), "{manifest} depends on a generator of random numbers");
        }
    }

    #[test]
    fn a_library_neither_prints_nor_accesses_its_process() {
        for line in [
            "println!(\"x\");",
            "eprint!(\"x\");",
            "dbg!(x);",
            "std::env::var(\"X\")",
            "std::process::exit(1)",
        ] {
            assert_eq!(messages("moments.rs", line).len(), 1, "{line}");
        }
        assert_eq!(messages("moments.rs", "let footprint = blueprint(print_width);"), [""; 0]);
    }

    #[test]
    fn comments_and_strings_are_not_code() {
        let text = "/// [`crate::pca::Pca`]\n//! println!\n/* faer */ let a = \"use crate::pca \\\" faer\"; let q = '\"';";
        assert_eq!(messages("linalg/mod.rs", text), [""; 0]);
        assert_eq!(messages("linalg/mod.rs", &format!("{text}\nuse crate::pca::Pca;")).len(), 1);
    }
}
