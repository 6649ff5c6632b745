//! Values rounded to single precision.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::Result;
use crate::exec::{Exec, Run};
use crate::scalar::largest_magnitude;

/// Rounds `values` to `f32`, in pieces that several threads share. Returns whether the largest magnitude is within the
/// range of normal `f32` numbers, zero or NaN; if not, the rounded values have lost digits.
///
/// # Panics
/// If the lengths differ.
///
/// # Errors
/// [`crate::Error::Stopped`]; those of starting threads.
pub fn round_to_single(values: &[f64], out: &mut [f32], run: &Run<'_>) -> Result<bool> {
    const PIECE: usize = 1 << 16;
    assert_eq!(values.len(), out.len());
    // Bits of magnitudes are ordered as the magnitudes are.
    let most = AtomicU64::new(0);
    Exec::run(run, |exec| {
        exec.fill(out, PIECE, |piece, out| {
            let values = &values[piece * PIECE..][..out.len()];
            most.fetch_max(largest_magnitude(values).to_bits(), Ordering::Relaxed);
            out.iter_mut().zip(values).for_each(|(single, value)| *single = *value as f32);
            Ok(())
        })
    })?;
    let most = f64::from_bits(most.into_inner());
    let is_outside = most > f64::from(f32::MAX) || (most > 0.0 && most < f64::from(f32::MIN_POSITIVE));
    Ok(!is_outside)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounded(values: &[f64], n_threads: usize) -> Option<Vec<f32>> {
        let mut out = vec![0.0; values.len()];
        round_to_single(values, &mut out, &Run::threads(n_threads)).unwrap().then_some(out)
    }

    #[test]
    fn every_value_is_rounded_to_nearest() {
        let values: Vec<f64> = (0..150_000).map(|i| (i as f64 - 70_000.0) / 3.0).collect();
        let expected: Vec<f32> = values.iter().map(|x| *x as f32).collect();
        for n_threads in [1, 2, 3] {
            assert_eq!(rounded(&values, n_threads).unwrap(), expected);
        }
        assert!(rounded(&[], 1).unwrap().is_empty());
        // Values below the range beside one within it are rounded, to zero at last.
        assert_eq!(rounded(&[1.0, -1e-60], 1).unwrap(), [1.0, 0.0]);
    }

    #[test]
    fn values_outside_the_range_are_refused() {
        for largest in [1e39, -1e39, 1e-39, f64::INFINITY] {
            let mut values = vec![0.0; 70_000];
            values[69_000] = largest;
            assert_eq!(rounded(&values, 2), None, "{largest}");
        }
        let kept = rounded(&[f64::NAN, 1e39], 1).unwrap();
        assert!(kept[0].is_nan());
    }
}
