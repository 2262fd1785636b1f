//! What the page has seen, bounded by what it takes.
//!
//! A frame shares with the one before what has not changed, so that a large fleet of which little changes is remembered for long.

use std::collections::VecDeque;
use std::sync::Arc;

use super::frame::Frame;
use super::moments::{Events, Moment};
use crate::reach::reached::Cell;
use crate::view::{MemberView, ServiceView, View};

/// Parts of Services, members and cells of reach in all frames together; a Service that several frames share counts once.
const MOST: usize = 200_000;
/// Most and least frames.
const FRAMES: (usize, usize) = (3, 300);

/// The frames of the last while, oldest first.
#[derive(Debug)]
pub(super) struct History {
    /// See [`MOST`].
    most: usize,
    frames: VecDeque<Kept>,
    /// How many were dropped.
    dropped: usize,
}

/// A frame, and how much of it it does not share with the one before.
#[derive(Debug)]
struct Kept {
    frame: Frame,
    own: usize,
    /// What happened since the one before.
    events: Option<Events>,
}

impl Default for History {
    fn default() -> Self {
        Self::of(MOST)
    }
}

impl History {
    fn of(most: usize) -> Self {
        Self { most, frames: VecDeque::new(), dropped: 0 }
    }

    /// Adds what is seen. What differs from the last frame in ages alone takes its place. Returns whether something has changed.
    pub(super) fn add(&mut self, mut view: View) -> bool {
        let last = self.frames.back();
        let own = match last {
            Some(last) => share(&mut view, &last.frame.view),
            None => parts(&view),
        };
        let own = own + unshared(&view);
        let is_new = last.is_none_or(|last| !is_same(&last.frame.view, &view));
        let events = last.and_then(|last| Events::between(&last.frame.view, &view));
        let before = if is_new { None } else { self.frames.pop_back() };
        let (own, events) = before.map_or((own, events), |before| (before.own, before.events));
        let frame = Frame { at: view.at, view: Arc::new(view) };
        self.frames.push_back(Kept { frame, own, events });
        self.shrink();
        is_new
    }

    fn shrink(&mut self) {
        let most = self.most;
        let changed: usize = self.frames.iter().skip(1).map(|kept| kept.own).sum();
        let whole = |view: &View| parts(view) + unshared(view);
        let first = self.frames.front().map_or(0, |kept| whole(&kept.frame.view));
        let mut held = first + changed;
        let is_large =
            |held: usize, frames: usize| frames > FRAMES.1 || (held > most && frames > FRAMES.0);
        while is_large(held, self.frames.len()) {
            let gone = self.frames.pop_front().map_or(0, |kept| unshared(&kept.frame.view));
            self.dropped += 1;
            // Services that the next one shares with this one stay.
            let replaced = self.frames.front();
            let replaced = replaced.map_or(0, |kept| kept.own - unshared(&kept.frame.view));
            held = held.saturating_sub(gone + replaced);
        }
    }

    /// Numbers of the first and the last frame; `None` before the first.
    pub(super) fn range(&self) -> Option<(usize, usize)> {
        let last = (self.dropped + self.frames.len()).checked_sub(1)?;
        (!self.frames.is_empty()).then_some((self.dropped, last))
    }

    /// Moments at which something happened, but for the first that there is.
    pub(super) fn moments(&self) -> Arc<[Moment]> {
        let frames = self.frames.iter().enumerate().skip(1);
        let moments = frames.filter_map(|(index, kept)| {
            let (number, at) = (self.dropped + index, kept.frame.at);
            Some(Moment { number, at, events: kept.events.clone()? })
        });
        moments.collect()
    }

    /// A frame, or the nearest one that there is.
    pub(super) fn get(&self, number: usize) -> Option<&Frame> {
        let (first, last) = self.range()?;
        self.frames.get(number.clamp(first, last) - self.dropped).map(|kept| &kept.frame)
    }
}

/// What each frame has for itself.
fn unshared(view: &View) -> usize {
    view.members.len() + view.reach.len()
}

/// What a Service is made of: an importer has a share of each exporter, so that these are most of a Service with many of both.
fn parts_of(service: &ServiceView) -> usize {
    let edges = service.exporters.iter().chain(&service.importers);
    1 + edges.map(|edge| 1 + edge.shares.len() + edge.unreached.len()).sum::<usize>()
}

fn parts(view: &View) -> usize {
    view.services.iter().map(|service| parts_of(service)).sum()
}

/// Takes over every Service that is the same in an earlier view, and returns the parts of the others. Both are in the order of names.
fn share(view: &mut View, earlier: &View) -> usize {
    let mut before = earlier.services.iter().peekable();
    let mut own = 0;
    for service in &mut view.services {
        while before.next_if(|it| name(it) < name(service)).is_some() {}
        match before.next_if(|it| *it == service) {
            Some(same) => *service = Arc::clone(same),
            None => own += parts_of(service),
        }
    }
    own
}

fn name(service: &ServiceView) -> (&str, &str) {
    (&service.namespace, &service.name)
}

/// Whether two views differ in nothing but ages. What is the same in Services is shared.
fn is_same(one: &View, other: &View) -> bool {
    let View { at: _, members, services, reach, unread } = one;
    services.len() == other.services.len()
        && services.iter().zip(&other.services).all(|(one, other)| Arc::ptr_eq(one, other))
        && *unread == other.unread
        && members.len() == other.members.len()
        && members.iter().zip(&other.members).all(|(one, other)| ageless(one) == ageless(other))
        && reach.len() == other.reach.len()
        && reach.iter().zip(&other.reach).all(|(one, other)| unaged(one) == unaged(other))
}

fn ageless(member: &MemberView) -> MemberView {
    MemberView { heartbeat_seconds: None, ..member.clone() }
}

fn unaged(cell: &Cell) -> Cell {
    Cell { written_seconds: None, ..cell.clone() }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::view::{Edge, Share};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn frame(second: i64, state: &'static str, heartbeat: i64) -> View {
        let member = MemberView {
            name: "east".to_owned(),
            state,
            heartbeat_seconds: Some(heartbeat),
            ..MemberView::default()
        };
        View { at: at(second), members: vec![member], ..View::default() }
    }

    #[test]
    fn only_changes_are_frames() {
        let mut history = History::default();
        assert_eq!((history.range(), history.get(0)), (None, None));
        assert!(history.add(frame(1, "Joined", 1)));
        assert!(!history.add(frame(2, "Joined", 2)), "time has passed, and nothing else");
        assert!(history.add(frame(3, "Silent", 3)));
        assert_eq!(history.range(), Some((0, 1)));
        assert_eq!(history.get(0).unwrap().at.as_second(), 2);
    }

    #[test]
    fn moments_are_those_at_which_something_happened() {
        let mut history = History::default();
        for (second, state) in [(1, "Joined"), (2, "Silent"), (3, "Silent"), (4, "Joined")] {
            history.add(frame(second, state, second));
        }
        let mut late = frame(5, "Joined", 5);
        late.members[0].lag = 3;
        assert!(history.add(late), "it is another frame");
        let moments = history.moments();
        let found: Vec<_> = moments.iter().map(|it| (it.number, it.at.as_second())).collect();
        assert_eq!(found, [(1, 3), (2, 4)], "by the frames as they are now");
    }

    #[test]
    fn the_oldest_frames_go() {
        let mut history = History::default();
        for second in 0..1000 {
            history.add(frame(second, if second % 2 == 0 { "Joined" } else { "Silent" }, 0));
        }
        let (first, last) = history.range().unwrap();
        assert_eq!((last, last - first + 1), (999, FRAMES.1));
        assert_eq!(history.get(0), history.get(first), "the nearest that there is");
        assert_eq!(history.get(5000).unwrap().at.as_second(), 999);
    }

    /// A fleet of so many Services, of which the one with the number of the second looks like no other.
    fn fleet(second: usize, services: usize) -> View {
        let service = |index: usize| ServiceView {
            name: format!("web-{index:05}"),
            verdict: if index == second { format!("changed at {second}") } else { String::new() },
            ..ServiceView::default()
        };
        let services = (0..services).map(|index| Arc::new(service(index))).collect();
        View { at: at(i64::try_from(second).unwrap()), services, ..View::default() }
    }

    const SERVICES: usize = 9000;

    #[test]
    fn what_has_not_changed_is_shared() {
        let mut history = History::of(2 * SERVICES + 2000);
        for second in 0..50 {
            assert!(history.add(fleet(second, SERVICES)));
        }
        let mut kept: Vec<_> = history.frames.iter().collect();
        assert_eq!(kept.len(), 50, "all these Services count once");
        let last = kept.pop().unwrap();
        let before = kept.pop().unwrap();
        assert_eq!(last.own, 2, "the one that changed, and the one that changed back");
        let shared = last.frame.view.services.iter().zip(&before.frame.view.services);
        assert_eq!(shared.filter(|(one, other)| Arc::ptr_eq(one, other)).count(), SERVICES - 2);
        // Fleets that have nothing in common.
        for second in 50..60 {
            let mut other = fleet(second, SERVICES);
            for service in &mut other.services {
                Arc::make_mut(service).verdict = format!("{second}");
            }
            history.add(other);
        }
        assert_eq!(history.frames.len(), FRAMES.0);
    }

    /// Each of a hundred importers has a share of each of a hundred exporters.
    #[test]
    fn a_service_counts_with_all_its_parts() {
        let mut history = History::default();
        let share = Share { member: "east".to_owned(), ready: 1, last_resort: 0, percent: 1 };
        for second in 0..100 {
            let mut view = fleet(0, 1);
            let edge = Edge { shares: vec![share.clone(); 100], ..Edge::default() };
            let service = Arc::make_mut(&mut view.services[0]);
            service.importers = vec![edge; 100];
            service.verdict = second.to_string();
            history.add(view);
        }
        assert_eq!(history.frames.len(), MOST / (1 + 100 + 100 * 100));
    }

    #[test]
    fn services_that_come_and_go_are_seen() {
        let mut history = History::default();
        assert!(history.add(fleet(9, 3)));
        assert!(history.add(fleet(9, 4)));
        assert!(!history.add(fleet(9, 4)));
        let mut fewer = fleet(9, 4);
        fewer.services.remove(1);
        assert!(history.add(fewer));
        assert_eq!(history.frames.back().unwrap().own, 0);
    }
}
