//! How far a drain is. Pure.

use fleet_api::names::member_of_namespace;
use fleet_api::traffic::{DrainReason, DrainRequest, DrainStatus, MemberTrafficStatus};
use hub_agent::snapshot::HubSnapshot;

/// How many names are printed.
const NAMED: usize = 5;

/// How far requests are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// Steps are missing.
    Goes(String),
    /// All are reached.
    Done(String),
    /// One is refused.
    Refused(String),
}

/// How far these requests are.
pub(super) fn of(
    requests: &[DrainRequest],
    status: &MemberTrafficStatus,
    hub: &HubSnapshot,
) -> Progress {
    let drain = |service: &str| drain_of(service, status);
    let percent = |request: &DrainRequest| drain(&request.service).map_or(0, |it| it.percent);
    let line = |request: &DrainRequest| {
        format!("{}: {} % of the endpoints are last resort", request.service, percent(request))
    };
    let lines: Vec<_> = requests.iter().map(line).collect();
    let text = format!("{}; {}{}", lines.join("; "), applied(status.serial, hub), held(status));
    if is_refused(requests, status) {
        let why = status.conditions.iter().find(|condition| condition.status == "True");
        return Progress::Refused(why.map_or(text, |why| why.message.clone()));
    }
    let is_done = requests.iter().all(|request| percent(request) == request.percent);
    if is_done { Progress::Done(text) } else { Progress::Goes(text) }
}

/// Whether one of these requests, or an earlier one about the same, is refused.
pub(super) fn is_refused(requests: &[DrainRequest], status: &MemberTrafficStatus) -> bool {
    let drains = requests.iter().filter_map(|request| drain_of(&request.service, status));
    drains.into_iter().any(|drain| drain.reason == DrainReason::Refused)
}

fn drain_of<'a>(service: &str, status: &'a MemberTrafficStatus) -> Option<&'a DrainStatus> {
    status.drains.iter().find(|drain| drain.service == service)
}

/// The importers that have applied everything up to a serial.
fn applied(serial: i64, hub: &HubSnapshot) -> String {
    let importers = hub
        .member_leases
        .iter()
        .filter_map(|lease| Some((member_of_namespace(&lease.name.namespace)?, lease.applied?)));
    let importers: Vec<_> = importers.collect();
    let late = importers.iter().filter(|(_, applied)| *applied < serial);
    let late: Vec<_> = late.map(|(name, _)| *name).collect();
    let (all, done) = (importers.len(), importers.len() - late.len());
    let named = late.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    let named = if late.is_empty() { String::new() } else { format!(" (late: {named})") };
    format!("applied by {done} of {all} importers{named}")
}

fn held(status: &MemberTrafficStatus) -> String {
    match status.held_services.len() {
        0 => String::new(),
        count => {
            let named = status.held_services.iter().take(NAMED).map(String::as_str);
            let named = named.collect::<Vec<_>>().join(", ");
            format!("; {count} Services are held back, since no other member serves them: {named}")
        }
    }
}

#[cfg(test)]
mod tests {
    use fleet_accumulator::{Object, View};
    use fleet_api::ObjectName;
    use fleet_api::traffic::DrainStatus;
    use fleet_model::objects::MemberLease;

    use super::*;

    fn hub() -> HubSnapshot {
        let lease = |(member, applied): (&str, Option<i64>)| {
            let name = ObjectName::new(format!("fleet-member-{member}"), "fleet-member");
            let lease = MemberLease { applied, ..MemberLease::default() };
            Object::new(name, member.into(), "1".into(), lease)
        };
        let leases = [("a", Some(7)), ("b", Some(6)), ("old", None)].map(lease);
        HubSnapshot { member_leases: View::of(leases), ..HubSnapshot::default() }
    }

    fn at(percent: i64, reason: DrainReason) -> MemberTrafficStatus {
        let drain = DrainStatus { service: "*".to_owned(), percent, reason, removed: false };
        MemberTrafficStatus { serial: 7, drains: vec![drain], ..MemberTrafficStatus::default() }
    }

    #[test]
    fn steps_and_late_importers_are_printed() {
        let all =
            [DrainRequest { service: "*".to_owned(), percent: 100, ..DrainRequest::default() }];
        let Progress::Goes(text) = of(&all, &at(30, DrainReason::Draining), &hub()) else {
            panic!("it goes on");
        };
        assert!(text.contains("30 %") && text.contains("1 of 2 importers (late: b)"), "{text}");
        assert!(matches!(of(&all, &at(100, DrainReason::Drained), &hub()), Progress::Done(_)));
        assert!(matches!(of(&all, &at(0, DrainReason::Refused), &hub()), Progress::Refused(_)));
        let none = [DrainRequest { percent: 0, ..all[0].clone() }];
        let over = MemberTrafficStatus::default();
        assert!(matches!(of(&none, &over, &hub()), Progress::Done(_)));
    }
}
