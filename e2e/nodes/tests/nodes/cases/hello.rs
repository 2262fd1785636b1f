//! What the cases have in common: a Service `hello` in a namespace of each case's own, and Pods that ask.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fleet_api::{ResourceKind, kinds};
use fleet_nodes::pods::{Kind, POD_PORT, Servers, Shell};
use fleet_nodes::whole::WholeFleet;
use fleet_testbed::apply::apply;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::objects::find;
use fleet_testbed::wait::{wait_for, wait_until};
use fleet_testbed::workload::wait_for_default_account;
use fleet_testbed::{join, multicluster};
use futures::future::try_join_all;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use crate::questions::{Asker, Question};

pub(super) const NAME: &str = "hello";
/// The port of `hello`, over TCP and over UDP.
pub(super) const PORT: u16 = 42;
/// The cluster that exports first.
pub(super) const FIRST: usize = 0;
/// The one that exports later, if the case has one.
pub(super) const SECOND: usize = 1;
const DEADLINE: Duration = Duration::from_mins(1);
/// How long what must not change is looked at.
const WHILE: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(100);
const NAMESPACE: &str = "cases";

/// Clusters, and a Pod in each that asks.
pub(crate) struct World<'a> {
    fleet: &'a WholeFleet,
    shells: Vec<Shell>,
}

impl<'a> World<'a> {
    pub(crate) async fn of(fleet: &'a WholeFleet) -> Result<Self> {
        fleet.fleet().user_namespace(NAMESPACE).await?;
        let members = 0..fleet.fleet().members().len();
        let shells = members.map(async |member| fleet.shell(member, NAMESPACE, "request").await);
        Ok(Self { fleet, shells: try_join_all(shells).await? })
    }

    /// A case's place.
    pub(crate) fn case(&'a self, number: u8) -> Hello<'a> {
        Hello { world: self, namespace: format!("case-{number}") }
    }
}

/// The Service of one case.
pub(crate) struct Hello<'a> {
    world: &'a World<'a>,
    namespace: String,
}

impl Hello<'_> {
    pub(super) fn clusters(&self) -> &[Cluster] {
        self.world.fleet.fleet().members()
    }

    pub(super) fn shells(&self) -> &[Shell] {
        &self.world.shells
    }

    pub(super) fn cluster(&self, position: usize) -> &Cluster {
        &self.clusters()[position]
    }

    /// The name in the clusterset.
    pub(super) fn host(&self) -> String {
        format!("{NAME}.{}.svc.clusterset.local", self.namespace)
    }

    pub(super) fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Makes the namespace everywhere, and the Service in the first cluster, with these changes of its specification.
    pub(super) async fn begin(&self, changes: Value) -> Result<()> {
        try_join_all(self.clusters().iter().map(async |cluster| {
            join::namespace(&cluster.client(), &self.namespace).await?;
            wait_for_default_account(&cluster.client(), &self.namespace).await
        }))
        .await?;
        self.deploy(FIRST, changes).await
    }

    /// Makes the Service in a cluster.
    pub(super) async fn deploy(&self, position: usize, changes: Value) -> Result<()> {
        apply(&self.cluster(position).client(), service(&self.namespace, changes)).await
    }

    /// Servers for it.
    pub(super) async fn serve(&self, position: usize, kind: Kind, pods: usize) -> Result<Servers> {
        let servers = Servers::existing(&self.namespace, NAME, kind);
        servers.scale(self.cluster(position), pods).await?;
        Ok(servers)
    }

    pub(super) async fn export(&self, position: usize) -> Result<()> {
        self.export_with(position, &json!({})).await
    }

    pub(super) async fn export_with(&self, position: usize, spec: &Value) -> Result<()> {
        multicluster::export_with(self.cluster(position), (&self.namespace, NAME), spec).await
    }

    pub(super) async fn unexport(&self, position: usize) -> Result<()> {
        multicluster::unexport(self.cluster(position), &self.namespace, NAME).await
    }

    /// The first cluster exports, and the second one later, of which creation times with seconds have to show the order.
    pub(super) async fn export_twice(&self, first: &Value, second: &Value) -> Result<()> {
        self.export_with(FIRST, first).await?;
        self.imported(FIRST, "there", |_| true).await?;
        tokio::time::sleep(Duration::from_millis(1100)).await;
        self.export_with(SECOND, second).await
    }

    async fn find(&self, position: usize, kind: ResourceKind) -> Result<Option<DynamicObject>> {
        find(self.cluster(position), kind, (&self.namespace, NAME)).await
    }

    /// Waits until the ServiceImport of a cluster is as wanted, and returns it.
    pub(super) async fn imported(
        &self,
        position: usize,
        wanted: &str,
        is_so: impl Fn(&Value) -> bool,
    ) -> Result<Value> {
        let what = format!("the import of {} is {wanted}", self.cluster(position).name());
        wait_for(&what, DEADLINE, async || {
            let found = self.find(position, kinds::MCS_SERVICE_IMPORT).await?;
            let found = serde_json::to_value(found.context("there is none")?)?;
            ensure!(is_so(&found), "it is {found}");
            Ok(Some(found))
        })
        .await
    }

    /// The same in every cluster.
    pub(super) async fn imported_everywhere(
        &self,
        wanted: &str,
        is_so: impl Fn(&Value) -> bool + Copy,
    ) -> Result<Vec<Value>> {
        let positions = 0..self.clusters().len();
        try_join_all(positions.map(|position| self.imported(position, wanted, is_so))).await
    }

    /// Waits until no cluster has a ServiceImport.
    pub(super) async fn gone_everywhere(&self) -> Result<()> {
        for position in 0..self.clusters().len() {
            let what = format!("the import of {} is gone", self.cluster(position).name());
            wait_until(&what, DEADLINE, async || {
                Ok(self.find(position, kinds::MCS_SERVICE_IMPORT).await?.is_none())
            })
            .await?;
        }
        Ok(())
    }

    /// What the first cluster has as its import does not stop to be so, for a while.
    pub(super) async fn stays(
        &self,
        wanted: &str,
        is_so: impl Fn(Option<&Value>) -> bool,
    ) -> Result<()> {
        let begin = std::time::Instant::now();
        while begin.elapsed() < WHILE {
            let found = self.find(FIRST, kinds::MCS_SERVICE_IMPORT).await?;
            let found = found.map(serde_json::to_value).transpose()?;
            ensure!(is_so(found.as_ref()), "the import is not {wanted} any more: {found:?}");
            tokio::time::sleep(PAUSE).await;
        }
        Ok(())
    }

    /// Waits until the ServiceExport of a cluster has a condition.
    pub(super) async fn reported(
        &self,
        position: usize,
        condition: &str,
        status: &str,
    ) -> Result<()> {
        let what = format!("{condition} is {status} in {}", self.cluster(position).name());
        wait_until(&what, DEADLINE, async || {
            let found =
                self.find(position, kinds::MCS_SERVICE_EXPORT).await?.context("no export")?;
            let conditions = found.data["status"]["conditions"].as_array().cloned();
            let mut conditions = conditions.into_iter().flatten();
            Ok(conditions.any(|one| one["type"] == condition && one["status"] == status))
        })
        .await
    }

    /// Both exports have the condition Conflict.
    pub(super) async fn conflict_reported(&self) -> Result<()> {
        self.reported(FIRST, "Conflict", "True").await?;
        self.reported(SECOND, "Conflict", "True").await
    }

    /// Asks in every cluster; the table may depend on its import.
    pub(super) async fn ask_everywhere(
        &self,
        table: impl Fn(&Value) -> Vec<Question>,
    ) -> Result<()> {
        let imports = self.imported_everywhere("complete", is_complete).await?;
        for (position, import) in imports.iter().enumerate() {
            self.ask(position, &table(import)).await?;
        }
        Ok(())
    }

    /// Asks in one.
    pub(super) async fn ask(&self, position: usize, table: &[Question]) -> Result<()> {
        let asker = Asker::new(&self.shells()[position], self.world.fleet.node(position)).await?;
        let answered = asker.ask(table).await;
        answered.with_context(|| format!("in {}", self.cluster(position).name()))
    }
}

/// Whether an import has what its names are made of.
pub(super) fn is_complete(import: &Value) -> bool {
    let spec = &import["spec"];
    spec["type"] == "Headless" || !texts(&spec["ips"]).is_empty()
}

/// The strings of a list.
pub(super) fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(|it| it.as_str().map(str::to_owned)).collect()
}

/// A port as users write it.
pub(super) fn port(name: &str, protocol: &str, port: u16) -> Value {
    json!({ "name": name, "protocol": protocol, "port": port, "targetPort": POD_PORT })
}

fn service(namespace: &str, changes: Value) -> Value {
    let dummy = json!({ "dummy-svc": "dummy" });
    let mut service = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": { "name": NAME, "namespace": namespace, "labels": dummy, "annotations": dummy },
        "spec": {
            "selector": { "app": NAME },
            "ports": [port("tcp", "TCP", PORT), port("udp", "UDP", PORT)],
            "sessionAffinity": "ClientIP",
            "sessionAffinityConfig": { "clientIP": { "timeoutSeconds": 10 } },
            "ipFamilyPolicy": "PreferDualStack",
        },
    });
    if let Value::Object(changes) = changes {
        for (field, value) in changes {
            service["spec"][field] = value;
        }
    }
    service
}
