//! Builds OCI images from existing programs, without a container daemon.
//!
//! - [`layer`]: the file system of the image, as a compressed tar.
//! - [`oci`]: configuration, manifest and index for one or more architectures, as an image layout in one tar. `docker load`,
//!   `ctr images import`, `skopeo copy oci-archive:` and `kind load image-archive` read it.
//! - [`sbom`]: software bill of materials of programs, as `CycloneDX`; [`bills`]: those of this workspace.
//! - [`inputs`]: what images are made of, as options of the programs.
//! - [`certificates`]: Mozilla's root certificates, for the images.
//! - [`reference`]: which names repositories and tags may have.
//! - [`chart`]: Helm charts as packages.
//! - [`release`]: all of that and the CLI, as files and as a [`layout`] for each repository of a registry, whose [`blobs`] can have
//!   a [`signature`].
//!
//! All of it is reproducible: the same programs give the same bytes, independent of time, user and file order. Only signatures
//! differ each time.

pub mod bills;
pub mod blobs;
pub mod certificates;
pub mod chart;
pub mod digest;
pub mod inputs;
pub mod layer;
pub mod layout;
pub mod oci;
pub mod reference;
pub mod release;
pub mod sbom;
pub mod signature;
