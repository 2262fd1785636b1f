//! Which Pods, config maps and Secrets an origin watches: those of its virtual nodes, and what these Pods refer to.
//!
//! No more is read than what may cross, and no more rights are needed than for that.

use std::collections::BTreeSet;

use fleet_accumulator::{Change, Object, Selection, SourceSet, Tracked, View, diff};
use fleet_api::ObjectName;
use fleet_api::offload::ConfigKind;
use fleet_model::objects::offload::PodDocument;
use fleet_virtual_node::names;
use fleet_virtual_node::pod::{accepts, references_to_read};

use crate::Identity;
use crate::executors::{Consent, Executor};
use crate::snapshot::MemberSnapshot;

/// What the selections depend on.
pub(crate) fn sources() -> SourceSet {
    SourceSet::from([
        MemberSnapshot::offload_consent(),
        MemberSnapshot::virtual_nodes(),
        MemberSnapshot::virtual_node_objects(),
        MemberSnapshot::virtual_pods(),
        MemberSnapshot::pod_exports(),
    ])
}

/// Whether a change may lead to other selections: of the statuses of Pods and exports, only that a Pod has started or ended.
pub(crate) fn may_differ(old: &MemberSnapshot, new: &MemberSnapshot) -> bool {
    fn comes_or_goes<T: Tracked>(old: &View<T>, new: &View<T>) -> bool {
        diff(old, new).any(|change| !matches!(change, Change::Updated { .. }))
    }
    let turns = |change: Change<'_, PodDocument>| {
        let Change::Updated { old, new } = change else { return true };
        let state =
            |pod: &PodDocument| (is_ending(pod), pod.document["status"]["startTime"].is_null());
        state(&old.object) != state(&new.object)
    };
    diff(&old.virtual_pods, &new.virtual_pods).any(turns)
        || comes_or_goes(&old.pod_exports, &new.pod_exports)
        || comes_or_goes(&old.virtual_node_objects, &new.virtual_node_objects)
        || diff(&old.virtual_nodes, &new.virtual_nodes).next().is_some()
        || diff(&old.offload_consent, &new.offload_consent).next().is_some()
}

/// How many config maps and Secrets are watched, by their names: each is a watch of its own. Pods beyond wait for theirs.
const MOST_CONFIGS: usize = 1000;

/// What an origin watches of Pods, config maps and Secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selections {
    pub(crate) pods: BTreeSet<Selection>,
    pub(crate) config_maps: BTreeSet<Selection>,
    pub(crate) secrets: BTreeSet<Selection>,
}

impl Selections {
    /// What is watched by what is seen. What an executor was offered for goes on being watched while its Node or exports exist.
    pub(crate) fn of(identity: &Identity, snapshot: &MemberSnapshot) -> Self {
        let offered = snapshot.virtual_nodes.iter().map(|node| node.object.spec.executor.as_str());
        let nodes = snapshot.virtual_node_objects.iter();
        let nodes = nodes.filter_map(|node| names::executor_of(&node.name.name));
        let exports = snapshot.pod_exports.iter();
        let exports = exports.map(|export| export.object.spec.executor.as_str());
        let executors: BTreeSet<&str> =
            offered.chain(nodes).chain(exports).filter(|name| !name.is_empty()).collect();
        let pods = executors.iter().map(|name| Selection::of_node(&names::node(name))).collect();
        let mut selections = Self { pods, ..Self::default() };
        let pods = snapshot.virtual_pods.iter();
        let mut pods: Vec<_> =
            pods.filter_map(|pod| Some((standing(identity, pod, snapshot)?, pod))).collect();
        pods.sort_by_key(|(standing, _)| *standing);
        for (_, pod) in pods {
            if selections.config_maps.len() + selections.secrets.len() >= MOST_CONFIGS {
                break;
            }
            selections.add(identity, pod, snapshot);
        }
        selections
    }

    /// Adds what a Pod refers to.
    fn add(&mut self, identity: &Identity, pod: &Object<PodDocument>, snapshot: &MemberSnapshot) {
        let Some(spec) = pod.object.document["spec"].as_object() else { return };
        let Some(executor) = executor(pod) else { return };
        for reference in references_to_read(spec).into_keys() {
            let name = ObjectName::new(&*pod.name.namespace, reference.name.as_str());
            match reference.kind {
                ConfigKind::ConfigMap => self.config_maps.insert(Selection::named(&name)),
                ConfigKind::Secret if may_leave(identity, executor, &name, snapshot) => {
                    self.secrets.insert(Selection::named(&name))
                }
                ConfigKind::Secret => false,
            };
        }
    }
}

fn executor(pod: &Object<PodDocument>) -> Option<&str> {
    pod.object.node().and_then(names::executor_of)
}

/// Why what a Pod refers to is read. Those that have crossed come first: what waits for place takes it from none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Standing {
    /// It is on the hub, or was before the hub was lost.
    Crossed,
    /// It may cross.
    New,
}

/// `None` of a Pod of which nothing would be sent. Users can bind as many to a virtual node as they like.
fn standing(
    identity: &Identity,
    pod: &Object<PodDocument>,
    snapshot: &MemberSnapshot,
) -> Option<Standing> {
    if is_ending(&pod.object) {
        return None;
    }
    let export = ObjectName::new(identity.hub_namespace.as_str(), pod.uid.to_string());
    let has_started = !pod.object.document["status"]["startTime"].is_null();
    if has_started || snapshot.pod_exports.get(&export).is_some() {
        return Some(Standing::Crossed);
    }
    let executor = Executor::of(identity, executor(pod)?, snapshot);
    let terms = &executor.offered?.object.spec.terms;
    accepts(terms, &pod.name.namespace).then_some(Standing::New)
}

fn is_ending(pod: &PodDocument) -> bool {
    pod.has_ended() || pod.meta.is_terminating()
}

/// Whether what a Pod refers to is to be read, as far as there is place for it.
pub(crate) fn is_wanted(
    identity: &Identity,
    pod: &Object<PodDocument>,
    snapshot: &MemberSnapshot,
) -> bool {
    standing(identity, pod, snapshot).is_some()
}

/// Whether the administrators of both clusters list a Secret.
fn may_leave(
    identity: &Identity,
    executor: &str,
    name: &ObjectName,
    snapshot: &MemberSnapshot,
) -> bool {
    let executor = Executor::of(identity, executor, snapshot);
    let (Consent::Accepted(accepted), Some(offered)) = (executor.consent, executor.offered) else {
        return false;
    };
    let (name, terms) = (name.to_string(), &offered.object.spec.terms);
    accepted.secrets.contains(&name) && terms.secrets.contains(&name)
}
