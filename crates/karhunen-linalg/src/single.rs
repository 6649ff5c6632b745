//! Values rounded to single precision.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::Result;
use crate::exec::{Exec, Run};
use crate::scalar::largest_magnitude;

/// Rounds `values` to `f32`, in pieces that several threads share, each read once; `None` if the largest magnitude is outside
/// the range of normal `f32` numbers. NaN is kept.
///
/// ```
/// use karhunen::{Run, matrix};
/// let run = Run::default();
/// assert_eq!(matrix::round_to_single(&[0.1, -2.0], &run)?, Some(vec![0.1f32, -2.0]));
/// assert_eq!(matrix::round_to_single(&[1e40], &run)?, None);
/// # Ok::<(), karhunen::Error>(())
/// ```
///
/// # Errors
/// [`crate::Error::Stopped`]; errors of starting threads.
pub fn round_to_single(values: &[f64], run: &Run<'_>) -> Result<Option<Vec<f32>>> {
    const PIECE: usize = 1 << 16;
    // Bits of magnitudes are ordered as the magnitudes are.
    let most = AtomicU64::new(0);
    let mut out = vec![0.0; values.len()];
    Exec::run(run, |exec| {
        exec.fill(&mut out, PIECE, |piece, out| {
            let values = &values[piece * PIECE..][..out.len()];
            most.fetch_max(largest_magnitude(values).to_bits(), Ordering::Relaxed);
            out.iter_mut().zip(values).for_each(|(single, value)| *single = *value as f32);
            Ok(())
        })
    })?;
    let most = f64::from_bits(most.into_inner());
    let is_outside = most > f64::from(f32::MAX) || (most > 0.0 && most < f64::from(f32::MIN_POSITIVE));
    Ok((!is_outside).then_some(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounded(values: &[f64], n_threads: usize) -> Option<Vec<f32>> {
        round_to_single(values, &Run::threads(n_threads)).unwrap()
    }

    #[test]
    fn every_value_is_rounded_to_nearest() {
        let values: Vec<f64> = (0..150_000).map(|i| (i as f64 - 70_000.0) / 3.0).collect();
        let expected: Vec<f32> = values.iter().map(|x| *x as f32).collect();
        for n_threads in [1, 2, 3] {
            assert_eq!(rounded(&values, n_threads).unwrap(), expected);
        }
        assert!(rounded(&[], 1).unwrap().is_empty());
        // Values below the range, next to one within it, are rounded, in the end to zero.
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
