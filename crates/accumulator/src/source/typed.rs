//! What of a source depends on its kind: what is read, and the view of it. All else drives it without knowing the kind, so that it is
//! compiled once.

use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use futures::future::BoxFuture;

use super::course::{Command, Course};
use super::feed::{Discovered, Events, Feed, Newest, ReadOptions};
use super::item::Input;
use super::state::Machine;
use crate::{Tracked, View};

/// What was read, and waits to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// The end of the stream.
    End,
    /// A part of an answer.
    Progress,
    /// That another API server answers.
    ServerChanged,
    /// Anything else.
    Other,
}

/// A source of a snapshot `S`, of any kind.
pub(crate) trait Source<S>: Send {
    /// How it fares.
    fn course(&self) -> &Course;

    /// The same, to be changed.
    fn course_mut(&mut self) -> &mut Course;

    /// Number of objects in the view.
    fn object_count(&self) -> usize;

    /// Opens a stream: a watch from where the view shows all changes, or else a list.
    fn open(&mut self, options: &ReadOptions);

    /// Drops the stream, and the part of a list that it has shown.
    fn close(&mut self);

    /// Reads on.
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<Read>;

    /// Whether what was read is one deletion too many, as in [`Machine::must_confirm`].
    fn must_confirm(&mut self, now: Instant) -> bool;

    /// Takes what was read.
    fn take(&mut self, now: Instant) -> Option<Command>;

    /// Puts the view into a snapshot.
    fn install(&self) -> Box<dyn FnOnce(&mut S) + Send>;

    /// See [`Feed::discover`].
    fn discover(&mut self) -> BoxFuture<'_, kube::Result<Discovered>>;

    /// See [`Feed::newest`], with what shows best whether the API server is of another time.
    fn newest(&mut self) -> BoxFuture<'_, kube::Result<Option<Newest>>>;

    /// Compares what the API server has with what was seen of it: where that is of another time, the next stream begins with a list.
    fn meets(&mut self, newest: &Newest);

    /// See [`Feed::ends_after`].
    fn ends_after(&self) -> Duration;

    /// See [`Feed::identity`].
    fn identity(&mut self) -> BoxFuture<'_, Option<String>>;
}

/// A source with the content `T`.
pub(crate) struct Typed<S, T: Tracked> {
    /// The view of the source in a snapshot.
    place: fn(&mut S) -> &mut View<T>,
    feed: Box<dyn Feed<T::Wire>>,
    machine: Machine<T>,
    events: Option<Events<T::Wire>>,
    /// What was read and is not taken yet.
    input: Option<Input<T>>,
}

impl<S, T: Tracked> Typed<S, T> {
    pub(crate) fn new(
        place: fn(&mut S) -> &mut View<T>,
        feed: Box<dyn Feed<T::Wire>>,
        course: Course,
    ) -> Self {
        Self { place, feed, machine: Machine::new(course), events: None, input: None }
    }
}

impl<S: 'static, T: Tracked> Source<S> for Typed<S, T> {
    fn course(&self) -> &Course {
        &self.machine.course
    }

    fn course_mut(&mut self) -> &mut Course {
        &mut self.machine.course
    }

    fn object_count(&self) -> usize {
        self.machine.object_count()
    }

    fn open(&mut self, options: &ReadOptions) {
        self.events = Some(self.feed.open(options, self.machine.course.version()));
    }

    fn close(&mut self) {
        self.events = None;
        self.input = None;
        self.machine.drop_list();
    }

    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<Read> {
        let Some(events) = &mut self.events else { return Poll::Ready(Read::End) };
        events.poll_next_unpin(context).map(|item| {
            self.input = item.map(Input::read);
            match &self.input {
                None => Read::End,
                Some(Input::Progress) => Read::Progress,
                Some(Input::ServerChanged) => Read::ServerChanged,
                Some(_) => Read::Other,
            }
        })
    }

    fn must_confirm(&mut self, now: Instant) -> bool {
        let input = self.input.as_ref();
        input.is_some_and(|input| self.machine.must_confirm(input, now))
    }

    fn take(&mut self, now: Instant) -> Option<Command> {
        match self.input.take() {
            Some(input) => self.machine.handle(input, now),
            None => Some(self.machine.course.ended(now)),
        }
    }

    fn install(&self) -> Box<dyn FnOnce(&mut S) + Send> {
        let (view, place) = (self.machine.view(), self.place);
        Box::new(move |snapshot| *place(snapshot) = view)
    }

    fn discover(&mut self) -> BoxFuture<'_, kube::Result<Discovered>> {
        self.feed.discover()
    }

    fn newest(&mut self) -> BoxFuture<'_, kube::Result<Option<Newest>>> {
        self.feed.newest(self.machine.newest_object())
    }

    fn meets(&mut self, newest: &Newest) {
        self.machine.meets(newest);
    }

    fn ends_after(&self) -> Duration {
        self.feed.ends_after()
    }

    fn identity(&mut self) -> BoxFuture<'_, Option<String>> {
        self.feed.identity()
    }
}
