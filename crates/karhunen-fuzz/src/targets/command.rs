//! The command line: exit codes are the documented ones, counts of rows and columns agree between commands,
//! numbers are finite, and no command panics, hangs or exceeds the memory limit.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Outcome, Verdict, choice, hold};

/// The exit codes listed in the help, without the codes of signals.
const EXIT_CODES: [i32; 6] = [0, 2, 3, 4, 5, 6];
/// Limit of the address space of a command in KiB.
const MOST_MEMORY: u64 = 3 << 20;
/// Limit of the elapsed time of a command, on a busy machine; the limit of the processor time is lower.
const MOST_TIME: Duration = Duration::from_secs(120);
/// Limit of the processor time of a command in seconds.
const MOST_WORK: u64 = 10;

/// Files that the commands write.
const OUTPUTS: [&str; 9] =
    ["m.model", "c.model", "s.csv", "t.csv", "i.csv", "r.csv", "l.csv", "x.csv", "stdout"];

/// Result of a command.
struct Done {
    code: i32,
    out: String,
}

pub(super) fn run(path: &Path, bytes: &[u8]) -> Verdict {
    let folder = path.parent().unwrap_or(Path::new("."));
    let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let karhunen = Karhunen { folder };
    // Files of an earlier input must not be present for this one.
    for entry in std::fs::read_dir(folder).map_err(|error| error.to_string())?.flatten() {
        if OUTPUTS.contains(&&*entry.file_name().to_string_lossy()) {
            std::fs::remove_file(entry.path()).map_err(|error| error.to_string())?;
        }
    }
    if bytes.starts_with(b"args:") {
        return typed(&karhunen, bytes);
    }
    let inspected = karhunen.run(&["inspect", &file, "--json"])?;
    if inspected.code != 0 {
        // A file that cannot be inspected cannot be fitted either.
        let fitted = karhunen.run(&["fit", &file, "-q"])?;
        hold(fitted.code != 0, || "a file that inspect refuses is fitted".to_owned())?;
        return Ok(Outcome::Refused);
    }
    let report: Value =
        serde_json::from_str(&inspected.out).map_err(|error| format!("inspect prints no JSON: {error}"))?;
    if report["format"].as_str().is_some_and(|format| format.starts_with("karhunen")) {
        return model(&karhunen, &file, &report);
    }
    table(&karhunen, &file, &report, choice(bytes, 4))
}

/// Data: fitted, transformed and reconstructed.
fn table(karhunen: &Karhunen<'_>, file: &str, report: &Value, choice: usize) -> Verdict {
    let (n, p) = (report["n_samples"].as_u64(), report["n_features"].as_u64());
    let (n, p) = n.zip(p).ok_or("inspect says no shape")?;
    let mut fit = vec!["fit", file, "-k", "2", "-o", "m.model", "--scores", "s.csv", "--json"];
    match choice {
        0 => fit.push("--scale"),
        1 => fit.extend(["--missing=als", "--max-iter", "20"]),
        2 => fit.extend(["--solver", "block-krylov"]),
        _ => {}
    }
    let fitted = karhunen.run(&fit)?;
    if fitted.code != 0 {
        return Ok(Outcome::Refused);
    }
    finite("the report of fit", &fitted.out)?;
    let summary: Value =
        serde_json::from_str(&fitted.out).map_err(|error| format!("fit prints no JSON: {error}"))?;
    let rows = summary["n_samples"].as_u64().ok_or("fit says no number of rows")?;
    hold(rows == n, || format!("inspect counts {n} rows, fit {rows}"))?;
    let features = summary["n_features"].as_u64().ok_or("fit says no number of columns")?;
    hold(features == p, || format!("inspect counts {p} columns, fit {features}"))?;
    let scores = karhunen.read("s.csv")?;
    finite("scores", &scores)?;
    count("scores", &scores, n)?;
    let transformed = karhunen.run(&["transform", "m.model", file, "-o", "t.csv", "-q"])?;
    hold(transformed.code == 0 || choice == 1, || {
        format!("the rows that were fitted are not transformed: exit code {}", transformed.code)
    })?;
    if transformed.code == 0 {
        let scores = karhunen.read("t.csv")?;
        finite("scores of transform", &scores)?;
        count("scores of transform", &scores, n)?;
    }
    if choice == 1 {
        let imputed = karhunen.run(&["impute", "m.model", file, "-o", "i.csv", "-q"])?;
        if imputed.code == 0 {
            // The lines of the file that was fitted, with names or without, the last with or without its end.
            let found = lines(&karhunen.read("i.csv")?);
            hold(found == n || found == n + 1, || {
                format!("imputed rows have {found} lines, inspect counts {n} rows")
            })?;
        }
        return Ok(Outcome::Accepted);
    }
    let back = karhunen.run(&["reconstruct", "m.model", "s.csv", "--from", "scores", "-o", "r.csv", "-q"])?;
    if back.code == 0 {
        let rows = karhunen.read("r.csv")?;
        finite("the reconstruction", &rows)?;
        count("the reconstruction", &rows, n)?;
    }
    Ok(Outcome::Accepted)
}

/// A model: rows of its width are transformed and reconstructed.
fn model(karhunen: &Karhunen<'_>, file: &str, report: &Value) -> Verdict {
    let Some(p) = report["n_features"].as_u64().filter(|p| (1..200).contains(p)) else {
        return Ok(Outcome::Accepted);
    };
    let row = |row: u64| {
        (0..p).map(|column| format!("{}.5", (row * 7 + column * 3) % 11)).collect::<Vec<_>>().join(",")
    };
    let rows: Vec<String> = (0..3).map(row).collect();
    std::fs::write(karhunen.folder.join("x.csv"), rows.join("\n") + "\n")
        .map_err(|error| error.to_string())?;
    let transformed = karhunen.run(&["transform", file, "x.csv", "--header", "no", "-o", "t.csv", "-q"])?;
    if transformed.code != 0 {
        return Ok(Outcome::Refused);
    }
    let scores = karhunen.read("t.csv")?;
    finite("scores", &scores)?;
    count("scores", &scores, 3)?;
    let back = karhunen.run(&["reconstruct", file, "t.csv", "--from", "scores", "-o", "r.csv", "-q"])?;
    if back.code == 0 {
        finite("the reconstruction", &karhunen.read("r.csv")?)?;
    }
    Ok(Outcome::Accepted)
}

/// A command line, one argument per line, which is refused or executed.
fn typed(karhunen: &Karhunen<'_>, bytes: &[u8]) -> Verdict {
    let text = String::from_utf8_lossy(bytes);
    let examples = crate::corpus::home().join("../../examples/data");
    let arguments: Vec<String> = text
        .lines()
        .skip(1)
        // Arguments of processes contain no zero byte, and outputs stay in the folder.
        .map(|argument| {
            argument.replace('\0', "").replace("..", ".").replace("EXAMPLES", &examples.display().to_string())
        })
        .filter(|argument| !argument.contains('/') || argument.starts_with(&*examples.to_string_lossy()))
        .collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = karhunen.run(&arguments)?;
    Ok(if done.code == 0 { Outcome::Accepted } else { Outcome::Refused })
}

/// The program, run in a folder of its own.
struct Karhunen<'a> {
    folder: &'a Path,
}

impl Karhunen<'_> {
    fn run(&self, arguments: &[&str]) -> Result<Done, String> {
        let said = |what: &str| format!("karhunen {}: {what}", arguments.join(" "));
        let [out, err] = ["stdout", "stderr"].map(|name| self.folder.join(name));
        let file = |path: &PathBuf| std::fs::File::create(path).map_err(|error| error.to_string());
        let mut child = Command::new("sh")
            .args([
                "-c",
                &format!("ulimit -v {MOST_MEMORY}; ulimit -t {MOST_WORK}; ulimit -c 0; exec \"$0\" \"$@\""),
            ])
            .arg(program()?)
            .args(arguments)
            .current_dir(self.folder)
            .env("LANG", "C.UTF-8")
            .env("RAYON_NUM_THREADS", "2")
            .stdin(Stdio::null())
            .stdout(file(&out)?)
            .stderr(file(&err)?)
            .spawn()
            .map_err(|error| error.to_string())?;
        let begin = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
                break status;
            }
            if begin.elapsed() > MOST_TIME {
                let _ = child.kill();
                let _ = child.wait();
                return Err(said("hangs"));
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        let read =
            |path: &PathBuf| String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned();
        let (out, err) = (read(&out), read(&err));
        let code = code(status)
            .map_err(|what| said(&format!("{what}: {}", err.chars().take(300).collect::<String>())))?;
        hold(EXIT_CODES.contains(&code), || said(&format!("the exit code {code} is in no list")))?;
        hold(!err.contains("panicked at"), || said(&format!("a panic is printed: {err}")))?;
        hold(code == 0 || err.contains("error:") || err.contains("Usage:"), || {
            said(&format!("exit code {code} without an error: {err}"))
        })?;
        Ok(Done { code, out })
    }

    fn read(&self, name: &str) -> Result<String, String> {
        std::fs::read_to_string(self.folder.join(name)).map_err(|error| format!("{name}: {error}"))
    }
}

/// The program built with this one: in the same folder, or in the parent folder for a test.
fn program() -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let found =
        own.ancestors().skip(1).take(2).map(|folder| folder.join("karhunen")).find(|path| path.is_file());
    found.ok_or_else(|| "the program karhunen is not built; run `cargo build --release`".to_owned())
}

fn code(status: ExitStatus) -> Result<i32, String> {
    status.code().filter(|code| *code < 128).ok_or_else(|| format!("ended with {status}"))
}

/// Checks that a table or JSON contains no NaN and no infinity.
fn finite(what: &str, text: &str) -> Result<(), String> {
    let words = text.lines().skip(1).flat_map(|line| line.split([',', ' ', '[', ']', ':']));
    let bad = words.map(str::trim).find(|word| {
        ["nan", "inf", "-inf", "infinity", "-infinity"].contains(&word.to_ascii_lowercase().as_str())
    });
    hold(bad.is_none(), || format!("{what} hold {bad:?}"))
}

/// Compares the number of rows of a CSV below its header.
fn count(what: &str, text: &str, expected: u64) -> Result<(), String> {
    let found = lines(text).saturating_sub(1);
    hold(found == expected, || format!("{what} have {found} rows, inspect counts {expected}"))
}

/// Counts the lines of a CSV; quoted names may contain line breaks.
fn lines(text: &str) -> u64 {
    let mut quoted = false;
    let ends = text.bytes().filter(|byte| {
        quoted ^= *byte == b'"';
        *byte == b'\n' && !quoted
    });
    ends.count() as u64 + u64::from(!text.is_empty() && !text.ends_with('\n'))
}
