//! Answers of API servers: pages of a list, then the events of a watch.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::future::ready;

use fleet_accumulator::{ReadOptions, Snapshot as _, SourceInfo, SourceSpec};
use fleet_accumulator::{Tracked, View, Views, WatchItem};
use fleet_api::{ResourceKind, kinds};
use futures::StreamExt as _;
use http::{Request, Response, StatusCode};
use kube::client::Body;
use kube::{Client, Resource};
use member_agent::snapshot::MemberSnapshot;
use parking_lot::Mutex;
use prometheus::{Histogram, HistogramOpts};
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::corpus::samples;
use crate::memory::bounded;
use crate::mutation::{Mutation, any_mutation};
use crate::runner::check;

const SEEDS: &str = "corpus/answers.txt";
/// Each kind is framed alike: one that comes whole, and one of which only some fields are decoded.
const READ: [ResourceKind; 2] = [kinds::ENDPOINT_SLICE, kinds::SERVICE];
/// Version of the list.
const LISTED: &str = "1000";

/// What distinguishes one state of one object from all others.
#[derive(Debug, PartialEq, Eq)]
struct State {
    namespace: String,
    name: String,
    uid: String,
    version: String,
}

/// What came of an answer. Requests and their progress are left out.
#[derive(Debug, PartialEq, Eq)]
enum Item {
    Listed(State),
    Completed(String),
    Applied(State),
    Deleted(State),
    Bookmark(String),
    Failed,
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

impl State {
    fn of(object: &Value) -> Self {
        let field = |name: &str| text(&object["metadata"][name]);
        Self {
            namespace: field("namespace"),
            name: field("name"),
            uid: field("uid"),
            version: field("resourceVersion"),
        }
    }

    fn read<W: Resource<DynamicType = ()>>(object: &W) -> Self {
        let meta = object.meta();
        let field = |text: &Option<String>| text.clone().unwrap_or_default();
        Self {
            namespace: field(&meta.namespace),
            name: field(&meta.name),
            uid: field(&meta.uid),
            version: field(&meta.resource_version),
        }
    }
}

impl Item {
    fn of<W: Resource<DynamicType = ()>>(item: &WatchItem<W>) -> Option<Self> {
        Some(match item {
            WatchItem::Listed(object) => Self::Listed(State::read(object)),
            WatchItem::ListCompleted(version) => Self::Completed(version.to_string()),
            WatchItem::Applied(object) => Self::Applied(State::read(object)),
            WatchItem::Deleted(object) => Self::Deleted(State::read(object)),
            WatchItem::Bookmark(version) => Self::Bookmark(version.to_string()),
            WatchItem::Failed(_) => Self::Failed,
            WatchItem::Requested
            | WatchItem::Progress
            | WatchItem::ListStarted
            | WatchItem::WatchStarted
            | WatchItem::ServerChanged => return None,
        })
    }

    /// What an event stands for; `None` if it stands for nothing.
    fn of_event(event: &Value) -> Option<Self> {
        let object = State::of(&event["object"]);
        if object.version.is_empty() {
            return None;
        }
        match event["type"].as_str()? {
            "ADDED" | "MODIFIED" => Some(Self::Applied(object)),
            "DELETED" => Some(Self::Deleted(object)),
            "BOOKMARK" => Some(Self::Bookmark(object.version)),
            _ => None,
        }
    }
}

/// Answers each list with the next page, and each watch with the same events.
fn server(pages: &[Vec<u8>], events: &[u8]) -> Client {
    let pages = Mutex::new(VecDeque::from(pages.to_vec()));
    let events = events.to_vec();
    let service = tower::service_fn(move |request: Request<Body>| {
        let watches = request.uri().query().is_some_and(|query| query.contains("watch=true"));
        let body = if watches { Some(events.clone()) } else { pages.lock().pop_front() };
        let status = if body.is_some() { StatusCode::OK } else { StatusCode::NOT_FOUND };
        let mut response = Response::new(Body::from(body.unwrap_or_default()));
        *response.status_mut() = status;
        ready(Ok::<_, Infallible>(response))
    });
    Client::new(service, "default")
}

fn read<T: Tracked>(runtime: &Runtime, pages: &[Vec<u8>], events: &[u8]) -> Vec<Item> {
    let decoding = Histogram::with_opts(HistogramOpts::new("decoding", "Decoding.")).unwrap();
    let options = ReadOptions { page_size: 500, decoding };
    runtime.block_on(async {
        let mut feed = T::feed(SourceSpec::new(server(pages, events)));
        let items = feed.open(&options, None);
        items.filter_map(|item| ready(Item::of(&item))).collect().await
    })
}

type Read = fn(&Runtime, &[Vec<u8>], &[u8]) -> Vec<Item>;

/// What agents read these kinds as.
#[derive(Default)]
struct Readers(Mutex<BTreeMap<ResourceKind, Read>>);

impl Views for Readers {
    fn view<T: Tracked>(&self, _: &SourceInfo) -> View<T> {
        if READ.contains(&T::KIND) {
            self.0.lock().insert(T::KIND, read::<T>);
        }
        View::default()
    }
}

struct World {
    runtime: Runtime,
    readers: BTreeMap<ResourceKind, Read>,
    objects: BTreeMap<ResourceKind, Vec<Value>>,
}

impl World {
    fn new() -> Self {
        let readers = Readers::default();
        MemberSnapshot::of(&readers);
        let mut objects = BTreeMap::<_, Vec<_>>::new();
        for sample in samples() {
            objects.entry(sample.kind).or_default().push(sample.object);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        Self { runtime, readers: readers.0.into_inner(), objects }
    }

    /// What comes of the answers.
    fn read(&self, answers: &Answers) -> Result<Vec<Item>, TestCaseError> {
        let (pages, events) = answers.texts();
        self.read_text(answers.kind, &pages, events.as_bytes())
    }

    fn read_text(
        &self,
        kind: ResourceKind,
        pages: &[Vec<u8>],
        events: &[u8],
    ) -> Result<Vec<Item>, TestCaseError> {
        let size = pages.iter().map(Vec::len).sum::<usize>() + events.len();
        bounded(size, 32, || self.readers[&kind](&self.runtime, pages, events))
    }
}

/// What a server answers.
#[derive(Debug)]
struct Answers {
    kind: ResourceKind,
    pages: Vec<Value>,
    events: Vec<Value>,
}

/// Numbers from which answers are made: a kind, how many objects each page has, and which events follow.
type Numbers = (usize, Vec<usize>, Vec<(usize, usize)>);

fn numbers() -> impl Strategy<Value = Numbers> {
    let pages = prop::collection::vec(0_usize..4, 1..4);
    let events = prop::collection::vec((0_usize..4, any::<usize>()), 0..6);
    (0..READ.len(), pages, events)
}

impl Answers {
    fn new(world: &World, (kind, pages, events): &Numbers) -> Self {
        let kind = READ[*kind];
        let objects = &world.objects[&kind];
        let mut objects_of_pages = objects.iter().cycle();
        let page = |(at, count): (usize, &usize)| {
            let items: Vec<_> = objects_of_pages.by_ref().take(*count).collect();
            // API servers leave out the list of a page without objects, or write null.
            let items = if items.is_empty() { Value::Null } else { json!(items) };
            let more = if at + 1 < pages.len() { format!("after {at}") } else { String::new() };
            json!({ "kind": "List", "metadata": { "resourceVersion": LISTED, "continue": more }, "items": items })
        };
        let event = |(at, (of, object)): (usize, &(usize, usize))| {
            let mut object = objects[object % objects.len()].clone();
            object["metadata"]["resourceVersion"] = (1001 + at).to_string().into();
            let of = ["ADDED", "MODIFIED", "DELETED", "BOOKMARK"][*of];
            json!({ "type": of, "object": object })
        };
        Self {
            kind,
            pages: pages.iter().enumerate().map(page).collect(),
            events: events.iter().enumerate().map(event).collect(),
        }
    }

    /// The pages, and the events in a line each.
    fn texts(&self) -> (Vec<Vec<u8>>, String) {
        let pages = self.pages.iter().map(|page| page.to_string().into()).collect();
        let events: Vec<_> = self.events.iter().map(|event| format!("{event}\n")).collect();
        (pages, events.concat())
    }

    /// Whether an object or its metadata is a list, which is read as the fields in their order: who sends that can send the fields.
    fn have_lists_for_objects(&self) -> bool {
        let listed =
            self.pages.iter().flat_map(|page| page["items"].as_array().into_iter().flatten());
        let changed = self.events.iter().map(|event| &event["object"]);
        let mut objects = listed.chain(changed);
        objects.any(|object| object.is_array() || object["metadata"].is_array())
            || self.events.iter().any(Value::is_array)
    }

    /// What they stand for, up to the first event that stands for nothing.
    fn meaning(&self) -> Vec<Item> {
        let mut items = Vec::new();
        let mut version = String::new();
        for page in &self.pages {
            let listed = page["items"].as_array().into_iter().flatten();
            items.extend(listed.map(|object| Item::Listed(State::of(object))));
            if version.is_empty() {
                version = text(&page["metadata"]["resourceVersion"]);
            }
            if text(&page["metadata"]["continue"]).is_empty() {
                break;
            }
        }
        items.push(Item::Completed(version));
        items.extend(self.events.iter().map_while(Item::of_event));
        items
    }
}

/// What was read is the beginning of what the answers stand for, and then a failure.
fn is_beginning(read: &[Item], meaning: &[Item]) -> Result<(), TestCaseError> {
    if let Some((Item::Failed, before)) = read.split_last() {
        prop_assert!(meaning.starts_with(before), "{:?} of {:?}", before, meaning);
    } else {
        prop_assert_eq!(read, meaning);
    }
    Ok(())
}

#[test]
fn answers_are_read_as_they_are_or_refused() {
    let world = World::new();
    let mutations = prop::collection::vec((any::<bool>(), any::<usize>(), any_mutation()), 0..4);
    check(SEEDS, 128, &(numbers(), mutations), |(numbers, mutations)| {
        let mut answers = Answers::new(&world, &numbers);
        for (of_events, at, mutation) in &mutations {
            mutate(
                if *of_events { &mut answers.events } else { &mut answers.pages },
                *at,
                mutation,
            );
        }
        prop_assume!(!answers.have_lists_for_objects());
        let (read, meaning) = (world.read(&answers)?, answers.meaning());
        if mutations.is_empty() {
            prop_assert_eq!(&read, &meaning);
        }
        is_beginning(&read, &meaning)
    });
}

fn mutate(answers: &mut [Value], at: usize, mutation: &Mutation) {
    if !answers.is_empty() {
        let at = at % answers.len();
        mutation.apply(&mut answers[at]);
    }
}

/// A connection may end anywhere, and a proxy may answer with its own words: half a list is none, and half an event, too.
#[test]
fn what_is_cut_off_is_not_taken_for_the_whole() {
    let world = World::new();
    let garbage = prop_oneof![Just(Vec::new()), prop::collection::vec(any::<u8>(), 0..40)];
    let cuts = (any::<prop::sample::Index>(), any::<prop::sample::Index>(), garbage);
    check(SEEDS, 128, &(numbers(), cuts), |(numbers, (of_page, of_events, garbage))| {
        let answers = Answers::new(&world, &numbers);
        let meaning = answers.meaning();
        let (mut pages, events) = answers.texts();
        let whole = pages.clone();

        let last = pages.last_mut().unwrap();
        last.truncate(of_page.index(last.len()));
        last.extend(&garbage);
        // By a chance that is small, but comes.
        prop_assume!(serde_json::from_slice::<Value>(last).is_err());
        let read = world.read_text(answers.kind, &pages, events.as_bytes())?;
        prop_assert_eq!(read.last(), Some(&Item::Failed));
        is_beginning(&read, &meaning)?;

        let cut = of_events.index(events.len() + 1);
        let text = [&events.as_bytes()[..cut], &garbage].concat();
        let read = world.read_text(answers.kind, &whole, &text)?;
        let complete = events[..cut].matches('\n').count();
        let before = meaning.len() - answers.events.len() + complete;
        prop_assert!(meaning.starts_with(&read[..before]), "{:?}", read);
        // One more may be whole but for the end of its line.
        for item in &read[before..] {
            prop_assert!(*item == Item::Failed || meaning.get(before) == Some(item), "{:?}", item);
        }
        Ok(())
    });
}
