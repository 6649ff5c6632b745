//! Lack of space for outputs: a small file system.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::bench::{Bench, Job};
use super::kills::{fit_jobs, put, write_jobs};
use super::run::{Done, Files, check_files, files, run};
use super::{Moment, Strike, Unable};

/// A file system in memory, removed when dropped.
struct Disk(PathBuf);

impl Disk {
    fn new(folder: &Path, kilobytes: u64) -> Result<Self, String> {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={kilobytes}k"), "tmpfs"]).arg(folder);
        match mount.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status() {
            Ok(status) if status.success() => Ok(Self(folder.to_owned())),
            Ok(status) => Err(format!("mount ended with {status}")),
            Err(error) => Err(format!("mount cannot be run: {error}")),
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// Size of files in kilobytes, in whole pages.
fn size(files: &Files) -> u64 {
    files.values().map(|content| (content.len() as u64).div_ceil(4096) * 4).sum()
}

/// Writes to a disk too small for all outputs; every third moment only the checkpoint does not fit.
pub(super) fn disk(bench: &Bench) -> Result<Strike<'_>, Unable> {
    if let Err(why) = Disk::new(&bench.folder.join("probe"), 64) {
        return Err(Unable::Skip(format!("no file system can be mounted here ({why})")));
    }
    let jobs = write_jobs(bench)?;
    let fits = fit_jobs(bench)?;
    Ok(Box::new(move |moment| {
        let (folder, errors) = (moment.folder.join("disk"), moment.folder.join("errors"));
        if moment.index % 3 == 2 {
            return checkpoint(bench, moment, &fits);
        }
        let [old, new] = moment.choose(&jobs);
        let room = size(&old.outputs) + (moment.at * size(&new.outputs) as f64) as u64 + 4;
        let _disk = Disk::new(&folder, room)?;
        put(&folder, &old.outputs)?;
        let done = run(&mut bench.command(&folder, &new.arguments), &errors)?;
        all_or_nothing(&done, &folder, old, new)
    }))
}

/// A checkpoint that cannot be written is a warning; the fit and its outputs on another disk are complete.
fn checkpoint(bench: &Bench, moment: &mut Moment, jobs: &[Job]) -> Result<(), String> {
    let job = moment.choose(jobs);
    let (folder, errors) = (moment.folder.join("work"), moment.folder.join("errors"));
    fs::create_dir(&folder).map_err(|error| error.to_string())?;
    let disk = Disk::new(&moment.folder.join("disk"), 4)?;
    let elsewhere = disk.0.join("c").to_string_lossy().into_owned();
    let arguments: Vec<String> =
        job.arguments.iter().map(|word| if word == "c" { elsewhere.clone() } else { word.clone() }).collect();
    let done = run(&mut bench.command(&folder, &arguments), &errors)?;
    done.check(&[0])?;
    if !done.errors.contains("warning:") || !done.errors.contains(&elsewhere) {
        return Err(format!("no warning that names the checkpoint: {}", done.errors.trim()));
    }
    check_files(&folder, &job.outputs)?;
    match files(&disk.0)?.keys().next() {
        Some(name) => Err(format!("{name} was left on the full disk")),
        None => Ok(()),
    }
}

/// Checks that all outputs are new, or that all are old and the message names one.
fn all_or_nothing(done: &Done, folder: &Path, old: &Job, new: &Job) -> Result<(), String> {
    if done.check(&[0, 4])? == 0 {
        return check_files(folder, &new.outputs);
    }
    if !new.outputs.keys().any(|name| done.errors.contains(name.as_str())) {
        return Err(format!("the message names no output: {}", done.errors.trim()));
    }
    check_files(folder, &old.outputs)
}
