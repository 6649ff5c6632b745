//! The summary of a fit with a kernel as text.

use karhunen::kernel::{Approximation, Gamma, Kernel, KernelRoute, PreImage, PreImageParts};
use karhunen::{KernelModel, NComponents};

use crate::component_names::of_component;
use crate::figures::{count, duration, percent, significant};
use crate::text::{Components, Layout, Seconds, components, scree, wrapped};

/// A kernel model, as text.
pub(crate) struct KernelReport<'a> {
    /// The model.
    pub(crate) model: &'a KernelModel,
    /// Describes the input and the automatic choices: one line each.
    pub(crate) data: &'a [String],
    /// Seconds of reading and fitting, if the model was just fitted.
    pub(crate) seconds: Option<Seconds>,
    /// Peak memory of the process in bytes, if the model was just fitted and the system reports it.
    pub(crate) peak_memory: Option<u64>,
    /// Files written.
    pub(crate) written: &'a [String],
}

impl KernelReport<'_> {
    /// The whole text; each line ends with a newline.
    pub(crate) fn render(&self, layout: Layout) -> String {
        let mut out = String::new();
        for line in self.data {
            wrapped(&mut out, "", line, layout.width);
        }
        out.push('\n');
        let ratios = self.model.explained_variance_ratio();
        let table = Components {
            what: "eigenvalue",
            values: self.model.eigenvalues(),
            ratios: &ratios,
            loadings: None,
            features: None,
            name: of_component,
        };
        components(&mut out, &table, layout);
        scree(&mut out, &ratios, layout);
        out.push('\n');
        self.how(&mut out, layout);
        out
    }

    fn how(&self, out: &mut String, layout: Layout) {
        let convergence = self.model.convergence();
        wrapped(out, "solver", &format!("{}: {}", convergence.solver, convergence.reason), layout.width);
        wrapped(out, "accuracy", &self.accuracy(), layout.width);
        if let Some(approximation) = &convergence.approximation {
            wrapped(out, "error", &error_of(approximation, convergence.solver), layout.width);
        }
        if let Some(text) = self.negative() {
            wrapped(out, "negative", &text, layout.width);
        }
        if self.model.parts().total.is_none() {
            let text = "unknown: they are of the sum of all positive eigenvalues, which for this kernel --solver full alone finds";
            wrapped(out, "ratios", text, layout.width);
        }
        if let Some(text) = self.pre_image() {
            wrapped(out, "pre-image", &text, layout.width);
        }
        if let Some(Seconds { read, fit }) = self.seconds {
            let memory = self.peak_memory.map_or_else(String::new, |bytes| {
                format!("; memory of the process at its peak {} MB", count((bytes / 1_000_000) as usize))
            });
            let time = format!("read {}, fit {}{memory}", duration(read), duration(fit));
            wrapped(out, "time", &time, layout.width);
        }
        if !self.written.is_empty() {
            wrapped(out, "written", &self.written.join(", "), layout.width);
        }
    }

    fn accuracy(&self) -> String {
        let convergence = self.model.convergence();
        let worst = convergence.worst_residual();
        let over = if convergence.solver.approximates() { "the data" } else { "the kernel matrix" };
        let passes = match convergence.n_passes {
            1 => format!("1 pass over {over}"),
            n => format!("{n} passes over {over}"),
        };
        format!("worst residual {worst:.1e} (tolerance {:.0e}); {passes}", convergence.tol)
    }

    /// Describes the pre-image method.
    fn pre_image(&self) -> Option<String> {
        match (self.model.parts().pre_image.as_ref()?, self.model.options().pre_image) {
            (PreImageParts::Ridge { .. }, Some(PreImage::Ridge { alpha } | PreImage::Auto { alpha })) => {
                Some(format!("ridge regression, alpha {alpha}"))
            }
            (PreImageParts::Ridge { .. }, _) => Some("ridge regression".to_owned()),
            (PreImageParts::FixedPoint { .. }, _) => Some("fixed-point iteration".to_owned()),
        }
    }

    /// A warning about eigenvalues that are negative beyond the tolerance.
    fn negative(&self) -> Option<String> {
        let convergence = self.model.convergence();
        let largest = self.model.eigenvalues().first().copied().unwrap_or(0.0);
        let smallest = convergence.smallest_eigenvalue.filter(|value| *value < -convergence.tol * largest)?;
        Some(format!(
            "the kernel is not positive semi-definite: the smallest eigenvalue is about {}; components are \
             from the positive part",
            significant(smallest)
        ))
    }
}

/// Describes the error of an approximate kernel matrix, and whether the bound is informative.
fn error_of(approximation: &Approximation, solver: KernelRoute) -> String {
    let what = if solver == KernelRoute::Nystrom { "landmarks" } else { "random features" };
    let bound = match (approximation.useful_bound(), approximation.bound) {
        (Some(bound), _) => format!(", and no more than {}", percent(bound)),
        (None, Some(_)) => " (an estimate; the bound that is certain says nothing here)".to_owned(),
        (None, None) => String::new(),
    };
    format!(
        "eigenvalues are off by about {} of the largest{bound}, with {} {what}",
        percent(approximation.estimate),
        count(approximation.n_features)
    )
}

/// The kernel with its parameters and the origin of gamma.
pub(crate) fn kernel_line(model: &KernelModel) -> String {
    let kernel = model.kernel();
    let mut text = format!("kernel {}", kernel.name());
    if let Kernel::Polynomial { degree, .. } = kernel {
        text.push_str(&format!(", degree {degree}"));
    }
    if let Some(Gamma::Value(gamma)) = kernel.gamma() {
        text.push_str(&format!(", gamma {}", significant(gamma)));
        text.push_str(match model.options().kernel.gamma() {
            Some(Gamma::PerFeature) => " (1 / columns)",
            Some(Gamma::Scale) => " (1 / (columns * variance))",
            Some(Gamma::Median) => " (1 / median distance)",
            Some(Gamma::Value(_)) | None => "",
        });
    }
    if let Kernel::Polynomial { coef0, .. } | Kernel::Sigmoid { coef0, .. } = kernel {
        text.push_str(&format!(", coef0 {coef0}"));
    }
    text
}

/// The number of components kept and available; `hint` follows if some are dropped.
pub(crate) fn kept_line(model: &KernelModel, hint: &str) -> String {
    let (k, n) = (model.n_components(), model.n_samples());
    let components = if k == 1 { "component" } else { "components" };
    let rows = if n == 1 { "row" } else { "rows" };
    let centred = if model.options().center { "centred in feature space" } else { "not centred" };
    match model.options().n_components {
        NComponents::All => format!("{centred}; all {k} {components} of {} {rows}", count(n)),
        _ => format!("{centred}; {k} {components} of {} {rows}{hint}", count(n)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_said_where_they_say_something() {
        let error =
            |bound, solver| error_of(&Approximation { n_features: 1000, bound, estimate: 0.012_34 }, solver);
        assert_eq!(
            error(Some(0.5), KernelRoute::Nystrom),
            "eigenvalues are off by about 1.23% of the largest, and no more than 50.00%, with 1,000 landmarks"
        );
        assert_eq!(
            error(Some(1.9), KernelRoute::Nystrom),
            "eigenvalues are off by about 1.23% of the largest (an estimate; the bound that is certain says nothing here), \
             with 1,000 landmarks"
        );
        assert_eq!(
            error(None, KernelRoute::Fourier),
            "eigenvalues are off by about 1.23% of the largest, with 1,000 random features"
        );
    }
}
