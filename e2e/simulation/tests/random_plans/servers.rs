//! The API servers of a fleet, with everything that was ever written to them, and by whom.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use fleet_api::{ObjectName, ResourceKind, kinds};
use fleet_model_server::{Change, ModelServer};
use fleet_oracle::requests::Author;
use jiff::{SignedDuration, Timestamp};

use crate::bookmarks::Bookmarks;

/// Position of the hub; members follow.
pub(crate) const HUB: usize = 0;

/// One API server.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    pub(crate) model: ModelServer,
    /// Authors of its changes, oldest first.
    pub(crate) authors: Vec<Author>,
    /// Numbers of its changes among those of all servers.
    pub(crate) numbers: Vec<u64>,
    /// The number of the next change of any server.
    counter: Rc<Cell<u64>>,
    /// Counts lives: another one begins when the store is lost or replaced.
    pub(crate) life: u32,
    /// How far its clock is off, in seconds.
    pub(crate) skew: i64,
    pub(crate) bookmarks: Bookmarks,
}

impl Server {
    pub(crate) fn new(mut model: ModelServer, counter: &Rc<Cell<u64>>) -> Self {
        model.remember();
        let (authors, numbers, counter) = (Vec::new(), Vec::new(), Rc::clone(counter));
        let bookmarks = Bookmarks::default();
        Self { model, authors, numbers, counter, life: 0, skew: 0, bookmarks }
    }

    /// Forgets what was written until now.
    pub(crate) fn forget(&mut self) {
        self.model.remember();
        self.authors.clear();
        self.numbers.clear();
    }

    /// By which its cluster is known, whichever of its stores this is.
    pub(crate) fn identity(&self) -> Option<String> {
        let system = self.model.get(kinds::NAMESPACE, &ObjectName::cluster("kube-system"))?;
        system["metadata"]["uid"].as_str().map(str::to_owned)
    }

    pub(crate) fn changes(&self) -> &[Change] {
        self.model.changes()
    }

    /// Notes who has written what is new.
    pub(crate) fn sign(&mut self, author: &Author) {
        self.authors.resize(self.model.changes().len(), author.clone());
        while self.numbers.len() < self.authors.len() {
            self.numbers.push(self.counter.get());
            self.counter.set(self.counter.get() + 1);
        }
    }

    /// Notes that an agent has written what is new of one object. The rest follows from it: the server does that by itself.
    pub(crate) fn sign_write(&mut self, author: &Author, kind: ResourceKind, name: &ObjectName) {
        for at in self.authors.len()..self.model.changes().len() {
            let change = &self.model.changes()[at];
            let is_its_own = change.kind == kind && change.name == *name;
            self.authors.push(if is_its_own { author.clone() } else { Author::Other });
        }
        self.sign(author);
    }

    /// Another store takes the place of this one.
    pub(crate) fn replace(&mut self, mut model: ModelServer, uids: u16) {
        model.number_uids(uids);
        self.model = model;
        self.bookmarks.replace();
        self.life += 1;
        self.forget();
    }
}

/// All of them: the hub, then the members.
#[derive(Clone, Debug)]
pub(crate) struct Servers(pub(crate) Vec<Server>);

impl Servers {
    pub(crate) fn hub(&mut self) -> &mut ModelServer {
        &mut self.0[HUB].model
    }

    pub(crate) fn member(&mut self, at: usize) -> &mut ModelServer {
        &mut self.0[at + 1].model
    }

    /// The number of the next change.
    pub(crate) fn number(&self) -> u64 {
        self.0[HUB].counter.get()
    }

    /// Sets the clocks of all of them.
    pub(crate) fn set_time(&mut self, now: Duration) {
        for server in &mut self.0 {
            server.model.set_now(wall(now, server.skew));
            server.model.collect(now);
            server.bookmarks.note(now, server.model.version());
        }
    }

    /// Notes that users have written what is new.
    pub(crate) fn sign_others(&mut self) {
        for server in &mut self.0 {
            server.sign(&Author::Other);
        }
    }
}

/// The time of a clock that is off by so many seconds.
pub(crate) fn wall(now: Duration, skew: i64) -> Timestamp {
    let start = Timestamp::from_second(1_767_225_600).unwrap();
    let passed = SignedDuration::try_from(now).unwrap() + SignedDuration::from_secs(skew);
    start.checked_add(passed).unwrap()
}

#[cfg(test)]
mod tests {
    use fleet_accumulator::{ClusterId, ResourceVersion, Uid};
    use fleet_model_server::Refusal;
    use fleet_plan::{Action, Precondition, Step};
    use serde_json::{Value, json};

    use super::*;

    fn server() -> ModelServer {
        let mut server = ModelServer::new(ClusterId::Local);
        server.give_addresses(&["IPv4"]);
        server.need_namespaces();
        server.collect_later(7);
        let namespace = ObjectName::cluster("shop");
        server.create(kinds::NAMESPACE, &namespace, json!({})).unwrap();
        server
    }

    fn named(name: &str) -> ObjectName {
        ObjectName::new("shop", name)
    }

    /// Replaces an object as an agent does.
    fn replace(
        server: &mut ModelServer,
        kind: ResourceKind,
        name: &str,
        body: Value,
    ) -> Result<(), Refusal> {
        let metadata = &server.get(kind, &named(name)).unwrap()["metadata"];
        let text = |field: &str| metadata[field].as_str().unwrap().to_owned();
        let (uid, version) =
            (Uid::from(text("uid")), ResourceVersion::from(text("resourceVersion")));
        let at = Precondition { uid, version };
        let action = Action::Replace { body: body.into(), at };
        server.execute(&Step::new(ClusterId::Local, kind, named(name), action))
    }

    #[test]
    fn what_no_server_accepts_is_refused() {
        let mut server = server();
        let slice = |family: &str| json!({ "metadata": { "name": "x", "namespace": "shop" }, "addressType": family, "endpoints": [] });
        server.create(kinds::ENDPOINT_SLICE, &named("x"), slice("IPv4")).unwrap();
        let changed = replace(&mut server, kinds::ENDPOINT_SLICE, "x", slice("IPv6"));
        assert_eq!(changed, Err(Refusal::Invalid));

        let service = |spec: Value| json!({ "metadata": { "name": "web", "namespace": "shop" }, "spec": spec });
        server
            .create(kinds::SERVICE, &named("web"), service(json!({ "type": "ClusterIP" })))
            .unwrap();
        let address = |server: &ModelServer| {
            server.get(kinds::SERVICE, &named("web")).unwrap()["spec"]["clusterIP"].clone()
        };
        let before = address(&server);
        let without = service(json!({ "type": "ClusterIP", "sessionAffinity": "None" }));
        replace(&mut server, kinds::SERVICE, "web", without).unwrap();
        assert_eq!(address(&server), before);
        let other = service(json!({ "clusterIP": "10.96.0.99", "clusterIPs": ["10.96.0.99"] }));
        assert_eq!(replace(&mut server, kinds::SERVICE, "web", other), Err(Refusal::Invalid));

        let elsewhere = ObjectName::new("absent", "x");
        let absent = server.create(kinds::SERVICE, &elsewhere, json!({}));
        assert_eq!(absent, Err(Refusal::NamespaceMissing));
        let hold =
            |namespace: &mut Value| namespace["metadata"]["finalizers"] = json!(["kubernetes"]);
        server.edit(kinds::NAMESPACE, &ObjectName::cluster("shop"), hold).unwrap();
        server.delete(kinds::NAMESPACE, &ObjectName::cluster("shop")).unwrap();
        let terminating = server.create(kinds::SERVICE, &named("late"), json!({}));
        assert_eq!(terminating, Err(Refusal::NamespaceTerminating));
    }

    #[test]
    fn what_has_no_owner_left_goes_after_a_while() {
        let mut server = server();
        let uid = |server: &ModelServer, name: &str| {
            server.get(kinds::SERVICE, &named(name)).unwrap()["metadata"]["uid"].clone()
        };
        for owner in ["one", "two"] {
            server.create(kinds::SERVICE, &named(owner), json!({ "spec": {} })).unwrap();
        }
        let owners = json!([{ "uid": uid(&server, "one") }, { "uid": uid(&server, "two") }]);
        let slice = json!({ "metadata": { "ownerReferences": owners }, "addressType": "IPv4" });
        server.create(kinds::ENDPOINT_SLICE, &named("x"), slice).unwrap();
        server.delete(kinds::SERVICE, &named("one")).unwrap();
        let is_there =
            |server: &ModelServer| server.get(kinds::ENDPOINT_SLICE, &named("x")).is_some();
        server.collect(Duration::from_secs(20));
        assert!(is_there(&server));
        server.delete(kinds::SERVICE, &named("two")).unwrap();
        assert!(is_there(&server));
        server.collect(Duration::from_secs(40));
        assert!(!is_there(&server));
    }
}
