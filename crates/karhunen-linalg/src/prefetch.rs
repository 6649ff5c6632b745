//! Prefetching.
#![allow(unsafe_code)] // A hint to the processor takes an address.

/// Prefetches every cache line of `values`.
#[inline(always)]
pub fn prefetch<T>(values: &[T]) {
    for offset in (0..size_of_val(values)).step_by(LINE) {
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

/// Bytes of a cache line.
pub const LINE: usize = 64;

/// Prefetches cache line `i` of `bytes` into the second-level cache, if there are that many.
#[inline(always)]
pub fn prefetch_line(bytes: &[u8], i: usize) {
    #[cfg(target_arch = "x86_64")]
    if i * LINE < bytes.len() {
        // SAFETY: a prefetch does not change what the program computes; the address is inside the slice.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T1>(bytes.as_ptr().byte_add(i * LINE).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (bytes, i);
}

/// Prefetches the value at `at`, if `values` are that many.
#[inline(always)]
pub fn prefetch_at<T>(values: &[T], at: usize) {
    if let Some(value) = values.get(at) {
        prefetch(std::slice::from_ref(value));
    }
}
