//! Coordinates beyond the memory limit, which are copied by rows.

use std::path::Path;

use karhunen::pca::Route;
use karhunen::{Pca, Run, Weights};
use karhunen_io::{Data, ObservedData, ReadOptions, Table, Values, read};

/// A file of coordinates: by rows, by columns, or in no order.
pub(crate) fn coordinates(path: &Path, order: &str) {
    let (n, p) = (5000, 60);
    let mut lines = Vec::new();
    for i in 0..n {
        for j in (i % 7..p).step_by(3) {
            let value = ((i * 31 + j * 17) % 101) as f64 * 0.25 - 3.0;
            lines.push((i, j, format!("{} {} {value}\n", i + 1, j + 1)));
        }
    }
    match order {
        "columns" => lines.sort_by_key(|line| (line.1, line.0)),
        "none" => lines.sort_by_key(|line| ((line.0 * 7919 + line.1 * 104_729) % 65_537, line.0, line.1)),
        _ => {}
    }
    let text: String = lines.iter().map(|line| line.2.as_str()).collect();
    let size = format!("%%MatrixMarket matrix coordinate real general\n{n} {p} {}\n", lines.len());
    std::fs::write(path, size + &text).unwrap();
}

#[test]
fn coordinates_beyond_the_limit_are_copied_by_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.mtx");
    let small = ReadOptions {
        memory_limit: Some(1 << 20),
        cache_dir: Some(folder.path().to_owned()),
        ..ReadOptions::default()
    };
    let pca = Pca { solver: Some(Route::BlockKrylov), ..Pca::new(3) };
    for order in ["rows", "columns", "none"] {
        coordinates(&path, order);
        for transpose in [false, true] {
            let table =
                |options: &ReadOptions| read(&path, &ReadOptions { transpose, ..options.clone() }).unwrap();
            let (held, copied) = (table(&ReadOptions::default()), table(&small));
            assert!(matches!(&copied.data, Data::F64(Values::InFile(_))), "{order}");
            assert_eq!(copied.data.n_stored(), held.data.n_stored());
            let entries = |table: &Table| {
                let ObservedData::F64(observed) = table.data.observed(&Run::default()).unwrap() else {
                    panic!("single precision")
                };
                (0..observed.n_samples())
                    .map(|i| (observed.row(i).0.to_vec(), observed.row(i).1.to_vec()))
                    .collect()
            };
            let (expected, found): (Vec<_>, Vec<_>) = (entries(&held), entries(&copied));
            assert!(expected == found, "{order} {transpose}");
            let fit = |table: &Table| {
                let Data::F64(values) = &table.data else { panic!("single precision") };
                pca.fit(&*values.source().unwrap(), &Weights::default()).unwrap()
            };
            let (expected, found) = (fit(&held), fit(&copied));
            for (a, b) in expected.explained_variance().iter().zip(found.explained_variance()) {
                assert!((a - b).abs() < 1e-6 * a, "{order} {transpose}: {a} {b}");
            }
        }
    }
    // The copies are gone.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn faults_of_coordinates_beyond_the_limit_match_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.mtx");
    let small = ReadOptions { memory_limit: Some(1), ..ReadOptions::default() };
    for (body, n) in [("1 1 1\n2 2 x\n", 2), ("1 1 1\n9 1 1\n", 2), ("1 1 1\n", 2), ("1 1 1\n2 1 1\n", 1)] {
        std::fs::write(&path, format!("%%MatrixMarket matrix coordinate real general\n3 3 {n}\n{body}"))
            .unwrap();
        let message = |options: &ReadOptions| read(&path, options).unwrap_err().to_string();
        assert_eq!(message(&small), message(&ReadOptions::default()));
    }
    let repeated = "%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n2 1 1\n2 1 2.5\n3 3 4\n";
    std::fs::write(&path, repeated).unwrap();
    let (held, copied) = (read(&path, &ReadOptions::default()).unwrap(), read(&path, &small).unwrap());
    assert_eq!((&copied.notes, copied.data.n_stored()), (&held.notes, Some(3)));
    assert_eq!(copied.notes.len(), 1);
}
