//! A member where own endpoints may be written by kube-controller-manager, which is played.

use std::collections::BTreeSet;

use fleet_api::{ObjectName, annotations, kinds, labels};
use fleet_endpointslice::MANAGER;
use fleet_plan::Step;
use serde_json::{Value, json};

use super::given::local_first;
use crate::multicluster::import::tests::world::{World, derived, web};

/// The slice of the exported Service.
pub(super) fn exported_slice() -> ObjectName {
    ObjectName::new("shop", "web-x1")
}

/// That of the derived Service.
pub(super) fn derived_slice() -> ObjectName {
    ObjectName::new("shop", format!("{}-x1", derived().name))
}

/// A member whose own endpoints come first, with an exported Service that has a selector.
pub(super) fn allowed() -> World {
    let mut world = local_first();
    world.settings.traffic.derived_selectors = true;
    let service = |service: &mut Value| {
        service["spec"]["selector"] = json!({ "app": "web" });
        service["spec"]["ports"][0]["targetPort"] = json!("pods");
    };
    world.own.edit(kinds::SERVICE, &web(), service).unwrap();
    let slice = |slice: &mut Value| {
        slice["metadata"]["labels"][labels::MANAGED_BY] = json!(MANAGER);
    };
    world.own.edit(kinds::ENDPOINT_SLICE, &exported_slice(), slice).unwrap();
    world.settle();
    world.rest();
    world
}

/// The same where Kubernetes writes own endpoints.
pub(super) fn by_kubernetes() -> World {
    let mut world = allowed();
    world.ask(json!({ "localEndpoints": "Kubernetes" }));
    world.change();
    world.rest();
    assert_eq!(world.local(), "Kubernetes");
    world
}

impl World {
    /// kube-controller-manager writes the slices of the derived Service, if it has a selector. No Pod is of any but that of the exported
    /// one.
    pub(super) fn kubernetes(&mut self) {
        let Some(service) = self.own.get(kinds::SERVICE, &derived()).cloned() else {
            // The garbage collector.
            let _ = self.own.delete(kinds::ENDPOINT_SLICE, &derived_slice());
            return;
        };
        if service["spec"]["selector"].is_null() {
            return;
        }
        let exported = self.own.get(kinds::ENDPOINT_SLICE, &exported_slice()).cloned().unwrap();
        let is_same = self.follows();
        let endpoints = if is_same { exported["endpoints"].clone() } else { json!([]) };
        let port = |port: &Value| {
            // Pods call their only port so.
            let number = match &port["targetPort"] {
                name if *name == "pods" => json!(8080),
                Value::Null => port["port"].clone(),
                number => number.clone(),
            };
            json!({ "name": port["name"], "protocol": port["protocol"], "port": number })
        };
        let ports: Vec<_> = service["spec"]["ports"].as_array().unwrap().iter().map(port).collect();
        let slice = json!({
            "metadata": { "labels": {
                labels::SERVICE_NAME: derived().name, labels::MANAGED_BY: MANAGER,
            } },
            "addressType": "IPv4", "endpoints": endpoints, "ports": ports,
        });
        if self.own.get(kinds::ENDPOINT_SLICE, &derived_slice()).is_none() {
            self.add(kinds::ENDPOINT_SLICE, &derived_slice(), slice);
            return;
        }
        let set = |there: &mut Value| {
            there["endpoints"] = slice["endpoints"].clone();
            there["ports"] = slice["ports"].clone();
        };
        self.own.edit(kinds::ENDPOINT_SLICE, &derived_slice(), set).unwrap();
    }

    /// Whether the derived Service has the selector of the exported one.
    pub(super) fn follows(&self) -> bool {
        let exported = self.own.get(kinds::SERVICE, &web()).unwrap();
        self.derived_service()["spec"]["selector"] == exported["spec"]["selector"]
    }

    /// The exported Service turns to Pods with another label and port, or back.
    pub(super) fn select(&mut self, others: bool) {
        let (app, target, number) =
            if others { ("green", json!(9090), 9090) } else { ("web", json!("pods"), 8080) };
        let service = |service: &mut Value| {
            service["spec"]["selector"] = json!({ "app": app });
            service["spec"]["ports"][0]["targetPort"] = target.clone();
        };
        self.own.edit(kinds::SERVICE, &web(), service).unwrap();
        let slice = |slice: &mut Value| slice["ports"][0]["port"] = json!(number);
        self.own.edit(kinds::ENDPOINT_SLICE, &exported_slice(), slice).unwrap();
    }

    /// The agent writes what the API server takes.
    pub(in crate::multicluster::import::tests) fn write_but(
        &mut self,
        is_refused: impl Fn(&Step) -> bool,
    ) {
        let plan = self.plan();
        for measured in &plan.measurements {
            self.memory.take(&measured.what);
        }
        let mut done: Vec<bool> = Vec::new();
        for step in &plan.steps {
            let is_sent = step.after.iter().all(|id| done[id.index()]) && !is_refused(step);
            if is_sent {
                self.own.execute(step).unwrap();
            }
            done.push(is_sent);
        }
    }

    /// The agent and kube-controller-manager bring a change to its end.
    pub(super) fn change(&mut self) {
        for _ in 0..4 {
            self.settle();
            self.kubernetes();
        }
        self.settle();
    }

    /// Ready endpoints that back the derived Service, with each of their ports.
    pub(super) fn serving(&self) -> BTreeSet<String> {
        let slices = self.own.objects(kinds::ENDPOINT_SLICE);
        let bound = slices.filter(|(_, slice)| {
            slice["metadata"]["labels"][labels::SERVICE_NAME] == *derived().name
        });
        let endpoints = bound.flat_map(|(_, slice)| {
            let endpoints = slice["endpoints"].as_array().unwrap().iter();
            let ready = endpoints.filter(|it| it["conditions"]["ready"] != false);
            ready.flat_map(move |it| {
                let address = it["addresses"][0].as_str().unwrap();
                let ports = slice["ports"].as_array().unwrap().iter();
                ports.map(move |port| format!("{address}:{}", port["port"]))
            })
        });
        endpoints.collect()
    }

    /// Whether own slices of the agent take traffic.
    pub(super) fn binds_own(&self) -> bool {
        let slices = self.own.objects(kinds::ENDPOINT_SLICE);
        let mut own = slices.filter(|(_, slice)| {
            let labels = &slice["metadata"]["labels"];
            labels[labels::MULTICLUSTER_SOURCE_CLUSTER] == "a"
        });
        own.any(|(_, slice)| {
            let labels = &slice["metadata"]["labels"];
            labels[labels::SERVICE_NAME] == *derived().name
        })
    }

    /// The mode that is reported, and why.
    pub(super) fn local(&self) -> String {
        let report = self.memory.report(&crate::traffic::Subject::standard(&web())).unwrap();
        let local = report.local.unwrap();
        match local.reason {
            None => local.mode.as_str().to_owned(),
            Some(reason) => format!("{} {reason}", local.mode.as_str()),
        }
    }

    pub(super) fn derived_service(&self) -> &Value {
        self.own.get(kinds::SERVICE, &derived()).unwrap()
    }

    /// Whether nothing is left of Kubernetes' part.
    pub(super) fn is_agents(&self) -> bool {
        let service = self.derived_service();
        let mark = &service["metadata"]["annotations"][annotations::LOCAL_ENDPOINTS];
        let label = &service["metadata"]["labels"][labels::SKIP_MIRROR];
        service["spec"]["selector"].is_null()
            && mark.is_null()
            && label.is_null()
            && self.own.get(kinds::ENDPOINT_SLICE, &derived_slice()).is_none()
    }
}
