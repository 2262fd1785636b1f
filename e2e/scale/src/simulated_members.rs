//! Many members that one process plays, and what their users do.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_api::{ObjectName, ResourceKind, kinds, labels};
use fleet_model_server::{Change, ModelServer};
use fleet_testbed::Testbed;
use fleet_testbed::join::namespace;
use futures::{StreamExt, TryStreamExt, stream};
use serde_json::{Value, json};

use crate::arrivals::Arrivals;
use crate::member::{Member, NAMESPACE};

/// Members that join at the same time.
const JOINING: usize = 8;

/// What carries a Service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrontEnd {
    /// The one with a copy for each importer.
    Copying,
    /// The standard API. The Service is in a namespace of its own, since every cluster that has it imports the Service.
    Standard,
}

/// A Service of the fleet: who exports it, and who imports it.
#[derive(Clone, Debug)]
pub(crate) struct TestService {
    pub(crate) front_end: FrontEnd,
    pub(crate) number: usize,
    pub(crate) exporters: Vec<usize>,
    pub(crate) importers: Vec<usize>,
    /// Slices of each exporter.
    pub(crate) slices: usize,
    /// Endpoints of each slice.
    pub(crate) endpoints: usize,
}

impl TestService {
    fn namespace(&self) -> String {
        match self.front_end {
            FrontEnd::Copying => NAMESPACE.to_owned(),
            FrontEnd::Standard => format!("{NAMESPACE}-{}", self.number),
        }
    }

    fn name(&self) -> ObjectName {
        ObjectName::new(self.namespace(), format!("shop-{}", self.number))
    }

    fn slice_name(&self, slice: usize) -> ObjectName {
        ObjectName::new(self.namespace(), format!("shop-{}-{slice}", self.number))
    }
}

/// A slice: Service, exporter, which of that exporter's.
type SliceOf = (usize, usize, usize);

/// The members.
pub(crate) struct SimulatedMembers {
    members: Vec<Member>,
    arrivals: Arc<Arrivals>,
    folder: PathBuf,
    /// Whether their agents serve the standard API.
    standard: bool,
    /// Every slice has a number.
    slices: HashMap<SliceOf, usize>,
}

impl SimulatedMembers {
    /// No member has joined.
    pub(crate) async fn new(testbed: &Testbed) -> Result<Self> {
        namespace(&testbed.hub().client(), NAMESPACE).await?;
        let folder = testbed.run_path().join("members");
        std::fs::create_dir_all(&folder)?;
        let (members, arrivals) = (Vec::new(), Arc::new(Arrivals::new()));
        Ok(Self { members, arrivals, folder, standard: false, slices: HashMap::new() })
    }

    /// No member has joined; those to come serve the standard API, too.
    pub(crate) async fn standard(testbed: &Testbed) -> Result<Self> {
        Ok(Self { standard: true, ..Self::new(testbed).await? })
    }

    /// How many members there are.
    pub(crate) fn size(&self) -> usize {
        self.members.len()
    }

    /// When changes arrive.
    pub(crate) fn arrivals(&self) -> &Arrivals {
        &self.arrivals
    }

    /// Lets members join until there are so many.
    pub(crate) async fn grow(&mut self, testbed: &Testbed, size: usize) -> Result<()> {
        let standard = self.standard;
        let join = |number: usize| {
            let (arrivals, folder) = (Arc::clone(&self.arrivals), self.folder.clone());
            async move {
                let name = format!("crowd-{number}");
                let seen = move |change: &Change| {
                    if bound(change) {
                        arrivals.seen(number, &change.object);
                    }
                };
                let asked = (name.as_str(), standard);
                Member::start(testbed.hub(), &folder, asked, seen).await.context(name.clone())
            }
        };
        let joined: Vec<Member> =
            stream::iter(self.size()..size).map(join).buffered(JOINING).try_collect().await?;
        self.members.extend(joined);
        Ok(())
    }

    /// Exports and imports a Service.
    pub(crate) fn open(&mut self, service: &TestService) {
        let name = service.name();
        let export = match service.front_end {
            FrontEnd::Copying => kinds::SERVICE_EXPORT,
            FrontEnd::Standard => kinds::MCS_SERVICE_EXPORT,
        };
        let namespace = ObjectName::cluster(service.namespace());
        for &member in service.exporters.iter().chain(&service.importers) {
            let server = &self.members[member].server;
            server.write(|model| make(model, kinds::NAMESPACE, &namespace, json!({})));
        }
        for &exporter in &service.exporters {
            let slices: Vec<Value> = (0..service.slices)
                .map(|part| {
                    let next = self.slices.len();
                    self.slices.entry((service.number, exporter, part)).or_insert(next);
                    self.slice(service, exporter, part)
                })
                .collect();
            self.members[exporter].server.write(|model| {
                make(model, kinds::SERVICE, &name, cluster_ip_service());
                for (part, slice) in slices.into_iter().enumerate() {
                    make(model, kinds::ENDPOINT_SLICE, &service.slice_name(part), slice);
                }
                make(model, export, &name, json!({}));
            });
        }
        let wishing = (service.front_end == FrontEnd::Copying).then_some(&service.importers);
        for importer in wishing.into_iter().flatten() {
            let wish = json!({ "spec": { "serviceImport": { "name": name.name } } });
            let server = &self.members[*importer].server;
            server.write(|model| make(model, kinds::MULTI_CLUSTER_SERVICE, &name, wish));
        }
    }

    /// Changes one endpoint of a slice.
    pub(crate) fn change(&self, service: &TestService, exporter: usize, part: usize) {
        let slice = self.slice(service, exporter, part);
        self.members[exporter].server.write(|model| {
            let changed = |object: &mut Value| object["endpoints"] = slice["endpoints"].clone();
            model.edit(kinds::ENDPOINT_SLICE, &service.slice_name(part), changed).ok();
        });
    }

    /// The next version of a slice, which is on its way from now on.
    fn slice(&self, service: &TestService, exporter: usize, part: usize) -> Value {
        let slice = self.slices[&(service.number, exporter, part)];
        let first = self.arrivals.send(slice, &service.importers);
        let others = (1..service.endpoints)
            .map(|last| format!("11.{}.{}.{last}", slice >> 8 & 0xff, slice & 0xff));
        let ready = |address| json!({ "addresses": [address], "conditions": { "ready": true } });
        json!({
            "metadata": { "labels": { "kubernetes.io/service-name": service.name().name } },
            "addressType": "IPv4",
            "endpoints": std::iter::once(first).chain(others).map(ready).collect::<Vec<_>>(),
            "ports": [{ "name": "web", "protocol": "TCP", "port": 8080 }],
        })
    }

    /// Waits until everything has arrived.
    pub(crate) async fn settle(&self, deadline: Duration) -> Result<()> {
        self.arrivals.all(deadline).await
    }

    /// Ends all agents; what they have exported stays.
    pub(crate) async fn stop(self) -> Result<()> {
        let ends = self.members.into_iter().map(Member::stop);
        stream::iter(ends).buffer_unordered(JOINING).try_collect::<Vec<()>>().await?;
        Ok(())
    }
}

fn make(model: &mut ModelServer, kind: ResourceKind, name: &ObjectName, object: Value) {
    // Opening a Service again finds what is there.
    model.create(kind, name, object).ok();
}

fn cluster_ip_service() -> Value {
    json!({ "spec": {
        "type": "ClusterIP", "clusterIP": "10.0.0.1",
        "ports": [{ "name": "web", "protocol": "TCP", "port": 80, "targetPort": 8080 }],
    }})
}

/// Whether a change is of a slice that the agent has imported.
fn bound(change: &Change) -> bool {
    let labels = &change.object["metadata"]["labels"];
    let derived =
        *change.name.namespace == *SYSTEM_NAMESPACE && labels[labels::SERVICE_NAME].is_string();
    change.kind == kinds::ENDPOINT_SLICE
        && change.event != "DELETED"
        && (derived || labels[labels::MULTICLUSTER_SOURCE_CLUSTER].is_string())
}
