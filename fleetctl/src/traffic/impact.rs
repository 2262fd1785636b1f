//! What a drain means for each Service. Pure.

use fleet_api::ObjectName;
use hub_agent::snapshot::HubSnapshot;
use hub_agent::traffic_decider::{exporters_of, services_of};

/// What the drain of a member means for one Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Impact {
    pub(super) service: ObjectName,
    /// Ready endpoints that the member exports, or that run there.
    pub(super) own: usize,
    /// Those of members that take over.
    pub(super) others: usize,
}

impl Impact {
    /// Whether no other member takes over.
    pub(super) fn is_alone(&self) -> bool {
        self.others == 0
    }

    /// One line for people. The load is that of each remaining endpoint, compared with before, where all are used alike.
    pub(super) fn line(&self) -> String {
        let Self { service, own, others } = self;
        let name = format!("{}/{}", service.namespace, service.name);
        if self.is_alone() {
            return format!("{name}: {own} ready endpoints here, none of another member");
        }
        let percent = own * 100 / (own + others);
        let hundredths = (own + others) * 100 / others;
        format!(
            "{name}: {own} ready endpoints here, about {percent} % of new connections; {others} of other members remain, with {}.{:02} times the load",
            hundredths / 100,
            hundredths % 100,
        )
    }
}

/// The Services that a drain of these, or of all, concerns.
pub(super) fn of(member: &str, services: &[ObjectName], hub: &HubSnapshot) -> Vec<Impact> {
    let all = services_of(member, hub);
    let concerned =
        all.into_iter().filter(|service| services.is_empty() || services.contains(service));
    let impact = |service: ObjectName| {
        let (mut own, mut others) = (0, 0);
        for one in exporters_of(&service, hub) {
            if one.concerns(member) {
                own += one.exporter.ready;
            } else if one.exporter.can_take_over() {
                others += one.exporter.ready;
            }
        }
        Impact { service, own, others }
    };
    concerned.map(impact).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn impact(own: usize, others: usize) -> Impact {
        Impact { service: ObjectName::new("shop", "web"), own, others }
    }

    #[test]
    fn the_load_of_what_remains_is_printed() {
        let line = impact(2, 4).line();
        assert!(line.contains("33 %") && line.contains("1.50 times"), "{line}");
        assert!(!impact(2, 4).is_alone());
        assert!(impact(1, 200).line().contains("1.00 times"));
    }

    #[test]
    fn who_is_alone_is_named() {
        assert!(impact(2, 0).is_alone() && impact(2, 0).line().contains("none of another"));
    }
}
