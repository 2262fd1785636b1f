//! Lists of a member policy: which Services they have is a question of entries alone.

use std::collections::BTreeSet;

use fleet_api::ObjectName;
use fleet_model::service_list::ServiceList;
use proptest::prelude::*;

use crate::memory::bounded;
use crate::runner::check;

const SEEDS: &str = "corpus/lists.txt";

fn entries() -> impl Strategy<Value = Vec<String>> {
    let name =
        || prop_oneof!["[a-c]", "[a-z0-9-]{1,12}", Just("*".to_owned()), Just(String::new())];
    let entry = (name(), name()).prop_map(|(namespace, name)| format!("{namespace}/{name}"));
    prop::collection::vec(prop_oneof![8 => entry, 1 => name()], 0..12)
}

/// Neither the order of entries, nor blanks, nor an entry twice matters.
#[test]
fn a_list_is_a_set_of_entries() {
    check(SEEDS, 256, &(entries(), "[a-c]", "[a-c]"), |(entries, namespace, name)| {
        let text = entries.join(",");
        let list = bounded(text.len(), 64, || text.parse::<ServiceList>())?;
        let turned: Vec<_> =
            entries.iter().rev().map(|entry| format!(" {entry}\t,{entry}")).collect();
        let turned = turned.join(" , ").parse::<ServiceList>();
        prop_assert_eq!(list.is_ok(), turned.is_ok());
        let Ok(list) = list else { return Ok(()) };
        prop_assert_eq!(&list, &turned.unwrap());
        let known: BTreeSet<_> = entries.iter().map(String::as_str).collect();
        let service = ObjectName::new(&*namespace, &*name);
        let expected = ["*", &format!("{namespace}/*"), &format!("{namespace}/{name}")]
            .into_iter()
            .any(|entry| known.contains(entry));
        prop_assert_eq!(list.includes(&service), expected, "{:?}", known);
        Ok(())
    });
}
