//! What a drain means for each Service. Pure.

use fleet_api::ObjectName;
use hub_agent::snapshot::HubSnapshot;
use hub_agent::traffic_decider::{exporters_of, services_of, unserved};

/// What the drain of a member means for one Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Impact {
    pub(super) service: ObjectName,
    /// Ready endpoints that the member exports, or that run there.
    pub(super) own: usize,
    /// Those of members that take over.
    pub(super) others: usize,
    /// What clients use of the former and have of none of the latter.
    pub(super) unserved: Option<String>,
}

impl Impact {
    /// Whether there is anything that no other member takes over.
    pub(super) fn is_alone(&self) -> bool {
        self.others == 0 || self.unserved.is_some()
    }

    /// One line for people. The load is that of each remaining endpoint, compared with before, where all are used alike.
    pub(super) fn line(&self) -> String {
        let Self { service, own, others, unserved } = self;
        let here = format!("{}/{}: {own} ready endpoints here", service.namespace, service.name);
        if *others == 0 {
            return format!("{here}, none of another member");
        }
        if let Some(unserved) = unserved {
            return format!("{here}, none of another member for {unserved}");
        }
        let percent = own * 100 / (own + others);
        let hundredths = (own + others) * 100 / others;
        format!(
            "{here}, about {percent} % of new connections; {others} of other members remain, with {}.{:02} times the load",
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
        let offered = exporters_of(&service, hub);
        let unserved = unserved(member, &offered, |_| true).map(|lane| lane.to_string());
        let (mut own, mut others) = (0, 0);
        for one in &offered {
            if one.concerns(member) {
                own += one.exporter.ready;
            } else if one.exporter.can_take_over() {
                others += one.exporter.ready;
            }
        }
        Impact { service, own, others, unserved }
    };
    concerned.map(impact).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn impact(own: usize, others: usize) -> Impact {
        Impact { service: ObjectName::new("shop", "web"), own, others, unserved: None }
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

    #[test]
    fn what_others_lack_is_named() {
        let unserved = Some("port \"http\" over IPv6 by the standard API".to_owned());
        let impact = Impact { unserved, ..impact(2, 4) };
        let expected = "shop/web: 2 ready endpoints here, none of another member for port \"http\" over IPv6 by the standard API";
        assert!(impact.is_alone());
        assert_eq!(impact.line(), expected);
    }
}
