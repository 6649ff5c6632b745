//! One number of components from the answers of several rules.

use crate::selection::{Rule, Selection};

/// A number of components that the answers of rules support.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    /// The number; `None` if no two families of rules agree, or no rule applies.
    pub n_components: Option<usize>,
    /// The rule or the families that support it, or why there is none.
    pub reason: String,
}

/// The answer of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The rule.
    pub rule: Rule,
    /// Its number of components; `None` if it does not apply.
    pub n_components: Option<usize>,
    /// True if the number is at the edge of the range of the rule.
    pub at_edge: bool,
}

impl From<&Selection> for Answer {
    fn from(row: &Selection) -> Self {
        Self { rule: row.rule, n_components: row.n_components, at_edge: row.at_edge }
    }
}

/// A family of rules that rest on one idea, and so have one vote.
fn family(rule: Rule) -> &'static str {
    match rule {
        Rule::Kaiser | Rule::Jolliffe => "average variance",
        Rule::BaiNgIc1
        | Rule::BaiNgIc2
        | Rule::BaiNgIc3
        | Rule::BaiNgPc1
        | Rule::BaiNgPc2
        | Rule::BaiNgPc3 => "bai-ng",
        Rule::ParallelPermutation | Rule::ParallelNormal => "parallel analysis",
        Rule::CrossValidation | Rule::CrossValidationOneError => "cross-validation",
        rule => rule.name(),
    }
}

/// The rules that compare the data with others, whose answer outweighs the rules of the variances, the first one most.
/// No component is an answer, though it is the least.
const DECISIVE: [Rule; 4] =
    [Rule::ParallelPermutation, Rule::ParallelNormal, Rule::CrossValidationOneError, Rule::CrossValidation];

/// Takes the answer of parallel analysis, or of cross-validation, if there is one; otherwise the number that most families of
/// rules give, if two or more do and no other number has as many. The criteria of Bai and Ng are one family, and so are Kaiser's
/// and Jolliffe's rules: a family has the answer of more than half of its rules. Answers at the edge of their range do not
/// count; where parallel analysis or cross-validation has its largest number, there may be more, and none is suggested.
pub fn suggest(answers: impl IntoIterator<Item = impl Into<Answer>>) -> Suggestion {
    let table: Vec<Answer> = answers.into_iter().map(Into::into).collect();
    let votes = votes(&table);
    let at_top = |row: &Answer| row.at_edge && row.n_components != Some(0);
    let decisive = |rule: &Rule| {
        let row = table.iter().find(|row| row.rule == *rule && row.n_components.is_some())?;
        Some((row, row.n_components?))
    };
    // The bound of one standard error needs a least error within the range.
    let is_open = |(row, _): &(&Answer, usize)| {
        row.rule == Rule::CrossValidationOneError
            && table.iter().any(|row| row.rule == Rule::CrossValidation && at_top(row))
    };
    if let Some((row, n)) = DECISIVE.iter().filter_map(decisive).find(|found| !is_open(found)) {
        if at_top(row) {
            let reason = format!("{} has its largest number, {n}, so there may be more", row.rule.name());
            return Suggestion { n_components: None, reason };
        }
        let is_other = |(name, vote): &&(&'static str, usize)| *vote == n && *name != family(row.rule);
        let agree: Vec<&str> = votes.iter().filter(is_other).map(|(name, _)| *name).collect();
        let verb = if agree.len() == 1 { "agrees" } else { "agree" };
        let others =
            if agree.is_empty() { String::new() } else { format!(", with which {} {verb}", joined(&agree)) };
        return Suggestion { n_components: Some(n), reason: format!("by {}{others}", row.rule.name()) };
    }
    let times = |n: usize| votes.iter().filter(|(_, vote)| *vote == n).count();
    let most = votes.iter().map(|(_, vote)| times(*vote)).max().unwrap_or(0);
    let mut best: Vec<usize> =
        votes.iter().map(|(_, vote)| *vote).filter(|vote| times(*vote) == most).collect();
    best.sort_unstable();
    best.dedup();
    match best[..] {
        [n] if most >= 2 => {
            let names: Vec<&str> =
                votes.iter().filter(|(_, vote)| *vote == n).map(|(name, _)| *name).collect();
            let reason = format!("{most} of {} families of rules agree: {}", votes.len(), joined(&names));
            Suggestion { n_components: Some(n), reason }
        }
        _ => Suggestion { n_components: None, reason: undecided(&votes) },
    }
}

/// The answers of the families, by the order of their first rules.
fn votes(table: &[Answer]) -> Vec<(&'static str, usize)> {
    let mut votes = Vec::new();
    for name in table.iter().map(|row| family(row.rule)) {
        if votes.iter().any(|(known, _)| *known == name) {
            continue;
        }
        let answers: Vec<usize> = table
            .iter()
            .filter(|row| family(row.rule) == name && !row.at_edge)
            .filter_map(|row| row.n_components)
            .collect();
        let is_common = |n: &&usize| 2 * answers.iter().filter(|other| other == n).count() > answers.len();
        if let Some(n) = answers.iter().find(is_common) {
            votes.push((name, *n));
        }
    }
    votes
}

/// Names in a sentence.
fn joined(names: &[&str]) -> String {
    match names {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        names => names.concat(),
    }
}

fn undecided(votes: &[(&'static str, usize)]) -> String {
    let answers: Vec<String> = votes.iter().map(|(name, n)| format!("{name} {n}")).collect();
    match answers.len() {
        0 => "no rule applies and has an answer within its range".to_owned(),
        1 => format!(
            "only one family of rules has an answer ({}); parallel analysis of the data decides",
            answers[0]
        ),
        _ => format!(
            "families of rules differ ({}); parallel analysis of the data decides",
            answers.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[(Rule, usize, bool)]) -> Vec<Answer> {
        rows.iter().map(|&(rule, n, at_edge)| Answer { rule, n_components: Some(n), at_edge }).collect()
    }

    #[test]
    fn families_vote_once_and_edges_not_at_all() {
        let six =
            [Rule::BaiNgIc1, Rule::BaiNgIc2, Rule::BaiNgIc3, Rule::BaiNgPc1, Rule::BaiNgPc2, Rule::BaiNgPc3];
        let mut rows: Vec<_> = six.into_iter().map(|rule| (rule, 7, false)).collect();
        rows.extend([(Rule::Kaiser, 3, false), (Rule::BrokenStick, 2, false)]);
        // Three families with three answers.
        let found = suggest(table(&rows));
        assert_eq!(found.n_components, None);
        assert!(
            found.reason.contains("average variance 3") && found.reason.contains("bai-ng 7"),
            "{found:?}"
        );
        rows.push((Rule::Gcv, 3, false));
        let found = suggest(table(&rows));
        assert_eq!(found.n_components, Some(3));
        assert_eq!(found.reason, "2 of 4 families of rules agree: average variance and gcv");
        // At the edge of its range a rule has no vote; a family that is divided has none either.
        rows.pop();
        rows.push((Rule::Gcv, 3, true));
        assert_eq!(suggest(table(&rows)).n_components, None);
        rows.extend([(Rule::Minka, 3, false), (Rule::Jolliffe, 4, false)]);
        assert_eq!(suggest(table(&rows)).n_components, None);
        assert_eq!(suggest(table(&[])).n_components, None);
    }

    #[test]
    fn comparisons_with_other_data_decide() {
        let rows = [(Rule::Kaiser, 4, false), (Rule::Gcv, 4, false), (Rule::ParallelNormal, 4, false)];
        let found = suggest(table(&rows));
        assert_eq!(
            (found.n_components, &found.reason[..]),
            (Some(4), "by parallel-normal, with which average variance and gcv agree")
        );
        // No component is an answer of parallel analysis, all of them are not.
        let none = [(Rule::Kaiser, 4, false), (Rule::Gcv, 4, false), (Rule::ParallelPermutation, 0, true)];
        assert_eq!(suggest(table(&none)).n_components, Some(0));
        let all = [(Rule::Kaiser, 4, false), (Rule::Gcv, 4, false), (Rule::ParallelPermutation, 9, true)];
        assert_eq!(suggest(table(&all)).n_components, None);
        // Within one standard error of an error that may fall further.
        let open = [(Rule::CrossValidation, 6, true), (Rule::CrossValidationOneError, 4, false)];
        assert_eq!(suggest(table(&open)).n_components, None);
        let within = [(Rule::CrossValidation, 5, false), (Rule::CrossValidationOneError, 4, false)];
        assert_eq!(suggest(table(&within)).n_components, Some(4));
    }
}
