//! Parsers of option values.

use std::num::NonZeroUsize;
use std::time::Duration;

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use karhunen::choice::{Choice, Named};
use karhunen_io::{Comment, Log1p, SkippedLines};

/// The extent of the JSON summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum JsonExtent {
    /// All but the components and loadings
    Summary,
    /// Everything
    Full,
}

/// Parses the rows of a table of choices that take no number.
pub(crate) fn choice<C: Choice + Send + Sync>() -> impl TypedValueParser<Value = C> {
    choice_of(|row: &Named<C>| !row.takes_number)
}

/// Parses the rows of a table of choices for which `is_offered` returns true.
pub(crate) fn choice_of<C: Choice + Send + Sync>(
    is_offered: impl Fn(&Named<C>) -> bool,
) -> impl TypedValueParser<Value = C> {
    let values = C::TABLE.iter().filter(|row| is_offered(row)).map(possible_value);
    // The parser accepts no other name.
    PossibleValuesParser::new(values).try_map(|name| C::of_name(&name).ok_or("not a choice"))
}

/// A row of a table of choices as a value of clap.
pub(crate) fn possible_value<C>(row: &Named<C>) -> PossibleValue {
    let aliases = (row.python != row.name).then_some(row.python);
    PossibleValue::new(row.name).aliases(aliases).help(row.help)
}

/// A positive count.
pub(crate) fn at_least_one(text: &str) -> std::result::Result<NonZeroUsize, String> {
    text.parse().map_err(|_| "give a whole number of at least 1".to_owned())
}

/// A delimiter; its characters are checked where the table is read.
pub(crate) fn delimiter(text: &str) -> std::result::Result<String, String> {
    match text {
        "tab" | "\\t" => Ok("\t".to_owned()),
        "space" => Ok(" ".to_owned()),
        "comma" => Ok(",".to_owned()),
        "semicolon" => Ok(";".to_owned()),
        _ if !text.is_empty()
            && text.chars().all(|c| c.is_ascii() && !c.is_ascii_alphanumeric() && c != '"') =>
        {
            Ok(text.to_owned())
        }
        _ => Err("give characters that are not letters, digits or quotes, or tab, or space".to_owned()),
    }
}

/// A sign of numbers.
pub(crate) fn sign(text: &str) -> std::result::Result<char, String> {
    let mut chars = text.chars();
    match (text, chars.next(), chars.next()) {
        ("space", ..) => Ok(' '),
        (_, Some(sign), None) => Ok(sign),
        _ => Err("give one character, or space".to_owned()),
    }
}

/// The sign of decimals.
pub(crate) fn decimal(text: &str) -> std::result::Result<char, String> {
    match text {
        "." | "point" => Ok('.'),
        "," | "comma" => Ok(','),
        _ => Err("give . or ,".to_owned()),
    }
}

/// The mark of comments.
pub(crate) fn comment(text: &str) -> std::result::Result<Comment, String> {
    match text.as_bytes() {
        b"none" => Ok(Comment::None),
        [mark @ 33..=126] if !mark.is_ascii_alphanumeric() && *mark != b'"' => Ok(Comment::Mark(*mark)),
        _ => Err("give one character that is not a letter, digit or quote, or none".to_owned()),
    }
}

/// Lines to leave out: the first N, or those from N to M.
pub(crate) fn skipped(text: &str) -> std::result::Result<SkippedLines, String> {
    let number = |text: &str| text.trim().parse::<u64>().ok().filter(|line| *line > 0);
    let lines = match text.split_once('-') {
        Some((first, last)) => number(first).zip(number(last)),
        None => number(text).map(|last| (1, last)),
    };
    match lines {
        Some((first, last)) if first <= last => Ok(SkippedLines { first, last }),
        _ => Err("give a number of lines, such as 1, or lines from one, such as 2-3".to_owned()),
    }
}

/// The words between the commas of each text; words in double quotes may hold commas.
pub(crate) fn split(texts: &[String]) -> Vec<String> {
    let records = |text: &String| {
        let reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
        reader.into_records().filter_map(|record| record.ok()).collect::<Vec<_>>()
    };
    let words = |record: csv::StringRecord| record.iter().map(str::to_owned).collect::<Vec<_>>();
    texts.iter().flat_map(records).flat_map(words).collect()
}

/// The words between commas, as [`split`] reads them.
pub(crate) fn joined(words: &[String]) -> String {
    let quoted = |word: &String| {
        let is_plain = !word.contains([',', '"', '\n', '\r']);
        if is_plain { word.clone() } else { format!("\"{}\"", word.replace('"', "\"\"")) }
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(",")
}

/// The sum of each row, or the median of all.
pub(crate) fn log1p(text: &str) -> std::result::Result<Log1p, String> {
    match text.parse::<f64>() {
        Ok(sum) if sum > 0.0 && sum.is_finite() => Ok(Log1p::To(sum)),
        _ if text == "median" => Ok(Log1p::Median),
        _ => Err("give a positive number, such as 10000, or median".to_owned()),
    }
}

/// A number of bytes, in decimal or binary multiples.
pub(crate) fn memory(text: &str) -> std::result::Result<u64, String> {
    const UNITS: [(&str, f64); 9] = [
        ("kib", 1024.0),
        ("mib", 1_048_576.0),
        ("gib", 1_073_741_824.0),
        ("tib", 1_099_511_627_776.0),
        ("kb", 1e3),
        ("mb", 1e6),
        ("gb", 1e9),
        ("tb", 1e12),
        ("b", 1.0),
    ];
    let lower = text.trim().to_ascii_lowercase();
    let (number, unit) = UNITS
        .into_iter()
        .find_map(|(name, unit)| Some((lower.strip_suffix(name)?, unit)))
        .unwrap_or((&lower, 1.0));
    let bytes = number.trim_end().parse::<f64>().ok().map(|number| number * unit);
    match bytes {
        Some(bytes) if (1.0..=1e18).contains(&bytes) => Ok(bytes as u64),
        _ => Err("give a number of bytes, such as 500MB, 2GB or 2GiB".to_owned()),
    }
}

pub(crate) fn seconds(text: &str) -> std::result::Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.ok_or_else(|| "give a number of seconds".to_owned())
}

/// Numbers of components, each once, in the given order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ComponentList(pub(crate) Vec<usize>);

/// Parses a list of numbers from 1 and ranges.
pub(crate) fn component_list(text: &str) -> std::result::Result<ComponentList, String> {
    /// Each may be a fit.
    const MOST: usize = 1000;
    let rule = || "give numbers of at least 1 and ranges, such as 1,2,5 or 1-5,8".to_owned();
    let number = |text: &str| text.trim().parse::<usize>().ok().filter(|c| *c > 0).ok_or_else(rule);
    let mut list = Vec::new();
    let too_many = || format!("more than {MOST} numbers; give fewer");
    for part in text.split(',') {
        let (first, last) = match part.split_once('-') {
            Some((first, last)) => (number(first)?, number(last)?),
            None => (number(part)?, number(part)?),
        };
        if first > last {
            return Err(rule());
        }
        if last - first >= MOST {
            return Err(too_many());
        }
        list.extend((first..=last).filter(|c| !list.contains(c)).collect::<Vec<_>>());
        if list.len() > MOST {
            return Err(too_many());
        }
    }
    Ok(ComponentList(list))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_at_least_one() {
        assert_eq!(at_least_one("7").map(usize::from), Ok(7));
        for text in ["0", "-1", "1.5", ""] {
            assert_eq!(at_least_one(text), Err("give a whole number of at least 1".to_owned()), "{text}");
        }
    }

    #[test]
    fn delimiters() {
        for (text, expected) in
            [(";", ";"), ("tab", "\t"), ("\\t", "\t"), ("\t", "\t"), ("space", " "), ("::", "::")]
        {
            assert_eq!(delimiter(text).as_deref(), Ok(expected), "{text}");
        }
        for text in ["", "ab", "a", "7", "\"", "é"] {
            assert!(delimiter(text).is_err(), "{text}");
        }
    }

    #[test]
    fn lines_to_leave_out() {
        let lines = |text: &str| skipped(text).map(|SkippedLines { first, last }| (first, last));
        assert_eq!((lines("3"), lines("2-3")), (Ok((1, 3)), Ok((2, 3))));
        for text in ["", "0", "-1", "3-2", "a"] {
            assert!(lines(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes() {
        let sizes = [
            ("1000", 1000),
            ("12 B", 12),
            ("500MB", 500_000_000),
            ("2gb", 2_000_000_000),
            ("1.5 GiB", 1_610_612_736),
            ("1e9", 1_000_000_000),
        ];
        for (text, bytes) in sizes {
            assert_eq!(memory(text), Ok(bytes), "{text}");
        }
        for text in ["", "GB", "0", "-1GB", "nan", "two", "1PB", "1e30"] {
            assert!(memory(text).is_err(), "{text}");
        }
    }

    #[test]
    fn words_with_commas_are_in_quotes() {
        let texts = ["a,\"<0,5\",,-9", "c d"].map(str::to_owned);
        let words = split(&texts);
        assert_eq!(words, ["a", "<0,5", "", "-9", "c d"]);
        assert_eq!(joined(&words), "a,\"<0,5\",,-9,c d");
        assert_eq!(split(&[joined(&["\"".to_owned(), "x\"y,".to_owned()])]), ["\"", "x\"y,"]);
    }

    #[test]
    fn lists_of_components() {
        for (text, expected) in
            [("3", vec![3]), ("1,2,5", vec![1, 2, 5]), ("1-3,8,2", vec![1, 2, 3, 8]), ("5, 2", vec![5, 2])]
        {
            assert_eq!(component_list(text), Ok(ComponentList(expected)), "{text}");
        }
        for text in ["", "0", "1,", "3-1", "a", "1-", "-3", "2.5", "18446744073709551616"] {
            let rule = "give numbers of at least 1 and ranges, such as 1,2,5 or 1-5,8";
            assert_eq!(component_list(text), Err(rule.to_owned()), "{text}");
        }
        let ranges: Vec<String> = (0..50_000).map(|n| format!("{}-{}", 900 * n + 1, 900 * n + 900)).collect();
        for text in ["1-1001", "1-9999999999", "1-18446744073709551615", "1-600,601-1001", &ranges.join(",")]
        {
            let rule = "more than 1000 numbers; give fewer";
            assert_eq!(component_list(text), Err(rule.to_owned()), "{:.40}", text);
        }
        assert_eq!(component_list("1-1000").unwrap().0.len(), 1000);
    }
}
