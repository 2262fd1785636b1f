//! Puts programs into an OCI image without a container daemon.
//!
//! - [`layer`]: the file system of the image, as a compressed tar.
//! - [`oci`]: the JSON around it, for one or more architectures, in an image layout (one tar that `docker load`,
//!   `ctr images import`, `skopeo copy oci-archive:` and `kind load image-archive` read).
//! - [`sbom`]: what the programs were made of, as `CycloneDX`.
//!
//! The same programs give the same bytes: no time, user or order of this machine gets in.

pub mod layer;
pub mod oci;
pub mod sbom;

use sha2::{Digest, Sha256};

/// SHA-256 in hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut digits, byte| {
        use std::fmt::Write as _;
        // Writing to a String cannot fail.
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}
