//! Overwriting of files, and consistency of the outputs of one run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::{examples, karhunen};

/// A folder with a small table, one with missing values, and their models, scores, loadings and a checkpoint.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let rows: String = (0..30).map(|i| format!("{}.5,{},{}\n", i * i % 17, i % 5, 3 * i % 7)).collect();
    std::fs::write(folder.path().join("t.csv"), format!("a,b,c\n{rows}")).unwrap();
    let missing: String = (0..30).map(|i| format!("{}.5,{},\n{},,{}.25\n", i, i % 4, i % 3, i)).collect();
    std::fs::write(folder.path().join("missing.csv"), format!("a,b,c\n{missing}")).unwrap();
    for arguments in
        [FIT, "fit missing.csv --missing=als -k 1 -q --max-iter 5 --checkpoint c --checkpoint-every 0 -o i"]
    {
        karhunen(arguments).current_dir(folder.path()).assert().success();
    }
    folder
}

const FIT: &str = "fit t.csv -k 2 -q -o m --scores s.csv --loadings l.csv";

/// Runs a command in the folder and returns its message.
fn refused(folder: &TempDir, arguments: &str, code: i32) -> String {
    let done = karhunen(arguments).current_dir(folder.path()).assert().code(code).stdout("");
    String::from_utf8(done.get_output().stderr.clone()).unwrap()
}

fn succeeds(folder: &TempDir, arguments: &str) {
    karhunen(arguments).current_dir(folder.path()).assert().success();
}

fn names(folder: &Path) -> BTreeSet<String> {
    std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn nothing_is_overwritten_without_force() {
    let folder = folder();
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    std::fs::write(folder.path().join("notes"), "my notes\n").unwrap();
    std::fs::write(folder.path().join("notes.csv"), "my,notes\n").unwrap();
    std::fs::write(folder.path().join("empty.csv"), "").unwrap();
    succeeds(&folder, "transform m t.csv -o s.npy");
    succeeds(&folder, "transform m t.csv -o empty.csv");
    succeeds(&folder, "moments t.csv -q -o t.scatter");
    succeeds(&folder, "update state t.csv -k 2 -q");
    succeeds(&folder, "update state t.csv -q");
    let cases = [
        ("fit t.csv -o", "notes"),
        ("fit t.csv -o", "m"),
        ("fit t.csv -o", "c"),
        ("fit t.csv --scores", "s.csv"),
        ("fit t.csv --loadings", "l.csv"),
        ("fit t.csv --kernel rbf -k 1 -o", "m"),
        ("fit missing.csv --missing -o", "i"),
        ("transform m t.csv -o", "s.npy"),
        ("transform m t.csv -o", "empty.csv"),
        ("reconstruct m s.csv -o", "notes.csv"),
        ("impute i missing.csv -o", "notes.csv"),
        ("complete missing.csv -k 1 -o", "notes.csv"),
        ("diagnose m t.csv -o", "s.csv"),
        ("diagnose m t.csv -o d.csv --features", "s.csv"),
        ("cross-validate missing.csv -k 1 -o", "s.csv"),
        ("rotate m -o", "s.csv"),
        ("moments t.csv -o", "t.scatter"),
        ("report m -o", "notes"),
        ("update state t.csv -o", "m"),
    ];
    for (command, name) in cases {
        let before = read(name);
        let found = refused(&folder, &format!("{command} {name}"), 2);
        let option = command.rsplit(' ').next().unwrap();
        let advice = "the file exists; give another name, or use --force to overwrite it";
        assert_eq!(found, format!("error: {option} {name}: {advice}\n"), "{command} {name}");
        assert_eq!(read(name), before, "{command} {name}");
        succeeds(&folder, &format!("{command} {name} --force"));
        // These hold what the command writes already.
        if !["s.npy", "empty.csv", "t.scatter"].contains(&name) {
            assert!(read(name) != before, "{command} {name} --force");
        }
        std::fs::write(folder.path().join(name), before).unwrap();
    }
}

#[test]
fn a_checkpoint_is_continued_or_overwritten_as_requested() {
    let folder = folder();
    let read = || std::fs::read(folder.path().join("c")).unwrap();
    let before = read();
    let fit = "fit missing.csv --missing=als -k 1 -q --max-iter 2 --checkpoint";
    let message = refused(&folder, &format!("{fit} c"), 2);
    let expected = "error: --checkpoint c: the file exists and holds the checkpoint of a fit; continue it with --resume, start \
                    again and overwrite it with --force, or give another name\n";
    assert_eq!(message, expected);
    for name in ["t.csv", "m"] {
        let message = refused(&folder, &format!("{fit} {name}"), 2);
        let expected =
            format!("error: --checkpoint {name}: the file exists; give another name, or use --force");
        assert!(message.starts_with(&expected), "{message}");
    }
    assert_eq!(read(), before);
    succeeds(&folder, &format!("{fit} c --resume"));
    succeeds(&folder, &format!("{fit} c --force --checkpoint-every 0"));
    assert_ne!(read(), before);
}

#[test]
fn what_is_write_protected_is_refused_before_the_work() {
    let folder = folder();
    let path = folder.path().join("m");
    let before = std::fs::read(&path).unwrap();
    let mut permissions = std::fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&path, permissions).unwrap();
    // The data cannot be read either, which would be reported only later.
    let message = refused(&folder, "fit no_such.csv -o m", 4);
    let expected = "error: m: writing failed: the file is write-protected; give another name, or use --force to replace it\n";
    assert_eq!(message, expected);
    assert_eq!(std::fs::read(&path).unwrap(), before);
    succeeds(&folder, "fit t.csv -k 1 -q -o m --force");
    assert!(std::fs::metadata(&path).unwrap().permissions().readonly());
    assert_ne!(std::fs::read(&path).unwrap(), before);
}

#[cfg(unix)]
#[test]
fn files_of_another_user_stay_theirs() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    use std::os::unix::process::CommandExt;
    let folder = folder();
    let path = folder.path().join("m");
    if chown(&path, Some(4711), Some(4711)).is_err() {
        // Only the superuser can change the owner of files.
        return;
    }
    succeeds(&folder, &format!("{FIT} --force"));
    assert_eq!(std::fs::metadata(&path).unwrap().uid(), 4711);
    let all = |mode| std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(folder.path(), all(0o777)).unwrap();
    std::fs::set_permissions(&path, all(0o666)).unwrap();
    let fit = |force: &str| {
        let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("karhunen"));
        command.current_dir(folder.path()).args(format!("fit t.csv -q -o m{force}").split(' '));
        command.uid(4712).gid(4712).output()
    };
    // That user may not have access to the folder of the program.
    let Ok(done) = fit("") else { return };
    let message = String::from_utf8(done.stderr).unwrap();
    let expected = "error: m: writing failed: the file belongs to another user or group, and its replacement would not; give \
                    another name, or use --force to replace it\n";
    assert_eq!((done.status.code(), message.as_str()), (Some(4), expected));
    assert_eq!(std::fs::metadata(&path).unwrap().uid(), 4711);
    assert!(fit(" --force").unwrap().status.success());
    assert_eq!(std::fs::metadata(&path).unwrap().uid(), 4712);
}

#[cfg(unix)]
#[test]
fn runs_that_are_killed_leave_whole_files_and_the_model_last() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    // Two tables, so that each file reveals its run.
    for (name, sign) in [("one.csv", 1.0), ("two.csv", -2.0)] {
        let rows: String = (0..3000)
            .map(|i| {
                format!("{},{},{}\n", sign * f64::from(i % 13), f64::from(i % 7) + 0.1, f64::from(i * i % 29))
            })
            .collect();
        std::fs::write(at(name), format!("a,b,c\n{rows}")).unwrap();
    }
    let fit = |data: &str| format!("fit {data} -k 2 -q --force -o m --scores s.csv --loadings l.csv");
    let set = || ["m", "s.csv", "l.csv"].map(|name| std::fs::read(at(name)).unwrap());
    let sets = ["one.csv", "two.csv"].map(|data| {
        karhunen(&fit(data)).current_dir(folder.path()).assert().success();
        set()
    });
    for attempt in 0..30_u64 {
        let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin!("karhunen"))
            .args(fit(["one.csv", "two.csv"][attempt as usize % 2]).split(' '))
            .current_dir(folder.path())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(1 + attempt * 7 % 31));
        child.kill().unwrap();
        child.wait().unwrap();
        let found = set();
        let of = |set: &[Vec<u8>; 3]| [0, 1, 2].map(|file| found[file] == set[file]);
        let [old, new] = [attempt + 1, attempt].map(|run| of(&sets[run as usize % 2]));
        assert!((0..3).all(|file| old[file] || new[file]), "attempt {attempt} left a part of a file");
        assert!(!new[0] || (new[1] && new[2]), "attempt {attempt} put the model in place first");
        // The next attempt finds one set again.
        for (name, content) in ["m", "s.csv", "l.csv"].iter().zip(&sets[attempt as usize % 2]) {
            std::fs::write(at(name), content).unwrap();
        }
    }
    karhunen(&fit("one.csv")).current_dir(folder.path()).assert().success();
    let left: Vec<String> = names(folder.path()).into_iter().collect();
    assert_eq!(left, ["l.csv", "m", "one.csv", "s.csv", "two.csv"]);
}

#[cfg(unix)]
#[test]
fn runs_side_by_side_leave_whole_files() {
    let folder = folder();
    let fit = |k: usize| format!("fit t.csv -k {k} -q --force -o m --scores s.csv --loadings l.csv");
    let set = || ["m", "s.csv", "l.csv"].map(|name| std::fs::read(folder.path().join(name)).unwrap());
    let sets: Vec<_> = (1..=3)
        .map(|k| {
            succeeds(&folder, &fit(k));
            set()
        })
        .collect();
    for round in 0..8 {
        let spawn = |k| {
            let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("karhunen"));
            command.args(fit(k).split(' ')).current_dir(folder.path()).spawn().unwrap()
        };
        let children: Vec<_> = (1..=3).map(spawn).collect();
        for mut child in children {
            assert!(child.wait().unwrap().success());
        }
        let found = set();
        let whole = |file: usize| sets.iter().any(|set| set[file] == found[file]);
        assert!((0..3).all(whole), "round {round} left a part of a file");
    }
}

#[test]
fn a_damaged_model_is_refused_by_every_command() {
    let folder = folder();
    let mut bytes = std::fs::read(folder.path().join("m")).unwrap();
    let at = bytes.len() - 100;
    bytes[at] ^= 4;
    std::fs::write(folder.path().join("m"), bytes).unwrap();
    for command in ["transform m t.csv", "reconstruct m s.csv", "inspect m"] {
        let message = refused(&folder, command, 3);
        assert!(message.starts_with("error: m: is damaged: the checksum of its content is "), "{message}");
        assert!(message.ends_with("restore a copy, or fit it again\n"), "{message}");
    }
    // The advice can be followed.
    succeeds(&folder, &format!("{FIT} --force"));
    succeeds(&folder, "transform m t.csv");
}

/// The folder of files that a version wrote.
fn golden(version: &str) -> PathBuf {
    examples().join(format!("../../crates/karhunen-io/tests/golden_{version}"))
}

/// Compares a table with the file `expected`, numbers to 1e-10.
fn assert_same_table(found: &str, expected: &Path, arguments: &str) {
    let expected = std::fs::read_to_string(expected).unwrap();
    assert_eq!(found.lines().count(), expected.lines().count(), "{arguments}");
    let cells = |text: &str| text.replace('\n', ",").split(',').map(str::to_owned).collect::<Vec<_>>();
    // Version 0.1.0 called the components `pc1`, `pc2`, ….
    let renamed = |name: String| name.strip_prefix("pc").map(|c| format!("PC{c}")).unwrap_or(name);
    for (a, b) in cells(found).iter().zip(cells(&expected).into_iter().map(renamed)) {
        match (a.parse::<f64>(), b.parse::<f64>()) {
            (Ok(a), Ok(b)) => assert!((a - b).abs() <= 1e-10 * b.abs().max(1.0), "{arguments}: {a} {b}"),
            _ => assert_eq!(*a, b, "{arguments}"),
        }
    }
}

/// Runs a command in a folder and compares what it prints with a file there.
fn assert_prints(folder: &Path, arguments: &str, expected: &str) {
    let done = karhunen(arguments).current_dir(folder).assert().success();
    let found = String::from_utf8(done.get_output().stdout.clone()).unwrap();
    assert_same_table(&found, &folder.join(expected), arguments);
}

#[test]
fn files_of_version_0_2_0_give_what_they_gave() {
    let (golden, folder) = (golden("0_2_0"), tempfile::tempdir().unwrap());
    let at = |name: &str| folder.path().join(name).display().to_string();
    let rows = "../golden_0_1_0/rows.csv --label group";
    for name in ["scatter", "sketch"] {
        assert_prints(&golden, &format!("transform {name}.state {rows}"), &format!("{name}.csv"));
        let (state, model) = (at(&format!("{name}.state")), at(&format!("{name}.model")));
        std::fs::copy(golden.join(format!("{name}.state")), &state).unwrap();
        karhunen(&format!("update {state} {rows} -q -o {model}")).current_dir(&golden).assert().success();
        assert_prints(&golden, &format!("transform {model} {rows}"), &format!("{name}.updated.csv"));
    }
    let model = at("moments.model");
    let fit = format!("fit --from-moments rows.scatter rows.scatter -k 2 -q -o {model}");
    karhunen(&fit).current_dir(&golden).assert().success();
    assert_prints(&golden, &format!("transform {model} {rows}"), "moments.csv");
}

#[test]
fn models_of_version_0_1_0_give_what_they_gave() {
    let golden = golden("0_1_0");
    let compare = |arguments: &str, expected: &str| assert_prints(&golden, arguments, expected);
    compare("transform pca.model rows.csv", "pca.csv");
    compare("transform weighted.model rows.csv --whiten", "weighted.csv");
    for name in ["rows", "landmarks", "features"] {
        compare(&format!("transform kernel_{name}.model rows.csv"), &format!("kernel_{name}.csv"));
    }
    compare("transform kernel_sparse.model sparse.mtx", "kernel_sparse.csv");
    compare("reconstruct kernel_rows.model kernel_rows.csv", "kernel_rows_back.csv");
    for name in ["als", "vb-full", "ridge"] {
        compare(&format!("transform missing_{name}.model holes.csv"), &format!("missing_{name}.csv"));
        compare(&format!("impute missing_{name}.model holes.csv -q"), &format!("missing_{name}_filled.csv"));
    }
    compare("predict triples.model pairs.csv -q", "triples.csv");
    for (name, what) in
        [("als", "by als, 1 component, after iteration 5"), ("vb", "by vb, 1 component, after iteration 5")]
    {
        let done = karhunen(&format!("inspect {name}.checkpoint")).current_dir(&golden).assert().success();
        let text = String::from_utf8(done.get_output().stdout.clone()).unwrap();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            text.starts_with(&format!(
                "{name}.checkpoint: checkpoint of karhunen 0.1.0: a fit of incomplete data {what}"
            )),
            "{text}"
        );
        // The fit of 0.1.0 continues, to the scores that 0.1.0 found.
        let folder = tempfile::tempdir().unwrap();
        let kept = folder.path().join("kept");
        std::fs::copy(golden.join(format!("{name}.checkpoint")), &kept).unwrap();
        let scores = folder.path().join("scores.csv");
        let (kept, scores) = (kept.display(), scores.display());
        let fit = format!(
            "fit holes.csv --missing={name} -k 1 --tol 0 --max-iter 12 -q --starts 1 --checkpoint {kept} --resume"
        );
        karhunen(&format!("{fit} --scores {scores}")).current_dir(&golden).assert().success();
        let found = std::fs::read_to_string(scores.to_string()).unwrap();
        assert_same_table(&found, &golden.join(format!("{name}.resumed.csv")), name);
        let other = fit.replace("--starts 1", "--starts 2");
        let done = karhunen(&other).current_dir(&golden).assert().code(2);
        let message = String::from_utf8_lossy(&done.get_output().stderr).into_owned();
        assert!(message.contains("made with --starts 1, now there is --starts 2"), "{message}");
    }
}

#[cfg(unix)]
#[test]
fn what_is_read_through_a_folder_a_set_or_a_store_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("parts")).unwrap();
    for name in ["parts/a.csv", "parts/b.csv"] {
        std::fs::write(at(name), "PC1,PC2\n1,2\n3,5\n4,4\n7,1\n").unwrap();
    }
    for end in ["bed", "bim", "fam"] {
        std::fs::copy(examples().join("../genotypes/people").with_extension(end), at(&format!("g.{end}")))
            .unwrap();
    }
    std::fs::create_dir(at("s.zarr")).unwrap();
    std::fs::write(at("s.zarr/.zgroup"), "{\"zarr_format\": 2}").unwrap();
    std::os::unix::fs::symlink(at("parts"), at("link")).unwrap();
    for (arguments, option, name) in [
        ("fit parts -k 1", "--scores", "parts/a.csv"),
        ("fit parts -k 1 --force", "--loadings", "link/b.csv"),
        ("fit link -k 1 --force", "-o", "parts/b.csv"),
        ("fit g.bed -k 2 --force", "-o", "g.bim"),
        ("fit g.bed -k 2 --force", "--scores", "g.fam"),
        ("fit s.zarr -k 2 --force", "-o", "s.zarr/.zgroup"),
        ("fit s.zarr -k 2 --force", "-o", "s.zarr/new"),
        ("fit parts -k 1 --force", "--checkpoint", "parts/a.csv"),
        ("moments parts --force", "-o", "parts/a.csv"),
    ] {
        let before = std::fs::read(at(name)).ok();
        let message = refused(&folder, &format!("{arguments} {option} {name}"), 2);
        let expected = format!("{option} {name} would overwrite what is read; give another name");
        assert!(message.contains(&expected), "{message}");
        assert_eq!(std::fs::read(at(name)).ok(), before, "{name}");
    }
    let command = "fit g.bed -k 2 --scale=binomial --eigenvec g";
    for (option, name) in [("-o", "g.eigenval"), ("--checkpoint", "g.afreq")] {
        let message = refused(&folder, &format!("{command} {option} {name}"), 2);
        let expected = format!("{option} and --eigenvec both write to {name}; give each its own");
        assert!(message.contains(&expected), "{message}");
    }
    // A file that is not read may stand in the folder.
    karhunen("fit parts -k 1 -q -o parts/m.model").current_dir(folder.path()).assert().success();
    karhunen("fit parts -k 1 -q -o parts/m.model --force").current_dir(folder.path()).assert().success();
}

#[cfg(unix)]
#[test]
fn a_loop_of_links_is_no_target() {
    let folder = folder();
    for (name, target) in [("l1", "l2"), ("l2", "l1")] {
        std::os::unix::fs::symlink(target, folder.path().join(name)).unwrap();
    }
    let message = refused(&folder, "fit t.csv -k 1 -q -o l1", 4);
    assert!(message.contains("l1: writing failed: Too many levels of symbolic links"), "{message}");
    assert_eq!(std::fs::read_link(folder.path().join("l1")).unwrap(), Path::new("l2"));
}

/// A limit of the size of files (`ulimit -f`) is an error of writing, and a warning for checkpoints.
#[cfg(unix)]
#[test]
fn a_file_that_may_not_grow_is_an_error() {
    let folder = folder();
    let rows: String = (0..3000).map(|i: i32| format!("{},{}.5,{}\n", i % 7, i * i % 1013, i % 5)).collect();
    std::fs::write(folder.path().join("long.csv"), rows).unwrap();
    let before = names(folder.path());
    let run = |arguments: &str| {
        let program = env!("CARGO_BIN_EXE_karhunen");
        let script = format!("ulimit -f 2; exec {program} {arguments}");
        std::process::Command::new("sh").args(["-c", &script]).current_dir(folder.path()).output().unwrap()
    };
    let done = run("fit long.csv -k 2 -q --scores new.csv");
    let message = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(4), "{message}");
    assert!(message.contains("new.csv: writing failed: File too large"), "{message}");
    assert_eq!(names(folder.path()), before);
    let kept = "fit missing.csv --missing=als -k 1 --max-iter 5 --checkpoint kept --checkpoint-every 0";
    let done = run(&format!("{kept} --json"));
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
}
