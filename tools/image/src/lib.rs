//! Builds OCI images from existing programs, without a container daemon.
//!
//! - [`layer`]: the file system of the image, as a compressed tar.
//! - [`oci`]: configuration, manifest and index for one or more architectures, as an image layout in one tar. `docker load`,
//!   `ctr images import`, `skopeo copy oci-archive:` and `kind load image-archive` read it.
//! - [`sbom`]: software bill of materials of the programs, as `CycloneDX`.
//!
//! Images are reproducible: the same programs give the same bytes, independent of time, user and file order.

pub mod digest;
pub mod layer;
pub mod oci;
pub mod sbom;
