//! Moments at which something happened that people look for, of all that the page can show. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use fleet_api::ObjectName;
use jiff::Timestamp;

use crate::cause::Cause;
use crate::view::{ServiceView, View};

/// A moment at which something happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Number of its frame.
    pub number: usize,
    /// When it was.
    pub at: Timestamp,
    /// What happened.
    pub events: Events,
}

/// What happened at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Events {
    /// The first of it; what is bad comes first.
    pub first: Event,
    /// How much there is besides.
    pub others: usize,
}

/// Something that happened. The order is that of importance.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// A Service stops, or does so for another cause.
    Stops(ObjectName, Cause),
    /// A member has come, or has another state.
    Member(String, &'static str),
    /// A member is not known any more.
    MemberGone(String),
    /// Nothing stops a Service any more.
    Works(ObjectName),
    /// No member exports or imports a Service any more.
    Gone(ObjectName),
    /// A Service is exported or imported for the first time.
    New(ObjectName),
    /// An object of a recording is another one, is there or gone: of a member, or of the hub.
    Object(Option<String>, &'static str, ObjectName),
}

impl Events {
    /// Those of a list; `None` if it is empty.
    pub(crate) fn of(events: impl IntoIterator<Item = Event>) -> Option<Self> {
        let mut events = events.into_iter();
        let first = events.next()?;
        Some(events.fold(Self { first, others: 0 }, |all, event| Self {
            first: all.first.min(event),
            others: all.others + 1,
        }))
    }

    /// What happened between two views. Causes that pass by themselves come with every change: they are none.
    pub(super) fn between(before: &View, after: &View) -> Option<Self> {
        let members = members(before, after);
        Self::of(services(before, after).into_iter().chain(members))
    }
}

fn members(before: &View, after: &View) -> Vec<Event> {
    let states = |view: &View| -> BTreeMap<String, &'static str> {
        view.members.iter().map(|member| (member.name.clone(), member.state)).collect()
    };
    let (old, new) = (states(before), states(after));
    let changed = new.iter().filter(|(name, state)| old.get(*name) != Some(*state));
    let changed = changed.map(|(name, state)| Event::Member(name.clone(), state));
    let gone = old.keys().filter(|name| !new.contains_key(*name)).cloned();
    changed.chain(gone.map(Event::MemberGone)).collect()
}

/// Services that both views share are the same.
fn services(before: &View, after: &View) -> Vec<Event> {
    let mut events = Vec::new();
    let mut old = before.services.iter().peekable();
    for service in &after.services {
        while let Some(gone) = old.next_if(|it| key(it) < key(service)) {
            events.push(Event::Gone(name(gone)));
        }
        match old.next_if(|it| key(it) == key(service)) {
            None => events.push(Event::New(name(service))),
            Some(same) if Arc::ptr_eq(same, service) => {}
            Some(other) => events.extend(change(other, service)),
        }
    }
    events.extend(old.map(|gone| Event::Gone(name(gone))));
    events
}

fn change(before: &ServiceView, after: &ServiceView) -> Option<Event> {
    match (cause(before), cause(after)) {
        (before, after) if before == after => None,
        (_, Some(cause)) => Some(Event::Stops(name(after), cause)),
        (_, None) => Some(Event::Works(name(after))),
    }
}

fn cause(service: &ServiceView) -> Option<Cause> {
    service.findings().map(|finding| finding.cause).find(|cause| !cause.is_passing())
}

fn key(service: &ServiceView) -> (&str, &str) {
    (&service.namespace, &service.name)
}

fn name(service: &ServiceView) -> ObjectName {
    ObjectName::new(service.namespace.as_str(), service.name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::{Finding, MemberView};

    fn service(name: &str, cause: Option<Cause>) -> Arc<ServiceView> {
        let finding =
            cause.map(|cause| Finding { cause, says: "it stops".to_owned(), advice: None });
        let (namespace, name) = ("shop".to_owned(), name.to_owned());
        Arc::new(ServiceView { namespace, name, finding, ..ServiceView::default() })
    }

    fn fleet(services: Vec<Arc<ServiceView>>, members: &[(&str, &'static str)]) -> View {
        let member = |(name, state): &(&str, &'static str)| MemberView {
            name: (*name).to_owned(),
            state,
            ..MemberView::default()
        };
        let members = members.iter().map(member).collect();
        View { members, services, ..View::default() }
    }

    fn of(name: &str) -> ObjectName {
        ObjectName::new("shop", name)
    }

    #[test]
    fn services_come_stop_work_and_go() {
        let none = fleet(vec![], &[]);
        let well = fleet(vec![service("web", None)], &[]);
        let ill = fleet(vec![service("web", Some(Cause::NoEndpoints))], &[]);
        let first = |before, after| Events::between(before, after).map(|events| events.first);
        assert_eq!(first(&none, &well), Some(Event::New(of("web"))));
        assert_eq!(first(&well, &well), None);
        assert_eq!(first(&well, &ill), Some(Event::Stops(of("web"), Cause::NoEndpoints)));
        assert_eq!(first(&ill, &well), Some(Event::Works(of("web"))));
        assert_eq!(first(&ill, &none), Some(Event::Gone(of("web"))));
    }

    #[test]
    fn what_passes_by_itself_is_no_event() {
        let well = fleet(vec![service("web", None)], &[]);
        let late = fleet(vec![service("web", Some(Cause::AgentBehind))], &[]);
        assert_eq!(Events::between(&well, &late), None);
        assert_eq!(Events::between(&late, &well), None);
    }

    #[test]
    fn what_is_bad_comes_first_and_the_rest_is_counted() {
        let before = fleet(vec![service("b", None)], &[("east", "Joined"), ("north", "Joined")]);
        let services = vec![service("a", None), service("b", Some(Cause::NoEndpoints))];
        let after = fleet(services, &[("east", "Silent"), ("west", "Joining")]);
        let events = Events::between(&before, &after).unwrap();
        assert_eq!(events.first, Event::Stops(of("b"), Cause::NoEndpoints));
        assert_eq!(events.others, 4, "a is new, east is silent, west joins, north is gone");
    }
}
