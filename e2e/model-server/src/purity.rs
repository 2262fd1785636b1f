//! Whether planning is pure.

use fleet_plan::{Controller, Plan, affected_keys};
use jiff::Timestamp;

/// The plans of all keys of `snapshot`.
///
/// # Panics
/// If the same difference gives other keys, or the same arguments another plan, when they are asked for a second time.
pub fn plans_computed_twice<C: Controller>(
    controller: &C,
    snapshot: &C::Snapshot,
    now: Timestamp,
) -> Vec<Plan<C::Measurement>> {
    let nothing = C::Snapshot::default();
    let keys = || affected_keys(controller, &nothing, snapshot);
    let first = keys();
    assert_eq!(first, keys(), "keys of {}", controller.name());
    let plan = |key| {
        let plan = controller.plan(key, snapshot, now);
        let second = controller.plan(key, snapshot, now);
        assert_eq!(plan, second, "{} {key}", controller.name());
        plan
    };
    first.iter().map(plan).collect()
}
