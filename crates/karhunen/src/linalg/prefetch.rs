//! Asking for memory before it is needed.
#![allow(unsafe_code)] // A hint to the processor takes an address.

/// Asks for `values` from memory.
#[inline(always)]
pub(crate) fn prefetch<T>(values: &[T]) {
    for offset in (0..size_of_val(values)).step_by(64) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a hint without effect on what the program computes; the address is inside the slice.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(values.as_ptr().byte_add(offset).cast());
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = offset;
    }
}
