//! Tests that imports within each crate have no large cycle: at most five files import one another. Imports are
//! the names in `use` and every path that begins with `crate::`; paths that begin with a child module are ignored.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::{code_only, is_word, rust_files};

/// Largest number of files in a cycle: a module and its parts.
const MOST: usize = 5;

/// Source folders, relative to this crate.
const SOURCES: [&str; 10] = [
    "src",
    "../karhunen-linalg/src",
    "../karhunen-io/src",
    "../karhunen-device/src",
    "../karhunen-report/src",
    "../karhunen-cli/src",
    "../karhunen-fuzz/src",
    "../karhunen-testkit/src",
    "../xtask/src",
    "../../python/src",
];

#[test]
fn import_cycles_are_small() {
    for folder in SOURCES {
        let graph = Graph::of_folder(folder);
        assert!(graph.imports.values().any(|imports| !imports.is_empty()), "{folder}: nothing is imported");
        if let Some(cycle) = graph.cycles().first().filter(|cycle| cycle.len() > MOST) {
            let lines = cycle.iter().map(|module| {
                let names = graph.imports[*module].iter().filter(|other| cycle.contains(other));
                let names: Vec<_> = names.map(|other| other.join("::")).collect();
                format!("{}: {}", module.join("::"), names.join(", "))
            });
            panic!(
                "{folder}: {} files import one another:\n{}",
                cycle.len(),
                lines.collect::<Vec<_>>().join("\n")
            );
        }
    }
}

/// A module: its path from the root of the crate.
pub(super) type Module = Vec<String>;

fn module_of(file: &Path, has_library: bool) -> Module {
    let mut names: Module =
        file.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
    // A program next to its library is a module of its own.
    let is_root = |name: &str| name == "mod" || name == "lib" || (name == "main" && !has_library);
    if names.last().is_some_and(|last| is_root(last)) {
        names.pop();
    }
    names
}

/// The modules of a crate and their imports.
pub(super) struct Graph {
    pub(super) imports: BTreeMap<Module, BTreeSet<Module>>,
}

impl Graph {
    /// The modules of the sources in a folder, relative to this crate.
    pub(super) fn of_folder(folder: &str) -> Self {
        let src = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let mut files = Vec::new();
        rust_files(&src, &mut files);
        assert!(files.len() > 2, "only {} files under {}", files.len(), src.display());
        let has_library = src.join("lib.rs").exists();
        let texts = files.iter().map(|file| {
            let text = fs::read_to_string(file).expect("a source file can be read");
            (module_of(file.strip_prefix(&src).expect("it lies under src"), has_library), text)
        });
        let texts: BTreeMap<Module, String> = texts.collect();
        assert_eq!(texts.len(), files.len(), "{folder}: two files are one module");
        Self::of(texts)
    }

    /// The modules of the given files, as path and text.
    pub(super) fn of_texts(files: &[(&str, &str)]) -> Self {
        let texts = files
            .iter()
            .map(|(file, text)| (module_of(Path::new(file), false), (*text).to_owned()))
            .collect();
        Self::of(texts)
    }

    fn of(texts: BTreeMap<Module, String>) -> Self {
        let codes: BTreeMap<Module, String> =
            texts.iter().map(|(module, text)| (module.clone(), without_tests(&code_only(text)))).collect();
        // A re-exported name is imported from its definition.
        let passed_on: BTreeMap<&Module, Vec<Module>> = codes
            .iter()
            .map(|(module, code)| {
                let after = |keyword: &'static str| code.split(keyword).skip(1);
                let uses = after("pub use ").chain(after("pub(crate) use ")).chain(after("pub(super) use "));
                let uses = uses.filter_map(|rest| rest.split_once(';'));
                let paths = uses.flat_map(|(tree, _)| expanded(tree));
                (module, paths.map(|path| absolute(module, path)).collect())
            })
            .collect();
        let root = codes.get(&Module::new()).map_or("", String::as_str);
        let foreign: BTreeSet<String> = of_other_crates(root)
            .into_iter()
            .chain(codes.values().flat_map(|code| macros_in(code)))
            .collect();
        let home = |path: &Module| -> Module {
            let found = known_part(path, &codes);
            let name = path.get(found.len());
            let source = name.and_then(|name| {
                passed_on.get(&found)?.iter().find(|source| source.last() == Some(name) && *source != path)
            });
            source.map_or(found, |source| known_part(source, &codes))
        };
        let imports = codes.iter().map(|(module, code)| {
            let uses = code.split("use ").skip(1).filter_map(|rest| rest.split_once(';'));
            let named = uses.flat_map(|(tree, _)| expanded(tree)).chain(paths_in(code));
            let found = named
                .filter(|path| {
                    let first = path.first().map_or("", String::as_str);
                    let child = module.iter().chain([&path[0]]).cloned().collect::<Module>();
                    ["crate", "super", "self"].contains(&first) || codes.contains_key(&child)
                })
                .map(|path| absolute(module, path))
                .filter(|path| path.first().is_none_or(|first| !foreign.contains(first)))
                .map(|path| home(&path))
                .filter(|target| target != module);
            (module.clone(), found.collect())
        });
        Self { imports: imports.collect() }
    }

    /// The strongly connected components, the largest first.
    fn cycles(&self) -> Vec<BTreeSet<&Module>> {
        let reached: BTreeMap<&Module, BTreeSet<&Module>> =
            self.imports.keys().map(|module| (module, self.reached_from(module))).collect();
        let mut cycles: BTreeSet<BTreeSet<&Module>> = BTreeSet::new();
        for (module, reaches) in &reached {
            let back = reaches.iter().filter(|other| reached[*other].contains(module));
            cycles.insert(back.copied().chain([*module]).collect());
        }
        let mut cycles: Vec<_> = cycles.into_iter().filter(|cycle| cycle.len() > 1).collect();
        cycles.sort_by_key(|cycle| std::cmp::Reverse(cycle.len()));
        cycles
    }

    fn reached_from<'a>(&'a self, start: &'a Module) -> BTreeSet<&'a Module> {
        let (mut reached, mut open) = (BTreeSet::new(), vec![start]);
        while let Some(module) = open.pop() {
            for next in &self.imports[module] {
                if reached.insert(next) {
                    open.push(next);
                }
            }
        }
        reached
    }
}

/// The names under which the root of a crate imports `karhunen_linalg` and its modules.
fn of_other_crates(root: &str) -> BTreeSet<String> {
    let uses = root.split("use karhunen_linalg").skip(1).filter_map(|rest| rest.split_once(';'));
    let names = uses.flat_map(|(tree, _)| match tree.split_once(" as ") {
        Some((_, name)) => vec![vec![name.trim().to_owned()]],
        None => expanded(tree),
    });
    names.filter_map(|path| path.last().cloned()).collect()
}

/// The names of the macros that a file exports, which lie at the root of the crate.
fn macros_in(code: &str) -> impl Iterator<Item = String> + '_ {
    let exported = code.split("#[macro_export]").skip(1).filter_map(|rest| rest.split_once("macro_rules! "));
    exported.map(|(_, rest)| rest.chars().take_while(|c| is_word(*c)).collect())
}

/// The longest prefix of a path that is a module.
fn known_part(path: &Module, modules: &BTreeMap<Module, String>) -> Module {
    let known = (0..=path.len()).rev().map(|n| path[..n].to_vec()).find(|part| modules.contains_key(part));
    known.unwrap_or_default()
}

/// The path from the root of the crate for a path used in `module`.
fn absolute(module: &Module, path: Module) -> Module {
    let mut base = module.clone();
    let mut names = path.into_iter().peekable();
    match names.peek().map(String::as_str) {
        Some("crate") => {
            base.clear();
            names.next();
        }
        Some("self") => {
            names.next();
        }
        _ => {
            while names.next_if(|name| name == "super").is_some() {
                base.pop();
            }
        }
    }
    base.extend(names);
    base
}

/// The paths of a use tree such as `a::{b, c::{d, e as f}}`.
fn expanded(tree: &str) -> Vec<Module> {
    let tree = tree.trim();
    let names = |text: &str| -> Module {
        let text = text.split(" as ").next().unwrap_or("");
        text.split("::").map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
    };
    let Some((before, rest)) = tree.split_once('{') else {
        return Some(names(tree)).filter(|path| !path.is_empty()).into_iter().collect();
    };
    let inside = rest.rsplit_once('}').map_or(rest, |(inside, _)| inside);
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, c) in inside.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&inside[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&inside[start..]);
    let prefix = names(before);
    parts.into_iter().flat_map(expanded).map(|path| [&prefix[..], &path[..]].concat()).collect()
}

/// The paths `crate::…` within code.
fn paths_in(code: &str) -> impl Iterator<Item = Module> + '_ {
    let starts = code.match_indices("crate::").filter(|(at, _)| !code[..*at].ends_with(is_word));
    let paths =
        starts.map(|(at, _)| code[at..].chars().take_while(|c| is_word(*c) || *c == ':').collect::<String>());
    // A path that ends with colons precedes braces: it is part of a tree.
    paths.filter(|path| !path.ends_with(':')).map(|path| path.split("::").map(str::to_owned).collect())
}

/// The code without its test modules.
fn without_tests(code: &str) -> String {
    let mut kept = String::new();
    let mut rest = code;
    while let Some(at) = rest.find("#[cfg(test)]").into_iter().chain(rest.find("#[cfg(all(test")).min() {
        kept.push_str(&rest[..at]);
        rest = &rest[at..];
        let (mut depth, mut end) = (0, rest.len());
        for (at, c) in rest.char_indices() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            if depth == 0 && (c == '}' || c == ';') {
                end = at + 1;
                break;
            }
        }
        rest = &rest[end..];
    }
    kept.push_str(rest);
    kept
}

fn cycles_of(files: &[(&str, &str)]) -> Vec<Vec<String>> {
    Graph::of_texts(files)
        .cycles()
        .into_iter()
        .map(|cycle| cycle.into_iter().map(|module| module.join("::")).collect())
        .collect()
}

#[test]
fn cycles_are_found() {
    let one_way = [("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b::B;"), ("b.rs", "struct B;")];
    assert!(cycles_of(&one_way).is_empty());
    let circle = [
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a.rs", "use crate::{b::B, Z};"),
        ("b.rs", "fn f() { crate::c::g(); }"),
        ("c/mod.rs", "use super::a::A;"),
    ];
    assert_eq!(cycles_of(&circle), [["a", "b", "c"]]);
    let tests_alone = [
        ("a.rs", "use crate::b::B;"),
        ("b.rs", "struct B; #[cfg(test)] mod tests { use crate::a::A; fn f() {} } fn g() {}"),
    ];
    assert!(cycles_of(&tests_alone).is_empty());
}

#[test]
fn a_re_exported_name_is_imported_from_its_definition() {
    let files = [
        ("lib.rs", "mod room; pub use room::{A, inner::B};"),
        ("room/mod.rs", "mod a; mod b; pub use self::a::A; pub use b::B;"),
        ("room/a.rs", "use crate::room::B;"),
        ("room/b.rs", "struct B;"),
    ];
    assert!(cycles_of(&files).is_empty());
    let circle = [
        ("room/mod.rs", "mod a; mod b; pub use self::a::A; pub use b::B;"),
        ("room/a.rs", "use crate::room::B;"),
        ("room/b.rs", "use super::A;"),
    ];
    assert_eq!(cycles_of(&circle), [["room::a", "room::b"]]);
}
