//! The versions of every object, by whom each was written and when, and what was alive at a moment.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use fleet_api::ResourceKind;
use serde_json::Value;

use super::evidence::Recording;
use super::kind::plural;
use super::object::{finalizers, name, namespace, subject, terminating, text};
use super::record::{Event, Micros, What};
use super::requests::{Author, Request};

/// How much later than its cause something may be seen by the recorder: its watches lag behind those of the agents.
pub const LAG: Micros = 2_000_000;

/// A mark that begins a time in which other rules hold, and the one that ends it.
pub type Marks = [&'static str; 2];
/// One importer is the limit.
pub const EXCLUSIVE: Marks = ["exclusive imports on", "exclusive imports off"];
/// Two of each agent work without election.
pub const DOUBLES: Marks = ["two of each agent", "one of each agent"];

/// One version of an object.
#[derive(Debug)]
pub struct Version<'a> {
    /// What the watch delivered.
    pub event: &'a Event,
    /// The request that wrote it, where the audit log has it.
    pub request: Option<&'a Request>,
    /// No earlier than this was it written: when the request was received, else when the recorder saw it.
    pub when: Micros,
    /// The resource version. Of a removal that only a new list has shown it is that of the last write known before it.
    number: u64,
    /// Whether the watch delivered the resource version.
    exact: bool,
}

impl Version<'_> {
    /// Who wrote it.
    pub fn author(&self) -> &Author {
        self.request.map_or(&Author::Other, |request| &request.author)
    }

    /// The object.
    pub fn object(&self) -> &Value {
        &self.event.object
    }

    /// Whether this is the removal.
    pub fn is_end(&self) -> bool {
        self.event.what == What::Gone
    }

    /// The resource version.
    pub fn version(&self) -> u64 {
        self.event.version()
    }

    /// The moment at which it came to be, in its own cluster.
    pub fn here(&self) -> Until {
        if self.exact { Until::Version(self.number) } else { Until::Time(self.when) }
    }
}

/// One incarnation of an object, from its making to its removal.
#[derive(Debug)]
pub struct Life<'a> {
    /// Where.
    pub cluster: &'a str,
    /// What.
    pub kind: &'a str,
    /// Its versions in order; the last is the removal if it is gone.
    pub versions: Vec<Version<'a>>,
}

/// Until when: in another cluster by time only, in the same one by version.
#[derive(Clone, Copy, Debug)]
pub enum Until {
    /// Including this time.
    Time(Micros),
    /// Including this version.
    Version(u64),
}

impl<'a> Life<'a> {
    /// Its uid.
    pub fn uid(&self) -> &'a str {
        self.versions.first().map_or("", |version| version.event.uid())
    }

    /// Its name.
    pub fn name(&self) -> &'a str {
        self.versions.first().map_or("", |version| name(&version.event.object))
    }

    /// Its namespace.
    pub fn namespace(&self) -> &'a str {
        self.versions.first().map_or("", |version| namespace(&version.event.object))
    }

    /// `Kind namespace/name`.
    pub fn title(&self) -> String {
        format!("{} {}/{}", self.kind, self.namespace(), self.name())
    }

    /// Its versions up to a moment, the removal too.
    pub fn until(&self, until: Until) -> &[Version<'a>] {
        let end = self.versions.partition_point(|version| match until {
            Until::Time(time) => version.when <= time,
            Until::Version(number) => version.number <= number,
        });
        &self.versions[..end]
    }

    /// The object as it was at a moment; `None` before it was made and after it went.
    pub fn at(&self, until: Until) -> Option<&'a Value> {
        let last = self.until(until).last()?;
        (!last.is_end()).then_some(&last.event.object)
    }

    /// Whether it was there and not being deleted.
    pub fn alive(&self, until: Until) -> bool {
        self.at(until).is_some_and(|object| !terminating(object))
    }

    /// Whether it was made by then for certain: a request under way has not had its effect yet, perhaps.
    pub fn made_by(&self, time: Micros) -> bool {
        self.versions.first().is_some_and(|made| {
            made.request.map_or(made.when, |request| request.answered.max(made.when)) <= time
        })
    }

    /// Every version but the first, with the one before it.
    pub fn changes(&self) -> impl Iterator<Item = (&Version<'a>, &Version<'a>)> {
        self.versions.windows(2).map(|pair| (&pair[0], &pair[1]))
    }

    /// The versions that are not the removal.
    pub fn states(&self) -> impl Iterator<Item = &Version<'a>> {
        self.versions.iter().filter(|version| !version.is_end())
    }

    /// Every Service of the fleet that it was ever about.
    pub fn subjects(&self) -> Vec<String> {
        let mut subjects: Vec<String> = self
            .versions
            .iter()
            .filter_map(|version| subject(self.kind, version.object()))
            .collect();
        subjects.sort();
        subjects.dedup();
        subjects
    }
}

/// A recording, indexed.
#[derive(Debug)]
pub struct History<'a> {
    /// What it was made from.
    pub recording: &'a Recording,
    /// Every incarnation of every object.
    pub lives: Vec<Life<'a>>,
    by_name: HashMap<(&'a str, &'a str, &'a str, &'a str), Vec<usize>>,
    by_subject: HashMap<(&'a str, &'a str, String), Vec<usize>>,
    by_kind: HashMap<(&'a str, &'a str), Vec<usize>>,
    services: BTreeMap<String, BTreeSet<String>>,
}

impl<'a> History<'a> {
    /// Indexes a recording.
    pub fn new(recording: &'a Recording) -> Self {
        let authors = Authors::of(recording);
        let clocks = Clocks::of(recording);
        let mut lives: BTreeMap<(&str, &str, &str), Life<'a>> = BTreeMap::new();
        let seen = recording.events.iter().map(|event| (event, None));
        let answers = recording.answered.iter();
        let told = answers.map(|(at, event)| (event, Some(&recording.requests[*at])));
        let mut events: Vec<(&Event, Option<&Request>)> = seen.chain(told).collect();
        // Those that no watch has shown come last, and are skipped where one has. A removal is the end, also where a
        // new list showed it, which knows no version of it.
        events.sort_by_key(|(event, told)| {
            let end = event.what == What::Gone;
            (end, end && told.is_some(), event.version())
        });
        for (event, told) in events {
            let (cluster, kind) = (event.cluster.as_str(), event.kind.as_str());
            let request = told.filter(|_| event.what == What::Gone);
            let request = request.or_else(|| authors.find(event));
            let life = lives.get(&(cluster, kind, event.uid()));
            let last = life.and_then(|life| life.versions.last());
            let end = event.what == What::Gone;
            if last.is_some_and(|last| last.is_end() || (!end && last.number == event.version())) {
                continue;
            }
            let before = last.map_or(0, |last| last.number);
            let mut when = request.map_or(event.at, |request| request.received.min(event.at));
            let exact = !end || event.version() > before;
            let number =
                if exact { event.version() } else { clocks.version(cluster, when).max(before) };
            let life = lives.entry((cluster, kind, event.uid())).or_insert_with(|| Life {
                cluster,
                kind,
                versions: Vec::new(),
            });
            // Versions are in order, so are their times.
            when = when.max(life.versions.last().map_or(when, |version| version.when));
            life.versions.push(Version { event, request, when, number, exact });
        }
        let lives: Vec<Life<'a>> = lives.into_values().collect();
        let mut history = Self {
            recording,
            by_name: HashMap::new(),
            by_subject: HashMap::new(),
            by_kind: HashMap::new(),
            services: BTreeMap::new(),
            lives: Vec::new(),
        };
        for (at, life) in lives.iter().enumerate() {
            let key = (life.cluster, life.kind, life.namespace(), life.name());
            history.by_name.entry(key).or_default().push(at);
            history.by_kind.entry((life.cluster, life.kind)).or_default().push(at);
            for subject in life.subjects() {
                if let Some((namespace, _)) = subject.split_once('/') {
                    let services = history.services.entry(namespace.to_owned()).or_default();
                    services.insert(subject.clone());
                }
                let key = (life.cluster, life.kind, subject);
                history.by_subject.entry(key).or_default().push(at);
            }
        }
        Self { lives, ..history }
    }

    fn pick<'b>(
        &'b self,
        found: Option<&Vec<usize>>,
    ) -> impl Iterator<Item = &'b Life<'a>> + use<'a, 'b> {
        let found = found.cloned().unwrap_or_default();
        found.into_iter().map(|at| &self.lives[at])
    }

    /// Whether a moment lies after the mark `begin` and before the mark `end` that follows it.
    pub fn between(&self, [begin, end]: Marks, at: Micros) -> bool {
        let mut marks = self.recording.marks.iter().filter(|mark| mark.at <= at);
        let last = marks.rfind(|mark| mark.mark == begin || mark.mark == end);
        last.is_some_and(|mark| mark.mark == begin)
    }

    /// Incarnations of a name.
    pub fn named<'b>(
        &'b self,
        cluster: &'b str,
        kind: ResourceKind,
        (namespace, name): (&'b str, &'b str),
    ) -> impl Iterator<Item = &'b Life<'a>> + use<'a, 'b> {
        self.pick(self.by_name.get(&(cluster, kind.kind, namespace, name)))
    }

    /// Objects that were ever about a Service of the fleet.
    pub fn about<'b>(
        &'b self,
        cluster: &'b str,
        kind: ResourceKind,
        subject: &str,
    ) -> impl Iterator<Item = &'b Life<'a>> + use<'a, 'b> {
        self.pick(self.by_subject.get(&(cluster, kind.kind, subject.to_owned())))
    }

    /// All objects of a kind in a cluster.
    pub fn of_kind<'b>(
        &'b self,
        cluster: &'b str,
        kind: ResourceKind,
    ) -> impl Iterator<Item = &'b Life<'a>> + use<'a, 'b> {
        self.pick(self.by_kind.get(&(cluster, kind.kind)))
    }

    /// Services of the fleet that anything in a namespace was ever about.
    pub fn services(&self, namespace: &str) -> impl Iterator<Item = &String> {
        self.services.get(namespace).into_iter().flatten()
    }

    /// Names of the recorded members.
    pub fn members(&self) -> Vec<&'a str> {
        let mut members: Vec<&str> =
            self.by_kind.keys().map(|(cluster, _)| *cluster).filter(|name| *name != HUB).collect();
        members.sort_unstable();
        members.dedup();
        members
    }

    /// Whether this cluster was recorded.
    pub fn knows(&self, cluster: &str) -> bool {
        self.by_kind.keys().any(|(known, _)| *known == cluster)
    }

    /// Requests of agents.
    pub fn agent_requests(&self) -> impl Iterator<Item = &'a Request> {
        self.recording.requests.iter().filter(|request| request.author.is_agent())
    }
}

/// Name of the hub among the clusters.
pub const HUB: &str = "hub";

/// How far the versions of each cluster had come, by time.
struct Clocks<'a>(HashMap<&'a str, Vec<(Micros, u64)>>);

impl<'a> Clocks<'a> {
    fn of(recording: &'a Recording) -> Self {
        let mut clocks: HashMap<&str, Vec<(Micros, u64)>> = HashMap::new();
        for request in recording.requests.iter().filter(|request| request.is_write()) {
            let version = text(&request.response, "/metadata/resourceVersion").parse();
            if let (true, Ok(version)) = (request.succeeded(), version) {
                let clock = clocks.entry(&request.cluster).or_default();
                clock.push((request.answered, version));
            }
        }
        for clock in clocks.values_mut() {
            clock.sort_unstable();
            let mut newest = 0;
            for (_, version) in clock {
                newest = newest.max(*version);
                *version = newest;
            }
        }
        Self(clocks)
    }

    /// The newest version that was written before a time; 0 if there is none.
    fn version(&self, cluster: &str, time: Micros) -> u64 {
        let clock = self.0.get(cluster).map_or(&[][..], Vec::as_slice);
        let before = clock.partition_point(|(answered, _)| *answered <= time);
        clock[..before].last().map_or(0, |(_, version)| *version)
    }
}

/// Which request wrote which version.
struct Authors<'a> {
    /// By cluster, uid and version.
    writes: HashMap<(&'a str, &'a str, u64), &'a Request>,
    /// Writes whose answer does not show what they did, by cluster, plural, namespace and name: they removed the
    /// object, or failed after they were done.
    others: HashMap<(&'a str, &'a str, &'a str, &'a str), Vec<&'a Request>>,
}

impl<'a> Authors<'a> {
    fn of(recording: &'a Recording) -> Self {
        let mut authors = Self { writes: HashMap::new(), others: HashMap::new() };
        for request in recording.requests.iter().filter(|request| request.is_write()) {
            let uid = text(&request.response, "/metadata/uid");
            let version = text(&request.response, "/metadata/resourceVersion").parse();
            if let (true, false, Ok(version)) = (request.succeeded(), uid.is_empty(), version) {
                let key = (request.cluster.as_str(), uid, version);
                // An answer without a change repeats the version of the write before it.
                let first = authors.writes.entry(key).or_insert(request);
                if request.received < first.received {
                    *first = request;
                }
            }
            if request.succeeded() || request.code == 0 || request.code >= 500 {
                let Request { cluster, resource, namespace, .. } = request;
                let key = (cluster.as_str(), resource.as_str(), namespace.as_str(), named(request));
                authors.others.entry(key).or_default().push(request);
            }
        }
        authors
    }

    fn find(&self, event: &Event) -> Option<&'a Request> {
        let cluster = event.cluster.as_str();
        let version = (cluster, event.uid(), event.version());
        if let Some(&request) = self.writes.get(&version).filter(|_| event.what != What::Gone) {
            return Some(request);
        }
        let fits = |request: &&&Request| {
            let fits = if event.what == What::Gone {
                could_remove(request, event)
            } else {
                !request.succeeded()
            };
            fits && (event.at - LOST..=event.at).contains(&request.received)
        };
        let key = (cluster, plural(&event.kind), namespace(&event.object), name(&event.object));
        let candidates = self.others.get(&key)?.iter();
        candidates
            .filter(fits)
            .max_by_key(|request| (request.succeeded(), request.received))
            .copied()
    }
}

/// Whether a request may be the one that removed the object: a deletion where nothing held it, else the write that took
/// off the last finalizer of what was being deleted, as its answer shows unless that was lost. Requests about a
/// successor of the same name are none of its own.
fn could_remove(request: &Request, event: &Event) -> bool {
    let held = !finalizers(&event.object).is_empty();
    let answer = &request.response;
    let about_another = match text(answer, "/metadata/uid") {
        "" => false,
        uid => uid != event.uid(),
    };
    match request.verb.as_str() {
        "create" => false,
        _ if about_another => false,
        "delete" => !held,
        _ if request.succeeded() => held && terminating(answer) && finalizers(answer).is_empty(),
        _ => held,
    }
}

/// How long before it was seen something may have been written by a request whose answer does not show it.
const LOST: Micros = 10_000_000;

/// The name of the object that a request is about; that of a POST is in its body.
fn named(request: &Request) -> &str {
    if request.name.is_empty() { name(&request.body) } else { &request.name }
}
