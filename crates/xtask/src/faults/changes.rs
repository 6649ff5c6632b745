//! Data that change during a command.

use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use super::bench::{Bench, Job};
use super::kills::put;
use super::run::{Files, files, finish, run, start};
use super::{Strike, Unable};

/// A job on the file `data` (with an extension) in its own folder, and another content for the file.
struct Reading {
    job: Job,
    name: String,
    content: Vec<u8>,
    other: Vec<u8>,
}

fn readings(bench: &Bench) -> Result<Vec<Reading>, String> {
    let model = |name: &str| bench.data(name);
    let jobs: [(&str, &str, Vec<String>); 6] = [
        ("x.npy", "other.npy", words("fit DATA -k 3 -q -o m --scores s.csv")),
        ("x.npy", "other.npy", words(&format!("transform {} DATA -q -o s.npy", model("npy.model")))),
        ("x.csv", "other.csv", words("fit DATA -k 3 -q -o m --scores s.csv")),
        ("x.parquet", "other.parquet", words("fit DATA -k 3 -q -o m --scores s.csv")),
        ("missing.csv", "x.csv", words("fit DATA --missing=cg --max-iter 20 -k 2 -q -o m --scores s.csv")),
        ("missing.csv", "x.csv", words(&format!("impute {} DATA -q -o filled.csv", model("missing.model")))),
    ];
    let read = |name: &str| fs::read(bench.data(name)).map_err(|error| format!("{name}: {error}"));
    jobs.into_iter()
        .enumerate()
        .map(|(index, (name, other, arguments))| {
            let undisturbed: Vec<String> = arguments
                .iter()
                .map(|word| if word == "DATA" { bench.data(name) } else { word.clone() })
                .collect();
            let words: Vec<&str> = undisturbed.iter().map(String::as_str).collect();
            let job = bench.job(&format!("read-{index}"), &words)?;
            let extension = Path::new(name).extension().unwrap_or_default().to_string_lossy();
            let name_here = format!("data.{extension}");
            let arguments: Vec<String> = arguments
                .iter()
                .map(|word| if word == "DATA" { name_here.clone() } else { word.clone() })
                .collect();
            Ok(Reading {
                job: Job { arguments, ..job },
                name: name_here,
                content: read(name)?,
                other: read(other)?,
            })
        })
        .collect()
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// The change that another program makes to the file.
#[derive(Clone, Copy, Debug)]
enum Change {
    Cut,
    Empty,
    Overwrite,
    Append,
    Replace,
    Remove,
}

impl Change {
    const ALL: [Change; 6] =
        [Change::Cut, Change::Empty, Change::Overwrite, Change::Append, Change::Replace, Change::Remove];

    fn make(self, path: &Path, other: &[u8], random: f64) -> std::io::Result<()> {
        let open = || OpenOptions::new().write(true).open(path);
        match self {
            Change::Cut => open()?.set_len((random * fs::metadata(path)?.len() as f64) as u64),
            Change::Empty => open()?.set_len(0),
            Change::Overwrite => {
                let mut file = open()?;
                let at = (random * other.len() as f64) as usize;
                file.seek(SeekFrom::Start(at as u64))?;
                file.write_all(&other[at..other.len().min(at + 10_000)])
            }
            Change::Append => {
                OpenOptions::new().append(true).open(path)?.write_all(&other[other.len() / 2..])
            }
            Change::Replace => {
                let new = path.with_extension("new");
                fs::write(&new, other)?;
                fs::rename(new, path)
            }
            Change::Remove => fs::remove_file(path),
        }
    }
}

/// Changes the data at the moment: the command refuses them by name, or gives the results of the old or of the new
/// content.
pub(super) fn files_that_change(bench: &Bench) -> Result<Strike<'_>, Unable> {
    let readings = readings(bench)?;
    Ok(Box::new(move |moment| {
        let reading = moment.choose(&readings);
        let change = *moment.choose(&Change::ALL);
        let (folder, errors) = (moment.folder.join("work"), moment.folder.join("errors"));
        put(&folder, &Files::from([(reading.name.clone(), reading.content.clone())]))?;
        let data = folder.join(&reading.name);
        let child = start(&mut bench.command(&folder, &reading.job.arguments), &errors)?;
        std::thread::sleep(reading.job.length.mul_f64(moment.at));
        change
            .make(&data, &reading.other, moment.random.uniform())
            .map_err(|error| format!("{change:?}: {error}"))?;
        let done = finish(child, &errors)?;
        let code = done.check(&[0, 2, 3, 4])?;
        let context = |message: String| format!("{change:?} of {}: {message}", reading.name);
        let found = outputs(&folder, reading)?;
        if code == 0 && found == reading.job.outputs {
            return Ok(());
        }
        if code != 0 && !found.is_empty() {
            return Err(context(format!("{} was written", found.keys().next().map_or("", String::as_str))));
        }
        if code == 4 {
            let named = done.errors.contains(&reading.name);
            return if named {
                Ok(())
            } else {
                Err(context(format!("the message does not name it: {}", done.errors)))
            };
        }
        // The change preceded the reading: a new run on the changed file must give the same.
        let again = moment.folder.join("again");
        put(&again, &Files::new())?;
        fs::copy(&data, again.join(&reading.name)).map_err(|error| context(error.to_string()))?;
        let expected = run(&mut bench.command(&again, &reading.job.arguments), &errors)?;
        if expected.status.code() != Some(code) || outputs(&again, reading)? != found {
            return Err(context(format!(
                "code {code}, neither of the old data nor of the new: {}",
                done.errors.trim()
            )));
        }
        Ok(())
    }))
}

/// All files but the data.
fn outputs(folder: &Path, reading: &Reading) -> Result<Files, String> {
    let mut found = files(folder)?;
    found.remove(&reading.name);
    Ok(found)
}
