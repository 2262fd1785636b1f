//! Objects of every kind that is watched: what cannot be read is one object alone, and costs in proportion to its size.

use std::cell::RefCell;

use fleet_accumulator::{Object, Snapshot, SourceInfo, Tracked, View, Views};
use hub_agent::snapshot::HubSnapshot;
use member_agent::snapshot::MemberSnapshot;
use serde_json::Value;

use super::Target;
use crate::cost::Bound;
use crate::examples;

pub(crate) const TARGET: Target = Target {
    name: "objects",
    is_json: true,
    short: 400,
    bound: Some(Bound { base: 40_000, per_byte: 120, base_bytes: 1 << 20, bytes_per_byte: 600 }),
    examples,
    read,
};

fn examples() -> Vec<Vec<u8>> {
    let objects = examples::objects().into_iter();
    objects
        .map(|((kind, group), mut object)| {
            object["kind"] = kind.into();
            object["apiVersion"] = format!("{group}/v1").into();
            serde_json::to_vec(&object).unwrap()
        })
        .collect()
}

fn read(input: &[u8]) {
    let Ok(object) = serde_json::from_slice::<Value>(input) else { return };
    let reading = Reading { object: &object, text: input, read: RefCell::new(0) };
    MemberSnapshot::of(&reading);
    HubSnapshot::of(&reading);
}

/// Reads an object as each content of its kind.
struct Reading<'a> {
    object: &'a Value,
    text: &'a [u8],
    read: RefCell<usize>,
}

impl Views for Reading<'_> {
    fn view<T: Tracked>(&self, source: &SourceInfo) -> View<T> {
        if self.object["kind"] != source.kind.kind {
            return View::default();
        }
        let Ok(wire) = serde_json::from_slice::<T::Wire>(self.text) else { return View::default() };
        *self.read.borrow_mut() += 1;
        let Ok(read) = Object::<T>::read(wire.clone()) else { return View::default() };
        let again = Object::<T>::read(wire).unwrap();
        assert!(*again.object == *read.object, "{read:?} is read in two ways");
        // One entry for each thing that the text names, at most.
        let (index, tally) = (read.index(&read.name).len(), read.tally(&read.name));
        assert!(index <= self.text.len(), "{index} entries for {} bytes", self.text.len());
        assert_eq!(read.index(&read.name).len(), index);
        assert_eq!(read.tally(&read.name), tally);
        let view = View::of([read.clone()]);
        assert_eq!(view.len(), 1);
        let view = view.with(again);
        assert!(view.get(&read.name).is_some_and(|kept| kept == &read), "what did not change is the same");
        view.without(&read.name)
    }
}
