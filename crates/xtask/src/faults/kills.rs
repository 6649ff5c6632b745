//! SIGKILL of fits with checkpoints and of commands that write.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::bench::{Bench, Job};
use super::run::{Files, check_files, files, run, start, succeed};
use super::{Moment, Strike, Unable};

/// Fits with missing values that write a checkpoint after every iteration.
pub(super) fn fit_jobs(bench: &Bench) -> Result<Vec<Job>, String> {
    let data = bench.data("missing.csv");
    ["cg", "vb", "newton"]
        .into_iter()
        .map(|method| {
            let method = format!("--missing={method}");
            let fit = ["fit", &data, &method, "-k", "3", "-q", "--tol", "0", "--max-iter", "60", "--force"];
            let files =
                ["--checkpoint", "c", "--checkpoint-every", "0", "--resume", "-o", "m", "--scores", "s.csv"];
            let mut job = bench.job(&format!("fit{method}"), &[&fit[..], &files].concat())?;
            // The checkpoint contains the duration of the fit.
            job.outputs.remove("c");
            Ok(job)
        })
        .collect()
}

/// Kills the fit at the moment, often once or twice again after resumption, then lets it finish.
pub(super) fn fits(bench: &Bench) -> Result<Strike<'_>, Unable> {
    let jobs = fit_jobs(bench)?;
    Ok(Box::new(move |moment| {
        let job = moment.choose(&jobs);
        let (folder, errors) = (moment.folder.join("work"), moment.folder.join("errors"));
        fs::create_dir(&folder).map_err(|error| error.to_string())?;
        let (mut at, mut reached) = (moment.at, 0);
        loop {
            let mut child = start(&mut bench.command(&folder, &job.arguments), &errors)?;
            std::thread::sleep(job.length.mul_f64(at));
            child.kill().map_err(|error| error.to_string())?;
            child.wait().map_err(|error| error.to_string())?;
            whole(&folder, &job.outputs, &Files::new())?;
            let iteration = checkpoint_iteration(bench, &folder)?;
            if iteration < reached {
                return Err(format!(
                    "the checkpoint fell from iteration {reached} to {iteration}: the fit began again"
                ));
            }
            reached = iteration;
            if moment.random.uniform() < 0.5 {
                break;
            }
            at = moment.random.uniform();
        }
        succeed(&mut bench.command(&folder, &job.arguments), &errors)?;
        fs::remove_file(folder.join("c")).map_err(|error| format!("the checkpoint: {error}"))?;
        check_files(&folder, &job.outputs)
    }))
}

/// The iteration of the checkpoint `c`; zero before it exists.
fn checkpoint_iteration(bench: &Bench, folder: &Path) -> Result<u64, String> {
    if !folder.join("c").exists() {
        return Ok(0);
    }
    let arguments = ["inspect", "c", "--json"].map(str::to_owned);
    let done = bench.command(folder, &arguments).output().map_err(|error| error.to_string())?;
    let inspected: Value =
        serde_json::from_slice(&done.stdout).map_err(|error| format!("the checkpoint: {error}"))?;
    inspected["iteration"].as_u64().ok_or_else(|| "the checkpoint has no iteration".to_owned())
}

/// Commands with several outputs, or a large one; the second writes other content under the same names.
pub(super) fn write_jobs(bench: &Bench) -> Result<Vec<[Job; 2]>, String> {
    let (x, other, model) = (bench.data("x.npy"), bench.data("other.npy"), bench.data("npy.model"));
    let pair = |name: &str, arguments: &dyn Fn(&str) -> Vec<String>| -> Result<[Job; 2], String> {
        let job = |which: &str, data: &str| {
            let words = arguments(data);
            bench.job(&format!("{name}-{which}"), &words.iter().map(String::as_str).collect::<Vec<_>>())
        };
        Ok([job("old", &other)?, job("new", &x)?])
    };
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    Ok(vec![
        pair("write", &|data| {
            words(&format!("fit {data} -k 3 -q --force -o m --scores s.csv --loadings l.csv"))
        })?,
        pair("scores", &|data| words(&format!("transform {model} {data} -q --force -o s.parquet")))?,
        pair("rows", &|data| words(&format!("reconstruct {model} {data} -q --force --from data -o r.csv")))?,
    ])
}

/// Kills a command that replaces files, at the moment or at its first output.
pub(super) fn writes(bench: &Bench) -> Result<Strike<'_>, Unable> {
    let jobs = write_jobs(bench)?;
    Ok(Box::new(move |moment| {
        let [old, new] = moment.choose(&jobs);
        let (folder, errors) = (moment.folder.join("work"), moment.folder.join("errors"));
        put(&folder, &old.outputs)?;
        let mut child = start(&mut bench.command(&folder, &new.arguments), &errors)?;
        wait(moment, &folder, new);
        child.kill().map_err(|error| error.to_string())?;
        child.wait().map_err(|error| error.to_string())?;
        whole(&folder, &new.outputs, &old.outputs)?;
        if new.outputs.contains_key("m") {
            // The model is put in place last.
            let mut found = files(&folder)?;
            found.retain(|name, _| new.outputs.contains_key(name));
            if found["m"] == new.outputs["m"] && found != new.outputs {
                return Err("the new model is next to old files".to_owned());
            }
        }
        // Run again, the command writes all outputs, and no file of the killed one remains.
        let done = run(&mut bench.command(&folder, &new.arguments), &errors)?;
        done.check(&[0])?;
        check_files(&folder, &new.outputs)
    }))
}

/// Waits for the moment: half of them lie anywhere in the work, the others soon after the first byte is written.
pub(super) fn wait(moment: &mut Moment, folder: &Path, job: &Job) {
    if moment.index.is_multiple_of(2) {
        return std::thread::sleep(job.length.mul_f64(moment.at));
    }
    let started = Instant::now();
    let writes = || files(folder).is_ok_and(|files| files.keys().any(|name| !job.outputs.contains_key(name)));
    while !writes() && started.elapsed() < job.length.max(Duration::from_millis(100)) {
        std::thread::sleep(Duration::from_micros(100));
    }
    std::thread::sleep(job.length.mul_f64(0.3 * moment.random.uniform().powi(2)));
}

/// Writes files into a new folder.
pub(super) fn put(folder: &Path, files: &Files) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    fs::create_dir_all(folder).map_err(failed)?;
    files.iter().try_for_each(|(name, content)| fs::write(folder.join(name), content).map_err(failed))
}

/// Checks that every output is complete, new or old.
fn whole(folder: &Path, new: &Files, old: &Files) -> Result<(), String> {
    let found = files(folder)?;
    for (name, content) in new {
        let is = found.get(name);
        if is != Some(content) && is != old.get(name) {
            let size = is.map_or("missing".to_owned(), |content| format!("{} bytes", content.len()));
            return Err(format!("{name} is neither the old file nor the new one ({size})"));
        }
    }
    Ok(())
}
