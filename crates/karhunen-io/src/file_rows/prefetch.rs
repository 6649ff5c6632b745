//! Reads ahead: a thread decodes the next blocks while one is used.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::Instant;

use karhunen::Scalar;

use super::{BlockReader, OwnedBlock};
use crate::Result;

/// Calls `f` with every block from row `first` on, in order, until it returns false; another thread reads up to two
/// blocks ahead. Without a thread, which needs memory, blocks are read when they are needed. `nanoseconds` counts the time
/// of reading, without the time of waiting until a block is taken.
///
/// # Errors
/// Same errors as [`BlockReader::each`].
pub(super) fn each<T: Scalar>(
    blocks: &dyn BlockReader<T>,
    (first, rows_at_once): (usize, usize),
    reached: &mut usize,
    nanoseconds: &AtomicU64,
    f: &mut dyn FnMut(OwnedBlock<T>) -> bool,
) -> Result<()> {
    let read = |reached: &mut usize, f: &mut dyn FnMut(OwnedBlock<T>) -> bool| {
        let mut begun = Instant::now();
        let outcome = blocks.each(first, rows_at_once, reached, &mut |rows| {
            nanoseconds.fetch_add(begun.elapsed().as_nanos() as u64, Ordering::Relaxed);
            let goes_on = f(rows);
            begun = Instant::now();
            goes_on
        });
        nanoseconds.fetch_add(begun.elapsed().as_nanos() as u64, Ordering::Relaxed);
        outcome
    };
    let (sender, receiver) = sync_channel(1);
    std::thread::scope(|scope| {
        let mut ahead = first;
        let read_ahead = move || {
            // A closed channel ends the visit.
            let outcome = read(&mut ahead, &mut |rows| sender.send(rows).is_ok());
            (ahead, outcome)
        };
        let reader = karhunen::memory::ask_for_threads(1)
            .ok()
            .and_then(|()| std::thread::Builder::new().spawn_scoped(scope, read_ahead).ok());
        let Some(reader) = reader else {
            return read(reached, f);
        };
        let mut goes_on = true;
        while goes_on && let Ok(rows) = receiver.recv() {
            *reached += rows.n_rows();
            goes_on = f(rows);
        }
        drop(receiver);
        match reader.join() {
            Ok((ahead, outcome)) => {
                *reached = if goes_on { ahead } else { *reached };
                if goes_on { outcome } else { Ok(()) }
            }
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
