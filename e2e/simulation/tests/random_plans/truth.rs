//! What users have asked for: what has to be so once everything is at rest.

use std::collections::{BTreeMap, BTreeSet};

use crate::base;
use crate::questions::imports::{Api, Endpoint};

/// Names and numbers of ports.
pub(crate) type Ports = BTreeSet<(String, i64)>;

/// What users have asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Truth {
    /// Addresses of each Service, by Service and member.
    pub(crate) deployed: BTreeMap<(usize, usize), Vec<String>>,
    /// Services and members that export them.
    pub(crate) exports: BTreeSet<(usize, usize)>,
    /// Services and members that import them by the fleet's own API.
    pub(crate) imports: BTreeSet<(usize, usize)>,
    /// Members with the namespace of the standard API.
    pub(crate) team: BTreeSet<usize>,
    /// Members with a drain.
    pub(crate) drained: BTreeSet<usize>,
    /// Whether drains were lost with the hub: importers keep them.
    pub(crate) has_lost_drains: bool,
    /// Services with a preference.
    pub(crate) preferred: BTreeSet<(usize, Option<usize>)>,
    /// Counts endpoints that were ever made.
    pub(crate) made: u32,
}

impl Truth {
    pub(crate) fn new(members: usize) -> Self {
        let team = (0..members).filter(|at| base::has_team(*at)).collect();
        Self { team, ..Self::default() }
    }

    /// An address that no endpoint ever had.
    pub(crate) fn address(&mut self, member: usize) -> String {
        self.made += 1;
        format!("10.{}.{}.{}", member + 1, self.made / 250, self.made % 250 + 1)
    }

    /// What all exporters of a Service offer.
    pub(crate) fn offered(&self, service: usize) -> BTreeSet<Endpoint> {
        let exports = self.exports.iter().filter(|(of, _)| *of == service);
        let all = exports.flat_map(|at| {
            let cluster = base::member_name(at.1);
            self.deployed[at].iter().map(move |address| (cluster.clone(), address.clone()))
        });
        all.collect()
    }

    /// The ports that a Service may have in the fleet.
    pub(crate) fn ports(&self, _service: usize) -> BTreeSet<Ports> {
        [[("web".to_owned(), 80)].into()].into()
    }

    /// Members that import a Service.
    pub(crate) fn importers(&self, service: usize, api: Api) -> BTreeSet<usize> {
        match api {
            Api::Fleet => {
                let imports = self.imports.iter().filter(|(of, _)| *of == service);
                imports.map(|(_, member)| *member).collect()
            }
            Api::Standard if self.offered(service).is_empty() => BTreeSet::new(),
            Api::Standard => self.team.clone(),
        }
    }
}
