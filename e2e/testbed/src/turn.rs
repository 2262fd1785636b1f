//! One fleet at a time for the tests of a program.

use tokio::sync::{Mutex, MutexGuard};

/// Several programs run at a time, and each control plane takes a gigabyte: with two fleets per program, 24 GB are not enough.
static TURN: Mutex<()> = Mutex::const_new(());

/// Waits until no other test of this program has a fleet, and keeps them waiting until the answer is dropped.
pub async fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().await
}
