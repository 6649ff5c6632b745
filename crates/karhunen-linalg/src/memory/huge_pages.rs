//! The allocator of the programs and packages.

use std::alloc::{GlobalAlloc, Layout, System};

/// The system's allocator, which asks Linux for huge pages behind blocks of 4 MiB or more, as NumPy does for its arrays:
/// the first use of such a block then costs a page fault for every 2 MiB instead of every 4 KiB. Elsewhere, and where the
/// kernel has no huge pages to give, it is the system's allocator.
///
/// A program chooses it by `#[global_allocator] static ALLOCATOR: HugePages = HugePages;`.
#[derive(Clone, Copy, Debug, Default)]
pub struct HugePages;

// SAFETY: every call is forwarded to the system's allocator, which fulfils the contract. Nothing here allocates or unwinds.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for HugePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller fulfils the contract of the callee, here and below.
        advise(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        advise(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        advise(unsafe { System.realloc(memory, layout, size) }, size)
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Number of bytes of the smallest block for which huge pages are asked.
const LEAST: usize = 4 << 20;

/// Asks for huge pages behind a block; returns it.
#[inline]
fn advise(block: *mut u8, n_bytes: usize) -> *mut u8 {
    if n_bytes >= LEAST && !block.is_null() {
        ask(block, n_bytes);
    }
    block
}

/// Asks for huge pages behind all pages of a block. The first and the last may hold more than the block: advice for whole
/// mappings does not split them, and the system can continue to move them instead of copying their contents.
#[cfg(target_os = "linux")]
#[cold]
#[allow(unsafe_code)]
fn ask(block: *mut u8, n_bytes: usize) {
    // SAFETY: asks for a constant.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096).max(1);
    let before = block.addr() % page;
    let n_bytes = (before + n_bytes).next_multiple_of(page);
    // SAFETY: the range consists of pages that hold a part of the block, and the advice changes no content. A kernel
    // without huge pages refuses it.
    unsafe { libc::madvise(block.wrapping_sub(before).cast(), n_bytes, libc::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn ask(_: *mut u8, _: usize) {}

#[cfg(all(test, target_os = "linux"))]
#[allow(unsafe_code)]
mod tests {
    use super::*;

    /// The flags of the mapping that holds an address.
    fn flags_at(address: usize) -> String {
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut within = false;
        for line in maps.lines() {
            let range = line.split(' ').next().and_then(|word| word.split_once('-'));
            if let Some((Ok(first), Ok(end))) =
                range.map(|(a, b)| (usize::from_str_radix(a, 16), usize::from_str_radix(b, 16)))
            {
                within = (first..end).contains(&address);
            } else if let Some(flags) = line.strip_prefix("VmFlags:").filter(|_| within) {
                return flags.to_owned();
            }
        }
        panic!("no mapping holds {address:#x}");
    }

    #[test]
    fn large_blocks_alone_are_in_huge_pages_and_keep_their_contents() {
        // A kernel without them has no such folder.
        let given = std::path::Path::new("/sys/kernel/mm/transparent_hugepage").exists();
        let layout = |n_bytes| Layout::from_size_align(n_bytes, 64).unwrap();
        let (below, first) = (layout(LEAST - 1), layout(2 * LEAST + 8));
        let (grown, shrunk) = (layout(5 * LEAST), layout(LEAST / 64));
        // SAFETY: the sizes are not zero, each block is used within its size and freed with its last layout.
        unsafe {
            // Before any page of this process has the advice.
            let small = HugePages.alloc(below);
            assert!(!flags_at(small.addr() + below.size() / 2).contains("hg"));
            let block = HugePages.alloc_zeroed(first);
            assert_eq!(flags_at(block.addr() + LEAST).contains("hg"), given);
            (0..first.size()).step_by(4096).for_each(|i| block.add(i).write(i.to_le_bytes()[1] | 1));
            let same = |block: *mut u8, n: usize| {
                (0..n).step_by(4096).all(|i| block.add(i).read() == i.to_le_bytes()[1] | 1)
            };
            let block = HugePages.realloc(block, first, grown.size());
            assert!(same(block, first.size()));
            assert_eq!(flags_at(block.addr() + 4 * LEAST).contains("hg"), given);
            let block = HugePages.realloc(block, grown, shrunk.size());
            assert!(same(block, shrunk.size()));
            HugePages.dealloc(block, shrunk);
            HugePages.dealloc(small, below);
        }
    }
}
