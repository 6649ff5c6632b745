//! The content of a page about rotated components.

use karhunen::diagnostics;
use karhunen::rotation::RotatedModel;

use crate::choice::Chosen;
use crate::components::Leading;
use crate::features::FeatureTable;
use crate::names::{Names, listed, rotated_component};
use crate::numbers::{counted, percent, signed};
use crate::page::Content;
use crate::pca::{calls, facts};
use crate::points::Rows;
use crate::{Error, Report};

/// Correlations of components that a sentence names.
const NAMED: usize = 3;

/// The content for a rotated model, and its rows if they are given.
pub(crate) fn content(
    report: &Report<'_>,
    rotated: &RotatedModel,
    names: &Names<'_>,
    rows: Option<Rows>,
) -> Result<Content, Error> {
    let (model, rotation) = (rotated.model(), rotated.rotation());
    let found = diagnostics::rotated_features(rotated)?;
    let ratios = rotated.explained_variance_ratio();
    let leading =
        Leading { name: rotated_component, variances: &rotation.variances, ratios: &ratios, residuals: None };
    let mut choice = Chosen::of_spectrum(model);
    choice
        .sentences
        .push("The rules and these groups are about the components before the rotation.".to_owned());
    // Rotated variances have no standard errors by North's rule.
    choice.standard_errors = Vec::new();
    let mut exactness = facts::exactness(model);
    exactness.push(iterations(rotated));
    Ok(Content {
        fitted: facts::fitted(model)
            .into_iter()
            .chain([sentence(rotated)])
            .chain(correlated(rotated))
            .collect(),
        exactness,
        components: leading.table(Some((&found, names))),
        scree: leading.scree(Vec::new()),
        n_components: rotated.n_components(),
        features: Some(FeatureTable::of(&rotation.pattern, &found, names)),
        holes: None,
        calls: calls::of_pca(report, model, rows.is_some(), Some(&calls::rotation(rotated))),
        choice,
        rows,
    })
}

fn sentence(rotated: &RotatedModel) -> String {
    let explained: f64 = rotated.explained_variance_ratio().iter().sum();
    let (which, together) = match rotated.n_components() {
        1 => ("The first component was".to_owned(), "it explains"),
        k => (format!("The first {} were", counted(k, "component")), "together they explain"),
    };
    format!(
        "{which} rotated by {}: RC1, RC2 and so on; {together} {} of the total variance, as before. T² and SPE are \
         those of these components; no rotation changes them.",
        rotated.criterion(),
        percent(explained)
    )
}

/// The largest correlations of rotated components, if they are correlated.
fn correlated(rotated: &RotatedModel) -> Option<String> {
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

fn iterations(rotated: &RotatedModel) -> String {
    let rotation = rotated.rotation();
    let n = counted(rotation.n_iter, "iteration");
    if rotation.converged {
        format!("The rotation converged in {n}.")
    } else {
        format!("Warning: the rotation did not converge in {n}; rotate fewer components.")
    }
}
