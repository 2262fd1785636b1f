//! Ctrl-C or SIGTERM.

use std::io::Result;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Waits for a signal to stop. Once it exists, the signals no longer end the process by themselves.
#[derive(Debug)]
pub struct Stop {
    terminate: Signal,
    interrupt: Signal,
}

impl Stop {
    /// Takes the signals from now on.
    pub fn listen() -> Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Returns once there is one.
    pub async fn wait(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
