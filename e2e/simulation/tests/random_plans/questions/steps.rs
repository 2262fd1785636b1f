//! What is asked after each write: whether an endpoint was lost that was not withdrawn, whether an import was left without one or
//! without its Service, and whether an agent has touched anything that is not ours.

use std::collections::{BTreeMap, BTreeSet};

use fleet_api::{ObjectName, kinds};
use fleet_model_server::ModelServer;
use serde_json::Value;

use super::imports::{Api, Endpoint, import, import_of};
use crate::base;
use crate::servers::{HUB, Server, Servers};

/// An import: position of the member, API, and Service.
pub(crate) type Import = (usize, Api, String);

/// The Service that clients of an import know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bound {
    pub(crate) service: ObjectName,
    uid: String,
    address: String,
}

impl Bound {
    /// As it is; `None` if there is none.
    pub(crate) fn of(server: &ModelServer, service: &ObjectName) -> Option<Self> {
        let object = server.get(kinds::SERVICE, service)?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (uid, address) = (text(&object["metadata"]["uid"]), text(&object["spec"]["clusterIP"]));
        Some(Self { service: service.clone(), uid, address })
    }
}

/// What may not get lost.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepQuestions {
    /// Endpoints that each import has had since they were offered, and that are offered still.
    kept: BTreeMap<Import, BTreeSet<Endpoint>>,
    /// The Services of these imports.
    bound: BTreeMap<Import, Bound>,
    /// How many questions were asked.
    pub(crate) asked: usize,
}

impl StepQuestions {
    /// What an import has from now on it may not lose.
    pub(crate) fn keep(
        &mut self,
        import: Import,
        endpoints: BTreeSet<Endpoint>,
        bound: Option<Bound>,
    ) {
        match bound {
            Some(bound) => self.bound.insert(import.clone(), bound),
            None => self.bound.remove(&import),
        };
        self.kept.insert(import, endpoints);
    }

    /// Endpoints of an exporter may go, but for those that stay.
    pub(crate) fn release(&mut self, api: Api, service: &str, cluster: &str, stays: &[String]) {
        for ((_, of, name), endpoints) in &mut self.kept {
            if *of == api && name == service {
                endpoints.retain(|(from, address)| from != cluster || stays.contains(address));
            }
        }
    }

    /// Nothing of a Service has to stay.
    pub(crate) fn forget(&mut self, api: Api, service: &str) {
        self.kept.retain(|(_, of, name), _| *of != api || name != service);
    }

    /// An import may go.
    pub(crate) fn release_import(&mut self, member: usize, api: Api, service: &str) {
        self.kept.remove(&(member, api, service.to_owned()));
    }

    /// Looks at what is new at a server.
    pub(crate) fn look(&mut self, servers: &Servers, at: usize, before: usize) -> Vec<String> {
        let server = &servers.0[at];
        let mut found = Vec::new();
        let mut changed: BTreeSet<Import> = BTreeSet::new();
        for (change, author) in server.changes()[before..].iter().zip(&server.authors[before..]) {
            self.asked += 1;
            if author.is_agent() && base::is_foreign(at, change.kind, &change.name) {
                let (kind, name) = (change.kind.kind, &change.name);
                found.push(format!("S11: {author:?} touches the foreign {kind} {name}"));
            }
            if at != HUB && change.kind == kinds::ENDPOINT_SLICE {
                let import = import_of(&change.object);
                changed.extend(import.map(|(api, name)| (at - 1, api, name.to_owned())));
            }
            if at != HUB && change.kind == kinds::SERVICE {
                found.extend(self.is_bound(server, at - 1, &change.name));
            }
            if at != HUB && change.kind == kinds::MCS_SERVICE_IMPORT && change.event == "DELETED" {
                let import = (at - 1, Api::Standard, change.name.to_string());
                if self.kept.get(&import).is_some_and(|kept| !kept.is_empty()) {
                    let name = base::member_name(at - 1);
                    found.push(format!("S33: {name} has lost the import {}", change.name));
                }
            }
        }
        for import in changed {
            found.extend(self.is_kept(servers, &import));
        }
        found
    }

    /// Whether a Service that has changed is still the one that clients of an import know.
    fn is_bound(&self, server: &Server, member: usize, service: &ObjectName) -> Option<String> {
        let of_member = self.bound.iter().filter(|(import, _)| import.0 == member);
        let mut known = of_member.filter(|(_, bound)| bound.service == *service);
        let (import, before) = known.next()?;
        let is_kept = self.kept.get(import).is_some_and(|kept| !kept.is_empty());
        let now = Bound::of(&server.model, service);
        (is_kept && now.as_ref() != Some(before)).then(|| {
            let name = base::member_name(member);
            format!("S37: {name} has lost the Service of an import: {before:?}, now {now:?}")
        })
    }

    fn is_kept(&self, servers: &Servers, at: &Import) -> Option<String> {
        let kept = self.kept.get(at).filter(|kept| !kept.is_empty())?;
        let (member, api, service) = at;
        let has = import(&servers.0[member + 1].model, *api, service);
        let lost: Vec<_> = kept.difference(&has.all).collect();
        if !lost.is_empty() {
            let name = base::member_name(*member);
            return Some(format!("S02: {name} has lost {lost:?} of {api:?} {service}"));
        }
        has.usable.is_empty().then(|| {
            let name = base::member_name(*member);
            format!("never empty: {name} has no endpoint of {api:?} {service} to use: {has:?}")
        })
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use fleet_accumulator::ClusterId;
    use fleet_api::{annotations, labels};
    use fleet_oracle::requests::Author;
    use serde_json::json;

    use super::*;

    fn slice(addresses: &[&str], serving: bool) -> Value {
        let endpoint = |address: &&str| {
            json!({ "addresses": [address], "conditions": {
                "ready": false, "serving": serving, "terminating": true,
            } })
        };
        json!({
            "metadata": {
                "labels": { labels::MANAGED_BY: labels::MANAGED_BY_IMPORT, labels::SERVICE_NAME: "d" },
                "annotations": {
                    annotations::FLEET_SERVICE: "shop/web", annotations::ORIGIN_CLUSTER: "m00",
                },
            },
            "endpoints": addresses.iter().map(endpoint).collect::<Vec<_>>(),
        })
    }

    /// What the member agent has written, and what is asked about it.
    fn found(kind: fleet_api::ResourceKind, name: &str, object: Value) -> Vec<String> {
        let counter = Rc::new(Cell::new(0));
        let hub = Server::new(ModelServer::new(ClusterId::Hub), &counter);
        let mut member = Server::new(ModelServer::new(ClusterId::Local), &counter);
        member.model.create(kind, &ObjectName::new("fleet-system", name), object).unwrap();
        member.sign(&Author::Member("m01".to_owned()));
        let mut questions = StepQuestions::default();
        let kept = ["10.0.0.1", "10.0.0.2"].map(|it| ("m00".to_owned(), it.to_owned()));
        let bound = Bound {
            service: ObjectName::new("fleet-system", "d"),
            uid: "1".to_owned(),
            address: "10.96.0.1".to_owned(),
        };
        questions.keep((0, Api::Fleet, "shop/web".to_owned()), kept.into(), Some(bound));
        questions.look(&Servers(vec![hub, member]), 1, 0)
    }

    #[test]
    fn a_lost_endpoint_is_found() {
        let kind = kinds::ENDPOINT_SLICE;
        assert!(found(kind, "x", slice(&["10.0.0.1", "10.0.0.2", "10.0.0.3"], true)).is_empty());
        let lost = found(kind, "x", slice(&["10.0.0.1"], true));
        assert!(lost[0].starts_with("S02: m00 has lost [(\"m00\", \"10.0.0.2\")]"), "{lost:?}");
    }

    #[test]
    fn an_import_without_anything_to_use_is_found() {
        let empty = found(kinds::ENDPOINT_SLICE, "x", slice(&["10.0.0.1", "10.0.0.2"], false));
        assert!(empty[0].starts_with("never empty: m00"), "{empty:?}");
    }

    #[test]
    fn another_service_is_found() {
        let other = found(kinds::SERVICE, "d", json!({ "spec": { "clusterIP": "10.96.0.1" } }));
        assert!(other[0].starts_with("S37: m00"), "{other:?}");
        assert!(found(kinds::SERVICE, "e", json!({})).is_empty());
    }

    #[test]
    fn a_foreign_object_that_is_touched_is_found() {
        let touched = found(kinds::SERVICE, "foreign", json!({}));
        assert!(touched[0].starts_with("S11: "), "{touched:?}");
    }
}
