//! How many fleets the tests of one program have at a time.

use tokio::sync::{Semaphore, SemaphorePermit};

/// Control planes are slow when there are many. But each story waits most of its time: one fleet leaves processors idle.
const FLEETS: usize = 2;

static TURNS: Semaphore = Semaphore::const_new(FLEETS);

/// Waits until this program may have another fleet, which it may while it keeps the answer. `--test-threads=1` is for what measures.
pub async fn turn() -> SemaphorePermit<'static> {
    // Nothing closes it.
    TURNS.acquire().await.expect("turns are never closed")
}
