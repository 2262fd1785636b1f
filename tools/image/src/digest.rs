//! Digests of contents.

use sha2::{Digest, Sha256};

/// SHA-256 of `bytes` in hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut digits, byte| {
        use std::fmt::Write as _;
        // Writing to a String cannot fail.
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}
