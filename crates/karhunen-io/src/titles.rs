//! Words in names of columns: ids, and titles of columns that hold texts, such as the names of rows.

/// Whether a text is the title of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Title {
    /// Nothing says so.
    #[default]
    None,
    /// A word that is often a title, and may name a row, as in counts of words.
    Likely,
    /// A text that names no row.
    Certain,
}

/// Last words of titles of columns that hold texts.
const TITLES: [&str; 21] = [
    "name", "names", "sample", "samples", "subject", "patient", "country", "region", "province", "state",
    "county", "city", "station", "site", "gene", "species", "month", "year", "date", "time", "code",
];

impl Title {
    /// Classifies a text.
    pub(crate) fn of(text: &str) -> Self {
        let plain = plain(text);
        let is_title = || plain.split_whitespace().last().is_some_and(|word| TITLES.contains(&word));
        if is_no_word(text) {
            Title::Certain
        } else if is_id_name(text) || is_title() {
            Title::Likely
        } else {
            Title::None
        }
    }
}

/// Tests for names such as `id`, `row_number`, `patientId`, and the `Unnamed: 0` of an index that pandas wrote.
pub(crate) fn is_id_name(name: &str) -> bool {
    const NAMES: [&str; 13] = [
        "index",
        "row",
        "no",
        "nr",
        "number",
        "key",
        "record",
        "observation",
        "code",
        "zip",
        "zipcode",
        "zip code",
        "postcode",
    ];
    NAMES.contains(&plain(name).as_str()) || is_no_word(name)
}

/// Tests for names of ids that are no words of a language.
fn is_no_word(name: &str) -> bool {
    const NAMES: [&str; 6] = ["id", "idx", "rowid", "rownum", "row number", "unnamed: 0"];
    let plain = plain(name);
    let camel = name.strip_suffix("Id").or_else(|| name.strip_suffix("ID"));
    NAMES.contains(&plain.as_str())
        || plain.ends_with(" id")
        || camel.is_some_and(|before| before.ends_with(|c: char| c.is_lowercase()))
}

/// The name in lower case, with spaces between its words.
pub(crate) fn plain(name: &str) -> String {
    name.to_lowercase().replace(['_', '.', '-'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_told_from_names_of_rows() {
        for (text, title) in [
            ("id", Title::Certain),
            ("index", Title::Likely),
            ("Sample ID", Title::Certain),
            ("patientId", Title::Certain),
            ("Unnamed: 0", Title::Certain),
            ("Country Name", Title::Likely),
            ("country_code", Title::Likely),
            ("code", Title::Likely),
            ("City", Title::Likely),
            ("Paris", Title::None),
            ("s1", Title::None),
            ("", Title::None),
        ] {
            assert_eq!(Title::of(text), title, "{text}");
        }
    }
}
