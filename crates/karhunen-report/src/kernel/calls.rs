//! The calls that repeat a fit of kernel components and its report.

use karhunen::choice::Choice;
use karhunen::kernel::{Gamma, Kernel, Landmarks, PreImage};
use karhunen::{KernelModel, KernelPca, NComponents};

use crate::Report;
use crate::calls::{Calls, Given, calls};

/// The calls on the command line and in Python.
pub(super) fn of_kernel(report: &Report<'_>, model: &KernelModel, with_rows: bool) -> Vec<Calls> {
    let options = model.options();
    let weighted = model.parts().sum_of_weights != model.n_samples() as f64;
    let weights = if weighted { ", sample_weight=weights" } else { "" };
    let mut shell = vec![format!("--kernel {}", options.kernel.name())];
    let mut python = vec![format!("kernel=\"{}\"", options.kernel.named().python)];
    match options.n_components {
        NComponents::All | NComponents::Mle => shell.push("-k all".to_owned()),
        NComponents::Count(k) => {
            shell.push(format!("-k {k}"));
            python.insert(0, k.to_string());
        }
        NComponents::Variance(share) => {
            shell.push(format!("-k {share:?}"));
            python.insert(0, format!("{share:?}"));
        }
    }
    if weighted {
        shell.push("--weights WEIGHTS".to_owned());
    }
    for (flag, argument, in_shell, in_python) in words(options) {
        shell.extend((!flag.is_empty()).then(|| format!("{flag} {in_shell}").trim_end().to_owned()));
        python.extend((!argument.is_empty()).then(|| format!("{argument}={in_python}")));
    }
    let expression = format!("KernelPCA({})", python.join(", "));
    let given = if with_rows { Given::Rows } else { Given::Nothing };
    calls(report, given, &shell, (&expression, weights), None)
}

/// An option that differs from its default: its flag, its argument in Python, and their values.
type Word = (&'static str, &'static str, String, String);

fn words(options: &KernelPca) -> Vec<Word> {
    let usual = KernelPca::default();
    let mut words: Vec<Word> = Vec::new();
    let mut add = |flag, argument, shell: String, python: String| words.push((flag, argument, shell, python));
    let quoted = |name: &str| format!("\"{name}\"");
    let number = |value: f64| format!("{value:?}");
    match options.kernel.gamma() {
        Some(Gamma::Value(gamma)) => add("--gamma", "gamma", number(gamma), number(gamma)),
        Some(rule @ (Gamma::Scale | Gamma::Median)) => {
            add("--gamma", "gamma", rule.name().to_owned(), quoted(rule.name()));
        }
        Some(Gamma::PerFeature) | None => {}
    }
    match options.kernel {
        Kernel::Polynomial { degree, coef0, .. } => {
            add("--degree", "degree", number(degree), number(degree));
            add("--coef0", "coef0", number(coef0), number(coef0));
        }
        Kernel::Sigmoid { coef0, .. } => add("--coef0", "coef0", number(coef0), number(coef0)),
        _ => {}
    }
    if !options.center {
        add("--no-center", "center", String::new(), "False".to_owned());
    }
    if let Some(route) = options.solver {
        add("--solver", "solver", route.name().to_owned(), quoted(route.name()));
    }
    if options.landmarks != Landmarks::default() {
        add(
            "--landmarks",
            "landmarks",
            options.landmarks.name().to_owned(),
            quoted(options.landmarks.name()),
        );
    }
    if let Some(n) = options.n_features {
        add("--kernel-features", "n_features", n.to_string(), n.to_string());
    }
    if let Some(way) = options.pre_image {
        add("--pre-image", "fit_inverse_transform", way.name().to_owned(), "True".to_owned());
        if way.name() != (PreImage::Auto { alpha: 1.0 }).name() {
            words.push(("", "pre_image", String::new(), quoted(way.name())));
        }
        if let PreImage::Auto { alpha } | PreImage::Ridge { alpha } = way
            && alpha != 1.0
        {
            words.push(("--alpha", "alpha", number(alpha), number(alpha)));
        }
    }
    if let Some(size) = options.block_size {
        words.push(("--block-size", "", size.to_string(), String::new()));
    }
    let mut add = |flag, argument, value: String| words.push((flag, argument, value.clone(), value));
    if let Some(tol) = options.tol {
        add("--tol", "tol", format!("{tol:e}"));
    }
    if options.max_iter != usual.max_iter {
        add("--max-iter", "max_iter", options.max_iter.to_string());
    }
    if options.seed != usual.seed {
        add("--seed", "random_state", options.seed.to_string());
    }
    if options.strict {
        words.push(("--strict", "strict", String::new(), "True".to_owned()));
    }
    words
}
