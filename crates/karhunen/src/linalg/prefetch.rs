//! Prefetching.
#![allow(unsafe_code)] // A hint to the processor takes an address.

/// Prefetches every cache line of `values`.
#[inline(always)]
pub(crate) fn prefetch<T>(values: &[T]) {
    for offset in (0..size_of_val(values)).step_by(64) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch does not change what the program computes; the address is inside the slice.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(values.as_ptr().byte_add(offset).cast());
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = offset;
    }
}

/// Prefetches the value at `at`, if `values` are that many.
#[inline(always)]
pub(crate) fn prefetch_at<T>(values: &[T], at: usize) {
    if let Some(value) = values.get(at) {
        prefetch(std::slice::from_ref(value));
    }
}
