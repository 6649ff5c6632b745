//! Tests that the folders of large modules import only from lower folders.

use super::cycles::{Graph, Module};

/// Large modules, or crates, with their files and folders, lowest first; modules of one line do not import one another.
const SHELVES: [(&str, &str, &[&[&str]]); 2] = [
    (
        "../karhunen-linalg/src",
        "",
        &[
            &["error", "growth", "random", "scalar"],
            &["choice", "memory"],
            &["exec"],
            &["column_map", "matrix", "prefetch", "simd"],
            &["finite", "normals", "permutation", "single"],
            &["dense", "sparse", "tiles"],
            &["decomp"],
            &["testing"],
        ],
    ),
    (
        "src",
        "incomplete",
        &[
            &["data"],
            &["factors"],
            &["options", "start"],
            &["passes", "rules"],
            &["updates"],
            &["model"],
            &["stream"],
            &["methods"],
            &["fit"],
            &["parts"],
            &["cross_validation", "estimator", "record"],
        ],
    ),
];

#[test]
fn shelves_import_only_from_lower_shelves() {
    let found: Vec<String> = SHELVES
        .iter()
        .flat_map(|(source, folder, shelves)| upward(&Graph::of_folder(source), folder, shelves))
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Every import within `folder` from the same or a higher shelf, and every file without a shelf.
fn upward(graph: &Graph, folder: &str, shelves: &[&[&str]]) -> Vec<String> {
    // The module itself only lists its parts.
    let shelf = |module: &Module| {
        let name = match folder {
            "" => module.first()?,
            _ => module.get(1).filter(|_| module[0] == folder)?,
        };
        Some((shelves.iter().position(|names| names.contains(&name.as_str())), name.clone()))
    };
    // Unit tests may import from all shelves.
    let in_use = |module: &Module| module.last().is_some_and(|name| name != "tests");
    let modules = graph.imports.iter().filter(|(module, _)| in_use(module));
    let pairs = modules.flat_map(|(module, imports)| imports.iter().map(move |other| (module, other)));
    let mut found: Vec<String> = Vec::new();
    for (module, other) in pairs.filter(|(_, other)| !other.is_empty()) {
        let (Some((above, from)), Some((below, to))) = (shelf(module), shelf(other)) else { continue };
        match (above, below) {
            (None, _) => found.push(format!("{} stands on no shelf", module.join("::"))),
            (Some(above), Some(below)) if from != to && below >= above => {
                found.push(format!("{} imports {}", module.join("::"), other.join("::")));
            }
            _ => {}
        }
    }
    found
}

#[test]
fn upward_imports_are_found() {
    let graph = |files: &[(&str, &str)]| Graph::of_texts(files);
    let shelves: &[&[&str]] = &[&["low", "next"], &["high"]];
    let good = graph(&[
        ("folder/low.rs", "struct A;"),
        ("folder/next.rs", "struct B;"),
        ("folder/high/a.rs", "use crate::folder::low::A; use super::b::C;"),
        ("folder/high/b.rs", "use crate::elsewhere::D;"),
        ("elsewhere.rs", "use crate::folder::high::a::E;"),
    ]);
    assert!(upward(&good, "folder", shelves).is_empty());
    let bad = graph(&[
        ("folder/low.rs", "use crate::folder::high::F;"),
        ("folder/next.rs", "use super::low::A;"),
        ("folder/high.rs", "struct F;"),
        ("folder/attic.rs", "use crate::folder::low::A;"),
    ]);
    assert_eq!(
        upward(&bad, "folder", shelves),
        [
            "folder::attic stands on no shelf",
            "folder::low imports folder::high",
            "folder::next imports folder::low"
        ]
    );
}
