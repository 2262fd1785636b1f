//! How many fleets the tests of one program have at a time.

use tokio::sync::{Semaphore, SemaphorePermit};

/// Several programs run at a time, and each control plane takes a gigabyte: with two fleets per program, 24 are not enough.
const FLEETS: usize = 1;

static TURNS: Semaphore = Semaphore::const_new(FLEETS);

/// Waits until this program may have another fleet, which it may while it keeps the answer.
pub async fn turn() -> SemaphorePermit<'static> {
    // Nothing closes it.
    TURNS.acquire().await.expect("turns are never closed")
}
