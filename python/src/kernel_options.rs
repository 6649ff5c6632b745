//! The options of kernel methods, as Python passes them.

use karhunen::choice::{Choice, Named};
use karhunen::kernel::{Gamma, Kernel};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::de::DeserializeOwned;

use crate::options::Options;

/// A coefficient, or the name of a rule.
#[derive(FromPyObject)]
enum Coefficient {
    Value(f64),
    Rule(String),
}

/// A kernel, by the names of scikit-learn.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct KernelOption {
    kernel: String,
    gamma: Option<Coefficient>,
    degree: f64,
    coef0: f64,
}

impl KernelOption {
    /// The engine's kernel; a function of the caller is called `"custom"`.
    ///
    /// # Errors
    /// `ValueError` for names that the engine does not know.
    fn into_kernel(self) -> PyResult<Kernel> {
        let gamma = match self.gamma {
            None => Gamma::PerFeature,
            Some(Coefficient::Value(value)) => Gamma::Value(value),
            Some(Coefficient::Rule(name)) => {
                let is_rule = |row: &Named<Gamma>| row.choice != Gamma::PerFeature && !row.takes_number;
                choice_of("gamma", &name, is_rule, ["a number, None, ", ""])?
            }
        };
        if self.kernel == Kernel::Custom.name() {
            return Ok(Kernel::Custom);
        }
        let is_name = |row: &Named<Kernel>| row.choice != Kernel::Custom;
        let mut kernel = choice_of("kernel", &self.kernel, is_name, ["", ", or give a function"])?;
        let (of_gamma, of_degree, of_coef0) = kernel.parameters_mut();
        if let Some(place) = of_gamma {
            *place = gamma;
        }
        for (place, value) in [(of_degree, self.degree), (of_coef0, self.coef0)] {
            if let Some(place) = place {
                *place = value;
            }
        }
        Ok(kernel)
    }
}

/// The choice of a name, of some rows of the table; messages name other values before and after them.
///
/// # Errors
/// `ValueError` with the names that there are.
fn choice_of<C: Choice>(
    option: &str,
    name: &str,
    is_offered: impl Fn(&Named<C>) -> bool,
    [before, after]: [&str; 2],
) -> PyResult<C> {
    let rows = || C::TABLE.iter().filter(|row| is_offered(row));
    rows().find(|row| row.is_called(name)).map(|row| row.choice.clone()).ok_or_else(|| {
        let names: Vec<_> = rows().map(|row| format!("'{}'", row.python)).collect();
        let allowed = format!("{before}{}{after}", names.join(", "));
        PyValueError::new_err(format!("{option} = '{name}' is not known; choose one of {allowed}"))
    })
}

impl<O: DeserializeOwned> Options<O> {
    /// As [`Options::read`], with a kernel by the names of scikit-learn; `place` finds the kernel.
    ///
    /// # Errors
    /// As [`Options::read`].
    pub(crate) fn with_kernel(
        options: &Bound<'_, PyDict>,
        place: impl Fn(&mut O) -> &mut Kernel,
    ) -> PyResult<Self> {
        const KERNEL: &str = "kernel";
        let kernel = options.as_any().get_item(KERNEL)?.extract::<KernelOption>()?.into_kernel()?;
        let others = options.copy()?;
        others.del_item(KERNEL)?;
        let mut options = Self::read(&others)?;
        *place(&mut options.engine) = kernel;
        Ok(options)
    }
}
