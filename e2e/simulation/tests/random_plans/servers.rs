//! The API servers of a fleet, with everything that was ever written to them, and by whom.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use fleet_api::{ObjectName, ResourceKind};
use fleet_model_server::{Change, ModelServer};
use fleet_oracle::requests::Author;
use jiff::{SignedDuration, Timestamp};

/// Position of the hub; members follow.
pub(crate) const HUB: usize = 0;

/// One API server.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    pub(crate) model: ModelServer,
    /// Authors of its changes, oldest first.
    pub(crate) authors: Vec<Author>,
    /// Numbers of its changes among those of all servers.
    pub(crate) numbers: Vec<u64>,
    /// The number of the next change of any server.
    counter: Rc<Cell<u64>>,
    /// Counts lives: another one begins when the store is lost or replaced.
    pub(crate) life: u32,
    /// How far its clock is off, in seconds.
    pub(crate) skew: i64,
}

impl Server {
    pub(crate) fn new(mut model: ModelServer, counter: &Rc<Cell<u64>>) -> Self {
        model.remember();
        let (authors, numbers, counter) = (Vec::new(), Vec::new(), Rc::clone(counter));
        Self { model, authors, numbers, counter, life: 0, skew: 0 }
    }

    /// Forgets what was written until now.
    pub(crate) fn forget(&mut self) {
        self.model.remember();
        self.authors.clear();
        self.numbers.clear();
    }

    pub(crate) fn changes(&self) -> &[Change] {
        self.model.changes()
    }

    /// Notes who has written what is new.
    pub(crate) fn sign(&mut self, author: &Author) {
        self.authors.resize(self.model.changes().len(), author.clone());
        while self.numbers.len() < self.authors.len() {
            self.numbers.push(self.counter.get());
            self.counter.set(self.counter.get() + 1);
        }
    }

    /// Notes that an agent has written what is new of one object. The rest follows from it: the server does that by itself.
    pub(crate) fn sign_write(&mut self, author: &Author, kind: ResourceKind, name: &ObjectName) {
        for at in self.authors.len()..self.model.changes().len() {
            let change = &self.model.changes()[at];
            let is_its_own = change.kind == kind && change.name == *name;
            self.authors.push(if is_its_own { author.clone() } else { Author::Other });
        }
        self.sign(author);
    }

    /// Another store takes the place of this one.
    pub(crate) fn replace(&mut self, mut model: ModelServer, uids: u16) {
        model.number_uids(uids);
        self.model = model;
        self.life += 1;
        self.forget();
    }
}

/// All of them: the hub, then the members.
#[derive(Clone, Debug)]
pub(crate) struct Servers(pub(crate) Vec<Server>);

impl Servers {
    pub(crate) fn hub(&mut self) -> &mut ModelServer {
        &mut self.0[HUB].model
    }

    pub(crate) fn member(&mut self, at: usize) -> &mut ModelServer {
        &mut self.0[at + 1].model
    }

    /// The number of the next change.
    pub(crate) fn number(&self) -> u64 {
        self.0[HUB].counter.get()
    }

    /// Sets the clocks of all of them.
    pub(crate) fn set_time(&mut self, now: Duration) {
        for server in &mut self.0 {
            server.model.set_now(wall(now, server.skew));
        }
    }

    /// Notes that users have written what is new.
    pub(crate) fn sign_others(&mut self) {
        for server in &mut self.0 {
            server.sign(&Author::Other);
        }
    }
}

/// The time of a clock that is off by so many seconds.
pub(crate) fn wall(now: Duration, skew: i64) -> Timestamp {
    let start = Timestamp::from_second(1_767_225_600).unwrap();
    let passed = SignedDuration::try_from(now).unwrap() + SignedDuration::from_secs(skew);
    start.checked_add(passed).unwrap()
}
