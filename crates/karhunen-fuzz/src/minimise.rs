//! Findings made small: parts are left out, then bytes made plain, as long as the same invariant breaks.

use crate::supervisor::{Finding, folder, start, watch};
use crate::worker::kind;

/// Runs of the program that one finding is worth.
const MOST_RUNS: usize = 400;

/// A smaller input that breaks the same invariant, or the same input.
///
/// # Errors
/// Files and processes of the search itself.
pub fn minimised(finding: &Finding) -> Result<Finding, String> {
    let wanted = kind(&finding.what);
    let mut runs = 0;
    let mut same = |bytes: &[u8]| -> Result<bool, String> {
        runs += 1;
        if runs > MOST_RUNS {
            return Ok(false);
        }
        let what = verdict(&Finding { bytes: bytes.to_vec(), ..finding.clone() })?;
        Ok(what.is_some_and(|what| kind(&what) == wanted))
    };
    let mut best = finding.bytes.clone();
    // What does not break it again (a matter of what ran before) is kept as it is.
    if !same(&best)? {
        return Ok(finding.clone());
    }
    let mut size = best.len().div_ceil(2);
    while size > 0 {
        let mut begin = 0;
        while begin < best.len() {
            let end = (begin + size).min(best.len());
            let shorter = [&best[..begin], &best[end..]].concat();
            if same(&shorter)? {
                best = shorter;
            } else {
                begin = end;
            }
        }
        size /= 2;
    }
    Ok(Finding { bytes: best, ..finding.clone() })
}

/// What an input breaks, run in a process of its own.
///
/// # Errors
/// Files and processes of the search itself.
pub fn verdict(finding: &Finding) -> Result<Option<String>, String> {
    let folder = folder()?;
    let path = folder.path().join("input").with_extension(&finding.extension);
    std::fs::write(&path, &finding.bytes).map_err(|error| error.to_string())?;
    let mut child = start(folder.path(), &["once", finding.target.name(), &path.to_string_lossy()])?;
    if let Some(ended) = watch(&mut child, folder.path())? {
        return Ok(Some(ended));
    }
    let what = std::fs::read_to_string(folder.path().join("why")).unwrap_or_default();
    Ok((!what.is_empty()).then_some(what))
}
