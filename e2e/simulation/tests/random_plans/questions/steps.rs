//! What is asked after each write of an agent: whether an endpoint was lost that nobody has withdrawn, whether an import was left
//! without one, and whether anything was touched that is not ours.

use std::collections::{BTreeMap, BTreeSet};

use fleet_api::kinds;

use super::imports::{Api, Endpoint, import, import_of};
use crate::base;
use crate::servers::{HUB, Servers};

/// An import: position of the member, API, and Service.
pub(crate) type Import = (usize, Api, String);

/// What may not get lost.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepQuestions {
    /// Endpoints that each import has had since they were offered, and that are offered still.
    kept: BTreeMap<Import, BTreeSet<Endpoint>>,
    /// How many questions were asked.
    pub(crate) asked: usize,
}

impl StepQuestions {
    /// What an import has from now on it may not lose.
    pub(crate) fn keep(&mut self, import: Import, endpoints: BTreeSet<Endpoint>) {
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
        }
        for import in changed {
            found.extend(self.is_kept(servers, &import));
        }
        found
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
