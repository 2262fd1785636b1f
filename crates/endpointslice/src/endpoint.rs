//! A desired endpoint, borrowed from the object that it is derived from: most endpoints are up to date, and comparing a
//! borrowed one allocates nothing.

use std::borrow::Cow;

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions};

/// The object behind an endpoint: its `targetRef`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target<'a> {
    /// Its kind.
    pub kind: &'a str,
    /// Its namespace.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its uid.
    pub uid: &'a str,
}

/// A desired endpoint. Addresses, hostname, and namespace and name of the target are its identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Desired<'a> {
    /// At least one address, sorted.
    pub addresses: Vec<Cow<'a, str>>,
    /// Condition `ready`.
    pub ready: bool,
    /// Condition `serving`.
    pub serving: bool,
    /// Condition `terminating`.
    pub terminating: bool,
    /// Host name, not empty.
    pub hostname: Option<&'a str>,
    /// Node that it runs on.
    pub node_name: Option<&'a str>,
    /// Zone that it is in.
    pub zone: Option<&'a str>,
    /// Object behind the endpoint.
    pub target: Target<'a>,
}

impl Desired<'_> {
    /// Whether `existing` has the same identity, in any state.
    pub(crate) fn is(&self, existing: &Endpoint) -> bool {
        let target = existing.target_ref.as_ref();
        text(target.and_then(|target| target.name.as_deref())) == self.target.name
            && text(target.and_then(|target| target.namespace.as_deref())) == self.target.namespace
            && same_text(existing.hostname.as_deref(), self.hostname)
            && same_addresses(&self.addresses, &existing.addresses)
    }

    /// Whether `existing`, which has the same identity, is in a different state. Hints are ignored.
    pub(crate) fn differs_from(&self, existing: &Endpoint) -> bool {
        let conditions = existing.conditions.as_ref();
        let [ready, serving, terminating] = conditions.map_or([None; 3], |conditions| {
            [conditions.ready, conditions.serving, conditions.terminating]
        });
        self.node_name != existing.node_name.as_deref()
            || self.zone != existing.zone.as_deref()
            || Some(self.ready) != ready
            || Some(self.serving) != serving
            || Some(self.terminating) != terminating
            || existing.target_ref.as_ref().is_none_or(|target| !self.target.equals(target))
    }

    /// Builds the endpoint, without hints.
    pub(crate) fn build(&self) -> Endpoint {
        Endpoint {
            addresses: self.addresses.iter().map(|address| address.clone().into_owned()).collect(),
            conditions: Some(EndpointConditions {
                ready: Some(self.ready),
                serving: Some(self.serving),
                terminating: Some(self.terminating),
            }),
            hostname: self.hostname.map(str::to_owned),
            node_name: self.node_name.map(str::to_owned),
            zone: self.zone.map(str::to_owned),
            target_ref: Some(self.target.build()),
            ..Endpoint::default()
        }
    }
}

impl Target<'_> {
    /// Whether a reference names this object. Its resource version is ignored: it only records when the reference was
    /// written.
    fn equals(&self, reference: &ObjectReference) -> bool {
        text(reference.kind.as_deref()) == self.kind
            && text(reference.namespace.as_deref()) == self.namespace
            && text(reference.name.as_deref()) == self.name
            && text(reference.uid.as_deref()) == self.uid
            && text(reference.api_version.as_deref()).is_empty()
            && text(reference.field_path.as_deref()).is_empty()
    }

    fn build(&self) -> ObjectReference {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        ObjectReference {
            kind: some(self.kind),
            namespace: some(self.namespace),
            name: some(self.name),
            uid: some(self.uid),
            ..ObjectReference::default()
        }
    }
}

/// Whether the condition `ready` is true; an absent condition counts as false.
pub(crate) fn is_ready(endpoint: &Endpoint) -> bool {
    endpoint.conditions.as_ref().and_then(|conditions| conditions.ready) == Some(true)
}

/// Whether two texts of an identity are equal, where an absent and an empty text are. Empty texts are filtered out before
/// the comparison: on some machines comparing them costs more than the rest of the endpoint.
pub(crate) fn same_text(a: Option<&str>, b: Option<&str>) -> bool {
    let present = |text: &&str| !text.is_empty();
    a.filter(present) == b.filter(present)
}

/// The text, or an empty one: absent and empty are equal in an identity.
pub(crate) fn text(value: Option<&str>) -> &str {
    value.unwrap_or_default()
}

fn same_addresses(sorted: &[Cow<'_, str>], existing: &[String]) -> bool {
    if sorted.len() != existing.len() {
        return false;
    }
    if sorted.iter().zip(existing).all(|(ours, theirs)| ours == theirs) {
        return true;
    }
    let mut existing: Vec<&str> = existing.iter().map(String::as_str).collect();
    existing.sort_unstable();
    sorted.iter().zip(existing).all(|(ours, theirs)| *ours == theirs)
}

#[cfg(test)]
mod tests;
