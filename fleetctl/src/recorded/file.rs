//! The format of a recording: lines of JSON.
//!
//! The first line has the version. Then frames follow: a line with the time, and a line for each change since the frame before.
//! What follows the last end of a line was cut off, and counts as not written.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail};
use fleet_accumulator::Tracked as _;
use fleet_api::{ObjectName, ResourceKind};
use fleet_model::hub_schema::{GROUP_VERSION, HubSchema};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::change::Change;
use super::cluster::ClusterObjects;
use super::fleet::MemberObjects;
use super::sources;
use super::state::KindState;
use super::text;

/// The version that is written, and the only one that is read.
pub const VERSION: u32 = 1;
/// Maximum size of a recording, in bytes.
pub const MAX_SIZE: u64 = 512 * 1024 * 1024;
/// Maximum length of a line, in bytes: etcd stores no larger objects.
pub(super) const MAX_LINE: usize = 4 * 1024 * 1024;
/// Maximum number of frames.
pub const MAX_FRAMES: usize = 20_000;
/// Maximum number of objects at one time.
pub const MAX_OBJECTS: usize = 500_000;
/// Maximum number of members.
pub(super) const MAX_MEMBERS: usize = 2000;
/// Maximum length of a name. Those of Kubernetes have at most 253 characters.
const MAX_NAME: usize = 253;

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Header {
    pub(super) fleet_recording: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) hub_context: Option<String>,
}

/// Any other line.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Line {
    /// Begins a frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<Timestamp>,
    /// The member; the hub without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    member: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    about: Option<About>,
    /// `plural.group/version`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    state: Option<KindState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    object: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gone: Option<String>,
}

/// What is known of a member beside its objects.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct About {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    context: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unseen: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    names_served: Option<bool>,
}

/// A line that was read.
#[derive(Debug)]
pub(super) enum Entry {
    Frame(Timestamp),
    Change(Change),
}

/// The kinds that a recording may have, by their names in it.
#[derive(Debug)]
pub(super) struct Kinds(BTreeMap<String, ResourceKind>);

impl Kinds {
    pub(super) fn new() -> Self {
        let (hub, member) = (sources::of_hub(), sources::of_member("any"));
        let all = hub.into_keys().chain(member.into_keys()).chain([HubSchema::KIND]);
        Self(all.map(|kind| (label(kind), kind)).collect())
    }
}

fn label(kind: ResourceKind) -> String {
    let ResourceKind { group, version, plural, .. } = kind;
    format!("{plural}.{group}/{version}")
}

pub(super) fn header(hub_context: Option<&str>) -> Result<String> {
    let hub_context = hub_context.map(str::to_owned);
    Ok(serde_json::to_string(&Header { fleet_recording: VERSION, hub_context })? + "\n")
}

pub(super) fn frame(at: Timestamp) -> Result<String> {
    Ok(serde_json::to_string(&Line { at: Some(at), ..Line::default() })? + "\n")
}

pub(super) fn line(change: &Change) -> Result<String> {
    let line = match change {
        Change::Member(name, MemberObjects { context, unseen, names_served, .. }) => {
            let (context, unseen) = (context.clone(), unseen.clone());
            let about = About { context, unseen, names_served: *names_served };
            Line { member: Some(name.clone()), about: Some(about), ..Line::default() }
        }
        Change::State(cluster, kind, state) => {
            Line { state: Some(state.clone()), ..of(cluster.as_ref(), *kind) }
        }
        Change::Present(cluster, kind, _, text) => {
            Line { object: Some(serde_json::from_str(text)?), ..of(cluster.as_ref(), *kind) }
        }
        Change::Gone(cluster, kind, name) => {
            Line { gone: Some(name.to_string()), ..of(cluster.as_ref(), *kind) }
        }
    };
    Ok(serde_json::to_string(&line)? + "\n")
}

fn of(member: Option<&String>, kind: ResourceKind) -> Line {
    Line { member: member.cloned(), kind: Some(label(kind)), ..Line::default() }
}

/// Reads a line after the first.
///
/// # Errors
/// Why it is none of a recording.
pub(super) fn entry(text: &str, kinds: &Kinds) -> Result<Entry> {
    let line: Line = serde_json::from_str(text)?;
    let member = line.member.map(checked_name).transpose()?;
    match (line.at, member, line.about, line.kind) {
        (Some(at), None, None, None) => Ok(Entry::Frame(at)),
        (None, Some(member), Some(about), None) => {
            let About { context, unseen, names_served } = about;
            let objects = ClusterObjects::default();
            let about = MemberObjects { context, unseen, names_served, objects };
            Ok(Entry::Change(Change::Member(member, about)))
        }
        (None, member, None, Some(kind)) => {
            let known = kinds.0.get(&kind);
            let kind = *known.with_context(|| format!("{kind:?} is no kind of a recording"))?;
            Ok(Entry::Change(match (line.state, line.object, line.gone) {
                (Some(state), None, None) => Change::State(member, kind, state),
                (None, Some(object), None) => {
                    let name = name_of(&object, kind)?;
                    Change::Present(member, kind, name, text::of_value(kind, object))
                }
                (None, None, Some(name)) => Change::Gone(member, kind, parsed(&name, kind)?),
                _ => bail!("it has neither a state nor an object"),
            }))
        }
        _ => bail!("it is neither a frame nor a change"),
    }
}

fn name_of(object: &Value, kind: ResourceKind) -> Result<ObjectName> {
    let metadata = &object["metadata"];
    let name = metadata["name"].as_str().context("an object has no name")?;
    let namespace = metadata["namespace"].as_str().unwrap_or_default();
    if kind.namespaced == namespace.is_empty() {
        bail!("{} {name:?} is in the wrong namespace", kind.kind);
    }
    checked(ObjectName::new(namespace, name), kind)
}

fn parsed(text: &str, kind: ResourceKind) -> Result<ObjectName> {
    let name =
        if kind.namespaced { ObjectName::parse(text) } else { Some(ObjectName::cluster(text)) };
    let name = name.with_context(|| format!("{text:?} is no name"))?;
    checked(name, kind)
}

fn checked(name: ObjectName, kind: ResourceKind) -> Result<ObjectName> {
    if kind.namespaced {
        checked_name(name.namespace.to_string())?;
    }
    // The only one that is not an object of the API, and named by what it describes.
    if kind != HubSchema::KIND || *name.name != *GROUP_VERSION {
        checked_name(name.name.to_string())?;
    }
    Ok(name)
}

/// Names become parts of commands that are proposed, so they have the characters of names of Kubernetes and no others.
fn checked_name(name: String) -> Result<String> {
    if name.is_empty() || name.len() > MAX_NAME {
        bail!("a name has to have 1 to {MAX_NAME} characters");
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._:".contains(c);
    if !name.starts_with(|c: char| c.is_ascii_alphanumeric()) || !name.chars().all(is_plain) {
        bail!("{name:?} has characters that no name has");
    }
    Ok(name)
}
