//! What a hub serves, by its own document: never more than there is, whatever else the document has.

use fleet_model::hub_schema::HubSchema;
use proptest::prelude::*;
use serde_json::Value;

use crate::memory::bounded;
use crate::mutation::any_mutation;
use crate::runner::check;

const SEEDS: &str = "corpus/schemas.txt";

fn any_schema() -> impl Strategy<Value = HubSchema> {
    any::<[bool; 4]>().prop_map(|[draining_endpoints, ipv6, endpoint_details, executors]| {
        HubSchema { draining_endpoints, ipv6, endpoint_details, executors }
    })
}

/// The document that a hub of this schema has.
fn document(schema: HubSchema) -> Value {
    schema.object()["document"].take()
}

#[test]
fn what_a_document_does_not_name_is_not_served() {
    let mutations = prop::collection::vec(any_mutation(), 0..4);
    check(SEEDS, 256, &(any_schema(), mutations), |(schema, mutations)| {
        let mut changed = document(schema);
        prop_assert_eq!(HubSchema::of(&changed), Some(schema));
        for mutation in &mutations {
            mutation.apply(&mut changed);
        }
        let text = changed.to_string();
        let read = bounded(text.len(), 64, || {
            HubSchema::of(&serde_json::from_str::<Value>(&text).unwrap())
        })?;
        let Some(read) = read else { return Ok(()) };
        let is_named = |word: &str| {
            text.contains(&format!("\"{word}\":"))
                || text.contains("preserve-unknown-fields\":true")
        };
        prop_assert!(!read.draining_endpoints || is_named("drainingEndpoints"), "{}", text);
        prop_assert!(
            !read.endpoint_details || is_named("hostname") && is_named("zone"),
            "{}",
            text
        );
        prop_assert!(!read.executors || is_named("executor"), "{}", text);
        // IPv6 is served where no list of values leaves it out: that no name shows.
        Ok(())
    });
}
