//! Fits that were interrupted after any pass have the bits of those that were not.

use std::sync::Mutex;

use karhunen::exec::{Fact, PassLog};
use karhunen::incomplete::{Method, Regularization};
use karhunen::{Error, Result, Run};

use crate::incomplete::parts::engine::Parts;
use crate::incomplete::parts::{SIZES, options, problem, variational};

/// Keeps the results of passes, and fails after some of them.
#[derive(Default)]
struct Log {
    kept: Mutex<Vec<Vec<f64>>>,
    n_taken: Mutex<usize>,
    facts: Mutex<Vec<Fact>>,
    left: Mutex<usize>,
}

impl PassLog for Log {
    fn begin(&self, facts: &[Fact]) -> Result<()> {
        *self.n_taken.lock().unwrap() = 0;
        let mut before = self.facts.lock().unwrap();
        if before.is_empty() {
            *before = facts.to_vec();
        }
        assert_eq!(*before, facts);
        Ok(())
    }
    fn take(&self, _: &'static str) -> Result<Option<Vec<f64>>> {
        let mut at = self.n_taken.lock().unwrap();
        let found = self.kept.lock().unwrap().get(*at).cloned();
        *at += usize::from(found.is_some());
        Ok(found)
    }
    fn keep(&self, _: &'static str, values: &[f64]) -> Result<()> {
        let mut left = self.left.lock().unwrap();
        if *left == 0 {
            return Err(Error::Stopped { phase: "a test" });
        }
        *left -= 1;
        self.kept.lock().unwrap().push(values.to_vec());
        *self.n_taken.lock().unwrap() += 1;
        Ok(())
    }
}

#[test]
fn a_fit_that_is_resumed_has_the_same_bits() {
    let table = problem();
    for pca in [options(Method::Als, Some(Regularization::Weighted(0.05))), variational(4, 25)] {
        let parts = Parts::new(&table, &SIZES);
        let whole = pca.fit_parts(&parts).unwrap();
        let n_all = *parts.n_tasks.lock().unwrap();
        for n_passes in [1, 3, 9, n_all] {
            let log = Log { left: Mutex::new(n_passes), ..Log::default() };
            let first = pca.fit_parts_with(&Parts::new(&table, &SIZES), None, Some(&log), &Run::default());
            assert_eq!(first.is_err(), n_passes < n_all);
            *log.left.lock().unwrap() = 100;
            let parts = Parts::new(&table, &SIZES);
            let found = pca.fit_parts_with(&parts, None, Some(&log), &Run::default()).unwrap();
            assert_eq!(found.parts().components, whole.parts().components, "{n_passes}");
            assert_eq!(found.noise_variance(), whole.noise_variance());
            // A complete log is compared with the parts in one pass.
            assert_eq!(*parts.n_tasks.lock().unwrap(), (n_all - n_passes).max(1));
        }
    }
}
