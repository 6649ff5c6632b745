//! Reads ahead: a thread decodes the next blocks while one is used.

use std::sync::mpsc::sync_channel;

use super::{Blocks, Rows};
use crate::Result;

/// Calls `f` with every block from row `first` on, in order, until it returns false; another thread reads up to two
/// blocks ahead. Without a thread, which needs memory, blocks are read when they are needed.
///
/// # Errors
/// Those of [`Blocks::each`].
pub(super) fn each<T: Send>(
    blocks: &dyn Blocks<T>,
    first: usize,
    rows_at_once: usize,
    reached: &mut usize,
    f: &mut dyn FnMut(Rows<T>) -> bool,
) -> Result<()> {
    let (sender, receiver) = sync_channel(1);
    std::thread::scope(|scope| {
        let mut ahead = first;
        let read = move || {
            // A closed channel ends the visit.
            let outcome = blocks.each(first, rows_at_once, &mut ahead, &mut |rows| sender.send(rows).is_ok());
            (ahead, outcome)
        };
        let reader = karhunen::memory::ask_for_threads(1)
            .ok()
            .and_then(|()| std::thread::Builder::new().spawn_scoped(scope, read).ok());
        let Some(reader) = reader else {
            return blocks.each(first, rows_at_once, reached, f);
        };
        let mut goes_on = true;
        while goes_on && let Ok(rows) = receiver.recv() {
            *reached += rows.n_rows;
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
