//! The options that the user typed. Which options belong together is known from the structs that define them, so a
//! new option needs no list.

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

/// The ids of the options that the user typed. A field of this type comes first in its struct, because other fields
/// take their values away when they are read.
#[derive(Clone, Debug)]
pub(crate) struct Given(Vec<String>);

impl Given {
    /// The first flag of the group `G` that was typed, in the order of the definition, except those with the ids
    /// `others`.
    pub(crate) fn first_of<G: Args>(&self, others: &[&str]) -> Option<String> {
        let is_given = |arg: &&Arg| {
            let id = arg.get_id().as_str();
            !others.contains(&id) && self.0.iter().any(|given| given == id)
        };
        let group = G::augment_args(Command::new(""));
        group.get_arguments().filter(is_given).find_map(Arg::get_long).map(|name| format!("--{name}"))
    }
}

impl FromArgMatches for Given {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let ids = matches.ids().map(|id| id.as_str());
        let typed = ids.filter(|id| matches.value_source(id) == Some(ValueSource::CommandLine));
        Ok(Self(typed.map(str::to_owned).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Given {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

/// Sets an option that was given.
pub(crate) fn set<T>(place: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *place = given;
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::categories::CategoryArgs;
    use crate::args::fit::{PcaArgs, RowsArgs, SolverArgs};
    use crate::args::kernel::KernelArgs;
    use crate::args::missing::FitMissingArgs;
    use crate::args::{Cli, Command as Karhunen};
    use crate::categorical::plan::CategoryPlan;
    use crate::files::checkpoints::CheckpointArgs;
    use crate::incomplete::plan::IncompletePlan;
    use crate::kernel::plan::KernelPlan;
    use crate::pca::plan::FitPlan;

    /// The resolved fit as text; `None` if the value is none of the flag's, or an error if the fit has no use for it.
    fn resolved(words: &[String]) -> Option<Result<String, String>> {
        let fixed = ["karhunen", "fit", "x.csv"].map(str::to_owned);
        let Karhunen::Fit(args) = Cli::try_parse_from(fixed.iter().chain(words)).ok()?.command else {
            panic!("{words:?}");
        };
        let shown = |plan: &dyn std::fmt::Debug| format!("{plan:?}");
        let plan = if let Some(kernel) = args.kernel.kernel {
            KernelPlan::resolve(*args, kernel).map(|plan| shown(&plan))
        } else if let Some(analysis) = args.categories.analysis() {
            CategoryPlan::resolve(*args, analysis).map(|plan| shown(&plan))
        } else if args.missing.wanted() {
            IncompletePlan::resolve(*args).map(|plan| shown(&plan))
        } else {
            FitPlan::resolve(*args).map(|plan| shown(&plan))
        };
        Some(plan.map_err(|failure| failure.to_string()))
    }

    #[test]
    fn every_option_of_an_estimator_changes_a_fit_and_is_refused_by_others() {
        let groups = [
            FitMissingArgs::augment_args,
            KernelArgs::augment_args,
            CategoryArgs::augment_args,
            PcaArgs::augment_args,
            RowsArgs::augment_args,
            CheckpointArgs::augment_args,
            SolverArgs::augment_args,
        ];
        let fits = [
            "",
            "--scale=binomial",
            "-o m.model",
            "--missing=em",
            "--missing=em --checkpoint=c",
            "--kernel=linear",
            "--mca",
            "--famd",
            "--kernel=poly",
            "--kernel=rbf --solver=nystrom",
        ]
        .map(|words| words.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let options = groups.into_iter().fold(Command::new(""), |command, group| group(command));
        for arg in options.get_arguments() {
            let Some(flag) = arg.get_long() else { continue };
            if ["missing", "kernel", "mca", "famd"].contains(&flag) {
                continue;
            }
            let names = arg.get_possible_values();
            let values = names.iter().map(|value| value.get_name()).chain(["7", "0.37", "a,b,c", "t.csv"]);
            let words: Vec<String> =
                values.map(|value| format!("--{flag}={value}")).chain([format!("--{flag}")]).collect();
            let mut changes = false;
            for fit in &fits {
                let usual = resolved(fit).unwrap().unwrap();
                let with = |word: &String| resolved(&[&fit[..], std::slice::from_ref(word)].concat());
                let outcomes: Vec<_> = words.iter().filter_map(with).collect();
                let is_same = |outcome: &Result<String, String>| outcome.as_ref() == Ok(&usual);
                // No outcome: the fit has the flag already.
                let is_idle = !outcomes.is_empty() && outcomes.iter().all(is_same);
                assert!(!is_idle, "--{flag} has no effect on fit {fit:?}");
                changes |= outcomes.iter().any(|outcome| outcome.is_ok() && !is_same(outcome));
            }
            assert!(changes, "--{flag} is refused by every fit");
        }
    }

    #[test]
    fn a_default_and_a_flag_of_another_group_are_not_given() {
        let Karhunen::Fit(args) =
            Cli::try_parse_from(["karhunen", "fit", "x.csv", "--degree", "2"]).unwrap().command
        else {
            panic!();
        };
        assert_eq!(args.given.first_of::<KernelArgs>(&[]).as_deref(), Some("--degree"));
        assert_eq!(args.given.first_of::<KernelArgs>(&["degree"]), None);
        assert_eq!(args.given.first_of::<SolverArgs>(&[]), None);
    }
}
