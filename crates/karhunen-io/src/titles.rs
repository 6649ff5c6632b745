//! Words in names of columns: ids, and titles of columns that hold texts, such as the names of rows.

/// Titles of columns that hold texts, and last words of such titles of two words.
const TITLES: [&str; 20] = [
    "name", "names", "sample", "samples", "subject", "patient", "country", "region", "province", "state",
    "county", "city", "station", "site", "gene", "species", "month", "year", "date", "time",
];
const LAST_WORDS: [&str; 2] = ["name", "code"];

/// Tests for a text that is often the title of a column of texts: `country`, `Country Name`, `sample_id`. It may be the name
/// of a row, too.
pub(crate) fn is_title(text: &str) -> bool {
    let plain = plain(text);
    let last = plain.split_once(' ').is_some_and(|(_, last)| LAST_WORDS.contains(&last));
    TITLES.contains(&plain.as_str()) || last || is_id_name(text)
}

/// Tests for names such as `id`, `row_number`, `patientId`, and the `Unnamed: 0` of an index that pandas wrote.
pub(crate) fn is_id_name(name: &str) -> bool {
    const NAMES: [&str; 19] = [
        "id",
        "idx",
        "rowid",
        "rownum",
        "row number",
        "unnamed: 0",
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
        for text in
            ["id", "index", "Sample ID", "patientId", "Unnamed: 0", "Country Name", "country_code", "City"]
        {
            assert!(is_title(text), "{text}");
        }
        for text in ["Paris", "s1", "Mexico City", "Kings County", "Ohio State", ""] {
            assert!(!is_title(text), "{text}");
        }
    }
}
