//! The watch of one kind by one process: slow, silent, interrupted, or as old as what it has received.

use std::any::{Any, TypeId};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use fleet_accumulator::{Object, SourceInfo, SourceState, Tracked, View};
use fleet_api::ObjectName;
use fleet_model_server::Change;
use serde_json::Value;

use crate::servers::{HUB, Server};

/// For how long nothing is deleted after a server went back in its history.
const SETTLING_FOR: Duration = Duration::from_mins(1);

/// The type that an object is read as, server and life of that, uid and version.
type Decoded = (TypeId, usize, u32, String);

/// Decodes each version of an object once, for all who watch it.
#[derive(Clone, Default)]
pub(crate) struct Decoder {
    known: RefCell<HashMap<Decoded, Arc<dyn Any>>>,
    /// Counts what processes have provided.
    provided: Cell<u64>,
}

impl Decoder {
    fn object<T: Tracked>(
        &self,
        (server, life): (usize, u32),
        object: &Value,
    ) -> Option<Object<T>> {
        let metadata = &object["metadata"];
        let text = |field: &str| metadata[field].as_str().unwrap_or_default();
        let version = format!("{}@{}", text("uid"), text("resourceVersion"));
        let key = (TypeId::of::<T>(), server, life, version);
        let mut known = self.known.borrow_mut();
        let decoded = known.entry(key).or_insert_with(|| {
            let wire = serde_json::from_value::<T::Wire>(object.clone()).ok();
            Arc::new(wire.and_then(|wire| Object::<T>::read(wire).ok()))
        });
        decoded.downcast_ref::<Option<Object<T>>>().unwrap().clone()
    }
}

/// In the place of a server, for what the process itself provides.
pub(crate) const PROVIDED: usize = usize::MAX;

/// Which objects of its kind a watch shows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Narrow {
    pub(crate) namespace: Option<String>,
    pub(crate) not_namespace: Option<String>,
    /// A label, and the values that it may have; any if there is none.
    pub(crate) label: Option<(&'static str, Vec<&'static str>)>,
}

impl Narrow {
    fn shows(&self, name: &ObjectName, object: &Value) -> bool {
        let labels = &object["metadata"]["labels"];
        self.namespace.as_ref().is_none_or(|namespace| *name.namespace == **namespace)
            && self.not_namespace.as_ref().is_none_or(|other| *name.namespace != **other)
            && self.label.as_ref().is_none_or(|(label, values)| {
                let value = labels[*label].as_str();
                value.is_some_and(|value| values.is_empty() || values.contains(&value))
            })
    }
}

/// The view of a kind, whatever its type.
pub(crate) trait Viewing {
    fn view(&self) -> &dyn Any;
    fn put(&mut self, decoder: &Decoder, at: (usize, u32), name: &ObjectName, object: &Value);
    fn remove(&mut self, name: &ObjectName);
    fn names(&self) -> Vec<ObjectName>;
    fn version_of(&self, name: &ObjectName) -> Option<(String, u64)>;
    /// `listed` is whether it was ever listed.
    fn mark(&mut self, state: SourceState, listed: bool, settled: bool, settling: bool);
}

pub(crate) struct Seen<T: Tracked>(pub(crate) View<T>);

impl<T: Tracked> Viewing for Seen<T> {
    fn view(&self) -> &dyn Any {
        &self.0
    }

    fn put(&mut self, decoder: &Decoder, at: (usize, u32), name: &ObjectName, object: &Value) {
        let read = decoder.object::<T>(at, object);
        let view = std::mem::take(&mut self.0);
        self.0 = match read {
            Some(object) => view.with(object),
            None => view.with_defect(name.clone()),
        };
    }

    fn remove(&mut self, name: &ObjectName) {
        self.0 = std::mem::take(&mut self.0).without(name);
    }

    fn names(&self) -> Vec<ObjectName> {
        self.0.iter().map(|object| object.name.clone()).collect()
    }

    fn version_of(&self, name: &ObjectName) -> Option<(String, u64)> {
        let object = self.0.get(name)?;
        Some((object.uid.to_string(), object.version.to_string().parse().ok()?))
    }

    fn mark(&mut self, state: SourceState, listed: bool, settled: bool, settling: bool) {
        let view = std::mem::take(&mut self.0).in_state(state).settling(settling);
        let view = if listed { view } else { view.unlisted() };
        self.0 = if settled { view.calmed() } else { view.unsettled() };
    }
}

/// How far a watch can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nothing was listed yet.
    Pending,
    Live,
    /// Nothing gets through any more.
    Stale,
    /// The server refuses it, or does not serve the kind where it need not.
    Refused,
}

/// One watch.
pub(crate) struct Watch {
    pub(crate) info: &'static SourceInfo,
    pub(crate) server: usize,
    narrow: Narrow,
    seen: Box<dyn Viewing>,
    standing: Standing,
    /// How many lists it has had.
    lists: usize,
    /// The next thing that it does is a list.
    must_list: bool,
    /// The list follows a failure: what it lacks may be missing for a moment only.
    after_failure: bool,
    /// The server's, as of the last list.
    identity: Option<String>,
    life: u32,
    cursor: usize,
    newest: u64,
    /// The same before the server went back in its history, as long as that counts.
    before: u64,
    /// How long it has to be live until absence counts.
    cautious_for: Option<Duration>,
    settled_at: Option<Duration>,
    settling_until: Option<Duration>,
    /// It shows nothing until then.
    pub(crate) silent_until: Duration,
    loss: Loss,
    /// When it lists again for that.
    list_at: Option<Duration>,
}

/// Whether a watch loses an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loss {
    None,
    /// The next one that concerns it.
    Next,
    /// It has lost one that no list has shown yet.
    Missed,
}

/// What a watch has shown.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shown {
    /// It found that the server went back in its history.
    pub(crate) went_back: bool,
    /// A list has shown what it had lost.
    pub(crate) missed: bool,
    /// The newest version that is new.
    pub(crate) version: Option<u64>,
}

impl Watch {
    pub(crate) fn new(
        info: &'static SourceInfo,
        server: usize,
        narrow: Narrow,
        seen: Box<dyn Viewing>,
        cautious_for: Option<Duration>,
    ) -> Self {
        Self {
            info,
            server,
            narrow,
            seen,
            standing: Standing::Pending,
            lists: 0,
            must_list: true,
            after_failure: true,
            identity: None,
            life: 0,
            cursor: 0,
            newest: 0,
            before: 0,
            cautious_for,
            settled_at: None,
            settling_until: None,
            silent_until: Duration::ZERO,
            loss: Loss::None,
            list_at: None,
        }
    }

    pub(crate) fn view(&self) -> &dyn Any {
        self.seen.view()
    }

    pub(crate) fn version_of(&self, name: &ObjectName) -> Option<(String, u64)> {
        self.seen.version_of(name)
    }

    /// It lists again although it works: what a watch has lost comes to light.
    pub(crate) fn relist(&mut self) {
        self.must_list = true;
    }

    /// It is interrupted, and lists again.
    pub(crate) fn interrupt(&mut self) {
        self.must_list = true;
        self.after_failure = true;
    }

    /// It loses the next event that concerns it.
    pub(crate) fn lose_event(&mut self) {
        if self.loss == Loss::None {
            self.loss = Loss::Next;
        }
    }

    /// Whether it has lost an event, and goes on as if nothing had happened.
    pub(crate) fn has_just_missed(&self) -> bool {
        self.loss == Loss::Missed && self.list_at.is_none()
    }

    /// What it has lost comes to light then.
    pub(crate) fn list_later(&mut self, at: Duration) {
        self.list_at = Some(at);
    }

    /// The newest version of the hub that it has shown, for the next process.
    pub(crate) fn reached(&self) -> u64 {
        let before = self.settling_until.map_or(0, |_| self.before);
        if self.server == HUB { self.newest.max(before) } else { 0 }
    }

    /// That of the process before: its lists have to be newer.
    pub(crate) fn takes_over(&mut self, reached: u64) {
        self.newest = self.newest.max(reached);
    }

    /// What is broken about it is mended.
    pub(crate) fn mend(&mut self) {
        self.silent_until = Duration::ZERO;
        match self.loss {
            Loss::Missed => self.must_list = true,
            Loss::None | Loss::Next => self.loss = Loss::None,
        }
    }

    /// A new process watches in the place of another: what lies between it and the server is as before.
    pub(crate) fn fares_as(&mut self, before: &Self, now: Duration) {
        self.silent_until = before.silent_until;
        self.loss = if before.loss == Loss::Next { Loss::Next } else { Loss::None };
        if before.standing == Standing::Refused && now < before.silent_until {
            self.refuse(now, before.silent_until);
        }
    }

    /// Whether it does not show what its server has had for some time, or may not.
    pub(crate) fn is_late(&self, server: &Server, now: Duration) -> bool {
        self.standing != Standing::Live
            || self.loss == Loss::Missed
            || (now < self.silent_until
                && server
                    .changes()
                    .get(self.cursor..)
                    .is_some_and(|changes| changes.iter().any(|change| self.concerns(change))))
    }

    /// Nothing gets through for a while.
    pub(crate) fn becomes_stale(&mut self, now: Duration) -> bool {
        if self.standing != Standing::Live {
            return false;
        }
        self.standing = Standing::Stale;
        self.interrupt();
        self.settled_at = None;
        self.show(now);
        true
    }

    pub(crate) fn is_refused(&self) -> bool {
        self.standing == Standing::Refused
    }

    /// The server refuses it until then.
    pub(crate) fn refuse(&mut self, now: Duration, until: Duration) {
        self.standing = Standing::Refused;
        self.interrupt();
        self.settled_at = None;
        self.silent_until = until;
        self.show(now);
    }

    fn concerns(&self, change: &Change) -> bool {
        change.kind == self.info.kind
            && (self.narrow.shows(&change.name, &change.object)
                || self.seen.version_of(&change.name).is_some())
    }

    /// When something of it changes by itself.
    pub(crate) fn next_timer(&self) -> Option<Duration> {
        let list_at = self.list_at.filter(|_| !self.must_list);
        self.settled_at.into_iter().chain(self.settling_until).chain(list_at).min()
    }

    /// Whether there is something that it can show at this time.
    pub(crate) fn is_behind(&self, server: &Server, now: Duration) -> bool {
        if now < self.silent_until {
            return false;
        }
        if self.must_list || self.life != server.life {
            return true;
        }
        self.next_timer().is_some_and(|at| at <= now)
            || server.changes()[self.cursor..].iter().any(|change| self.concerns(change))
    }

    /// Skips what does not concern it.
    pub(crate) fn skip(&mut self, server: &Server) {
        if self.must_list || self.life != server.life {
            return;
        }
        let changes = &server.changes()[self.cursor..];
        let next = changes.iter().position(|change| self.concerns(change));
        self.cursor += next.unwrap_or(changes.len());
    }

    /// Shows the next changes, `most` at most.
    pub(crate) fn advance(
        &mut self,
        server: &Server,
        decoder: &Decoder,
        most: usize,
        now: Duration,
    ) -> Shown {
        let mut shown = Shown::default();
        self.must_list |= self.list_at.is_some_and(|at| at <= now);
        if self.must_list || self.life != server.life {
            shown.missed = self.loss == Loss::Missed;
            shown.went_back = self.list(server, decoder, now);
        } else {
            shown.version = self.follow(server, decoder, most);
        }
        if self.settled_at.is_some_and(|at| at <= now) {
            self.settled_at = None;
        }
        if self.settling_until.is_some_and(|until| until <= now) {
            (self.settling_until, self.before) = (None, 0);
        }
        self.show(now);
        shown
    }

    /// The server went back in its history, as another watch has found.
    pub(crate) fn doubts(&mut self, now: Duration) {
        self.interrupt();
        self.settling_until = Some(now + SETTLING_FOR);
        self.show(now);
    }

    /// Returns the newest version that it has shown.
    fn follow(&mut self, server: &Server, decoder: &Decoder, most: usize) -> Option<u64> {
        let mut left = most;
        let mut newest = None;
        while left > 0 && self.cursor < server.changes().len() {
            let change = &server.changes()[self.cursor];
            self.cursor += 1;
            if !self.concerns(change) {
                continue;
            }
            left -= 1;
            self.newest = self.newest.max(change.version);
            if self.loss == Loss::Next {
                self.loss = Loss::Missed;
                continue;
            }
            newest = Some(change.version);
            let is_shown = self.narrow.shows(&change.name, &change.object);
            if change.event == "DELETED" || !is_shown {
                self.seen.remove(&change.name);
            } else {
                let at = (self.server, server.life);
                self.seen.put(decoder, at, &change.name, &change.object);
            }
        }
        newest
    }

    /// The version that it had seen of the earlier store of the server, if it followed that until the end.
    fn bookmarked(&self, server: &Server) -> Option<u64> {
        let followed = self.standing == Standing::Live && !self.after_failure;
        let replaced = followed && self.life != server.life;
        replaced.then(|| server.bookmarks.seen(self.silent_until)).flatten()
    }

    fn list(&mut self, server: &Server, decoder: &Decoder, now: Duration) -> bool {
        let gone: Vec<_> = self.seen.names();
        let listed = server.model.objects(self.info.kind);
        let listed: Vec<_> =
            listed.filter(|(name, object)| self.narrow.shows(name, object)).collect();
        for name in gone {
            if listed.binary_search_by(|(other, _)| (*other).cmp(&name)).is_err() {
                self.seen.remove(&name);
            }
        }
        for (name, object) in listed {
            self.seen.put(decoder, (self.server, server.life), name, object);
        }
        // A store that was restored after another one was lost is of another cluster, whatever its version: agents see that by uids.
        let identity = server.identity();
        let is_another = self.identity.is_some() && self.identity != identity;
        self.identity = identity;
        let newest =
            self.bookmarked(server).map_or(self.newest, |version| version.max(self.newest));
        let went_back = is_another || server.model.version() < newest;
        if went_back {
            self.before = newest.max(self.before);
            self.settling_until = Some(now + SETTLING_FOR);
        }
        if std::mem::take(&mut self.after_failure) || went_back {
            self.settled_at = self.cautious_for.map(|after| now + after);
        }
        self.newest = server.model.version();
        self.life = server.life;
        self.cursor = server.changes().len();
        self.must_list = false;
        if self.loss == Loss::Missed {
            self.loss = Loss::None;
        }
        self.list_at = None;
        self.standing = Standing::Live;
        self.lists += 1;
        went_back
    }

    fn show(&mut self, now: Duration) {
        let state = match self.standing {
            Standing::Pending => SourceState::Pending,
            Standing::Live => SourceState::Live,
            Standing::Stale => SourceState::Stale { since: some_time(), message: "silent".into() },
            Standing::Refused if self.info.optional => SourceState::Missing { since: some_time() },
            Standing::Refused => SourceState::Forbidden {
                since: some_time(),
                verb: "watch",
                message: "refused".into(),
            },
        };
        let is_settled = self.cautious_for.is_none()
            || (self.settled_at.is_none()
                && !self.after_failure
                && self.standing == Standing::Live);
        let is_settling = self.settling_until.is_some_and(|until| now < until);
        self.seen.mark(state, self.lists > 0, is_settled, is_settling);
    }
}

/// No plan looks at it; the same for all, so that a seed repeats what it has shown.
fn some_time() -> Instant {
    static TIME: LazyLock<Instant> = LazyLock::new(Instant::now);
    *TIME
}

/// Objects that the process itself provides.
pub(crate) fn provide(watch: &mut Watch, decoder: &Decoder, documents: &[(String, Value)]) {
    let version = decoder.provided.get() + 1;
    decoder.provided.set(version);
    let named = |name: &ObjectName| documents.iter().any(|(known, _)| **known == *name.name);
    for name in watch.seen.names() {
        if !named(&name) {
            watch.seen.remove(&name);
        }
    }
    for (name, document) in documents {
        let metadata = serde_json::json!({
            "name": name, "uid": name, "resourceVersion": version.to_string(),
        });
        let object = serde_json::json!({ "metadata": metadata, "document": document });
        watch.seen.put(decoder, (PROVIDED, 0), &ObjectName::cluster(name.as_str()), &object);
    }
    watch.must_list = false;
    watch.after_failure = false;
    watch.standing = Standing::Live;
    watch.lists += 1;
    watch.show(Duration::ZERO);
}
