//! The names of components in tables, reports, files and messages.

/// The share of the rows with a category.
pub(crate) const SHARE: &str = "share";
/// The results by category, each with a column for every component.
pub(crate) const CATEGORY_COLUMNS: [&str; 4] = ["coordinate", "contribution", "cos2", "v_test"];
/// The columns of the diagnostics of rows.
pub(crate) const ROW_COLUMNS: [&str; 3] = ["T2", "SPE", "distance2"];
/// The columns of the diagnostics of rows with missing values, whose limits depend on what is observed.
pub(crate) const INCOMPLETE_ROW_COLUMNS: [&str; 7] =
    ["T2", "T2_degrees", "T2_limit", "SPE", "SPE_degrees", "SPE_limit", "distance2"];
/// Beginnings of the columns of the diagnostics of features, each followed by the name of a component.
pub(crate) const FEATURE_COLUMNS: [&str; 3] = ["correlation_", "contribution_", "cos2_"];
/// The last column of the diagnostics of features.
pub(crate) const COMMUNALITY: &str = "communality";

/// The name of component `c`, counted from zero: `PC1`, `PC2`, ….
pub(crate) fn of_component(c: usize) -> String {
    format!("PC{}", c + 1)
}

/// The names of the first `n` components.
pub(crate) fn of_components(n: usize) -> Vec<String> {
    (0..n).map(of_component).collect()
}

/// The name of rotated component `c`, counted from zero: `RC1`, `RC2`, ….
pub(crate) fn of_rotated_component(c: usize) -> String {
    format!("RC{}", c + 1)
}

/// The names of the first `n` rotated components.
pub(crate) fn of_rotated(n: usize) -> Vec<String> {
    (0..n).map(of_rotated_component).collect()
}

/// The component, rotated or not, counted from zero, that a column name denotes, if any. Earlier versions wrote `pc1`.
pub(crate) fn component_of(name: &str) -> Option<usize> {
    let number = ["PC", "RC", "pc"].into_iter().find_map(|prefix| name.strip_prefix(prefix))?;
    number.parse::<usize>().ok()?.checked_sub(1).filter(|c| number == (c + 1).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_named_in_one_way_and_read_in_two() {
        assert_eq!(of_components(3), ["PC1", "PC2", "PC3"]);
        assert_eq!(of_rotated(2), ["RC1", "RC2"]);
        for (name, component) in [("PC1", Some(0)), ("PC12", Some(11)), ("pc2", Some(1)), ("RC3", Some(2))] {
            assert_eq!(component_of(name), component, "{name}");
        }
        for name in ["PC", "PC0", "PC01", "PC+1", "PC-1", "PC 1", "Pc1", "pca1", "1", "PC1a", "offset"] {
            assert_eq!(component_of(name), None, "{name}");
        }
    }
}
