//! Addresses of Services, as an API server gives them.

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// What Services get.
#[derive(Clone, Debug)]
pub(super) struct Addresses {
    /// Families in the cluster's order.
    families: Vec<&'static str>,
    given: u32,
}

impl Addresses {
    pub(super) fn new(families: &[&'static str]) -> Self {
        Self { families: families.to_vec(), given: 0 }
    }

    /// Gives a Service the addresses that it lacks, none of which is `taken`; `None` where the server refuses it.
    pub(super) fn give(&mut self, service: &mut Value, taken: &BTreeSet<String>) -> Option<()> {
        let spec = &mut service["spec"];
        if spec["clusterIP"] == "None" || spec["type"] == "ExternalName" {
            return Some(());
        }
        let families = self.wanted(spec)?;
        let mut ips = texts(&spec["clusterIPs"]);
        if ips.iter().any(|ip| taken.contains(ip)) {
            return None;
        }
        ips.truncate(families.len());
        while ips.len() < families.len() {
            ips.push(self.next(&families[ips.len()]));
        }
        spec["clusterIP"] = json!(ips[0]);
        spec["clusterIPs"] = json!(ips);
        spec["ipFamilies"] = json!(families);
        Some(())
    }

    fn wanted(&self, spec: &Value) -> Option<Vec<String>> {
        let mut wanted = texts(&spec["ipFamilies"]);
        let offered = |family: &String| self.families.contains(&family.as_str());
        if wanted.is_empty() {
            wanted.push((*self.families.first()?).to_owned());
        }
        let policy = spec["ipFamilyPolicy"].as_str().unwrap_or("SingleStack");
        let both = self.families.iter().map(|family| (*family).to_owned());
        let more: Vec<_> = both.filter(|family| !wanted.contains(family)).collect();
        if policy != "SingleStack" {
            wanted.extend(more);
        }
        let is_possible = wanted.iter().all(offered)
            && (policy != "RequireDualStack" || wanted.len() == 2)
            && (policy != "SingleStack" || wanted.len() == 1);
        is_possible.then_some(wanted)
    }

    fn next(&mut self, family: &str) -> String {
        self.given += 1;
        let given = self.given;
        if family == "IPv6" { format!("fd00::{given:x}") } else { format!("10.96.0.{given}") }
    }
}

/// A changed Service keeps the address that it has; `None` where another one is asked for, which the server refuses.
pub(super) fn keep(before: &Value, service: &mut Value) -> Option<()> {
    let without = |service: &Value| {
        service["spec"]["type"] == "ExternalName" || service["spec"]["clusterIP"].is_null()
    };
    if without(before) || service["spec"]["type"] == "ExternalName" {
        return Some(());
    }
    let lacks = |spec: &Value, field: &str| {
        spec[field].is_null() || spec[field] == "" || spec[field] == json!([])
    };
    for field in ["clusterIP", "clusterIPs"] {
        if lacks(&service["spec"], field) {
            service["spec"][field] = before["spec"][field].clone();
        }
    }
    let first = |service: &Value| service["spec"]["clusterIPs"][0].clone();
    let is_same = service["spec"]["clusterIP"] == before["spec"]["clusterIP"]
        && first(service) == first(before);
    is_same.then_some(())
}

/// The addresses of a Service.
pub(super) fn of(service: &Value) -> Vec<String> {
    texts(&service["spec"]["clusterIPs"])
}

fn texts(list: &Value) -> Vec<String> {
    let list = list.as_array().into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}
