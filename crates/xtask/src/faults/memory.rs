//! Lack of memory: the shell limits the address space.

use std::fs;

use super::bench::{Bench, Job};
use super::run::{check_files, run};
use super::{Moment, Strike, Unable};

/// Largest limit in kilobytes in the search for the memory of a command.
const MOST: u64 = 8 << 20;

/// A command and its memory requirement in kilobytes.
struct Needy {
    job: Job,
    need: u64,
}

/// The least limit under which a command succeeds, to 3%.
fn need(bench: &Bench, name: &str, arguments: &[String]) -> Result<u64, String> {
    let folder = bench.folder.join(format!("need-{name}"));
    fs::create_dir(&folder).map_err(|error| error.to_string())?;
    let errors = bench.folder.join(format!("need-{name}-errors"));
    let enough = |kilobytes: u64| -> Result<bool, String> {
        let mut command = bench.shell(&format!("ulimit -v {kilobytes}"), &folder, arguments);
        Ok(run(&mut command, &errors)?.status.success())
    };
    if !enough(MOST)? {
        return Err(format!("{name} needs more than {MOST} kB"));
    }
    let (mut low, mut high) = (1024, MOST);
    while high > low + low / 33 {
        // Bisection of the logarithm: requirements differ by powers of ten.
        let middle = ((low as f64 * high as f64).sqrt()) as u64;
        if enough(middle)? { high = middle } else { low = middle + 1 }
    }
    Ok(high)
}

fn jobs(bench: &Bench) -> Result<Vec<Needy>, String> {
    let data = |name: &str| bench.data(name);
    let (x, csv, parquet, missing) = (data("x.npy"), data("x.csv"), data("x.parquet"), data("missing.csv"));
    let (model, incomplete) = (data("npy.model"), data("missing.model"));
    let commands = [
        format!("fit {x} -k 3 -q -o m"),
        format!("fit {csv} -k 3 -q --solver svd -o m --scores s.csv"),
        format!("fit {parquet} -k 3 -q -o m"),
        format!("fit {missing} --missing -k 2 -q -o m"),
        format!("fit {csv} --kernel=rbf -k 3 -q -o m"),
        format!("fit {csv} --kernel=rbf --solver nystrom -k 3 -q -o m"),
        format!("transform {model} {x} -q -o s.csv"),
        format!("reconstruct {model} {x} -q --from data -o r.npy"),
        format!("impute {incomplete} {missing} -q -o f.csv"),
        format!("cross-validate {missing} -k 1,2 --folds 3 -q"),
        format!("inspect {x}"),
    ];
    commands
        .iter()
        .enumerate()
        .map(|(index, command)| {
            let words: Vec<&str> = command.split_whitespace().collect();
            let job = bench.job(&format!("memory-{index}"), &words)?;
            let need = need(bench, &format!("memory-{index}"), &job.arguments)?;
            Ok(Needy { job, need })
        })
        .collect()
}

/// Limits the address space between that for inspecting a small model and the requirement of the command: the
/// command must report a lack of memory and leave no file.
pub(super) fn limits(bench: &Bench) -> Result<Strike<'_>, Unable> {
    let least = need(bench, "version", &["inspect".to_owned(), bench.data("missing.model")])?;
    let jobs = jobs(bench)?;
    Ok(Box::new(move |moment: &mut Moment| {
        let Needy { job, need } = moment.choose(&jobs);
        let (folder, errors) = (moment.folder.join("work"), moment.folder.join("errors"));
        fs::create_dir(&folder).map_err(|error| error.to_string())?;
        let kilobytes = least + (moment.random.uniform() * need.saturating_sub(least) as f64) as u64;
        let before = format!("ulimit -v {kilobytes}");
        let done = run(&mut bench.shell(&before, &folder, &job.arguments), &errors)?;
        let context = |message: String| format!("{} under {before}: {message}", job.arguments.join(" "));
        if done.check(&[0, 4, 6]).map_err(context)? == 0 {
            return check_files(&folder, &job.outputs).map_err(context);
        }
        if !done.errors.contains("memory") {
            return Err(context(format!("the message does not speak of memory: {}", done.errors.trim())));
        }
        check_files(&folder, &Default::default()).map_err(context)
    }))
}
