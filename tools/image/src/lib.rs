//! Puts programs into an OCI image without a container daemon.
//!
//! - [`layer`]: the file system of the image, as a compressed tar.
//! - [`oci`]: the JSON around it, for one or more architectures, in an image layout (one tar that `docker load`,
//!   `ctr images import`, `skopeo copy oci-archive:` and `kind load image-archive` read).
//! - [`sbom`]: what the programs were made of, as `CycloneDX`.
//!
//! The same programs give the same bytes: no time, user or order of this machine gets in.

pub mod digest;
pub mod layer;
pub mod oci;
pub mod sbom;
