//! Sentences about a rotation of components, and the call that repeats it.

use karhunen::rotation::{Components, Criterion, RotatedModel};

use crate::calls::Step;
use crate::names::{listed, rotated_component};
use crate::numbers::{counted, percent, signed};

/// Correlations of components that a sentence names.
const NAMED: usize = 3;

/// A sentence about what was rotated, and how much of the variance it explains.
pub(crate) fn sentence<M: Components>(rotated: &RotatedModel<M>) -> String {
    let explained: f64 = rotated.explained_variance_ratio().iter().sum();
    let (which, together) = match rotated.n_components() {
        1 => ("The first component was".to_owned(), "it explains"),
        k => (format!("The first {} were", counted(k, "component")), "together they explain"),
    };
    format!(
        "{which} rotated by {}: RC1, RC2 and so on; {together} {} of the total variance, as before.",
        rotated.criterion(),
        percent(explained)
    )
}

/// The largest correlations of rotated components, if they are correlated.
pub(crate) fn correlated<M: Components>(rotated: &RotatedModel<M>) -> Option<String> {
    let correlations = &rotated.rotation().component_correlations;
    let k = correlations.n_rows();
    let mut pairs: Vec<(usize, usize)> = (0..k).flat_map(|c| (0..c).map(move |d| (d, c))).collect();
    pairs.retain(|&pair| correlations[pair].abs() > 1e-9);
    pairs.sort_by(|&a, &b| correlations[b].abs().total_cmp(&correlations[a].abs()));
    let shown: Vec<String> = pairs
        .iter()
        .take(NAMED)
        .map(|&(d, c)| {
            format!(
                "{} and {} ({})",
                rotated_component(d),
                rotated_component(c),
                signed(correlations[(d, c)])
            )
        })
        .collect();
    let what = if pairs.len() > NAMED { "most of all " } else { "" };
    (!pairs.is_empty()).then(|| format!("The rotated components are correlated, {what}{}.", listed(&shown)))
}

/// A sentence about the convergence of the rotation.
pub(crate) fn iterations<M: Components>(rotated: &RotatedModel<M>) -> String {
    let rotation = rotated.rotation();
    let n = counted(rotation.n_iter, "iteration");
    if rotation.converged {
        format!("The rotation converged in {n}.")
    } else {
        format!("Warning: the rotation did not converge in {n}; rotate fewer components.")
    }
}

/// The step that rotates the components.
pub(crate) fn step<M: Components>(rotated: &RotatedModel<M>) -> Step {
    let k = rotated.n_components();
    let (mut options, mut arguments) = (vec![format!("-k {k}")], vec![format!("n_components={k}")]);
    let (mut name, mut kaiser) = ("varimax", true);
    match rotated.criterion() {
        Criterion::Orthomax(orthomax) if orthomax.gamma == 0.0 => (name, kaiser) = ("quartimax", false),
        // The interfaces have no other orthomax criterion than these.
        Criterion::Orthomax(_) => {}
        Criterion::Promax(promax) => {
            name = "promax";
            options.push(format!("--power {}", promax.power));
            arguments.push(format!("power={:?}", promax.power));
        }
        Criterion::Oblimin(oblimin) => {
            (name, kaiser) = ("oblimin", false);
            options.push(format!("--gamma {}", oblimin.gamma));
            arguments.push(format!("gamma={:?}", oblimin.gamma));
        }
        Criterion::Procrustes { .. } => {
            let options = vec!["--target TARGET".to_owned()];
            return Step {
                command: "rotate",
                options,
                result: "rotated",
                expression: call("procrustes", &["target".to_owned()]),
            };
        }
    }
    options.insert(0, format!("--method {name}"));
    if rotated.criterion().kaiser() != kaiser {
        options.push(if kaiser { "--no-kaiser" } else { "--kaiser" }.to_owned());
        arguments.push(format!("kaiser={}", if kaiser { "False" } else { "True" }));
    }
    Step { command: "rotate", options, result: "rotated", expression: call(name, &arguments) }
}

fn call(name: &str, arguments: &[String]) -> String {
    format!("karhunen.rotation.{name}(pca, {})", arguments.join(", "))
}
