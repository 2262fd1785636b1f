//! The requests of an audit log: who asked for what, when, with what body, and what the answer was.

use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{Context, Result};
use fleet_api::kinds;
use fleet_api::names::{SYSTEM_NAMESPACE, member_of_namespace};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::record::Micros;

/// Who wrote.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Author {
    /// The hub agent.
    Hub,
    /// That member's agent, in its own cluster or on the hub.
    Member(String),
    /// Users, and the controllers of Kubernetes.
    Other,
}

impl Author {
    /// The author behind a user name of a cluster.
    pub fn of(cluster: &str, user: &str) -> Self {
        let Some((namespace, account)) =
            user.strip_prefix("system:serviceaccount:").and_then(|user| user.split_once(':'))
        else {
            return Self::Other;
        };
        match (account, member_of_namespace(namespace)) {
            ("hub-agent", None) if namespace == SYSTEM_NAMESPACE => Self::Hub,
            ("member-agent", None) if namespace == SYSTEM_NAMESPACE => {
                Self::Member(cluster.to_owned())
            }
            ("member-agent", Some(member)) => Self::Member(member.to_owned()),
            _ => Self::Other,
        }
    }

    /// Whether it is one of ours.
    pub fn is_agent(&self) -> bool {
        *self != Self::Other
    }
}

/// One answered request.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// `hub`, or the member's name.
    pub cluster: String,
    /// The user name.
    pub user: String,
    /// Who that is.
    pub author: Author,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, ...
    pub verb: String,
    /// API group; empty for the core group.
    pub group: String,
    /// Plural of the kind; empty for paths that are no resources.
    pub resource: String,
    /// Subresource, or empty.
    pub subresource: String,
    /// Namespace, or empty.
    pub namespace: String,
    /// Name; empty for collections.
    pub name: String,
    /// Path and query.
    pub uri: String,
    /// HTTP status code of the answer; 0 if there was none.
    pub code: u16,
    /// Message of a refusal.
    pub message: String,
    /// When the server received it.
    pub received: Micros,
    /// When the server had answered it.
    pub answered: Micros,
    /// The body, where the log has it.
    pub body: Value,
    /// The answer's body, where the log has it.
    pub response: Value,
}

impl Request {
    /// Whether it asks for a change.
    pub fn is_write(&self) -> bool {
        matches!(self.verb.as_str(), "create" | "update" | "patch" | "delete" | "deletecollection")
    }

    /// Whether it is about a Pod that one member runs for another, or what is made for it. The oracle does not know those, and the bodies
    /// of such requests are not in the log: who runs virtual nodes leaves these requests out.
    pub fn is_of_virtual_node(&self) -> bool {
        let is_node = matches!(self.author, Author::Member(_))
            && [kinds::NODE.plural, kinds::POD.plural].contains(&self.resource.as_str());
        let is_theirs = |namespace: &str| namespace.starts_with("offload-");
        let is_namespace = self.resource == kinds::NAMESPACE.plural && is_theirs(&self.name);
        let is_inside = is_namespace || is_theirs(&self.namespace);
        is_node || is_inside || self.group == kinds::POD_EXPORT.group
    }

    /// Whether the server refused a JSON patch because the object was no longer what it tests for: a conflict, and no refusal of what
    /// was written.
    pub fn is_outrun(&self) -> bool {
        self.verb == "patch"
            && self.code == 422
            && self.message == "the server rejected our request due to an error in our request"
    }

    /// Whether the server did what was asked.
    pub fn succeeded(&self) -> bool {
        (200..300).contains(&self.code)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct AuditEvent {
    stage: String,
    verb: String,
    #[serde(rename = "requestURI")]
    request_uri: String,
    user: User,
    object_ref: ObjectRef,
    response_status: ResponseStatus,
    request_object: Value,
    response_object: Value,
    request_received_timestamp: Option<Timestamp>,
    stage_timestamp: Option<Timestamp>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct User {
    username: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ObjectRef {
    api_group: String,
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ResponseStatus {
    code: u16,
    message: String,
}

impl Default for AuditEvent {
    fn default() -> Self {
        Self {
            stage: String::new(),
            verb: String::new(),
            request_uri: String::new(),
            user: User::default(),
            object_ref: ObjectRef::default(),
            response_status: ResponseStatus::default(),
            request_object: Value::Null,
            response_object: Value::Null,
            request_received_timestamp: None,
            stage_timestamp: None,
        }
    }
}

/// Reads the audit log of a cluster. A watch is there once, by its end or, while it runs, by its begin.
pub fn read(cluster: &str, path: &Path) -> Result<Vec<Request>> {
    let file = std::fs::File::open(path)
        .with_context(|| format!("there is no audit log at {}", path.display()))?;
    let mut requests = Vec::new();
    for line in BufReader::new(file).lines() {
        match serde_json::from_str(&line?) {
            Ok(event) => requests.extend(request(cluster, event)),
            Err(error) if error.is_eof() => break,
            Err(error) => return Err(error).context("an audit line is not an audit event"),
        }
    }
    requests.sort_by_key(|request| request.received);
    Ok(requests)
}

/// Whether nothing changes whatever the server answers.
fn is_dry_run(uri: &str) -> bool {
    let query = uri.split_once('?').map(|(_, query)| query).unwrap_or_default();
    query.split('&').any(|part| part.starts_with("dryRun="))
}

fn request(cluster: &str, event: AuditEvent) -> Option<Request> {
    let begun = event.verb == "watch" && event.stage == "ResponseStarted";
    if (event.stage != "ResponseComplete" && !begun) || is_dry_run(&event.request_uri) {
        return None;
    }
    let micros = |time: Option<Timestamp>| time.map_or(0, Timestamp::as_microsecond);
    let ObjectRef { api_group, resource, subresource, namespace, name } = event.object_ref;
    Some(Request {
        cluster: cluster.to_owned(),
        author: Author::of(cluster, &event.user.username),
        user: event.user.username,
        verb: event.verb,
        group: api_group,
        resource,
        subresource,
        namespace,
        name,
        uri: event.request_uri,
        code: event.response_status.code,
        message: event.response_status.message,
        received: micros(event.request_received_timestamp),
        answered: micros(event.stage_timestamp),
        body: event.request_object,
        response: event.response_object,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pods_of_other_members_and_what_is_made_for_them_are_known() {
        let asked = |user: &str, group: &str, resource: &str, namespace: &str, name: &str| {
            let event = json!({
                "stage": "ResponseComplete", "verb": "create", "requestURI": "/apis",
                "user": { "username": format!("system:serviceaccount:fleet-system:{user}") },
                "objectRef": {
                    "apiGroup": group, "resource": resource, "namespace": namespace, "name": name,
                },
            });
            request("west", serde_json::from_value(event).unwrap()).unwrap().is_of_virtual_node()
        };
        let by_member =
            |resource, namespace, name| asked("member-agent", "", resource, namespace, name);
        assert!(by_member("pods", "shop", "web") && by_member("nodes", "", "fleet-west"));
        assert!(by_member("namespaces", "", "offload-east--shop"));
        assert!(by_member("configmaps", "offload-east--shop", "settings"));
        assert!(asked("hub-agent", "offload.networking.fleet.azure.com", "podimports", "a", "b"));
        assert!(
            !by_member("services", "shop", "offload-web") && !by_member("namespaces", "", "shop")
        );
        assert!(!asked("hub-agent", "", "nodes", "", "fleet-west"));
    }

    #[test]
    fn what_is_tried_only_is_no_request() {
        let read = |query: &str| {
            let uri = format!("/api/v1/namespaces/team/services{query}");
            let event = json!({ "stage": "ResponseComplete", "verb": "create", "requestURI": uri });
            request("hub", serde_json::from_value(event).unwrap()).is_some()
        };
        assert!(read("") && read("?fieldManager=dryRun") && read("?fieldManager=a&dryRun"));
        assert!(!read("?dryRun=All") && !read("?fieldManager=a&dryRun=All"));
    }
}
