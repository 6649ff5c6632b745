//! `--device`: refusals, and the error without a GPU.

use tempfile::TempDir;

use crate::karhunen;

/// The message of a command that must fail.
fn refusal(arguments: &str, code: i32) -> String {
    let done = karhunen(arguments).assert().code(code).stdout("");
    String::from_utf8(done.get_output().stderr.clone()).unwrap()
}

#[test]
fn fits_and_options_without_use_for_a_device_refuse_it() {
    for (arguments, message) in [
        ("--missing", "--device does not go with missing values"),
        ("--kernel rbf", "--device does not go with a kernel"),
        ("--mca", "--device does not go with --mca"),
        ("--solver svd", "--solver svd is not allowed: a device forms products"),
        ("--scale=range", "--scale=range is not allowed: a device sums"),
        ("--checkpoint no.checkpoint", "--checkpoint does not go with --device cuda"),
    ] {
        let found = refusal(&format!("fit iris.csv --label class --device cuda {arguments}"), 2);
        assert!(found.contains(message), "{arguments}: {found}");
    }
    let found = refusal("fit --from-moments iris.csv --device cuda", 2);
    assert!(found.contains("--device does not go with --from-moments"), "{found}");
    let found = refusal("fit iris.csv --label class --device tpu", 2);
    assert!(found.contains("[possible values: cpu, cuda]"), "{found}");
}

/// Where there is a GPU, the fit writes as many scores; elsewhere the message says what is missing.
#[test]
fn a_fit_on_a_device_succeeds_or_says_what_was_looked_for() {
    let folder = TempDir::new().unwrap();
    let fit = |device: &str| {
        let scores = folder.path().join(format!("{device}.csv"));
        let arguments = format!("fit iris.csv --label class -k 2 --quiet --device {device} --scores");
        let mut command = karhunen(&arguments);
        let done = command.arg(&scores).output().unwrap();
        (done, std::fs::read_to_string(&scores).unwrap_or_default())
    };
    let (cpu, expected) = fit("cpu");
    assert!(cpu.status.success());
    let (cuda, found) = fit("cuda");
    if cuda.status.success() {
        assert_eq!(found.lines().count(), expected.lines().count());
        return;
    }
    let text = String::from_utf8(cuda.stderr).unwrap();
    assert_eq!(cuda.status.code(), Some(4), "{text}");
    assert!(text.contains("iris.csv: no GPU can be used: "), "{text}");
    assert!(text.contains("or leave the device out") && found.is_empty(), "{text}");
}
