//! A cluster with a Service, machines outside of it, and a slice of another manager.

use std::ops::Range;

use fleet_api::{ObjectName, ResourceKind, kinds, labels};
use fleet_model::cidr::Cidrs;
use fleet_model_server::{ModelServer, Write, execute};
use fleet_plan::{Affected, Event};
use serde_json::{Value, json};

use super::super::{keys, plan};
use crate::Identity;
use crate::measurement::Plan;
use crate::slicing::testing;
pub(super) use crate::slicing::testing::{endpoints, named};
use crate::snapshot::MemberSnapshot;

pub(super) struct World {
    pub(super) own: ModelServer,
    hub: ModelServer,
    /// Ranges of the flag.
    pub(super) cidrs: Cidrs,
    /// Events of the plans since the start.
    pub(super) events: Vec<Event>,
}

/// The Service that selects `app=shop`.
pub(super) fn shop() -> ObjectName {
    named("shop")
}

/// A Service; `spec` is merged into its own.
pub(super) fn service(spec: &Value) -> Value {
    let ports = json!([{ "name": "web", "protocol": "TCP", "port": 80, "targetPort": "http" }]);
    testing::service("shop", &ports, spec)
}

/// A machine with the label `app=shop` that serves `http` on 8080.
pub(super) fn machine(ips: &[&str]) -> Value {
    let ips: Vec<_> = ips.iter().map(|ip| json!({ "ip": ip })).collect();
    json!({
        "metadata": { "labels": { "app": "shop" } },
        "spec": {
            "meshTLS": { "identity": "i", "serverName": "s" },
            "ports": [{ "name": "http", "port": 8080 }],
            "workloadIPs": ips,
        },
    })
}

/// The address of one of many machines.
pub(super) fn address(number: usize) -> String {
    format!("198.18.{}.{}", number / 200, number % 200 + 1)
}

impl World {
    /// A Service whose `spec` is merged into the usual one, and the slice that the built-in controller keeps for it.
    pub(super) fn with(spec: &Value) -> Self {
        let (own, hub) = testing::servers();
        let mut world = Self { own, hub, cidrs: Cidrs::default(), events: Vec::new() };
        world.own.create(kinds::SERVICE, &shop(), service(spec)).unwrap();
        let built_in = json!({
            "metadata": { "labels": {
                "kubernetes.io/service-name": "shop",
                "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
            } },
            "addressType": "IPv4", "endpoints": [], "ports": [],
        });
        world.own.create(kinds::ENDPOINT_SLICE, &named("shop-abcde"), built_in).unwrap();
        world
    }

    pub(super) fn new() -> Self {
        Self::with(&json!({}))
    }

    /// Adds a machine.
    pub(super) fn add(&mut self, name: &str, machine: Value, ready: bool) {
        self.own.create(kinds::EXTERNAL_WORKLOAD, &named(name), machine).unwrap();
        self.set_ready(name, ready);
    }

    /// Adds machines `vm-<number>`.
    pub(super) fn add_many(&mut self, numbers: Range<usize>) {
        for number in numbers {
            self.add(&format!("vm-{number:03}"), machine(&[&address(number)]), true);
        }
    }

    pub(super) fn set_ready(&mut self, name: &str, ready: bool) {
        let status = if ready { "True" } else { "False" };
        let status = json!({ "conditions": [{ "type": "Ready", "status": status }] });
        self.edit(kinds::EXTERNAL_WORKLOAD, name, |machine| machine["status"] = status);
    }

    pub(super) fn edit(&mut self, kind: ResourceKind, name: &str, change: impl FnOnce(&mut Value)) {
        self.own.edit(kind, &named(name), change).unwrap();
    }

    pub(super) fn delete(&mut self, kind: ResourceKind, name: &str) {
        self.own.delete(kind, &named(name)).unwrap();
    }

    pub(super) fn snapshot(&self) -> MemberSnapshot {
        crate::tests::snapshot(&Identity::new("a"), &self.own, &self.hub)
    }

    pub(super) fn plan(&self) -> Plan {
        plan(&self.cidrs, &shop(), &self.snapshot())
    }

    /// Runs until nothing is left to write, and returns what was written.
    pub(super) fn settle(&mut self) -> Vec<Write> {
        self.own.take_writes();
        for _ in 0..5 {
            let plan = self.plan();
            self.events.extend(plan.events.iter().cloned());
            if plan.is_empty() {
                return self.own.take_writes();
            }
            let refused = execute(&plan, &mut [&mut self.own, &mut self.hub]);
            assert_eq!(refused, [], "the model is never behind");
        }
        panic!("no rest: {:#?}", self.plan());
    }

    /// Verbs of what [`settle`](Self::settle) wrote.
    pub(super) fn verbs(&mut self) -> Vec<&'static str> {
        self.settle().into_iter().map(|write| write.verb).collect()
    }

    /// Our slices, ordered by name.
    pub(super) fn slices(&self) -> Vec<Value> {
        let slices = testing::slices(&self.own).into_iter();
        let label = |slice: &Value| {
            slice["metadata"]["labels"]["endpointslice.kubernetes.io/managed-by"].clone()
        };
        slices
            .filter(|slice| label(slice) == labels::MANAGED_BY_EXTERNAL_WORKLOADS)
            .cloned()
            .collect()
    }

    /// The only slice of ours.
    pub(super) fn slice(&self) -> Value {
        let [slice] = &self.slices()[..] else { panic!("{:#?}", self.slices()) };
        slice.clone()
    }

    /// How many endpoints each slice has, the fullest first.
    pub(super) fn sizes(&self) -> Vec<usize> {
        let mut sizes: Vec<_> = self.slices().iter().map(|slice| endpoints(slice).len()).collect();
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        sizes
    }

    /// Names of the Services that `change` affects, each once.
    pub(super) fn touched(&mut self, change: impl FnOnce(&mut Self)) -> Vec<String> {
        let before = self.snapshot();
        change(self);
        let mut affected = Affected::new();
        keys::affected(&before, &self.snapshot(), &mut affected);
        let mut touched: Vec<_> = affected.keys().map(|key| key.name.to_string()).collect();
        touched.sort();
        touched.dedup();
        touched
    }
}

/// Addresses of a slice in their order.
pub(super) fn addresses(slice: &Value) -> Vec<String> {
    let all = endpoints(slice).iter().flat_map(|one| one["addresses"].as_array().unwrap());
    all.map(|address| address.as_str().unwrap().to_owned()).collect()
}
