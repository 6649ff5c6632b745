//! The calls that repeat a fit of data with missing values and its report.

use karhunen::IncompleteModel;
use karhunen::incomplete::{IncompletePca, MeanMode, Method};

use crate::Report;
use crate::calls::{Calls, Given, Step, calls};
use crate::scaling;

/// The calls on the command line and in Python.
pub(super) fn of_incomplete(
    report: &Report<'_>,
    model: &IncompleteModel,
    with_rows: bool,
    step: Option<&Step>,
) -> Vec<Calls> {
    let weighted = is_weighted(report, model);
    let mut weights = String::new();
    if weighted {
        weights.push_str(", sample_weight=weights");
    }
    if model.feature_weights().is_some() {
        weights.push_str(", feature_weight=feature_weights");
    }
    let options = fit_options(model, weighted);
    calls(report, Given::limited(with_rows), &options, (&expression(model), &weights), step)
}

/// Returns true if the rows of the fit had weights, or the rows of the page have.
pub(super) fn is_weighted(report: &Report<'_>, model: &IncompleteModel) -> bool {
    let totals = model.parts().row_totals;
    report.sample_weights.is_some() || totals.is_some_and(|totals| totals.samples != model.n_samples() as f64)
}

/// An option that differs from its default: its flag, its argument in Python, and their values.
type Word = (&'static str, &'static str, String, String);

fn words(options: &IncompletePca) -> Vec<Word> {
    let usual = IncompletePca::default();
    let mut words: Vec<Word> = Vec::new();
    let mut add = |given: bool, flag: &'static str, argument: &'static str, shell: String, python: String| {
        words.extend(given.then_some((flag, argument, shell, python)));
    };
    let flag = |on: bool| (String::new(), if on { "True" } else { "False" }.to_owned());
    let number = |value: f64| (format!("{value}"), format!("{value:?}"));
    let both = |value: String| (value.clone(), value);
    macro_rules! option {
        ($given:expr, $flag:literal, $argument:literal, $value:expr) => {
            let (shell, python) = $value;
            add($given, $flag, $argument, shell, python);
        };
    }
    option!(options.mean != MeanMode::Joint, "--mean", "mean", {
        let name = options.mean.name();
        (name.to_owned(), format!("\"{name}\""))
    });
    option!(options.noise != usual.noise, "--noise", "noise", {
        let name = options.noise.name();
        (name.to_owned(), format!("\"{name}\""))
    });
    option!(options.row_offsets, "--row-offsets", "row_offsets", flag(true));
    if let Some(penalty) = options.regularization {
        let python = match penalty {
            karhunen::incomplete::Regularization::Ridge(lambda) => format!("{lambda:?}"),
            karhunen::incomplete::Regularization::Weighted(lambda) => format!("(\"weighted\", {lambda:?})"),
            other => format!("\"{}\"", other.name()),
        };
        option!(true, "--regularization", "regularization", (penalty.to_string(), python));
    }
    if let Some(variance) = options.prior_variance {
        option!(true, "--prior-variance", "prior_variance", number(variance));
    }
    option!(options.learn_mean_prior, "--learn-mean-prior", "learn_mean_prior", flag(true));
    option!(options.hyperprior != usual.hyperprior, "--hyperprior", "hyperprior", number(options.hyperprior));
    if options.mean_prior != usual.mean_prior {
        let (count, value) = (options.mean_prior.count, options.mean_prior.value);
        let shell = value.map_or(format!("{count}"), |value| format!("{count}:{value}"));
        let python = value.map_or(format!("{count:?}"), |value| format!("({count:?}, {value:?})"));
        option!(true, "--mean-prior", "mean_prior", (shell, python));
    }
    option!(options.alpha != usual.alpha, "--alpha", "alpha", number(options.alpha));
    if let Some(step) = options.step {
        option!(true, "--step", "step", number(step));
    }
    option!(
        options.inner_iterations != usual.inner_iterations,
        "--inner-iterations",
        "inner_iterations",
        both(options.inner_iterations.to_string())
    );
    option!(options.tol != usual.tol, "--tol", "tol", both(format!("{:e}", options.tol)));
    for (value, flag, argument) in [
        (options.gradient_tol, "--gradient-tol", "gradient_tol"),
        (options.angle_tol, "--angle-tol", "angle_tol"),
        (options.rmse_tol, "--rmse-tol", "rmse_tol"),
    ] {
        if let Some(value) = value {
            add(true, flag, argument, format!("{value:e}"), format!("{value:e}"));
        }
    }
    option!(options.max_iter != usual.max_iter, "--max-iter", "max_iter", both(options.max_iter.to_string()));
    if let Some(share) = options.early_stopping {
        let share = number(share);
        add(true, "--early-stopping=", "early_stopping", share.0, share.1);
    }
    if let Some(share) = options.conformal {
        let share = number(share);
        add(true, "--conformal=", "conformal", share.0, share.1);
    }
    option!(options.refit, "--refit", "refit", flag(true));
    if let Some(limit) = options.time_limit {
        option!(true, "--time-limit", "time_limit", number(limit.as_secs_f64()));
    }
    if options.n_starts != usual.n_starts {
        let number = options.n_starts.map(|n| n.to_string());
        let python = number.clone().unwrap_or_else(|| "None".to_owned());
        option!(true, "--starts", "n_starts", (number.unwrap_or_else(|| "auto".to_owned()), python));
    }
    option!(options.seed != usual.seed, "--seed", "random_state", both(options.seed.to_string()));
    option!(!options.error_bars, "--no-error-bars", "error_bars", flag(false));
    words
}

fn fit_options(model: &IncompleteModel, weighted: bool) -> Vec<String> {
    let options = &model.parts().options;
    let missing = match options.method {
        Method::Auto => "--missing".to_owned(),
        method => format!("--missing={}", method.name()),
    };
    let mut found = vec![missing, format!("-k {}", options.n_components)];
    if weighted {
        found.push("--weights WEIGHTS".to_owned());
    }
    if model.feature_weights().is_some() {
        found.push("--feature-weights FEATURE_WEIGHTS".to_owned());
    }
    if options.method == Method::Online {
        found.push(format!("--online-rule {}", options.online_rule.name()));
    }
    found.extend(model.parts().t2_factor.map(|_| "--limits".to_owned()));
    found.extend(scaling::option(&options.scale).map(|[flag, _]| flag));
    found.extend(words(options).into_iter().map(|(flag, _, value, _)| {
        match (flag.ends_with('='), value.is_empty()) {
            (true, _) => format!("{flag}{value}"),
            (false, true) => flag.to_owned(),
            (false, false) => format!("{flag} {value}"),
        }
    }));
    found
}

fn expression(model: &IncompleteModel) -> String {
    let options = &model.parts().options;
    let mut found = vec![options.n_components.to_string()];
    if options.method != Method::Auto {
        found.push(format!("method=\"{}\"", options.method.name()));
    }
    if options.method == Method::Online {
        found.push(format!("online_rule=\"{}\"", options.online_rule.name()));
    }
    found.extend(scaling::option(&options.scale).map(|[_, argument]| argument));
    found.extend(words(options).into_iter().map(|(_, argument, _, value)| format!("{argument}={value}")));
    format!("IncompletePCA({})", found.join(", "))
}
