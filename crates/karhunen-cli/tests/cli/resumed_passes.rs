//! Fits of complete data, and with a kernel, that keep their passes in a checkpoint.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use crate::karhunen;

const FIT: &str = "fit t.csv -k 3 --solver block-krylov --tol 1e-10 -q";
const KERNEL: &str = "fit t.csv -k 3 --kernel rbf --gamma 0.01 --solver tiles -q";

/// A folder with a table of 400 x 30 numbers.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let row = |i: u32| {
        let value = |j: u32| format!("{}", ((i * 31 + j * j * 17) % 101) as f64 / f64::from(j + 1));
        (0..30).map(value).collect::<Vec<_>>().join(",")
    };
    let names = (0..30).map(|j| format!("x{j}")).collect::<Vec<_>>().join(",");
    let lines: Vec<String> = [names].into_iter().chain((0..400).map(row)).collect();
    std::fs::write(folder.path().join("t.csv"), lines.join("\n")).unwrap();
    folder
}

fn model(folder: &Path, arguments: &str) -> Vec<u8> {
    karhunen(arguments).args(["-o", "m", "--force"]).current_dir(folder).assert().success();
    std::fs::read(folder.join("m")).unwrap()
}

#[test]
fn a_checkpoint_that_ends_anywhere_gives_the_same_model() {
    for fit in [FIT, KERNEL] {
        let folder = folder();
        let (path, checkpoint) = (folder.path(), folder.path().join("c"));
        let whole = model(path, fit);
        assert!(model(path, &format!("{fit} --checkpoint c")) == whole, "{fit}");
        let bytes = std::fs::read(&checkpoint).unwrap();
        for share in [0.15, 0.5, 0.93, 1.0] {
            std::fs::write(&checkpoint, &bytes[..(bytes.len() as f64 * share) as usize]).unwrap();
            let resumed =
                karhunen(&format!("{fit} --checkpoint c --resume -o m --force")).current_dir(path).assert();
            let notes = String::from_utf8(resumed.success().get_output().stderr.clone()).unwrap();
            // Of the shortest file no pass may be complete.
            assert!(share < 0.5 || notes.contains("c: continues after "), "{notes}");
            assert!(std::fs::read(path.join("m")).unwrap() == whole, "{fit} {share}");
            assert!(std::fs::read(&checkpoint).unwrap() == bytes, "{fit} {share}");
        }
        // Without a checkpoint, the same command starts the fit.
        assert!(model(path, &format!("{fit} --checkpoint d --resume")) == whole);
    }
}

#[test]
fn checkpoints_that_would_be_lost_or_do_not_fit_are_refused() {
    let folder = folder();
    let refused = |arguments: &str, code: i32, words: &str| {
        let done = karhunen(arguments).current_dir(folder.path()).assert().code(code);
        let message = String::from_utf8(done.get_output().stderr.clone()).unwrap();
        assert!(message.contains(words), "{arguments}: {message}");
    };
    model(folder.path(), &format!("{FIT} --checkpoint c"));
    let before = std::fs::read(folder.path().join("c")).unwrap();
    refused(&format!("{FIT} --checkpoint c"), 2, "continue it with --resume");
    refused(&format!("{FIT} --checkpoint t.csv"), 2, "would overwrite what is read");
    refused(
        &format!("{FIT} --checkpoint c --resume --scale"),
        2,
        "made with no --scale, now there is --scale",
    );
    refused(
        &format!("{FIT} --checkpoint c --resume --seed 4"),
        2,
        "made with --seed 0, now there is --seed 4",
    );
    refused(&format!("{FIT} --resume"), 2, "--resume needs the file");
    for fit in [FIT, KERNEL] {
        refused(&format!("{fit} --checkpoint d --checkpoint-every 3"), 2, "--checkpoint-every has no effect");
    }
    refused(&format!("{KERNEL} --checkpoint c --resume"), 2, "c: the checkpoint was made with ");
    refused("inspect c", 3, "holds the passes of a fit, not a model");
    refused("fit c", 3, "holds the passes of a fit");
    let text = std::fs::read_to_string(folder.path().join("t.csv")).unwrap();
    std::fs::write(folder.path().join("t.csv"), text.replacen("\n0,", "\n0.5,", 1)).unwrap();
    refused(&format!("{FIT} --checkpoint c --resume"), 2, "made with other values");
    assert!(std::fs::read(folder.path().join("c")).unwrap() == before);
}

/// Writes an array of 1,500 x 600 numbers.
fn write_array(path: &Path, seed: u32) {
    let (n, p) = (1_500_u32, 600_u32);
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({n}, {p}), }}");
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    bytes.extend(format!("{header:<117}\n").bytes());
    for i in 0..n {
        let value = |j: u32| ((i * 31 + j * j * (17 + seed) + i * j) % 1013) as f32 / (j + 1) as f32;
        bytes.extend((0..p).flat_map(|j| value(j).to_le_bytes()));
    }
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn a_fit_that_is_killed_between_its_passes_gives_the_same_model() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    // Several files are read in blocks, also within the memory.
    let data = ["1.npy", "2.npy", "3.npy", "4.npy"];
    data.iter().zip(0..).for_each(|(name, seed)| write_array(&at(name), seed));
    let fit = format!("fit {} -k 3 --solver block-krylov --tol 1e-9 -q", data.join(" "));
    let whole = model(folder.path(), &fit);
    std::fs::remove_file(at("m")).unwrap();
    let fit = format!("{fit} --checkpoint c --resume -o m");
    let mut n_resumed = 0;
    for _ in 0..12 {
        let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin!("karhunen"))
            .args(fit.split(' '))
            .current_dir(folder.path())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Another pass is kept.
        let length = || std::fs::metadata(at("c")).map_or(0, |file| file.len());
        let before = length().max(1_000);
        while child.try_wait().unwrap().is_none() && length() <= before {
            std::thread::sleep(Duration::from_micros(200));
        }
        child.kill().unwrap();
        let killed = child.wait_with_output().unwrap();
        n_resumed += usize::from(String::from_utf8(killed.stderr).unwrap().contains("c: continues after "));
        if at("m").exists() {
            break;
        }
    }
    assert!(n_resumed > 0, "no fit was resumed");
    karhunen(&format!("{fit} --force")).current_dir(folder.path()).assert().success();
    assert!(std::fs::read(at("m")).unwrap() == whole);
    let mut left: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["1.npy", "2.npy", "3.npy", "4.npy", "c", "m"]);
}
