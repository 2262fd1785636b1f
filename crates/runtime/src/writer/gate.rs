//! Whether this process may write.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Another process holds the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("another process holds the lease")]
pub struct NotLeader;

/// Asked by the writer before each request that changes something. Clones share the state.
#[derive(Clone, Debug)]
pub struct WriteGate(Arc<AtomicBool>);

impl WriteGate {
    /// A gate that lets writes through, for a process without a rival.
    pub fn open() -> Self {
        Self(Arc::new(AtomicBool::new(true)))
    }

    /// Opens or closes the gate. Requests that are on their way are not called back.
    pub fn set(&self, open: bool) {
        self.0.store(open, Ordering::Release);
    }

    /// Whether a write may be sent now.
    ///
    /// # Errors
    /// While the gate is closed.
    pub fn check(&self) -> Result<(), NotLeader> {
        if self.0.load(Ordering::Acquire) { Ok(()) } else { Err(NotLeader) }
    }
}
