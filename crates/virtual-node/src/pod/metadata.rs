//! Labels and annotations that cross.

use std::collections::BTreeMap;

use fleet_api::labels::OFFLOADED_LABEL_PREFIX;
use fleet_api::names::digest;
use fleet_api::offload::{OffloadTerms, Refusal};
use fleet_plan::text::truncate;

use super::rejection::Rejection;

/// Labels that cross at most, copies under their own keys included.
const LABELS: usize = 64;
/// Annotations that cross at most.
const ANNOTATIONS: usize = 32;
/// Characters of an annotation's value.
const ANNOTATION: usize = 2048;
/// Bytes of a key's name that are kept before its hash.
const KEPT: usize = 50;

/// The key of the copy of a label. Keys with a prefix of their own get a hash: a key has one prefix.
pub fn label_key(key: &str) -> String {
    match key.rsplit_once('/') {
        None => format!("{OFFLOADED_LABEL_PREFIX}{key}"),
        Some((_, name)) => {
            let name = truncate(name, KEPT);
            format!("{OFFLOADED_LABEL_PREFIX}{name}.{}", digest(key))
        }
    }
}

/// The labels of a Pod in the cluster of its executor.
///
/// # Errors
/// If there are more than cross.
pub(super) fn labels(
    labels: &BTreeMap<String, String>,
    terms: &OffloadTerms,
) -> Result<BTreeMap<String, String>, Rejection> {
    let verbatim = labels.iter().filter(|(key, _)| terms.verbatim_labels && !is_reserved(key));
    let mut all: BTreeMap<_, _> =
        verbatim.map(|(key, value)| (key.clone(), value.clone())).collect();
    all.extend(labels.iter().map(|(key, value)| (label_key(key), value.clone())));
    check_labels(&all, terms)?;
    Ok(all)
}

/// Whether labels are those of a Pod that was translated.
pub(super) fn check_labels(
    labels: &BTreeMap<String, String>,
    terms: &OffloadTerms,
) -> Result<(), Rejection> {
    if labels.len() > LABELS || labels.values().any(|value| value.chars().count() > 63) {
        return Err(Rejection::new(Refusal::LimitExceeded, "metadata.labels"));
    }
    let mut keys = labels.keys().filter(|key| !key.starts_with(OFFLOADED_LABEL_PREFIX));
    match keys.find(|key| !terms.verbatim_labels || is_reserved(key)) {
        Some(key) => Err(not_translated("metadata.labels", key)),
        None => Ok(()),
    }
}

/// The annotations of a Pod that cross: those with one of the beginnings that the executor accepts.
///
/// # Errors
/// If they are more, or longer, than what crosses.
pub(super) fn annotations(
    annotations: &BTreeMap<String, String>,
    terms: &OffloadTerms,
) -> Result<BTreeMap<String, String>, Rejection> {
    let accepted = annotations.iter().filter(|(key, _)| is_accepted(key, terms));
    let all = accepted.map(|(key, value)| (key.clone(), value.clone())).collect();
    check_annotations(&all, terms)?;
    Ok(all)
}

/// Whether annotations are those of a Pod that was translated.
pub(super) fn check_annotations(
    annotations: &BTreeMap<String, String>,
    terms: &OffloadTerms,
) -> Result<(), Rejection> {
    let long = annotations.values().any(|value| value.chars().count() > ANNOTATION);
    if long || annotations.len() > ANNOTATIONS {
        return Err(Rejection::new(Refusal::LimitExceeded, "metadata.annotations"));
    }
    match annotations.keys().find(|key| !is_accepted(key, terms)) {
        Some(key) => Err(not_translated("metadata.annotations", key)),
        None => Ok(()),
    }
}

fn is_accepted(key: &str, terms: &OffloadTerms) -> bool {
    let listed = terms.annotation_prefixes.iter().any(|prefix| key.starts_with(&**prefix));
    listed && !is_reserved(key)
}

/// Whether Kubernetes or the fleet itself acts on a key: with one of these, a Pod could change what becomes of it.
fn is_reserved(key: &str) -> bool {
    let domain = key.rsplit_once('/').map_or("", |(domain, _)| domain);
    ["kubernetes.io", "k8s.io", "fleet.azure.com"].iter().any(|reserved| {
        let before = domain.strip_suffix(reserved);
        before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
    })
}

fn not_translated(field: &str, key: &str) -> Rejection {
    Rejection::new(Refusal::NotTranslated, format!("{field}[{key}]"))
}
