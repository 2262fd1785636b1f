//! Objects of all kinds, as an API server that knows no schema would send them.

use std::cell::RefCell;
use std::collections::BTreeMap;

use fleet_accumulator::{Object, Snapshot as _, SourceInfo, Tracked, View, Views};
use fleet_api::ResourceKind;
use hub_agent::snapshot::HubSnapshot;
use member_agent::snapshot::MemberSnapshot;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::corpus::{once, samples};
use crate::memory::bounded;
use crate::mutation::{any_mutation, reversed};
use crate::runner::check;

const SEEDS: &str = "corpus/objects.txt";

/// What agents follow that no other party writes as an object: they make it themselves, or read a document, which `schemas` has.
const MADE_HERE: [&str; 4] = ["OpenAPI", "Hearing", "FleetDecision", "MemberDecision"];

type Check = fn(&Value, usize) -> Result<(), TestCaseError>;

/// What agents read each kind as: some kinds are read in several ways.
#[derive(Default)]
struct Readers(RefCell<BTreeMap<ResourceKind, Vec<Check>>>);

impl Views for Readers {
    fn view<T: Tracked>(&self, _: &SourceInfo) -> View<T> {
        self.0.borrow_mut().entry(T::KIND).or_default().push(is_read_right::<T>);
        View::default()
    }
}

fn readers() -> BTreeMap<ResourceKind, Vec<Check>> {
    let readers = Readers::default();
    HubSnapshot::of(&readers);
    MemberSnapshot::of(&readers);
    readers.0.into_inner()
}

fn read<T: Tracked>(text: &str) -> Result<Object<T>, String> {
    let wire: T::Wire = serde_json::from_str(text).map_err(|error| error.to_string())?;
    Object::read(wire)
}

/// The same is read, however it was written: with its fields in another order, so many levels deep.
fn is_read_right<T: Tracked>(object: &Value, levels: usize) -> Result<(), TestCaseError> {
    let text = object.to_string();
    let first = bounded(text.len(), 48, || read::<T>(&text))?;
    let metadata = &object["metadata"];
    if let Ok(first) = &first {
        prop_assert_eq!(Some(&*first.name.name), metadata["name"].as_str());
        prop_assert_eq!(&*first.name.namespace, metadata["namespace"].as_str().unwrap_or_default());
    }
    same(&first, &read(&text), "the same text")?;
    same(&first, &read(&reversed(object, levels)), "fields in another order")?;
    // What agents do not read may be anything, and as large as it likes.
    let mut more = object.clone();
    if more["metadata"].is_object() {
        more["metadata"]["managedFields"] = json!([{ "manager": "x".repeat(1 << 16) }]);
    }
    more["tomorrow"] = json!({ "a": [null, { "b": "x".repeat(1 << 16) }] });
    let text = more.to_string();
    let larger = bounded(object.to_string().len(), 48, || read::<T>(&text))?;
    same(&first, &larger, "fields that nothing reads")
}

fn same<T: Tracked>(
    one: &Result<Object<T>, String>,
    other: &Result<Object<T>, String>,
    of: &str,
) -> Result<(), TestCaseError> {
    match (one, other) {
        (Ok(one), Ok(other)) => {
            prop_assert!(*one.object == *other.object, "{}: {:?} and {:?}", of, one, other);
            prop_assert_eq!(&one.name, &other.name);
            prop_assert_eq!(one.object.index(&one.name).len(), other.object.index(&one.name).len());
        }
        (one, other) => prop_assert_eq!(one.is_ok(), other.is_ok(), "{}", of),
    }
    Ok(())
}

#[test]
fn objects_are_read_the_same_however_they_are_written() {
    let (samples, readers) = (samples(), readers());
    let samples: Vec<_> =
        samples.into_iter().filter(|sample| readers.contains_key(&sample.kind)).collect();
    let mutations = prop::collection::vec(any_mutation(), 0..5);
    check(SEEDS, 384, &(0..samples.len(), mutations), |(at, mutations)| {
        let sample = &samples[at];
        let mut object = sample.object.clone();
        for mutation in &mutations {
            mutation.apply(&mut object);
        }
        // Of several defects of a field the first one is reported.
        let levels = if mutations.is_empty() { usize::MAX } else { 1 };
        readers[&sample.kind].iter().try_for_each(|check| check(&object, levels))
    });
}

#[test]
fn each_kind_that_agents_watch_has_an_object() {
    let samples = samples();
    let has_none = |kind: &ResourceKind| samples.iter().all(|sample| sample.kind != *kind);
    let without: Vec<_> = readers().into_keys().filter(has_none).map(|kind| kind.kind).collect();
    assert_eq!(without, MADE_HERE);
}

#[test]
fn all_of_the_corpus_is_read_right() {
    let readers = readers();
    for sample in samples().into_iter().chain(once()) {
        let checks = readers.get(&sample.kind).map(Vec::as_slice).unwrap_or_default();
        checks.iter().try_for_each(|check| check(&sample.object, usize::MAX)).unwrap();
    }
}
