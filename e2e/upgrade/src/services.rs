//! The Services that cross: who exports and who imports them, and which endpoints they have.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use fleet_api::kinds;
use fleet_testbed::exchange::{derived_service, export, import, wait_imported};
use fleet_testbed::fleet::Fleet;
use fleet_testbed::objects::api;
use fleet_testbed::pod::NAMESPACE;
use fleet_testbed::workload::{ManualService, ServiceSpec};
use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::members::{DEADLINE, NORTH, next_address_of};
use crate::part::{EAST, WEST};

/// Namespace of the Services whose endpoints change all the time.
pub(crate) const MOVING: &str = "moving";
/// Namespace of the Services whose endpoints never change.
pub(crate) const RESTING: &str = "resting";

/// Name of the Service that east exports through the standard API, in either namespace.
pub(crate) const STANDARD: &str = "standard";

/// Name, exporters and importers of the Services of either namespace.
const SERVICES: [(&str, &[usize], &[usize]); 3] =
    [("web", &[EAST], &[WEST]), ("api", &[WEST], &[EAST]), ("both", &[EAST, WEST], &[EAST, WEST])];

/// Services that Go agents have carried, and the importer of each.
const GO_MADE_IMPORTS: [(&str, &str); 2] = [("gomade/shop", NORTH), ("gomade/desk", "east")];

/// A Service in one of its exporters.
#[derive(Debug)]
pub(crate) struct Exported {
    pub(crate) member: usize,
    pub(crate) namespace: &'static str,
    pub(crate) name: &'static str,
    pub(crate) service: ManualService,
    /// Addresses that it always has.
    pub(crate) kept: Vec<String>,
    /// Address that is replaced by another.
    pub(crate) replaced: Option<String>,
    /// Address of a second slice, which comes and goes.
    pub(crate) added: Option<String>,
    /// Number of changes so far.
    pub(crate) changes: usize,
}

/// A Service in one of its importers.
#[derive(Clone, Debug)]
pub(crate) struct Imported {
    pub(crate) member: usize,
    pub(crate) namespace: &'static str,
    pub(crate) name: &'static str,
    /// Name of the derived Service.
    pub(crate) derived: String,
}

/// Whether what the last release does not have is in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Additions {
    /// No cluster has their definitions.
    #[default]
    Never,
    /// The agents serve them.
    On,
    /// The agents have taken back what they made.
    Off,
}

/// All Services.
#[derive(Debug, Default)]
pub(crate) struct Services {
    pub(crate) exported: Vec<Exported>,
    pub(crate) imported: Vec<Imported>,
    /// Whether what the last release lacks carries Services, too.
    pub(crate) additions: Additions,
}

impl Exported {
    fn addresses(&self) -> impl Iterator<Item = &String> {
        self.kept.iter().chain(&self.replaced).chain(&self.added)
    }
}

impl Services {
    /// Exports and imports all Services, waits until they have crossed, and gives the derived Services an address.
    pub(crate) async fn deploy(fleet: &Fleet) -> Result<Self> {
        let mut services = Self::default();
        for namespace in [MOVING, RESTING] {
            fleet.user_namespace(namespace).await?;
            for (name, exporters, importers) in SERVICES {
                services.deploy_one(fleet, (namespace, name), exporters, importers).await?;
            }
            services.add(fleet, (namespace, STANDARD), EAST).await?;
        }
        for imported in &services.imported {
            give_address(fleet, imported).await?;
        }
        Ok(services)
    }

    async fn deploy_one(
        &mut self,
        fleet: &Fleet,
        (namespace, name): (&'static str, &'static str),
        exporters: &[usize],
        importers: &[usize],
    ) -> Result<()> {
        for &member in exporters {
            self.add(fleet, (namespace, name), member).await?;
            export(fleet.member(member), namespace, name).await?;
        }
        let wanted = self.addresses(namespace, name);
        for &member in importers {
            let cluster = fleet.member(member);
            import(cluster, namespace, name, name).await?;
            wait_imported(cluster, namespace, name, &wanted, DEADLINE).await?;
            let derived = derived_service(cluster, namespace, name).await?;
            let derived = derived.context("an imported Service has a derived Service")?;
            self.imported.push(Imported { member, namespace, name, derived });
        }
        Ok(())
    }

    /// Deploys a Service in a member that is to export it.
    async fn add(
        &mut self,
        fleet: &Fleet,
        (namespace, name): (&'static str, &'static str),
        member: usize,
    ) -> Result<()> {
        let spec = ServiceSpec::http(namespace, name);
        let kept = vec![next_address_of(member), next_address_of(member)];
        let service = ManualService::deploy(fleet.member(member), &spec, &kept).await?;
        let (replaced, added, changes) = (None, None, 0);
        let exported =
            Exported { member, namespace, name, service, kept, replaced, added, changes };
        self.exported.push(exported);
        Ok(())
    }

    /// Addresses of a Service in all its exporters.
    pub(crate) fn addresses(&self, namespace: &str, name: &str) -> BTreeSet<String> {
        self.exporters(namespace, name).flat_map(Exported::addresses).cloned().collect()
    }

    /// Addresses that a Service always has.
    pub(crate) fn kept(&self, namespace: &str, name: &str) -> BTreeSet<String> {
        let exporters = self.exporters(namespace, name);
        exporters.flat_map(|exported| exported.kept.iter().cloned()).collect()
    }

    /// Whether a member imports this Service, by `namespace/name`.
    pub(crate) fn is_imported(&self, fleet: &Fleet, service: &str, member: &str) -> bool {
        let by_go = GO_MADE_IMPORTS.contains(&(service, member));
        by_go
            || self.imported.iter().any(|one| {
                format!("{}/{}", one.namespace, one.name) == service
                    && fleet.member(one.member).name() == member
            })
    }

    fn exporters(&self, namespace: &str, name: &str) -> impl Iterator<Item = &Exported> {
        let is_it = move |one: &&Exported| (one.namespace, one.name) == (namespace, name);
        self.exported.iter().filter(is_it)
    }
}

/// What a load balancer's controller does.
async fn give_address(fleet: &Fleet, imported: &Imported) -> Result<()> {
    let services = api(fleet.member(imported.member).client(), kinds::SERVICE, Some(NAMESPACE));
    let ip = next_address_of(imported.member);
    let address = json!({ "status": { "loadBalancer": { "ingress": [{ "ip": ip }] } } });
    let params = PatchParams::default();
    services.patch_status(&imported.derived, &params, &Patch::Merge(address)).await?;
    Ok(())
}
