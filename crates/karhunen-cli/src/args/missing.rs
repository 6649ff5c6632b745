//! The arguments about missing values.

use std::time::Duration;

use clap::{Args, ValueEnum};
use karhunen::IncompletePca;
use karhunen::choice::Choice;
use karhunen::incomplete::{Duplicates, MeanMode, MeanPrior, Method, NoiseModel, OnlineRule, Regularization};
use karhunen_io::TripleColumns;

use crate::args::given::{Given, set};
use crate::args::values::{choice, seconds};
use crate::error::{Failure, Result};

/// The heading of options of fits with missing values.
pub(crate) const MISSING: &str = "Missing values";
/// The heading of options that end a fit with missing values.
const STOPPING: &str = "Stopping";

/// The options of one fit.
#[derive(Debug, Args)]
pub(crate) struct FitMissingArgs {
    #[command(flatten)]
    pub(crate) missing: MissingArgs,
    /// Power of the second derivatives in newton, cg and ridge, from 0 to 1 [default: 2/3]; the ridge of --pre-image [default: 1]
    #[arg(long, help_heading = MISSING)]
    pub(crate) alpha: Option<f64>,
    /// Penalty on scores and loadings: a number, weighted:NUMBER for a penalty per entry, path for the best on
    /// held-out entries, or none [default: by method]
    #[arg(
        long, value_name = "LAMBDA|path|none", value_parser = regularization, help_heading = MISSING
    )]
    pub(crate) regularization: Option<Regularization>,
    /// Keep no covariances: smaller models, predictions without standard deviations
    #[arg(long, help_heading = MISSING)]
    pub(crate) no_error_bars: bool,
    /// Hold out a share of the entries, whose errors calibrate the intervals of predict --interval [default share: 0.1]
    #[arg(
        long, value_name = "SHARE", num_args = 0..=1, require_equals = true, default_missing_value = "0.1",
        value_parser = share, help_heading = MISSING
    )]
    pub(crate) conformal: Option<f64>,
}

/// The options of every fit, including the fits of a cross-validation.
#[derive(Debug, Args)]
#[command(next_help_heading = MISSING)]
pub(crate) struct MissingArgs {
    /// Fit the observed entries of incomplete data
    ///
    /// Empty cells, NA, nulls and NaN are missing, and so are entries that a sparse matrix does not store. The weight of a
    /// row is how often it counts. Where the observed entries of a table exceed --memory-limit, fit --missing=online learns
    /// its rows block by block, in --max-iter passes [default: 1]
    #[arg(
        long, value_name = "METHOD", num_args = 0..=1, require_equals = true, default_missing_value = "auto",
        value_parser = choice::<Method>()
    )]
    pub(crate) missing: Option<Method>,
    /// Variance of the scores of vb-fixed [default: a thousand mean squares of the data]
    #[arg(long, value_name = "VARIANCE")]
    pub(crate) prior_variance: Option<f64>,
    /// One noise variance for all columns, or one of each: factor analysis, by ppca, vb, vb-fixed and vb-full [default: shared]
    #[arg(long, value_parser = choice::<NoiseModel>())]
    pub(crate) noise: Option<NoiseModel>,
    /// Mean of each column: fitted with the components, fixed from the observed entries, or none [default: joint]
    #[arg(long, value_parser = choice::<MeanMode>())]
    pub(crate) mean: Option<MeanMode>,
    /// Prior for column means, as COUNT pseudo-observations equal to VALUE [default VALUE: the mean of all entries]
    #[arg(long, value_name = "COUNT[:VALUE]", value_parser = mean_prior)]
    pub(crate) mean_prior: Option<MeanPrior>,
    /// Learn a normal prior of the means from all columns: means of columns with few entries shrink towards the others
    #[arg(long)]
    pub(crate) learn_mean_prior: bool,
    /// Hyperprior on every variance that the variational methods learn, inverse-gamma of this shape [default: 0, none]
    #[arg(long, value_name = "STRENGTH")]
    pub(crate) hyperprior: Option<f64>,
    /// Give each row an offset, a constant in all columns, on top of the column means
    #[arg(long)]
    pub(crate) row_offsets: bool,
    /// Initial learning rate of gradient, natural and newton [default: by line search]
    #[arg(long, value_name = "RATE")]
    pub(crate) step: Option<f64>,
    /// Update rule of online [default: diagonal]
    #[arg(long, value_parser = choice::<OnlineRule>())]
    pub(crate) online_rule: Option<OnlineRule>,
    /// Updates of scores and loadings of a component in turn by ccd [default: 3]
    #[arg(long, value_name = "N")]
    pub(crate) inner_iterations: Option<usize>,
    /// Hold out a share of the entries, stop when their error no longer falls, and keep the best [default share:
    /// 0.02; with fewer than 2500 entries 50 entries, or 0.2]
    #[arg(
        long, value_name = "SHARE", num_args = 0..=1, require_equals = true, value_parser = share,
        help_heading = STOPPING
    )]
    pub(crate) early_stopping: Option<Option<f64>>,
    /// After early stopping on held-out entries, fit again with all entries
    #[arg(long, help_heading = STOPPING)]
    pub(crate) refit: bool,
    /// Also stop when the gradient, relative to curvature and cost, falls below this
    #[arg(long, value_name = "TOL", help_heading = STOPPING)]
    pub(crate) gradient_tol: Option<f64>,
    /// Also stop when the components rotate by less than this per iteration, in radians
    #[arg(long, value_name = "RADIANS", help_heading = STOPPING)]
    pub(crate) angle_tol: Option<f64>,
    /// Also stop when the relative change of the error of the fitted entries falls below this
    #[arg(long, value_name = "TOL", help_heading = STOPPING)]
    pub(crate) rmse_tol: Option<f64>,
    /// Stop after the first iteration that ends later; short starts come before
    #[arg(long, value_name = "SECONDS", value_parser = seconds, help_heading = STOPPING)]
    pub(crate) time_limit: Option<Duration>,
    /// Number of random starts that are fitted; the best is kept. auto: starts from unlike places until two agree
    /// [default: auto]
    #[arg(long, value_name = "N")]
    pub(crate) starts: Option<Starts>,
    // The last field: the heading of a flattened struct also applies to the fields after it.
    #[command(flatten)]
    pub(crate) triples: TriplesArgs,
}

/// Options for reading triples.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Triples")]
pub(crate) struct TriplesArgs {
    /// The data are triples, one on each line: the columns of row ids, column ids, values and optional weights
    /// (inverse variances), by name, or by number from 1
    #[arg(long, value_name = "ROW,COLUMN,VALUE[,WEIGHT]", value_parser = triples)]
    pub(crate) triples: Option<TripleColumns>,
    /// Treatment of repeated entries in triples and sparse matrices [default: refuse]
    #[arg(long, value_parser = choice::<Duplicates>())]
    pub(crate) duplicates: Option<Duplicates>,
    /// Type of the values of triples and Matrix Market: f32 holds 7 digits in half the memory [default: f32]
    #[arg(long, value_enum)]
    pub(crate) dtype: Option<DtypeArg>,
}

impl TriplesArgs {
    /// The options for reading observed entries.
    pub(crate) fn options(&self) -> karhunen_io::ObserveOptions {
        karhunen_io::ObserveOptions {
            triples: self.triples.clone(),
            duplicates: self.duplicates.unwrap_or_default(),
            double: matches!(self.dtype, Some(DtypeArg::F64)),
            fit: None,
            more: karhunen::More,
        }
    }
}

impl MissingArgs {
    /// Returns true if early stopping was requested without a share.
    pub(crate) fn usual_share(&self) -> bool {
        self.early_stopping == Some(None)
    }

    /// Sets the options that were given; the default share of early stopping depends on the data.
    pub(crate) fn apply(&self, pca: &mut IncompletePca) {
        set(&mut pca.method, self.missing);
        pca.prior_variance = self.prior_variance;
        set(&mut pca.noise, self.noise);
        set(&mut pca.mean, self.mean);
        set(&mut pca.mean_prior, self.mean_prior);
        pca.learn_mean_prior = self.learn_mean_prior;
        set(&mut pca.hyperprior, self.hyperprior);
        pca.row_offsets = self.row_offsets;
        pca.step = self.step;
        set(&mut pca.online_rule, self.online_rule);
        set(&mut pca.inner_iterations, self.inner_iterations);
        pca.early_stopping = self.early_stopping.flatten();
        pca.refit = self.refit;
        pca.gradient_tol = self.gradient_tol;
        pca.angle_tol = self.angle_tol;
        pca.rmse_tol = self.rmse_tol;
        pca.time_limit = self.time_limit;
        set(&mut pca.n_starts, self.starts.map(|starts| starts.0));
    }
}

/// A number of starts; `None` compares short ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Starts(Option<usize>);

impl std::str::FromStr for Starts {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "auto" => Ok(Self(None)),
            number => {
                number.parse().map(|n| Self(Some(n))).map_err(|_| "a number of starts, or auto".to_owned())
            }
        }
    }
}

impl FitMissingArgs {
    /// Returns true if observed entries are to be fitted: also with `--triples`.
    pub(crate) fn wanted(&self) -> bool {
        self.missing.missing.is_some() || self.missing.triples.triples.is_some()
    }

    /// Sets the options that were given.
    pub(crate) fn apply(&self, pca: &mut IncompletePca) {
        self.missing.apply(pca);
        set(&mut pca.alpha, self.alpha);
        pca.regularization = self.regularization;
        pca.error_bars = !self.no_error_bars;
        pca.conformal = self.conformal;
    }
}

/// Refuses options that require missing values.
///
/// # Errors
/// [`Failure::Usage`].
pub(crate) fn check_unused(given: &Given) -> Result<()> {
    match given.first_of::<FitMissingArgs>(&[]) {
        None => Ok(()),
        Some(option) => Err(Failure::Usage(format!(
            "{option} has no effect on the fit of complete data; use --missing, or leave it out"
        ))),
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum DtypeArg {
    /// Single precision
    F32,
    /// Double precision
    F64,
}

fn regularization(text: &str) -> std::result::Result<Regularization, String> {
    if text.contains(',') {
        return Err("a fit has one penalty; karhunen cross-validate compares several".to_owned());
    }
    let rule = || "give a positive number, weighted: and a positive number, path, or none".to_owned();
    Regularization::of_name(text).or_else(|| penalty(text)).ok_or_else(rule)
}

/// Parses a penalty: a number, `weighted:` and a number, or `none`.
pub(crate) fn penalty(text: &str) -> Option<Regularization> {
    let number = |text: &str| text.parse().ok().filter(|lambda: &f64| *lambda > 0.0 && lambda.is_finite());
    match text.strip_prefix("weighted:") {
        _ if text == "none" => Some(Regularization::None),
        Some(text) => number(text).map(Regularization::Weighted),
        None => number(text).map(Regularization::Ridge),
    }
}

fn mean_prior(text: &str) -> std::result::Result<MeanPrior, String> {
    let number = |text: &str| {
        let rule = || "give a count, or a count and a value, such as 22:3".to_owned();
        text.parse::<f64>().ok().filter(|number| number.is_finite()).ok_or_else(rule)
    };
    Ok(match text.split_once(':') {
        Some((count, value)) => MeanPrior { count: number(count)?, value: Some(number(value)?) },
        None => MeanPrior { count: number(text)?, value: None },
    })
}

pub(crate) fn share(text: &str) -> std::result::Result<f64, String> {
    let number = match text.strip_suffix('%') {
        Some(percent) => percent.trim_end().parse::<f64>().map(|percent| percent / 100.0),
        None => text.parse::<f64>(),
    };
    number.map_err(|_| "give a share, such as 0.05 or 5%".to_owned())
}

fn names(text: &str) -> Option<Vec<String>> {
    let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
    Some(names).filter(|names| names.iter().all(|name| !name.is_empty()))
}

fn triples(text: &str) -> std::result::Result<TripleColumns, String> {
    let columns = names(text).and_then(|names| match &names[..] {
        [row, column, value] => Some((row.clone(), column.clone(), value.clone(), None)),
        [row, column, value, weight] => {
            Some((row.clone(), column.clone(), value.clone(), Some(weight.clone())))
        }
        _ => None,
    });
    let (row, column, value, weight) = columns.ok_or(
        "give three or four columns separated by commas, such as user,item,rating, or their numbers, such as 1,2,3",
    )?;
    Ok(TripleColumns { row, column, value, weight })
}

/// Parses two column names, separated by a comma.
pub(crate) fn pair(text: &str) -> std::result::Result<[String; 2], String> {
    let rule = || {
        "give two columns separated by a comma, such as user,item, or their numbers, such as 1,2".to_owned()
    };
    names(text).and_then(|names| names.try_into().ok()).ok_or_else(rule)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn penalties_priors_and_columns() {
        assert_eq!(regularization("none"), Ok(Regularization::None));
        assert_eq!(regularization("path"), Ok(Regularization::Path));
        assert_eq!(regularization("0.5"), Ok(Regularization::Ridge(0.5)));
        assert_eq!(regularization("weighted:0.02"), Ok(Regularization::Weighted(0.02)));
        for text in ["", "0", "-1", "nan", "weighted:", "weighted", "inf", "ridge:1", "1,2"] {
            assert!(regularization(text).is_err(), "{text}");
        }
        assert_eq!(mean_prior("22:3"), Ok(MeanPrior { count: 22.0, value: Some(3.0) }));
        assert_eq!(mean_prior("5"), Ok(MeanPrior { count: 5.0, value: None }));
        for text in ["", "x", "5:", ":3", "1:2:3", "nan"] {
            assert!(mean_prior(text).is_err(), "{text}");
        }
        assert_eq!(triples("user, item,rating").unwrap().column, "item");
        assert_eq!(triples("1,2,3,4").unwrap().weight.as_deref(), Some("4"));
        for text in ["", "a,b", "a,,c", "a,b,c,d,e"] {
            assert!(triples(text).is_err(), "{text}");
        }
        assert!(pair("a,b").is_ok() && pair("a").is_err() && pair("a,b,c").is_err());
        assert_eq!((share("0.05"), share("5%"), share("5 %")), (Ok(0.05), Ok(0.05), Ok(0.05)));
        assert!(share("").is_err() && share("five").is_err() && share("%").is_err());
        assert_eq!(seconds("1.5"), Ok(Duration::from_millis(1500)));
        assert!(seconds("-1").is_err() && seconds("nan").is_err() && seconds("soon").is_err());
    }
}
