//! Reads at any position of a file: through the system's page cache, or past it if no later read would use the cache.

use std::fs::File;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A file that is read at any position.
pub(super) struct Positioned {
    file: Mutex<File>,
    #[cfg(target_os = "linux")]
    direct: Option<direct::Direct>,
}

impl Positioned {
    /// Reads `file`, which holds `n_bytes` bytes.
    pub(super) fn new(file: File, n_bytes: u64) -> Self {
        Self {
            #[cfg(target_os = "linux")]
            direct: direct::Direct::new(&file, n_bytes),
            file: Mutex::new(file),
        }
    }

    /// Announces further visits, which the page cache may serve if it has room for the file.
    pub(super) fn read_again(&self) {
        #[cfg(target_os = "linux")]
        self.direct.iter().for_each(direct::Direct::read_again);
    }

    /// Bytes of memory for reading past the page cache.
    pub(super) fn held(&self) -> f64 {
        #[cfg(target_os = "linux")]
        return self.direct.as_ref().map_or(0.0, |_| direct::CHUNK as f64);
        #[cfg(not(target_os = "linux"))]
        0.0
    }

    /// The file.
    pub(super) fn file(&self) -> MutexGuard<'_, File> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fills `bytes` from position `begin` on.
    ///
    /// # Errors
    /// Errors of the system, also if the file ends within `bytes`.
    pub(super) fn read(&self, begin: u64, bytes: &mut [u8]) -> std::io::Result<()> {
        let file = self.file();
        #[cfg(target_os = "linux")]
        if let Some(direct) = &self.direct
            && direct.serves(&file, begin, bytes.len())
        {
            return match direct.read(begin, bytes) {
                // A file system may refuse such reads after it has opened the file for them.
                Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => {
                    read_at(&file, begin, bytes)
                }
                outcome => outcome,
            };
        }
        read_at(&file, begin, bytes)
    }
}

/// Fills `bytes` from position `begin` of the file on, through the page cache.
///
/// # Errors
/// Errors of the system, also if the file ends within `bytes`.
#[cfg(unix)]
pub(super) fn read_at(file: &File, begin: u64, bytes: &mut [u8]) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, begin)
}

#[cfg(not(unix))]
pub(super) fn read_at(mut file: &File, begin: u64, bytes: &mut [u8]) -> std::io::Result<()> {
    use std::io::{Read, Seek, SeekFrom};
    file.seek(SeekFrom::Start(begin)).and_then(|_| file.read_exact(bytes))
}

/// Reads past the page cache, whose upkeep costs a fifth of the processor time of a fit.
#[cfg(target_os = "linux")]
mod direct {
    use std::fs::{File, OpenOptions};
    use std::io::{Error, ErrorKind, IoSliceMut, Result};
    use std::os::fd::{AsFd, AsRawFd};
    use std::os::unix::fs::{FileExt, OpenOptionsExt};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Mutex, PoisonError};

    use rustix::io::{Errno, ReadWriteFlags, preadv2};

    /// Alignment of positions and addresses, enough for the blocks of any disk.
    const BLOCK: usize = 4096;
    /// Bytes of a read.
    pub(super) const CHUNK: usize = 8 << 20;
    /// Bytes of a request below which the page cache is as fast.
    const LEAST: usize = 1 << 20;
    /// Share of the available memory beyond which a file is not left to the page cache, if it is read once.
    const SHARE: f64 = 0.5;

    /// A handle of the file for reads past the page cache.
    pub(super) struct Direct {
        file: File,
        n_bytes: u64,
        is_read_again: AtomicBool,
        /// Memory of a read; empty before the first.
        chunk: Mutex<Vec<u8>>,
    }

    impl Direct {
        /// `None` for a file that the page cache holds easily, and where the file system has no such reads.
        pub(super) fn new(file: &File, n_bytes: u64) -> Option<Self> {
            if (n_bytes as f64) < SHARE * cache_bytes() {
                return None;
            }
            // By its descriptor: another file may have the path now, or the file may have none.
            let path = format!("/proc/self/fd/{}", file.as_raw_fd());
            let file = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(path).ok()?;
            let (is_read_again, chunk) = (AtomicBool::new(false), Mutex::new(Vec::new()));
            Some(Self { file, n_bytes, is_read_again, chunk })
        }

        pub(super) fn read_again(&self) {
            self.is_read_again.store(true, Ordering::Relaxed);
        }

        /// Returns true for bytes that neither are in the page cache nor would stay there until they are read again.
        pub(super) fn serves(&self, cached: &File, begin: u64, n_bytes: usize) -> bool {
            if n_bytes < LEAST {
                return false;
            }
            let stays = self.is_read_again.load(Ordering::Relaxed) && (self.n_bytes as f64) < cache_bytes();
            !stays && !is_cached(cached, begin + n_bytes as u64 / 2)
        }

        /// Fills `bytes` from position `begin` on.
        pub(super) fn read(&self, begin: u64, bytes: &mut [u8]) -> Result<()> {
            let mut chunk = self.chunk.lock().unwrap_or_else(PoisonError::into_inner);
            if chunk.is_empty() {
                *chunk = vec![0; CHUNK + BLOCK];
            }
            let aligned = chunk.as_ptr().align_offset(BLOCK);
            let chunk = &mut chunk[aligned..aligned + CHUNK];
            let mut filled = 0;
            while filled < bytes.len() {
                let position = begin + filled as u64;
                let skipped = (position % BLOCK as u64) as usize;
                let wanted = (skipped + bytes.len() - filled).next_multiple_of(BLOCK).min(CHUNK);
                let read = match self.file.read_at(&mut chunk[..wanted], position - skipped as u64) {
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    read => read?,
                };
                if read <= skipped {
                    return Err(Error::from(ErrorKind::UnexpectedEof));
                }
                let n = (read - skipped).min(bytes.len() - filled);
                bytes[filled..filled + n].copy_from_slice(&chunk[skipped..skipped + n]);
                filled += n;
            }
            Ok(())
        }
    }

    /// Bytes that the page cache can hold.
    fn cache_bytes() -> f64 {
        karhunen::memory::available().map_or(f64::INFINITY, |available| available.bytes)
    }

    /// Returns true if the page cache holds the byte at `position`. A system that cannot tell holds it.
    fn is_cached(file: &File, position: u64) -> bool {
        let mut byte = [0];
        let read = preadv2(file.as_fd(), &mut [IoSliceMut::new(&mut byte)], position, ReadWriteFlags::NOWAIT);
        !matches!(read, Err(Errno::AGAIN))
    }

    #[cfg(test)]
    mod tests {
        use std::io::Write;

        use super::*;

        /// The file system of temporary files, or the system itself, has no direct reads.
        #[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
        fn no_direct_reads() {
            eprintln!("skipped: there are no direct reads here");
        }

        #[test]
        fn bytes_at_any_position_match_the_file() {
            let values: Vec<u8> = (0..2 * CHUNK + 12_345).map(|i| (i % 251) as u8).collect();
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&values).unwrap();
            file.sync_all().unwrap();
            let Some(direct) = Direct::new(&file, u64::MAX) else { return no_direct_reads() };
            for (begin, n) in [(0, 1), (128, CHUNK), (4095, 2 * CHUNK), (values.len() - 3, 3), (77, 0)] {
                let mut bytes = vec![0; n];
                direct.read(begin as u64, &mut bytes).unwrap();
                assert!(bytes == values[begin..begin + n], "{n} bytes at {begin}");
            }
            let error = direct.read(values.len() as u64 - 2, &mut [0; 3]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
        }

        #[test]
        fn bytes_in_the_page_cache_are_read_from_there() {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&[1; 2 * LEAST]).unwrap();
            let Some(direct) = Direct::new(&file, u64::MAX) else { return no_direct_reads() };
            assert!(!direct.serves(&file, 0, 2 * LEAST), "the cache holds what was just written");
            let small = Direct { n_bytes: 2 * LEAST as u64, ..direct };
            small.read_again();
            assert!(!small.serves(&file, 0, 2 * LEAST), "a later visit finds a small file in the cache");
            assert!(Direct::new(&file, 2 * LEAST as u64).is_none(), "the cache holds a small file easily");
        }
    }
}
