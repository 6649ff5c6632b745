//! Minimisation of findings: removes parts, then simplifies bytes, while the same invariant is broken.

use crate::supervisor::{Finding, folder, start, watch};
use crate::worker::kind;

/// The most runs of the program for one finding.
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
    // An input that breaks the invariant only after other inputs is kept unchanged.
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

/// The invariant that an input breaks, in a process of its own.
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
