//! Why the admin server cannot listen.

use std::io;

/// Why the server cannot listen, in one line.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    /// The flag does not hold an address.
    #[error("{flag}: {text:?} is not an address such as :8080 or 127.0.0.1:8080")]
    Address {
        /// The flag.
        flag: &'static str,
        /// What it holds.
        text: String,
    },
    /// The address is taken or not ours.
    #[error("cannot listen on {address} ({flag}): {}", reason(.source))]
    Bind {
        /// The flag.
        flag: &'static str,
        /// The address as it was given.
        address: String,
        /// Error of the system.
        source: io::Error,
    },
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => "address already in use".to_owned(),
        io::ErrorKind::AddrNotAvailable => "no such address on this machine".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    }
}
