//! What a request is about.

use fleet_accumulator::{ResourceVersion, Uid};
use fleet_api::kinds::{
    CLUSTER_PROPERTY, MCS_SERVICE_EXPORT, MCS_SERVICE_IMPORT, NAMESPACE, REACH_REPORT,
    kinds_written,
};
use fleet_api::{ObjectName, ResourceKind};
use fleet_plan::{Action, Precondition};
use http::{Method, Uri};
use serde_json::Value;

/// Kinds of a member, and of a hub, beside those of the fleet.
const MORE: [ResourceKind; 5] =
    [NAMESPACE, MCS_SERVICE_EXPORT, MCS_SERVICE_IMPORT, CLUSTER_PROPERTY, REACH_REPORT];

/// A kind, and an object or a namespace of it.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) kind: ResourceKind,
    pub(super) namespace: Option<String>,
    pub(super) name: Option<ObjectName>,
    pub(super) status: bool,
    /// The only name that a list shows, by its field selector.
    only: Option<String>,
}

impl Target {
    /// Reads path and query; `None` if no such kind is served.
    pub(super) fn parse(uri: &Uri) -> Option<Self> {
        let parts: Vec<&str> = uri.path().trim_matches('/').split('/').collect();
        let (group, version, rest) = match parts.as_slice() {
            ["api", version, rest @ ..] => ("", version, rest),
            ["apis", group, version, rest @ ..] => (*group, version, rest),
            _ => return None,
        };
        let (namespace, rest) = match rest {
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some(*namespace), rest),
            rest => (None, rest),
        };
        let (plural, rest) = rest.split_first()?;
        let known = |kind: &ResourceKind| {
            kind.group == group && kind.version == *version && kind.plural == *plural
        };
        let kind = kinds_written().chain(MORE).find(known)?;
        let name = rest.first().map(|name| match namespace {
            Some(namespace) => ObjectName::new(namespace, *name),
            None => ObjectName::cluster(*name),
        });
        let status = rest.get(1) == Some(&"status");
        let only = uri.query().and_then(|query| query.split_once("metadata.name%3D"));
        let only = only.map(|(_, name)| name.split('&').next().unwrap_or(name).to_owned());
        Some(Self { kind, namespace: namespace.map(str::to_owned), name, status, only })
    }

    /// Whether a list or watch of this shows an object of the kind.
    pub(super) fn covers(&self, name: &ObjectName) -> bool {
        self.namespace.as_deref().is_none_or(|namespace| *name.namespace == *namespace)
            && self.only.as_deref().is_none_or(|only| *name.name == *only)
    }
}

/// The write that a request asks for.
pub(super) fn action(
    method: &Method,
    target: &Target,
    body: Value,
) -> Option<(ObjectName, Action)> {
    if method == Method::POST {
        let name = body["metadata"]["name"].as_str()?;
        let name = ObjectName::new(target.namespace.clone().unwrap_or_default(), name);
        return Some((name, Action::Create(body.into())));
    }
    let action = match method.as_str() {
        "PUT" => Action::Replace { at: precondition(&body["metadata"])?, body: body.into() },
        "DELETE" => Action::Delete {
            at: precondition(&body["preconditions"])?,
            grace_seconds: body["gracePeriodSeconds"].as_i64(),
        },
        "PATCH" if body.is_object() => Action::Apply { body: body.into(), status: target.status },
        "PATCH" => {
            let operations = body.as_array()?;
            let tested = |path: &str| {
                let test = operations.iter().find(|one| one["op"] == "test" && one["path"] == path);
                test.and_then(|test| test["value"].as_str())
            };
            let (uid, version) = (tested("/metadata/uid")?, tested("/metadata/resourceVersion")?);
            let at = Precondition { uid: Uid::from(uid), version: ResourceVersion::from(version) };
            let operations = operations.iter().filter(|one| one["op"] != "test").cloned().collect();
            Action::Patch { operations, status: target.status, at }
        }
        _ => return None,
    };
    Some((target.name.clone()?, action))
}

fn precondition(metadata: &Value) -> Option<Precondition> {
    let (uid, version) = (metadata["uid"].as_str()?, metadata["resourceVersion"].as_str()?);
    Some(Precondition { uid: Uid::from(uid), version: ResourceVersion::from(version) })
}
