//! Sentences about a fit of kernel components.

use karhunen::KernelModel;
use karhunen::choice::Choice;
use karhunen::kernel::{Gamma, Kernel, KernelBasis};

use crate::components::{kept, kept_explain};
use crate::numbers::{count, counted, percent, significant};

/// Returns sentences about the model and its data.
pub(super) fn fitted(model: &KernelModel) -> Vec<String> {
    let (parts, kernel) = (model.parts(), model.kernel());
    let formula = kernel.named().help;
    let mut numbers = Vec::new();
    if let Some(Gamma::Value(gamma)) = kernel.gamma() {
        numbers.push(format!("gamma {}", significant(gamma, 5)));
    }
    if let Kernel::Polynomial { degree, coef0, .. } = kernel {
        numbers.push(format!("degree {degree}"));
        numbers.push(format!("coef0 {coef0}"));
    }
    if let Kernel::Sigmoid { coef0, .. } = kernel {
        numbers.push(format!("coef0 {coef0}"));
    }
    let with = if numbers.is_empty() { String::new() } else { format!(", with {}", numbers.join(", ")) };
    let mut sentences = vec![
        format!(
            "Kernel principal component analysis of {} and {}, in {} numbers.",
            counted(model.n_samples(), "sample"),
            counted(model.n_features(), "feature"),
            if parts.dtype == "f32" { "single-precision (f32)" } else { "double-precision (f64)" },
        ),
        format!(
            "The kernel was {}: {formula}{with}. The kernel matrix was {}centred.",
            kernel.name(),
            if parts.options.center { "" } else { "not " }
        ),
        weights(model),
        shares(model),
    ];
    sentences.push(
        if parts.pre_image.is_some() {
            "The model maps scores back to rows (pre-images)."
        } else {
            "The model does not map scores back to rows; fit with a pre-image for that."
        }
        .to_owned(),
    );
    sentences
}

fn shares(model: &KernelModel) -> String {
    let Some(total) = model.parts().total else {
        return format!(
            "{}. Their shares are unknown: the kernel may have negative eigenvalues, and the solver full alone finds the sum of the \
             positive ones.",
            kept(model.n_components()),
        );
    };
    let of_all = if model.convergence().smallest_eigenvalue.is_some_and(|least| least < 0.0) {
        "positive"
    } else {
        "all"
    };
    format!(
        "{} {} of the sum of {of_all} eigenvalues, {}.",
        kept_explain(model.n_components()),
        percent(model.explained_variance_ratio().iter().sum()),
        significant(total, 5),
    )
}

fn weights(model: &KernelModel) -> String {
    let sum = model.parts().sum_of_weights;
    if sum == model.n_samples() as f64 {
        return "The samples are equally weighted.".to_owned();
    }
    format!("The samples have weights, which sum to {}.", significant(sum, 6))
}

/// How exact the components are.
pub(super) fn exactness(model: &KernelModel) -> Vec<String> {
    let found = model.convergence();
    let mut sentences = vec![format!(
        "The route was {}, in {} with the kernel matrix. Reason: {}.",
        found.solver.name(),
        counted(found.n_passes, "product"),
        found.reason.trim_end_matches('.'),
    )];
    if !found.residuals.is_empty() {
        sentences.push(format!(
            "The largest residual ‖Ku − λu‖ / λ₁ is {}; the tolerance is {}.",
            significant(found.worst_residual(), 2),
            significant(found.tol, 2),
        ));
    }
    if !found.converged() {
        sentences.push(format!(
            "Warning: {} of {} components are within the tolerance; the others may be inexact.",
            found.n_converged,
            found.residuals.len(),
        ));
    }
    if let Some(approximation) = found.approximation {
        let what = match &model.parts().basis {
            KernelBasis::Frequencies(_) => "random features",
            _ => "landmarks",
        };
        sentences.push(format!(
            "The kernel matrix was approximated from {} {what}. No eigenvalue is wrong by more than {} of the largest{}.",
            count(approximation.n_features),
            match approximation.useful_bound() {
                Some(bound) => percent(bound),
                None => format!("about {}", percent(approximation.estimate)),
            },
            if approximation.useful_bound().is_some() { "" } else { " (an estimate; the bound says nothing here)" },
        ));
    }
    if let Some(least) = found.smallest_eigenvalue.filter(|least| *least < 0.0) {
        let largest = model.eigenvalues().first().copied().unwrap_or(0.0);
        if -least > 1e-8 * largest {
            sentences.push(format!(
                "Warning: the kernel matrix is not positive semi-definite (smallest eigenvalue {}); the \
                 components are from its positive part.",
                significant(least, 3),
            ));
        }
    }
    sentences
}

/// How many components to keep.
pub(super) fn choice() -> Vec<String> {
    vec![
        "The rules for the number of components are for linear components; none applies to a kernel. Compare the shares above, \
         or the error of what the scores are used for."
            .to_owned(),
    ]
}
