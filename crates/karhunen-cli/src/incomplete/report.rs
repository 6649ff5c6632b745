//! The summary of a fit with missing values as text.

use karhunen::IncompleteModel;
use karhunen::choice::Choice;
use karhunen::incomplete::{Conformal, NoiseModel};

use crate::component_names::of_component;
use crate::figures::{count, duration, percent, significant};
use crate::incomplete::summary::{NORMAL_95, deviation};
use crate::text::{Components, Layout, Seconds, components, divisors, scree, wrapped};

/// A model of incomplete data, as text.
pub(crate) struct IncompleteReport<'a> {
    /// The model.
    pub(crate) model: &'a IncompleteModel,
    /// Names of the features.
    pub(crate) features: Option<&'a [String]>,
    /// Describes the input and the automatic choices: one line each.
    pub(crate) data: &'a [String],
    /// Seconds of reading and fitting, if the model was just fitted.
    pub(crate) seconds: Option<Seconds>,
    /// Files written.
    pub(crate) written: &'a [String],
}

impl IncompleteReport<'_> {
    /// The whole text; each line ends with a newline.
    pub(crate) fn render(&self, layout: Layout) -> String {
        let mut out = String::new();
        for line in self.data {
            wrapped(&mut out, "", line, layout.width);
        }
        wrapped(&mut out, "", &kept(self.model), layout.width);
        out.push('\n');
        let table = Components {
            what: "variance",
            values: self.model.explained_variance(),
            ratios: self.model.explained_variance_ratio(),
            loadings: Some(&self.model.loadings()),
            features: self.features,
            name: of_component,
        };
        if self.model.n_components() > 0 {
            components(&mut out, &table, layout);
            scree(&mut out, self.model.explained_variance_ratio(), layout);
            out.push('\n');
        }
        self.how(&mut out, layout);
        out
    }

    fn how(&self, out: &mut String, layout: Layout) {
        let convergence = self.model.convergence();
        let method = format!("{}: {}", convergence.method.name(), convergence.reason);
        wrapped(out, "method", &method, layout.width);
        let stopped = match convergence.trace.last().map(|entry| entry.iteration) {
            // The model of a stream.
            None => "after the last row: the rows were learned one after the other".to_owned(),
            Some(1) => format!("after 1 iteration: {}", convergence.stop.named().help),
            Some(n) => format!("after {} iterations: {}", count(n), convergence.stop.named().help),
        };
        wrapped(out, "stopped", &stopped, layout.width);
        if let Some(columns) = &columns(self.model) {
            wrapped(out, "columns", columns, layout.width);
        }
        let held_out = convergence
            .held_out_rmse
            .map_or_else(String::new, |rmse| format!(", of the entries held out {}", significant(rmse)));
        let noise = significant(self.model.noise_variance().sqrt());
        let error = format!(
            "RMSE {}{held_out}; standard deviation of the noise {noise}",
            significant(convergence.rmse)
        );
        wrapped(out, "error", &error, layout.width);
        if let Some(conformal) = self.model.conformal() {
            wrapped(out, "intervals", &intervals(conformal), layout.width);
        }
        if let Some(level) = self.model.row_offsets().map(deviation) {
            let offsets = format!("a level of each row, standard deviation {}", significant(level));
            wrapped(out, "offsets", &offsets, layout.width);
        }
        if let Some(Seconds { read, fit }) = self.seconds {
            wrapped(out, "time", &format!("read {}, fit {}", duration(read), duration(fit)), layout.width);
        }
        if !self.written.is_empty() {
            wrapped(out, "written", &self.written.join(", "), layout.width);
        }
    }
}

/// The intervals of a fit with entries held out, and the share of these entries within intervals of normal errors.
fn intervals(conformal: Conformal<'_>) -> String {
    let held = format!(
        "{NORMAL_95} hold {} of {} entries held out",
        percent(conformal.coverage(NORMAL_95)),
        count(conformal.n_entries())
    );
    match conformal.factor(0.95) {
        Ok(factor) => format!("{factor:.3} standard deviations for 95%; {held}"),
        Err(_) => format!("too few entries were held out for 95%; standard deviations: {held}"),
    }
}

/// What the entries of each column were multiplied by before the fit, if anything.
fn columns(model: &IncompleteModel) -> Option<String> {
    let options = &model.parts().options;
    let divided = model.scale().map(|_| match options.noise {
        NoiseModel::Feature => "divided by the deviations of their noise, up to a factor".to_owned(),
        _ => format!("divided by {}", divisors(&options.scale)),
    });
    let weighted = model.feature_weights().map(|_| "weighted".to_owned());
    let done = [divided, weighted].into_iter().flatten().collect::<Vec<_>>();
    (!done.is_empty()).then(|| format!("{}; variances and errors are of these", done.join(" and ")))
}

/// The number of components kept and requested, and the variance they explain.
fn kept(model: &IncompleteModel) -> String {
    let (kept, asked) = (model.n_components(), model.parts().options.n_components);
    let components = if kept == 1 { "component" } else { "components" };
    if kept == asked {
        format!("{kept} {components}")
    } else {
        format!("{kept} of {asked} components: the data support no more")
    }
}

/// Describes the fitted data: rows, columns and the share of observed entries.
pub(crate) fn fitted(model: &IncompleteModel) -> String {
    let (n, p) = (model.n_samples(), model.n_features());
    let held_out = model.conformal().map_or(0, |conformal| conformal.n_entries());
    let observed: usize = held_out + model.parts().n_observed.iter().sum::<usize>();
    format!(
        "{} rows x {} columns, {}; {} {} observed ({}){}",
        count(n),
        count(p),
        model.parts().dtype,
        count(observed),
        if observed == 1 { "entry" } else { "entries" },
        percent(observed as f64 / (n as f64 * p as f64)),
        if model.parts().t2_factor.is_some() { "; with limits for new rows" } else { "" }
    )
}
