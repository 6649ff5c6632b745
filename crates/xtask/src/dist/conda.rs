//! The conda recipe, which rattler-build parses and renders. It is not built: that needs a channel of packages.

use std::fs;

use super::outcome::{Line, Outcome};
use super::place::{Place, VERSION};
use super::trial::output;
use crate::workspace::root;

const RECIPE: &str = "packaging/conda/recipe.yaml";
const RENDER: &str = "crates/xtask/src/dist/render_recipe.py";

/// Checks the recipe.
pub(super) fn make(place: &Place) -> Vec<Line> {
    vec![Line::of(RECIPE, check(place))]
}

fn check(place: &Place) -> Result<Outcome, String> {
    let mut python = place.tool("python")?;
    python.args([RENDER, RECIPE].map(|file| root().join(file))).env("KARHUNEN_VERSION", VERSION);
    let rendered = output(&mut python)?;
    let missing = missing_dependencies()?;
    if !missing.is_empty() {
        return Err(format!("it lacks {}", missing.join(", ")));
    }
    let said = String::from_utf8_lossy(&rendered.stdout).trim().to_owned();
    Ok(Outcome::Skipped(format!("{said}; not built, which needs a channel of conda packages")))
}

/// Dependencies of `pyproject.toml`, such as `numpy >=1.23.2`, that the recipe does not have.
fn missing_dependencies() -> Result<Vec<String>, String> {
    let read = |name: &str| fs::read_to_string(root().join(name)).map_err(|error| format!("{name}: {error}"));
    let (project, recipe) = (read("python/pyproject.toml")?, read(RECIPE)?);
    let wanted = dependencies(&project);
    if wanted.is_empty() {
        return Err("python/pyproject.toml has no line `dependencies = [\"…\"]`".to_owned());
    }
    Ok(wanted.into_iter().filter(|d| !recipe.lines().any(|line| line.trim() == format!("- {d}"))).collect())
}

/// The dependencies of a `pyproject.toml`, which stand in one line, with a space after the name.
fn dependencies(project: &str) -> Vec<String> {
    let line = project.lines().find_map(|line| line.strip_prefix("dependencies = ["));
    let quoted = line.into_iter().flat_map(|line| line.split('"').skip(1).step_by(2));
    quoted.map(|dependency| dependency.replacen(">=", " >=", 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recipe_has_the_dependencies_of_the_package() {
        assert_eq!(missing_dependencies(), Ok(Vec::new()));
    }

    #[test]
    fn dependencies_are_read() {
        let project = "name = \"a\"\ndependencies = [\"numpy>=1.2\", \"scikit-learn>=1.6,<2\"]\n";
        assert_eq!(dependencies(project), ["numpy >=1.2", "scikit-learn >=1.6,<2"]);
    }
}
