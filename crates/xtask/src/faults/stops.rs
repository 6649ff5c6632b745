//! SIGINT, SIGTERM and SIGHUP: the command stops, reports it, and leaves no incomplete output.

use std::fs;

use super::bench::Bench;
use super::kills::{fit_jobs, put, wait, write_jobs};
use super::run::{Done, check_files, finish, signal, start, succeed};
use super::{Moment, Strike, Unable};

/// The signals and their exit codes.
const SIGNALS: [(&str, i32); 3] = [("INT", 130), ("TERM", 143), ("HUP", 129)];
/// Signals that end a process before its handler is installed, with the number in its status.
const EARLY: [(&str, i32); 3] = [("INT", 2), ("TERM", 15), ("HUP", 1)];

/// True if the command was stopped, false if it finished before.
fn stopped(done: &Done, (name, code): (&str, i32)) -> Result<bool, String> {
    use std::os::unix::process::ExitStatusExt;
    if EARLY.iter().any(|(early, number)| *early == name && done.status.signal() == Some(*number)) {
        return Ok(true);
    }
    Ok(done.check(&[0, code])? == code)
}

/// Stops a fit with checkpoints, and resumes it.
pub(super) fn fits(bench: &Bench) -> Result<Strike<'_>, Unable> {
    let jobs = fit_jobs(bench)?;
    Ok(Box::new(move |moment: &mut Moment| {
        let job = moment.choose(&jobs);
        let with = *moment.choose(&SIGNALS);
        let (folder, errors) = (moment.folder.join("work"), moment.folder.join("errors"));
        fs::create_dir(&folder).map_err(|error| error.to_string())?;
        let child = start(&mut bench.command(&folder, &job.arguments), &errors)?;
        std::thread::sleep(job.length.mul_f64(moment.at));
        signal(&child, with.0)?;
        if stopped(&finish(child, &errors)?, with)? {
            let _ = fs::rename(folder.join("c"), moment.folder.join("c"));
            check_files(&folder, &Default::default())?;
            let _ = fs::rename(moment.folder.join("c"), folder.join("c"));
        }
        succeed(&mut bench.command(&folder, &job.arguments), &errors)?;
        fs::remove_file(folder.join("c")).map_err(|error| format!("the checkpoint: {error}"))?;
        check_files(&folder, &job.outputs)
    }))
}

/// Stops a command that replaces files: all are new, or all are old.
pub(super) fn writes(bench: &Bench) -> Result<Strike<'_>, Unable> {
    let jobs = write_jobs(bench)?;
    Ok(Box::new(move |moment: &mut Moment| {
        let [old, new] = moment.choose(&jobs);
        let with = *moment.choose(&SIGNALS);
        let (folder, errors) = (moment.folder.join("work"), moment.folder.join("errors"));
        put(&folder, &old.outputs)?;
        let child = start(&mut bench.command(&folder, &new.arguments), &errors)?;
        wait(moment, &folder, new);
        signal(&child, with.0)?;
        let stopped = stopped(&finish(child, &errors)?, with)?;
        check_files(&folder, if stopped { &old.outputs } else { &new.outputs })
    }))
}
