//! A small hand-made run: member `a` exports `team/web`, member `b` imports it.

use std::collections::BTreeMap;

use fleet_api::names::{SYSTEM_NAMESPACE, member_namespace};
use fleet_api::{ResourceKind, annotations, finalizers, kinds, labels};
use serde_json::{Value, json};

use crate::object::{name, namespace};
use crate::record::{Event, Mark, Micros, What};
use crate::requests::{Author, Request};
use crate::{Recording, record};

/// Every write takes this long.
const STEP: Micros = 10_000;
/// Long enough to be quiescent.
const PAUSE: Micros = 3_000_000;

pub(super) const TEAM: &str = "team";
pub(super) const WEB: &str = "web";
/// Name of the exported slice, of its copy, and of the imported slice.
pub(super) const SLICE: &str = "a-team-web-x";
pub(super) const DERIVED: &str = "team-web";

/// The hub agent.
pub(super) const HUB: Author = Author::Hub;
/// A user.
pub(super) const USER: Author = Author::Other;

/// The agent of a member.
pub(super) fn agent(member: &str) -> Author {
    Author::Member(member.to_owned())
}

type Key = (String, &'static str, String, String);

/// A run being made up.
pub(super) struct Story {
    pub(super) recording: Recording,
    now: Micros,
    version: u64,
    objects: BTreeMap<Key, Value>,
}

impl Story {
    /// Up to the point where everything is in its place, and nothing moves.
    pub(super) fn exchange() -> Self {
        let objects = BTreeMap::new();
        let mut story =
            Self { recording: Recording::default(), now: 1_000_000_000, version: 100, objects };
        for member in ["a", "b"] {
            let metadata = json!({ "namespace": member_namespace(member), "name": member });
            let membership = json!({ "metadata": metadata, "spec": { "state": "Join" } });
            story.put(&USER, "hub", kinds::INTERNAL_MEMBER_CLUSTER, membership);
            let space = json!({ "metadata": { "name": TEAM } });
            story.put(&USER, member, kinds::NAMESPACE, space);
        }
        story.export();
        story.import();
        story.pause();
        story
    }

    pub(super) fn export(&mut self) {
        let spec = json!({
            "clusterIP": "10.0.0.1", "ports": [{ "port": 80 }], "selector": { "app": WEB },
        });
        self.put(&USER, "a", kinds::SERVICE, json!({ "metadata": own(), "spec": spec }));
        self.put(&USER, "a", kinds::ENDPOINT_SLICE, slice(1, &["10.1.0.1"]));
        self.put(&USER, "a", kinds::SERVICE_EXPORT, json!({ "metadata": own() }));
        let a = agent("a");
        self.edit(&a, "a", kinds::SERVICE_EXPORT, (TEAM, WEB), |export| {
            export["metadata"]["finalizers"] = json!([finalizers::SERVICE_EXPORT]);
        });
        self.put(&a, "hub", kinds::INTERNAL_SERVICE_EXPORT, internal_export());
        self.put(&HUB, "hub", kinds::SERVICE_IMPORT, json!({ "metadata": own() }));
        self.edit(&HUB, "hub", kinds::SERVICE_IMPORT, (TEAM, WEB), |import| {
            import["status"] = json!({ "clusters": [{ "cluster": "a" }] });
        });
        self.edit(&HUB, "hub", kinds::INTERNAL_SERVICE_EXPORT, at("a"), |export| {
            export["status"] = json!({ "conditions": [condition("Conflict", "False")] });
        });
        let export = self.slice_export();
        self.put(&a, "hub", kinds::ENDPOINT_SLICE_EXPORT, export);
        self.edit(&a, "a", kinds::SERVICE_EXPORT, (TEAM, WEB), |export| {
            let conditions = [condition("Valid", "True"), condition("Conflict", "False")];
            export["status"] = json!({ "conditions": conditions });
        });
    }

    fn import(&mut self) {
        let b = agent("b");
        let wish = json!({ "metadata": own(), "spec": { "serviceImport": { "name": WEB } } });
        self.put(&USER, "b", kinds::MULTI_CLUSTER_SERVICE, wish);
        self.edit(&b, "b", kinds::MULTI_CLUSTER_SERVICE, (TEAM, WEB), |wish| {
            wish["metadata"]["finalizers"] = json!([finalizers::MULTI_CLUSTER_SERVICE]);
            wish["metadata"]["labels"] = json!({ labels::DERIVED_SERVICE: DERIVED });
        });
        let uid = self.uid("b", kinds::MULTI_CLUSTER_SERVICE, (TEAM, WEB));
        let mut metadata = own();
        metadata["finalizers"] = json!([finalizers::SERVICE_IMPORT]);
        metadata["ownerReferences"] = json!([{ "uid": uid, "controller": true }]);
        self.put(&b, "b", kinds::SERVICE_IMPORT, json!({ "metadata": metadata }));
        let metadata = json!({
            "namespace": "fleet-member-b", "name": DERIVED,
            "finalizers": [finalizers::INTERNAL_SERVICE_IMPORT],
        });
        let spec = json!({ "serviceImportReference": own() });
        let ask = json!({ "metadata": metadata, "spec": spec });
        self.put(&b, "hub", kinds::INTERNAL_SERVICE_IMPORT, ask);
        self.edit(&HUB, "hub", kinds::SERVICE_IMPORT, (TEAM, WEB), |import| {
            claim(import, &["b"]);
            import["metadata"]["finalizers"] = json!([finalizers::SERVICE_IMPORT]);
        });
        let resolved = json!({ "clusters": [{ "cluster": "a" }] });
        self.edit(&HUB, "hub", kinds::INTERNAL_SERVICE_IMPORT, at("b"), |ask| {
            ask["status"] = resolved.clone();
        });
        self.hand_out("b");
        self.edit(&b, "b", kinds::SERVICE_IMPORT, (TEAM, WEB), |import| {
            import["status"] = resolved.clone();
        });
        let metadata = json!({
            "namespace": SYSTEM_NAMESPACE, "name": DERIVED,
            "labels": {
                labels::MULTI_CLUSTER_SERVICE_NAMESPACE: TEAM,
                labels::MULTI_CLUSTER_SERVICE_NAME: WEB,
            },
            "annotations": {
                annotations::FLEET_SERVICE: "team/web", annotations::MULTI_CLUSTER_SERVICE_UID: uid,
            },
        });
        let spec = json!({ "type": "LoadBalancer" });
        self.put(&b, "b", kinds::SERVICE, json!({ "metadata": metadata, "spec": spec }));
        self.put(&b, "b", kinds::ENDPOINT_SLICE, imported_slice(&["10.1.0.1"]));
        self.edit(&b, "b", kinds::MULTI_CLUSTER_SERVICE, (TEAM, WEB), |wish| {
            wish["status"] = json!({ "conditions": [condition("Valid", "True")] });
        });
    }

    /// The export of the slice as it is.
    pub(super) fn slice_export(&self) -> Value {
        let slice = self.get("a", kinds::ENDPOINT_SLICE, (TEAM, WEB));
        json!({
            "metadata": {
                "namespace": "fleet-member-a", "name": SLICE,
                "finalizers": [finalizers::ENDPOINT_SLICE_EXPORT],
            },
            "spec": {
                "addressType": "IPv4",
                "endpoints": slice["endpoints"],
                "endpointSliceReference": {
                    "clusterId": "a", "namespace": TEAM, "name": WEB,
                    "uid": slice["metadata"]["uid"],
                    "generation": slice["metadata"]["generation"],
                },
                "ownerServiceReference": own(),
            },
        })
    }

    /// The same slice once more, under another name.
    pub(super) fn export_again(&mut self, name: &str) {
        let mut export = self.slice_export();
        export["metadata"]["name"] = json!(name);
        self.put(&agent("a"), "hub", kinds::ENDPOINT_SLICE_EXPORT, export);
    }

    /// The hub agent gives a member the slice.
    pub(super) fn hand_out(&mut self, member: &str) {
        let mut copy = self.get("hub", kinds::ENDPOINT_SLICE_EXPORT, ("fleet-member-a", SLICE));
        copy["metadata"] = json!({
            "namespace": member_namespace(member), "name": SLICE,
            "finalizers": [finalizers::ENDPOINT_SLICE_IMPORT],
        });
        self.put(&HUB, "hub", kinds::ENDPOINT_SLICE_IMPORT, copy);
    }

    /// Another endpoint, all the way.
    pub(super) fn change(&mut self) {
        self.carry(2, &["10.1.0.1", "10.1.0.2"]);
    }

    /// A user takes an endpoint away and gives it back, again and again.
    pub(super) fn go_to_and_fro(&mut self) {
        (0..4).for_each(|_| self.pause());
        for generation in 2..6 {
            let both = ["10.1.0.1", "10.1.0.2"];
            self.carry(generation, if generation % 2 == 0 { &both } else { &both[..1] });
        }
    }

    /// Other endpoints, all the way.
    fn carry(&mut self, generation: i64, addresses: &[&str]) {
        self.put(&USER, "a", kinds::ENDPOINT_SLICE, slice(generation, addresses));
        let spec = self.slice_export()["spec"].clone();
        let copies = [
            (agent("a"), kinds::ENDPOINT_SLICE_EXPORT, "fleet-member-a"),
            (HUB, kinds::ENDPOINT_SLICE_IMPORT, "fleet-member-b"),
        ];
        for (author, kind, namespace) in copies {
            self.edit(&author, "hub", kind, (namespace, SLICE), |copy| copy["spec"] = spec.clone());
        }
        self.put(&agent("b"), "b", kinds::ENDPOINT_SLICE, imported_slice(addresses));
        self.pause();
    }

    /// Both users are done.
    pub(super) fn withdraw(&mut self) {
        let (a, b) = (agent("a"), agent("b"));
        self.delete(&USER, "b", kinds::MULTI_CLUSTER_SERVICE, (TEAM, WEB));
        self.delete(&b, "b", kinds::ENDPOINT_SLICE, (SYSTEM_NAMESPACE, SLICE));
        self.delete(&b, "b", kinds::SERVICE, (SYSTEM_NAMESPACE, DERIVED));
        self.delete(&b, "b", kinds::SERVICE_IMPORT, (TEAM, WEB));
        self.delete(&b, "hub", kinds::INTERNAL_SERVICE_IMPORT, at("b"));
        self.edit(&HUB, "hub", kinds::SERVICE_IMPORT, (TEAM, WEB), |import| {
            claim(import, &[]);
            import["metadata"]["finalizers"] = json!([]);
        });
        self.delete(&HUB, "hub", kinds::ENDPOINT_SLICE_IMPORT, ("fleet-member-b", SLICE));
        self.free(&b, "hub", kinds::ENDPOINT_SLICE_IMPORT, ("fleet-member-b", SLICE));
        self.free(&HUB, "hub", kinds::INTERNAL_SERVICE_IMPORT, at("b"));
        self.free(&b, "b", kinds::SERVICE_IMPORT, (TEAM, WEB));
        self.free(&b, "b", kinds::MULTI_CLUSTER_SERVICE, (TEAM, WEB));
        self.pause();
        self.delete(&USER, "a", kinds::SERVICE_EXPORT, (TEAM, WEB));
        self.delete(&a, "hub", kinds::ENDPOINT_SLICE_EXPORT, ("fleet-member-a", SLICE));
        self.free(&HUB, "hub", kinds::ENDPOINT_SLICE_EXPORT, ("fleet-member-a", SLICE));
        self.delete(&a, "hub", kinds::INTERNAL_SERVICE_EXPORT, at("a"));
        self.delete(&HUB, "hub", kinds::SERVICE_IMPORT, (TEAM, WEB));
        self.free(&HUB, "hub", kinds::INTERNAL_SERVICE_EXPORT, at("a"));
        self.free(&a, "a", kinds::SERVICE_EXPORT, (TEAM, WEB));
    }

    /// What the recorder and the audit logs would have.
    pub(super) fn end(mut self) -> Recording {
        self.pause();
        self.mark(record::END);
        self.recording
    }

    pub(super) fn mark(&mut self, mark: &str) {
        self.recording.marks.push(Mark { at: self.now, mark: mark.to_owned() });
    }

    /// The recorder sees the last removal of a kind later than it was.
    pub(super) fn saw_late(&mut self, kind: ResourceKind, by: Micros) {
        let mut events = self.recording.events.iter_mut();
        let gone = events.rfind(|event| event.kind == kind.kind && event.what == What::Gone);
        gone.unwrap().at += by;
    }

    /// The server was busy with the making of a kind until now.
    pub(super) fn answered_last(&mut self, kind: ResourceKind) {
        let of_kind = |one: &&mut Request| one.resource == kind.plural && one.verb == "create";
        let made = self.recording.requests.iter_mut().find(of_kind);
        made.unwrap().answered = self.now;
    }

    /// An agent has asked for what was made last of a kind, just before it was there.
    pub(super) fn looked_in_vain(&mut self, author: &Author, kind: ResourceKind) {
        let of_kind = |one: &&Request| one.resource == kind.plural && one.verb == "create";
        let made = self.recording.requests.iter().rfind(of_kind).unwrap();
        let look =
            Request { author: author.clone(), verb: "get".to_owned(), code: 404, ..made.clone() };
        self.recording.requests.push(look);
    }

    /// The recorder learns of the last removal of a kind by a list: there the object is as it was seen last.
    pub(super) fn missed(&mut self, kind: ResourceKind) {
        let of_kind = |event: &&mut Event| event.kind == kind.kind;
        let mut events = self.recording.events.iter_mut().filter(of_kind).rev();
        let gone = events.find(|event| event.what == What::Gone).unwrap();
        gone.object = events.next().unwrap().object.clone();
        gone.at += PAUSE;
    }

    /// The recorder sees nothing of a kind any more: all went while a server was away.
    pub(super) fn blind(&mut self, cluster: &str, kind: ResourceKind) {
        let events = &mut self.recording.events;
        events.retain(|event| event.cluster != cluster || event.kind != kind.kind);
    }

    /// A member reports that it has left.
    pub(super) fn leave(&mut self, member: &str) {
        let name = (&*member_namespace(member), member);
        let edit = |membership: &mut Value| {
            let conditions = [condition("Joined", "False")];
            let agent = json!({ "type": "ServiceExportImportAgent", "conditions": conditions });
            membership["status"] = json!({ "agentStatus": [agent] });
        };
        self.edit(&agent(member), "hub", kinds::INTERNAL_MEMBER_CLUSTER, name, edit);
    }

    pub(super) fn pause(&mut self) {
        self.now += PAUSE;
    }

    fn key(cluster: &str, kind: ResourceKind, (namespace, name): (&str, &str)) -> Key {
        (cluster.to_owned(), kind.kind, namespace.to_owned(), name.to_owned())
    }

    pub(super) fn get(&self, cluster: &str, kind: ResourceKind, name: (&str, &str)) -> Value {
        self.objects[&Self::key(cluster, kind, name)].clone()
    }

    pub(super) fn uid(&self, cluster: &str, kind: ResourceKind, name: (&str, &str)) -> String {
        self.get(cluster, kind, name)["metadata"]["uid"].as_str().unwrap().to_owned()
    }

    /// Makes or replaces an object.
    pub(super) fn put(
        &mut self,
        author: &Author,
        cluster: &str,
        kind: ResourceKind,
        mut object: Value,
    ) {
        let key = Self::key(cluster, kind, (namespace(&object), name(&object)));
        let known = self.objects.get(&key).cloned();
        let mut request = self.request(author, cluster, kind, &object);
        self.version += 1;
        let metadata = &mut object["metadata"];
        metadata["uid"] = match &known {
            Some(known) => known["metadata"]["uid"].clone(),
            None => json!(format!("uid-{}", self.version)),
        };
        metadata["resourceVersion"] = json!(self.version.to_string());
        if metadata["generation"].is_null() {
            metadata["generation"] = json!(1);
        }
        let deleting = !metadata["deletionTimestamp"].is_null();
        let held = metadata["finalizers"].as_array().is_some_and(|held| !held.is_empty());
        let what = match &known {
            None => What::Added,
            Some(_) if deleting && !held => What::Gone,
            Some(_) => What::Changed,
        };
        request.verb = if known.is_some() { "update" } else { "create" }.to_owned();
        if let Some(known) = &known {
            request.body["metadata"]["resourceVersion"] =
                known["metadata"]["resourceVersion"].clone();
        }
        request.response = object.clone();
        if what == What::Gone {
            // The server answers with the version before, and the watch shows the object before.
            request.response["metadata"]["resourceVersion"] = json!("");
            request.response["kind"] = json!(kind.kind);
            object["metadata"]["finalizers"] = known.unwrap()["metadata"]["finalizers"].clone();
            self.objects.remove(&key);
        } else {
            self.objects.insert(key, object.clone());
        }
        self.tell(cluster, kind, what, object, request);
    }

    /// Changes an object.
    pub(super) fn edit(
        &mut self,
        author: &Author,
        cluster: &str,
        kind: ResourceKind,
        name: (&str, &str),
        change: impl FnOnce(&mut Value),
    ) {
        let mut object = self.get(cluster, kind, name);
        change(&mut object);
        self.put(author, cluster, kind, object);
    }

    /// Asks for an object's end.
    pub(super) fn delete(
        &mut self,
        author: &Author,
        cluster: &str,
        kind: ResourceKind,
        name: (&str, &str),
    ) {
        let object = self.get(cluster, kind, name);
        let uid = object["metadata"]["uid"].clone();
        self.edit(author, cluster, kind, name, |object| {
            object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        });
        let request = self.recording.requests.last_mut().unwrap();
        request.verb = "delete".to_owned();
        request.body = json!({ "preconditions": { "uid": uid } });
    }

    /// Takes the finalizers off.
    pub(super) fn free(
        &mut self,
        author: &Author,
        cluster: &str,
        kind: ResourceKind,
        name: (&str, &str),
    ) {
        self.edit(author, cluster, kind, name, |object| {
            object["metadata"]["finalizers"] = json!([]);
        });
    }

    /// A request that is not in the watch history.
    pub(super) fn request(
        &self,
        author: &Author,
        cluster: &str,
        kind: ResourceKind,
        object: &Value,
    ) -> Request {
        let user = match author {
            Author::Hub => "system:serviceaccount:fleet-system:hub-agent".to_owned(),
            Author::Member(member) if cluster == "hub" => {
                format!("system:serviceaccount:fleet-member-{member}:member-agent")
            }
            Author::Member(_) => "system:serviceaccount:fleet-system:member-agent".to_owned(),
            Author::Other => "admin".to_owned(),
        };
        Request {
            cluster: cluster.to_owned(),
            author: Author::of(cluster, &user),
            user,
            verb: "create".to_owned(),
            group: kind.group.to_owned(),
            resource: kind.plural.to_owned(),
            subresource: String::new(),
            namespace: namespace(object).to_owned(),
            name: name(object).to_owned(),
            uri: String::new(),
            code: 200,
            message: String::new(),
            received: self.now,
            answered: self.now + STEP / 2,
            body: object.clone(),
            response: Value::Null,
        }
    }

    fn tell(
        &mut self,
        cluster: &str,
        kind: ResourceKind,
        what: What,
        object: Value,
        request: Request,
    ) {
        let at = self.now + STEP / 2;
        let (cluster, kind) = (cluster.to_owned(), kind.kind.to_owned());
        self.recording.events.push(Event { at, cluster, kind, what, object });
        self.recording.requests.push(request);
        self.now += STEP;
    }
}

/// Who imports.
pub(super) fn claim(import: &mut Value, members: &[&str]) {
    let members: fleet_api::ServiceInUseBy =
        members.iter().map(|member| (member_namespace(member), (*member).to_owned())).collect();
    import["metadata"]["annotations"] =
        json!({ annotations::SERVICE_IN_USE_BY: members.to_annotation() });
}

/// Namespace and name of a member's internal objects.
pub(super) fn at(member: &'static str) -> (&'static str, &'static str) {
    if member == "a" { ("fleet-member-a", DERIVED) } else { ("fleet-member-b", DERIVED) }
}

pub(super) fn own() -> Value {
    json!({ "namespace": TEAM, "name": WEB })
}

pub(super) fn condition(name: &str, status: &str) -> Value {
    json!({
        "type": name, "status": status, "observedGeneration": 1,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    })
}

/// The user's slice.
pub(super) fn slice(generation: i64, addresses: &[&str]) -> Value {
    let mut metadata = own();
    metadata["labels"] = json!({ labels::SERVICE_NAME: WEB });
    metadata["generation"] = json!(generation);
    json!({ "metadata": metadata, "addressType": "IPv4", "endpoints": endpoints(addresses) })
}

pub(super) fn imported_slice(addresses: &[&str]) -> Value {
    json!({
        "metadata": {
            "namespace": SYSTEM_NAMESPACE, "name": SLICE,
            "labels": {
                labels::SERVICE_NAME: DERIVED, labels::MANAGED_BY: labels::MANAGED_BY_IMPORT,
            },
            "annotations": { annotations::FLEET_SERVICE: "team/web" },
        },
        "addressType": "IPv4",
        "endpoints": endpoints(addresses),
    })
}

pub(super) fn internal_export() -> Value {
    json!({
        "metadata": {
            "namespace": "fleet-member-a", "name": DERIVED,
            "finalizers": [finalizers::INTERNAL_SERVICE_EXPORT],
        },
        "spec": { "serviceReference": own() },
    })
}

fn endpoints(addresses: &[&str]) -> Value {
    addresses.iter().map(|address| json!({ "addresses": [address] })).collect()
}
