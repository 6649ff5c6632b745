//! Files that change while a command uses them. A pipe instead of the file of weights, which the command reads
//! after its data, holds the command until the change is made.

use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

const ROWS: usize = 3000;
const COLUMNS: usize = 8;

/// An NPY file of 192 kB, which readers map into memory.
fn write_npy(path: &Path, seed: u64) {
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({ROWS}, {COLUMNS}), }}");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(118u16.to_le_bytes());
    bytes.extend(format!("{header:<117}\n").as_bytes());
    let mut random = karhunen_testkit::SplitMix64::new(seed);
    (0..ROWS * COLUMNS).for_each(|_| bytes.extend(random.normal().to_le_bytes()));
    fs::write(path, bytes).unwrap();
}

struct Held {
    folder: tempfile::TempDir,
    child: Child,
}

impl Held {
    /// A fit that has opened its data and waits for its weights.
    fn fit(options: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("weights");
        write_npy(&folder.path().join("x.npy"), 1);
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let child = Command::new(assert_cmd::cargo::cargo_bin("karhunen"))
            .current_dir(folder.path())
            .args(["fit", "x.npy", "--weights", "weights", "-o", "m.model", "--scores", "s.csv"])
            .args(options.split_whitespace())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self { folder, child }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("x.npy")
    }

    /// The result if `change` is applied to the data before the weights arrive.
    fn after(self, change: impl FnOnce(&Path)) -> (Output, tempfile::TempDir) {
        // The pipe opens when the child reads it, after its data.
        let mut pipe = OpenOptions::new().write(true).open(self.folder.path().join("weights")).unwrap();
        change(&self.data());
        let _ = pipe.write_all("1\n".repeat(ROWS).as_bytes());
        drop(pipe);
        (self.child.wait_with_output().unwrap(), self.folder)
    }
}

/// A refusal that names the file, without any output.
#[track_caller]
fn assert_refused((output, folder): (Output, tempfile::TempDir), what: &str) {
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(4), "{:?}: {errors}", output.status);
    assert!(errors.contains(&format!("error: x.npy: the file {what}")), "{errors}");
    let mut left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["weights", "x.npy"]);
}

#[test]
fn data_that_become_shorter_during_a_fit_are_an_error_that_names_them() {
    for (len, options) in
        [(0, ""), (4096, "--solver svd"), (100_000, "--threads 1 --scale"), (100_000, "--kernel=rbf")]
    {
        let outcome = Held::fit(options).after(|data| {
            OpenOptions::new().write(true).open(data).unwrap().set_len(len).unwrap();
        });
        assert_refused(outcome, &format!("became shorter, from 192128 bytes to {len}, while it was read"));
    }
}

#[test]
fn data_that_are_written_to_or_grow_during_a_fit_are_an_error() {
    let outcome = Held::fit("").after(|data| write_npy(data, 2));
    assert_refused(outcome, "was written to while it was read");
    let outcome = Held::fit("").after(|data| {
        let mut file = OpenOptions::new().write(true).open(data).unwrap();
        file.seek(SeekFrom::Start(1000)).unwrap();
        file.write_all(&[0; 8]).unwrap();
    });
    assert_refused(outcome, "was written to while it was read");
    let outcome = Held::fit("").after(|data| {
        OpenOptions::new().append(true).open(data).unwrap().write_all(b"more").unwrap();
    });
    assert_refused(outcome, "became longer, from 192128 bytes to 192132, while it was read");
}

#[test]
fn data_that_are_replaced_or_removed_during_a_fit_are_used_as_they_were() {
    let scores = |change: &dyn Fn(&Path)| {
        let (output, folder) = Held::fit("").after(change);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        fs::read(folder.path().join("s.csv")).unwrap()
    };
    let expected = scores(&|_| ());
    let replaced = scores(&|data| {
        write_npy(&data.with_extension("new"), 2);
        fs::rename(data.with_extension("new"), data).unwrap();
    });
    assert!(expected == replaced);
    assert!(expected == scores(&|data| fs::remove_file(data).unwrap()));
}

#[test]
fn a_bus_error_that_is_not_of_a_file_goes_to_the_handler_that_was_there() {
    let held = Held::fit("");
    let pid = held.child.id().to_string();
    let (output, _folder) = held.after(|_| {
        // Rust's handler restores the default at the first signal; the second ends the process.
        for _ in 0..2 {
            assert!(Command::new("kill").args(["-BUS", &pid]).status().unwrap().success());
            std::thread::sleep(std::time::Duration::from_millis(300));
        }
    });
    assert_eq!(output.status.signal(), Some(7), "{:?}", output.status);
}
