//! `ReachReport`.

use fleet_accumulator::{Tracked, wire};
use fleet_api::multicluster::{self, ReachReportSpec};
use fleet_api::{ObjectName, ResourceKind, kinds};

wire! {
    /// A `ReachReport` on the wire.
    pub struct ReachReportWire as multicluster::ReachReport {
        spec: Option<ReachReportSpec>,
    }
}

/// What a member reaches of what it imports. No agent decides anything by it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReachReport {
    /// As the member has written it.
    pub spec: ReachReportSpec,
}

impl Tracked for ReachReport {
    const KIND: ResourceKind = kinds::REACH_REPORT;
    type Wire = ReachReportWire;
    /// A Service that is named as not reached.
    type Index = ObjectName;

    fn project(wire: ReachReportWire) -> Result<Self, String> {
        Ok(Self { spec: wire.spec.unwrap_or_default() })
    }

    fn index(&self, _: &ObjectName) -> Vec<ObjectName> {
        let troubles = self.spec.troubles.iter();
        let mut named: Vec<_> = troubles
            .map(|it| ObjectName::new(it.namespace.as_str(), it.service.as_str()))
            .collect();
        named.sort();
        named.dedup();
        named
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn report(object: Value) -> Result<ReachReport, String> {
        ReachReport::project(serde_json::from_value(object).unwrap())
    }

    #[test]
    fn services_that_are_not_reached_are_indexed_once() {
        let trouble = |exporter: &str| {
            json!({
                "exporter": exporter, "namespace": "shop", "service": "web", "api": "Fleet", "hop": "Route",
                "since": "2026-01-01T00:00:00Z", "detail": "",
            })
        };
        let spec = json!({ "troubles": [trouble("east"), trouble("north")] });
        let found = report(json!({ "metadata": { "name": "west" }, "spec": spec })).unwrap();
        assert_eq!(found.index(&ObjectName::new("a", "b")), [ObjectName::new("shop", "web")]);
        assert_eq!(
            report(json!({ "metadata": { "name": "west" } })).unwrap(),
            ReachReport::default()
        );
    }
}
