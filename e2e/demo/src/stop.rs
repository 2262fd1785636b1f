//! Ctrl-C or SIGTERM.

use std::io::Result;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Waits for a signal to stop. Once it exists, the signals no longer end the process by themselves.
pub(super) struct Stop {
    terminate: Signal,
    interrupt: Signal,
}

impl Stop {
    pub(super) fn listen() -> Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    pub(super) async fn wait(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
