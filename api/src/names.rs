//! Names of the objects that the agents create, as lists of candidates.
//!
//! An agent uses the first candidate that is free. A list begins with the name that the Go agents use, followed by names
//! that end in a hash of the object's identity. Two objects whose plain names collide (`a-b`/`c` and `a`/`b-c`) therefore
//! get distinct names. Parts are hashed with their lengths, and the hash is never truncated.

mod limits;
mod validate;

use sha2::{Digest, Sha256};

pub use limits::{LABEL_LIMIT, SUBDOMAIN_LIMIT};
pub use validate::{is_dns1035_label, is_dns1123_label, is_dns1123_subdomain, is_qualified_name};

use crate::ObjectName;

/// Namespace on members that holds derived Services and imported EndpointSlices.
pub const SYSTEM_NAMESPACE: &str = "fleet-system";

/// Name of the Lease on the hub, in the member's namespace, with which a member shows that it works.
pub const MEMBER_LEASE: &str = "fleet-member";

/// Begins the names of derived Services of the standard API.
const DERIVED: &str = "derived-";
const MEMBER_NAMESPACE_PREFIX: &str = "fleet-member-";

/// Hash characters of a candidate that is used only after a collision: 50 bits.
const SHORT_HASH: usize = 10;
/// Hash characters of a name that must be unique in the fleet: 130 bits.
const LONG_HASH: usize = 26;
/// Number of hashed candidates after the plain one.
const HASHED_CANDIDATES: u32 = 2;

/// Namespace on the hub that belongs to one member.
pub fn member_namespace(cluster: &str) -> String {
    format!("{MEMBER_NAMESPACE_PREFIX}{cluster}")
}

/// The member that a namespace on the hub belongs to; `None` for all other namespaces.
///
/// This is the only source of a member's identity on the hub, because members control the specs.
pub fn member_of_namespace(namespace: &str) -> Option<&str> {
    namespace.strip_prefix(MEMBER_NAMESPACE_PREFIX).filter(|cluster| !cluster.is_empty())
}

/// Names for the `InternalServiceExport` of a ServiceExport, in order of preference.
pub fn internal_export_candidates(export: &ObjectName) -> impl Iterator<Item = String> + use<> {
    subdomain_candidates(export)
}

/// Names for the `InternalServiceImport` of a ServiceImport, in order of preference.
pub fn internal_import_candidates(import: &ObjectName) -> impl Iterator<Item = String> + use<> {
    subdomain_candidates(import)
}

/// Names for the derived Service of a Service that is imported by the standard API, in order of preference.
///
/// The first is the one that other implementations of the API use, with the short hash that is customary there.
pub fn derived_import_candidates(service: &ObjectName) -> [String; 2] {
    let digest = Sha256::digest(service.to_string());
    let customary = base32_of(*b"0123456789abcdefghijklmnopqrstuv", &digest);
    let plain: String = DERIVED.chars().chain(customary.take(SHORT_HASH)).collect();
    let other = hash([&*service.namespace, &*service.name], SHORT_HASH);
    [plain.clone(), format!("{plain}-{other}")]
}

/// A short digest, by which a text is known again.
pub fn digest(text: &str) -> String {
    hash([text], SHORT_HASH)
}

/// Names for the derived Service of a MultiClusterService, in order of preference.
///
/// Each is an RFC 1035 label, because it names a Service and is the value of a label.
pub fn derived_service_candidates(mcs: &ObjectName) -> impl Iterator<Item = String> + use<> {
    let plain = join(mcs);
    let prefix = label_prefix(&plain, LABEL_LIMIT - SHORT_HASH - 1);
    let hashed = hashed(prefix, mcs);
    Some(plain).filter(|name| is_dns1035_label(name)).into_iter().chain(hashed)
}

/// Names for the `EndpointSliceExport` of one EndpointSlice, identified by uid, in order of preference.
///
/// Its `EndpointSliceImports` and the imported EndpointSlices carry the same name, so it has to be
/// unique in the whole fleet.
pub fn slice_export_candidates(
    cluster: &str,
    namespace: &str,
    slice: &str,
    uid: &str,
) -> impl Iterator<Item = String> + use<> {
    let whole = format!("{cluster}-{namespace}-{slice}");
    let prefix = subdomain_prefix(&whole, SUBDOMAIN_LIMIT - LONG_HASH - 1);
    attempts(prefix, [cluster, namespace, slice, uid], LONG_HASH)
}

/// Names for an importer's `EndpointSliceImport` of an `EndpointSliceExport`, identified by uid, in order of preference.
///
/// Members choose the names of what they export, so one can take that of another member's slice. The uid is the hub's
/// choice: nothing that a member writes has the second name.
pub fn slice_import_candidates(export: &ObjectName, uid: &str) -> [String; 2] {
    let prefix = subdomain_prefix(&export.name, SUBDOMAIN_LIMIT - LONG_HASH - 1);
    let hashed = hash([&*export.namespace, &*export.name, uid], LONG_HASH);
    [export.name.to_string(), format!("{prefix}-{hashed}")]
}

/// Names for the EndpointSlices that an agent creates for one Service, identified by uid, in order. The list is infinite:
/// a Service may have any number of slices.
///
/// An agent that plans on a stale snapshot finds the name of its next slice taken, so it cannot create the slice twice.
pub fn made_slice_candidates(
    prefix: &str,
    service_uid: &str,
) -> impl Iterator<Item = String> + use<> {
    let prefix = subdomain_prefix(prefix, LABEL_LIMIT - SHORT_HASH - 1);
    let uid = service_uid.to_owned();
    (0_u32..).map(move |count| {
        format!("{prefix}-{}", hash([uid.as_str(), &count.to_string()], SHORT_HASH))
    })
}

fn join(name: &ObjectName) -> String {
    format!("{}-{}", name.namespace, name.name)
}

fn subdomain_candidates(name: &ObjectName) -> impl Iterator<Item = String> + use<> {
    let plain = join(name);
    let prefix = subdomain_prefix(&plain, SUBDOMAIN_LIMIT - SHORT_HASH - 1);
    let hashed = hashed(prefix, name);
    Some(plain).filter(|name| is_dns1123_subdomain(name)).into_iter().chain(hashed)
}

fn hashed(prefix: String, name: &ObjectName) -> impl Iterator<Item = String> + use<> {
    attempts(prefix, [&*name.namespace, &*name.name], SHORT_HASH)
}

/// Hashed candidates. The hash of the second and later ones includes their number.
fn attempts<const N: usize>(
    prefix: String,
    parts: [&str; N],
    length: usize,
) -> impl Iterator<Item = String> + use<N> {
    let parts = parts.map(str::to_owned);
    (0..HASHED_CANDIDATES).map(move |attempt| {
        let number = (attempt > 0).then(|| attempt.to_string());
        let parts = parts.iter().map(String::as_str).chain(number.as_deref());
        format!("{prefix}-{}", hash(parts, length))
    })
}

/// Prefix of `whole` that is a valid subdomain once `-<hash>` is appended.
fn subdomain_prefix(whole: &str, limit: usize) -> String {
    let cut = whole.get(..limit.min(whole.len())).unwrap_or_default();
    let cut = cut.trim_end_matches(['-', '.']);
    if is_dns1123_subdomain(cut) { cut.to_owned() } else { label_prefix(whole, limit) }
}

/// Prefix of `whole` in lower-case letters, digits and inner dashes, beginning with a letter.
///
/// Names of existing objects rarely need this; references in specs can contain any text.
fn label_prefix(whole: &str, limit: usize) -> String {
    let clean = |c: char| {
        if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }
    };
    let text: String = whole.chars().map(clean).collect();
    let text = text.trim_start_matches('-');
    // The prefix that the Go agents add to names that would start with a digit.
    let lead = if text.starts_with(|c: char| c.is_ascii_lowercase()) { "" } else { "ns" };
    let text: String = lead.chars().chain(text.chars()).take(limit).collect();
    text.trim_end_matches('-').to_owned()
}

/// First `length` characters of the lower-case base32 (RFC 4648) form of the SHA-256 of `parts`.
fn hash<'a>(parts: impl IntoIterator<Item = &'a str>, length: usize) -> String {
    let mut sha = Sha256::new();
    for part in parts {
        sha.update((part.len() as u64).to_be_bytes());
        sha.update(part.as_bytes());
    }
    base32(&sha.finalize()).take(length).collect()
}

fn base32(bytes: &[u8]) -> impl Iterator<Item = char> {
    base32_of(*b"abcdefghijklmnopqrstuvwxyz234567", bytes)
}

fn base32_of(alphabet: [u8; 32], bytes: &[u8]) -> impl Iterator<Item = char> {
    // Only whole groups of five bits are needed: 26 characters take 130 of the 256 bits.
    (0..bytes.len() * 8 / 5).map(move |group| {
        let index = (group * 5..group * 5 + 5)
            .fold(0, |index, bit| (index << 1) | usize::from(bytes[bit / 8] >> (7 - bit % 8) & 1));
        char::from(alphabet[index])
    })
}

#[cfg(test)]
mod tests;
