//! Services without endpoints.

use super::fixture::{World, service};

/// 1: a Service without pods has one empty slice.
#[test]
fn no_pods_make_a_placeholder() {
    let mut world = World::new(service(), Vec::new());
    assert_eq!(world.counts(), (1, 0, 0));
    let slice = world.only();
    assert!(slice.metadata.generate_name.as_deref().unwrap().starts_with("foo"));
    assert!(slice.endpoints.is_empty() && slice.ports.is_none());
}
