//! The state machine of one source: what the events of its watch do to its view.
//!
//! Pure: no I/O, no clock, no task. Time comes in with every call.

use std::collections::HashSet;
use std::time::Instant;

use fleet_api::ObjectName;

use super::course::{Command, Course};
use super::error::{Class, Failure};
use super::item::{Input, Item};
use crate::{Tracked, View};

/// So many objects may come again in a short list, too.
const REPEATED: usize = 1000;

/// What a list has shown that is on its way.
pub(super) struct Listing<T> {
    pub(super) seen: HashSet<ObjectName>,
    pub(super) fresh: Vec<Item<T>>,
}

impl<T> Listing<T> {
    /// Whether most of it came more than once, as where pages follow each other in a circle: that would never end. One that an API
    /// server changes between two pages may have some objects twice.
    fn repeats_itself(&self) -> bool {
        self.fresh.len() > 2 * self.seen.len() + REPEATED
    }
}

impl<T> Default for Listing<T> {
    fn default() -> Self {
        Self { seen: HashSet::new(), fresh: Vec::new() }
    }
}

pub(crate) struct Machine<T: Tracked> {
    pub(super) course: Course,
    /// The content. How far it can be trusted is in `course`, until it is published.
    pub(super) content: View<T>,
    /// Counts while `course` has a list on its way.
    pub(super) listing: Listing<T>,
}

impl<T: Tracked> Machine<T> {
    pub(super) fn new(course: Course) -> Self {
        Self { course, content: View::default(), listing: Listing::default() }
    }

    /// The view as it is now.
    pub(crate) fn view(&self) -> View<T> {
        self.content.standing_at(self.course.standing())
    }

    /// Number of objects.
    pub(crate) fn object_count(&self) -> usize {
        self.content.len()
    }

    /// No stream continues a list that another one has begun.
    pub(crate) fn drop_list(&mut self) {
        self.listing = Listing::default();
    }

    /// Whether `input` is one deletion too many: it must not be handled before discovery was
    /// asked.
    pub(crate) fn must_confirm(&mut self, input: &Input<T>, now: Instant) -> bool {
        if self.course.is_listing() {
            return false;
        }
        let (name, uid, gone) = match input {
            Input::Deleted { name, uid, .. } => (name, uid, true),
            Input::Applied(item) if item.terminating => (&item.name, &item.uid, false),
            _ => return false,
        };
        let ours = self.content.get(name).is_some_and(|record| record.uid == *uid);
        ours && self.course.guard.count(uid, gone, self.content.len(), now)
    }

    /// Takes one event.
    pub(crate) fn handle(&mut self, input: Input<T>, now: Instant) -> Option<Command> {
        self.course.metrics.event(input.as_str());
        let command = self.take(input, now);
        self.course.follow(now);
        command
    }

    fn take(&mut self, input: Input<T>, now: Instant) -> Option<Command> {
        match input {
            Input::ListStarted => {
                self.drop_list();
                self.course.begins_list(now);
            }
            Input::Listed(item) => return self.listed(item, now),
            Input::ListCompleted(version) => {
                self.date(&version);
                let command = self.list_is_complete();
                self.course.version = command.is_none().then_some(version);
                return command;
            }
            Input::Applied(item) if self.course.is_listing() => return self.listed(item, now),
            Input::Applied(item) => {
                self.course.lives();
                self.course.reaches(item.version.clone());
                self.apply(item, true);
            }
            Input::Deleted { name, uid, version } => {
                if self.course.is_listing() {
                    self.listing.seen.remove(&name);
                    self.listing.fresh.retain(|item| item.name != name || item.uid != uid);
                } else {
                    self.course.lives();
                    self.course.reaches(version);
                    self.delete(&name, &uid);
                }
            }
            Input::Bookmark(version) => {
                if !self.course.is_listing() {
                    self.course.reaches(version);
                }
            }
            Input::Requested => self.course.requested(now),
            Input::WatchStarted => self.course.accepted(now),
            Input::ServerChanged => self.course.another_server(),
            Input::Progress => {}
            Input::Failed(failure) => return Some(self.course.fail(&failure, now)),
        }
        None
    }

    fn listed(&mut self, item: Item<T>, now: Instant) -> Option<Command> {
        if !self.course.is_listing() {
            self.drop_list();
            self.course.begin(now);
        }
        self.course.lists();
        self.listing.seen.insert(item.name.clone());
        self.listing.fresh.push(item);
        self.listing.repeats_itself().then(|| {
            let failure = Failure::new(Class::Failed, "the list has its objects again and again");
            self.drop_list();
            self.course.fail(&failure, now)
        })
    }
}
