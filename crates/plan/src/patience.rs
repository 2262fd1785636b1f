//! Deletions while an API server has gone back in time: what its older state lacks is about to be written again.

use fleet_accumulator::{Snapshot, SourceSet};

use crate::controller::Controller;
use crate::plan::Plan;

/// When deletions of a controller wait.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// What it reads; nothing if its deletions never wait.
    reads: SourceSet,
    /// All sources of the clusters that it reads: one whose newest object is gone does not show whether it was deleted, others do.
    witnesses: SourceSet,
}

impl Patience {
    /// That of a controller.
    pub fn of<C: Controller>(controller: &C) -> Self {
        let waits = controller.deletes_for_absence();
        let reads = if waits { controller.reads() } else { SourceSet::EMPTY };
        Self { reads, witnesses: C::Snapshot::of_same_clusters(reads) }
    }

    /// Takes the deletions out of a plan where they have to wait. Whether there was any.
    pub fn hold<M>(self, plan: &mut Plan<M>, snapshot: &impl Snapshot) -> bool {
        let waits = snapshot.is_settling(self.reads) || snapshot.went_back(self.witnesses);
        waits && plan.hold_deletions() > 0
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use fleet_accumulator::{ClusterId, SourceState, Tracked, View, views};
    use fleet_api::{ObjectName, ResourceKind, kinds};
    use jiff::Timestamp;
    use k8s_openapi::api::core::v1::Service;

    use super::*;
    use crate::affected::Affected;
    use crate::step::{Action, Precondition, Step};

    /// A Service of which nothing is read.
    #[derive(Debug, PartialEq)]
    struct Toy;

    impl Tracked for Toy {
        const KIND: ResourceKind = kinds::SERVICE;
        type Wire = Service;
        type Index = ();

        fn project(_: Service) -> Result<Self, String> {
            Ok(Self)
        }

        fn index(&self, _: &ObjectName) -> Vec<()> {
            Vec::new()
        }
    }

    views! {
        /// Of two clusters.
        struct Toys {
            /// What the controller reads.
            hub read: Toy,
            /// What it does not.
            hub unread: Toy,
            /// The same, where the cluster may be without the kind.
            hub optional extra: Toy,
            /// What another cluster has.
            local own: Toy,
        }
    }

    /// A controller that deletes.
    struct Deletes {
        for_absence: bool,
    }

    impl Controller for Deletes {
        type Snapshot = Toys;
        type Key = String;
        type Measurement = ();

        fn name(&self) -> &'static str {
            "deletes"
        }

        fn required(&self) -> SourceSet {
            SourceSet::from([Toys::read()])
        }

        fn deletes_for_absence(&self) -> bool {
            self.for_absence
        }

        fn affected_keys(&self, _: &Toys, _: &Toys, _: &mut Affected<String>) {}

        fn plan(&self, _: &String, _: &Toys, _: Timestamp) -> Plan<()> {
            let at = Precondition { uid: "u".into(), version: "1".into() };
            let delete = Action::Delete { at, grace_seconds: None };
            let (name, mut plan) = (ObjectName::new("team", "toy"), Plan::default());
            plan.push(Step::new(ClusterId::Local, kinds::SERVICE, name, delete));
            plan
        }
    }

    fn is_held(snapshot: &Toys, for_absence: bool) -> bool {
        let controller = Deletes { for_absence };
        let mut plan = controller.plan(&"key".to_owned(), snapshot, Timestamp::UNIX_EPOCH);
        let held = Patience::of(&controller).hold(&mut plan, snapshot);
        assert_eq!(plan.steps.is_empty(), held);
        held
    }

    #[test]
    fn any_source_of_a_cluster_that_is_read_bears_witness() {
        let went_back = || View::default().settling(true);
        let none = Toys::default();
        let read = Toys { read: went_back(), ..Toys::default() };
        let unread = Toys { unread: went_back(), ..Toys::default() };
        let own = Toys { own: went_back(), ..Toys::default() };
        let extra = Toys { extra: went_back(), ..Toys::default() };
        let since = Instant::now();
        let gone = went_back().in_state(SourceState::Missing { since });
        let gone = Toys { extra: gone, ..Toys::default() };
        for (snapshot, held) in [
            (none, false),
            (read, true),
            (unread, true),
            (extra, true),
            (gone, false),
            (own, false),
        ] {
            assert_eq!(is_held(&snapshot, true), held);
            assert!(!is_held(&snapshot, false), "nothing is missing");
        }
    }
}
