//! A model of an API server, to run plans against without a cluster.
//!
//! It holds objects as JSON and follows the rules that plans depend on: uids, resource versions,
//! generations, preconditions, the status subresource, finalizers with deletion timestamps, and the
//! garbage collection of owned objects. It is synchronous and has no clock of its own.

mod addresses;
mod apply;
mod collector;
mod pods;
mod rules;
mod spelling;
mod stored;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fleet_accumulator::ClusterId;
use fleet_api::{ObjectName, ResourceKind, kinds};
use fleet_plan::{Action, Plan, Precondition, Step};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use addresses::Addresses;
use apply::applied;
use collector::{Collector, has_owners, owners};
use pods::{grace_of, has_time_left};
use rules::{
    body, drop_empty, finalizers, has_status, is_same, next_generation, patched, replaced,
    with_status,
};
pub use spelling::normalized;
pub(crate) use stored::Stored;

/// Number of the first uid of a server with objects of another.
const ADOPTED: u64 = 1 << 40;

/// Why the server refused a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The name is taken.
    AlreadyExists,
    /// There is no such object.
    NotFound,
    /// The object is another or newer one than the request was meant for.
    Conflict,
    /// The patch does not fit the object.
    Misfit,
    /// The object may never become this.
    Invalid,
    /// There is no such namespace.
    NamespaceMissing,
    /// The namespace is being deleted.
    NamespaceTerminating,
}

/// A write that changed something.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Write {
    /// As in [`Action::verb`].
    pub verb: &'static str,
    /// Kind of the object.
    pub kind: &'static str,
    /// The object.
    pub name: ObjectName,
}

/// A change of an object, as in a watch event.
#[derive(Clone, Debug)]
pub struct Change {
    /// The server's version since.
    pub version: u64,
    /// Kind of the object.
    pub kind: ResourceKind,
    /// The object.
    pub name: ObjectName,
    /// `ADDED`, `MODIFIED` or `DELETED`.
    pub event: &'static str,
    /// As it is now, or as it was when it went.
    pub object: Value,
}

/// One API server.
#[derive(Clone, Debug)]
pub struct ModelServer {
    cluster: ClusterId,
    /// A second role: the hub may be a member of its own fleet.
    also: Option<ClusterId>,
    objects: BTreeMap<(ResourceKind, ObjectName), Stored>,
    version: u64,
    uids: u64,
    now: Timestamp,
    writes: Vec<Write>,
    /// What Services get, if they get addresses at all.
    addresses: Option<Addresses>,
    /// Everything that has changed, if it is recorded.
    changes: Option<Vec<Change>>,
    /// What was applied last of each object and its status: by one manager, as the agents have one.
    applied: BTreeMap<(ResourceKind, ObjectName, bool), Value>,
    /// Whose `managedFields` were cleared: the first time is a change of the object.
    cleared: BTreeSet<(ResourceKind, ObjectName)>,
    /// Deletes what has lost its owners, if that takes time.
    collector: Option<Collector>,
    /// Whether objects need a namespace that is there.
    needs_namespaces: bool,
}

impl ModelServer {
    /// An empty server, at the beginning of 2026.
    pub fn new(cluster: ClusterId) -> Self {
        let now = Timestamp::from_second(1_767_225_600).expect("a time within range");
        let (objects, writes) = (BTreeMap::new(), Vec::new());
        Self {
            cluster,
            also: None,
            objects,
            version: 100,
            uids: 0,
            now,
            writes,
            addresses: None,
            changes: None,
            applied: BTreeMap::new(),
            cleared: BTreeSet::new(),
            collector: None,
            needs_namespaces: false,
        }
    }

    /// Gives Services addresses of these families from now on, and refuses those that are taken.
    pub fn give_addresses(&mut self, families: &[&'static str]) {
        self.addresses = Some(Addresses::new(families));
    }

    /// Lets the garbage collection take up to ten seconds from now on, by the time of [`Self::collect`], instead of none.
    pub fn collect_later(&mut self, seed: u64) {
        self.collector = Some(Collector::new(seed));
    }

    /// Refuses objects from now on whose namespace is not there, or is being deleted.
    pub fn need_namespaces(&mut self) {
        self.needs_namespaces = true;
    }

    /// Gives the objects that are made from now on uids of this range, so that no other server has the same.
    pub fn number_uids(&mut self, range: u16) {
        self.uids = u64::from(range) << 32;
    }

    /// Records all changes from now on, for [`Self::changes`]. Forgets those recorded before.
    pub fn remember(&mut self) {
        self.changes = Some(Vec::new());
    }

    /// Everything that has changed since [`Self::remember`], oldest first.
    pub fn changes(&self) -> &[Change] {
        self.changes.as_deref().unwrap_or_default()
    }

    /// Its version: what a list is as new as.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// All objects of a kind, as they are stored.
    pub fn objects(&self, kind: ResourceKind) -> impl Iterator<Item = (&ObjectName, &Value)> {
        self.stored(kind).map(|(name, object)| (name, &**object))
    }

    pub(crate) fn stored(
        &self,
        kind: ResourceKind,
    ) -> impl Iterator<Item = (&ObjectName, &Stored)> {
        let from_kind = self.objects.range((kind, ObjectName::cluster(""))..);
        let of_kind = from_kind.take_while(move |((of, _), _)| *of == kind);
        of_kind.map(|((_, name), object)| (name, object))
    }

    /// Every object, as it is stored.
    pub fn all_objects(&self) -> impl Iterator<Item = (ResourceKind, &ObjectName, &Value)> {
        self.objects.iter().map(|((kind, name), object)| (*kind, name, &**object))
    }

    /// Adds an object of another server as that has it, with its uid and version. What this server makes later is newer.
    pub fn adopt(&mut self, kind: ResourceKind, name: ObjectName, object: Value) {
        let version = object["metadata"]["resourceVersion"].as_str();
        let version = version.and_then(|version| version.parse().ok()).unwrap_or_default();
        self.version = self.version.max(version);
        // Uids of this server are none of the other one.
        self.uids = self.uids.max(ADOPTED);
        self.objects.insert((kind, name), object.into());
    }

    /// Sets the time.
    pub fn set_now(&mut self, now: Timestamp) {
        self.now = now;
    }

    /// The cluster it serves.
    pub fn cluster(&self) -> ClusterId {
        self.cluster
    }

    /// Lets it serve another cluster, too.
    pub fn also(&mut self, cluster: ClusterId) {
        self.also = Some(cluster);
    }

    pub(crate) fn serves(&self, cluster: ClusterId) -> bool {
        self.cluster == cluster || self.also == Some(cluster)
    }

    /// The server's time.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Lets time pass.
    pub fn advance(&mut self, seconds: i64) {
        let later = self.now.as_second() + seconds;
        self.now = Timestamp::from_second(later).expect("a time within range");
    }

    /// Writes by plans since the last call.
    pub fn take_writes(&mut self) -> Vec<Write> {
        std::mem::take(&mut self.writes)
    }

    /// An object as it is stored.
    pub fn get(&self, kind: ResourceKind, name: &ObjectName) -> Option<&Value> {
        self.objects.get(&(kind, name.clone())).map(|object| &**object)
    }

    /// Names of all objects of a kind.
    pub fn names(&self, kind: ResourceKind) -> Vec<ObjectName> {
        self.objects(kind).map(|(name, _)| name.clone()).collect()
    }

    /// Stores a new object, as a user would.
    ///
    /// # Errors
    /// If the name is taken.
    pub fn create(
        &mut self,
        kind: ResourceKind,
        name: &ObjectName,
        mut object: Value,
    ) -> Result<(), Refusal> {
        self.is_in_namespace(kind, name)?;
        if self.objects.contains_key(&(kind, name.clone())) {
            return Err(Refusal::AlreadyExists);
        }
        self.address(kind, name, &mut object)?;
        self.uids += 1;
        let metadata = &mut object["metadata"];
        metadata["name"] = json!(name.name);
        metadata["namespace"] = json!(name.namespace);
        metadata["uid"] = json!(format!("00000000-0000-4000-8000-{:012x}", self.uids));
        metadata["generation"] = json!(1);
        metadata["creationTimestamp"] = json!(seconds(self.now));
        if let Some(object) = object.as_object_mut().filter(|_| has_status(kind)) {
            object.remove("status");
        }
        self.store(kind, name, object);
        Ok(())
    }

    fn is_in_namespace(&self, kind: ResourceKind, name: &ObjectName) -> Result<(), Refusal> {
        if !self.needs_namespaces || !kind.namespaced {
            return Ok(());
        }
        let namespace = ObjectName::cluster(&*name.namespace);
        let namespace = self.get(kinds::NAMESPACE, &namespace).ok_or(Refusal::NamespaceMissing)?;
        let stays = namespace["metadata"]["deletionTimestamp"].is_null();
        if stays { Ok(()) } else { Err(Refusal::NamespaceTerminating) }
    }

    /// Changes an object, as a user would; status too.
    ///
    /// # Errors
    /// If there is none.
    pub fn edit(
        &mut self,
        kind: ResourceKind,
        name: &ObjectName,
        change: impl FnOnce(&mut Value),
    ) -> Result<(), Refusal> {
        let mut object = self.get(kind, name).ok_or(Refusal::NotFound)?.clone();
        change(&mut object);
        self.update(kind, name, object);
        Ok(())
    }

    /// Deletes an object, as a user would: finalizers hold it.
    ///
    /// # Errors
    /// If there is none.
    pub fn delete(&mut self, kind: ResourceKind, name: &ObjectName) -> Result<(), Refusal> {
        let mut object = self.get(kind, name).ok_or(Refusal::NotFound)?.clone();
        if object["metadata"]["deletionTimestamp"].is_null() {
            object["metadata"]["deletionTimestamp"] = json!(seconds(self.now));
            // A deletion timestamp counts as a change of the spec.
            next_generation(&mut object);
        }
        self.update(kind, name, object);
        Ok(())
    }

    /// Deletes a Pod: one that is bound to a node stays until its containers have ended, or for this time.
    ///
    /// # Errors
    /// If there is none.
    pub fn delete_pod(
        &mut self,
        name: &ObjectName,
        grace_seconds: Option<i64>,
    ) -> Result<(), Refusal> {
        let mut pod = self.get(kinds::POD, name).ok_or(Refusal::NotFound)?.clone();
        let grace = grace_of(&pod, grace_seconds);
        pod["metadata"]["deletionGracePeriodSeconds"] = json!(grace);
        if pod["metadata"]["deletionTimestamp"].is_null() {
            next_generation(&mut pod);
        }
        let ends = self.now.saturating_add(SignedDuration::from_secs(grace)).unwrap_or(self.now);
        pod["metadata"]["deletionTimestamp"] = json!(seconds(ends));
        self.update(kinds::POD, name, pod);
        Ok(())
    }

    /// Executes one step of a plan.
    ///
    /// # Errors
    /// As the API server would refuse it.
    pub fn execute(&mut self, step: &Step) -> Result<(), Refusal> {
        assert!(self.serves(step.cluster), "{step:?} is for another server");
        let before = self.version;
        let result = self.dispatch(step);
        if self.version != before {
            let (verb, kind) = (step.action.verb(), step.kind.label());
            self.writes.push(Write { verb, kind, name: step.name.clone() });
        }
        result
    }

    fn dispatch(&mut self, step: &Step) -> Result<(), Refusal> {
        let (kind, name) = (step.kind, &step.name);
        match &step.action {
            Action::Create(object) => self.create(kind, name, object.to_value()),
            Action::Replace { body, at } => {
                let current = self.checked(kind, name, at)?;
                let object = replaced(kind, current, body.to_value());
                let before = self.version;
                self.write(kind, name, object)?;
                self.clear_managed_fields(kind, name, before);
                Ok(())
            }
            Action::Patch { operations, status, at } => {
                let current = self.checked(kind, name, at)?;
                let patched = patched(current, operations).ok_or(Refusal::Misfit)?;
                let object = match (*status, has_status(kind)) {
                    (true, _) => with_status(current, &patched),
                    (false, true) => with_status(&patched, current),
                    (false, false) => patched,
                };
                self.write(kind, name, object)
            }
            Action::Apply { body, status } => self.apply(kind, name, &body.to_value(), *status),
            Action::Delete { at, grace_seconds } => match self.checked(kind, name, at) {
                Err(Refusal::NotFound) => Ok(()),
                Err(refusal) => Err(refusal),
                Ok(_) if kind == kinds::POD => self.delete_pod(name, *grace_seconds),
                Ok(_) => self.delete(kind, name),
            },
            Action::ConfirmAbsent => {
                let anywhere = kind.namespaced && name.namespace.is_empty();
                let any = name.name.is_empty();
                let mut same = self.objects.keys().filter(|(of, seen)| {
                    *of == kind
                        && (any || seen.name == name.name)
                        && (anywhere || seen.namespace == name.namespace)
                });
                same.next().map_or(Ok(()), |_| Err(Refusal::Conflict))
            }
        }
    }

    /// What the writer asks for with each replacement of a copied slice: it is stored even if nothing else has changed since `before`.
    fn clear_managed_fields(&mut self, kind: ResourceKind, name: &ObjectName, before: u64) {
        if !kind.is_copied_slice() {
            return;
        }
        let Some(object) = self.get(kind, name).cloned() else { return };
        if self.cleared.insert((kind, name.clone())) && self.version == before {
            self.store(kind, name, object);
        }
    }

    fn apply(
        &mut self,
        kind: ResourceKind,
        name: &ObjectName,
        body: &Value,
        status: bool,
    ) -> Result<(), Refusal> {
        let uid = &body["metadata"]["uid"];
        let key = (kind, name.clone(), status);
        let Some(current) = self.get(kind, name) else {
            return match (status, uid.is_null()) {
                (true, _) => Err(Refusal::NotFound),
                (false, false) => Err(Refusal::Conflict),
                (false, true) => {
                    self.applied.insert(key, body.clone());
                    self.create(kind, name, body.clone())
                }
            };
        };
        if !uid.is_null() && current["metadata"]["uid"] != *uid {
            return Err(Refusal::Conflict);
        }
        let before = self.applied.get(&key).unwrap_or(&Value::Null);
        let applied = applied(current, before, body);
        let object = match (status, has_status(kind)) {
            (true, _) => with_status(current, &applied),
            (false, true) => with_status(&applied, current),
            (false, false) => applied,
        };
        self.applied.insert(key, body.clone());
        self.write(kind, name, object)
    }

    fn checked(
        &self,
        kind: ResourceKind,
        name: &ObjectName,
        at: &Precondition,
    ) -> Result<&Value, Refusal> {
        let object = self.get(kind, name).ok_or(Refusal::NotFound)?;
        let metadata = &object["metadata"];
        let same = metadata["uid"] == json!(at.uid.to_string())
            && metadata["resourceVersion"] == json!(at.version.to_string());
        if same { Ok(object) } else { Err(Refusal::Conflict) }
    }

    /// Stores what a plan has changed, if the server would.
    fn write(
        &mut self,
        kind: ResourceKind,
        name: &ObjectName,
        object: Value,
    ) -> Result<(), Refusal> {
        let current = self.get(kind, name).ok_or(Refusal::NotFound)?;
        let held = finalizers(current);
        let added = finalizers(&object).into_iter().any(|finalizer| !held.contains(&finalizer));
        if !current["metadata"]["deletionTimestamp"].is_null() && added {
            return Err(Refusal::Invalid);
        }
        if kind == kinds::ENDPOINT_SLICE && current["addressType"] != object["addressType"] {
            return Err(Refusal::Invalid);
        }
        let mut object = object;
        if kind == kinds::SERVICE && self.addresses.is_some() {
            addresses::keep(current, &mut object).ok_or(Refusal::Invalid)?;
        }
        self.address(kind, name, &mut object)?;
        self.update(kind, name, object);
        Ok(())
    }

    /// Gives a Service the addresses that it lacks.
    fn address(
        &mut self,
        kind: ResourceKind,
        name: &ObjectName,
        object: &mut Value,
    ) -> Result<(), Refusal> {
        let Some(addresses) = self.addresses.as_mut().filter(|_| kind == kinds::SERVICE) else {
            return Ok(());
        };
        let others = self.objects.iter().filter(|((of, other), _)| *of == kind && other != name);
        let taken: BTreeSet<_> = others.flat_map(|(_, service)| addresses::of(service)).collect();
        addresses.give(object, &taken).ok_or(Refusal::Invalid)
    }

    /// Stores a changed object; one without finalizers that is being deleted goes.
    fn update(&mut self, kind: ResourceKind, name: &ObjectName, mut object: Value) {
        let Some(current) = self.get(kind, name) else { return };
        drop_empty(&mut object);
        if is_same(kind, current, &object) {
            return; // The server answers such a write without storing anything.
        }
        if body(kind, current) != body(kind, &object) {
            next_generation(&mut object);
        }
        let held = object["metadata"]["finalizers"].as_array().is_some_and(|list| !list.is_empty());
        let held = held || has_time_left(kind, &object);
        if object["metadata"]["deletionTimestamp"].is_null() || held {
            self.store(kind, name, object);
        } else {
            self.remove(kind, name);
        }
    }

    fn store(&mut self, kind: ResourceKind, name: &ObjectName, mut object: Value) {
        drop_empty(&mut object);
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let told = self.changes.is_some().then(|| object.clone());
        if let Some(collector) = self.collector.as_mut().filter(|_| has_owners(&object)) {
            collector.look_at(kind, name);
        }
        let before = self.objects.insert((kind, name.clone()), object.into());
        let event = if before.is_some() { "MODIFIED" } else { "ADDED" };
        self.tell(event, kind, name, told);
    }

    fn tell(
        &mut self,
        event: &'static str,
        kind: ResourceKind,
        name: &ObjectName,
        object: Option<Value>,
    ) {
        if let (Some(changes), Some(object)) = (&mut self.changes, object) {
            changes.push(Change { version: self.version, kind, name: name.clone(), event, object });
        }
    }

    /// Removes an object, and deletes what it owned.
    fn remove(&mut self, kind: ResourceKind, name: &ObjectName) {
        self.version += 1;
        let Some(gone) = self.objects.remove(&(kind, name.clone())) else { return };
        self.cleared.remove(&(kind, name.clone()));
        self.tell("DELETED", kind, name, Some((*gone).clone()));
        for status in [false, true] {
            self.applied.remove(&(kind, name.clone(), status));
        }
        let uid = gone["metadata"]["uid"].clone();
        let owned = |object: &Stored| owners(object).any(|owner| owner["uid"] == uid);
        let owned: Vec<_> = self
            .objects
            .iter()
            .filter(|(_, object)| owned(object))
            .map(|(key, _)| key.clone())
            .collect();
        for (kind, name) in owned {
            match &mut self.collector {
                Some(collector) => collector.look_at(kind, &name),
                // It was there a moment ago, under the same exclusive borrow.
                None => self.delete(kind, &name).unwrap_or_default(),
            }
        }
    }

    /// The garbage collector does what is due: objects go of which no owner is there, and others lose the owners that are not. `now`
    /// only rises, whatever the server's clock shows.
    pub fn collect(&mut self, now: Duration) {
        let Some(collector) = &mut self.collector else { return };
        let due = collector.due(now);
        if due.is_empty() {
            return;
        }
        for (kind, name, owners) in collector::without_owners(&self.objects, due) {
            if owners.is_empty() {
                self.delete(kind, &name).unwrap_or_default();
            } else {
                let change =
                    |object: &mut Value| object["metadata"]["ownerReferences"] = owners.into();
                self.edit(kind, &name, change).unwrap_or_default();
            }
        }
    }
}

/// The server stores times in whole seconds.
fn seconds(time: Timestamp) -> String {
    let whole = Timestamp::from_second(time.as_second()).expect("a time within range");
    whole.to_string()
}

/// Executes a plan as the writer does: a step is sent if all it waits for succeeded. Steps for
/// other clusters than those of `servers` are a mistake of the caller. Returns the refusals.
pub fn execute<M>(plan: &Plan<M>, servers: &mut [&mut ModelServer]) -> Vec<(Step, Refusal)> {
    let mut done = vec![false; plan.steps.len()];
    let mut refused = Vec::new();
    for (at, step) in plan.steps.iter().enumerate() {
        if !step.after.iter().all(|id| done[id.index()]) {
            continue;
        }
        let server = servers.iter_mut().find(|server| server.serves(step.cluster));
        match server.expect("a server for every cluster").execute(step) {
            Ok(()) => done[at] = true,
            Err(refusal) => refused.push((step.clone(), refusal)),
        }
    }
    refused
}
