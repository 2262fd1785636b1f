//! Waiting until a snapshot shows one's own writes.

use fleet_api::{ObjectName, ResourceKind};

use crate::{ClusterId, Lookup, ResourceVersion, Snapshot, SourceSet, Uid};

/// Something that a snapshot is going to show: usually the answer to a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// Cluster of the object.
    pub cluster: ClusterId,
    /// Kind of the object.
    pub kind: ResourceKind,
    /// The object.
    pub name: ObjectName,
    /// What is waited for.
    pub until: Until,
}

/// What an [`Expectation`] waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Until {
    /// The incarnation at this version or a newer one, or another incarnation: after a write that
    /// answered with the object. An object that is gone again does not count.
    AtLeast {
        /// Incarnation that was written.
        uid: Uid,
        /// Version in the answer.
        version: ResourceVersion,
    },
    /// No object of that name, or another incarnation: after a deletion.
    Gone {
        /// Incarnation that was deleted.
        uid: Uid,
    },
    /// Anything else than the incarnation at this version or an older one: after a conflict.
    NewerThan {
        /// Incarnation that was planned on.
        uid: Uid,
        /// Version that was planned on.
        version: ResourceVersion,
    },
    /// Any object of that name: after "already exists".
    Present,
}

impl Expectation {
    /// Whether `snapshot` shows what is waited for to a reader of `reads`. An object that no source watches is never
    /// waited for.
    pub fn is_met<S: Snapshot>(&self, snapshot: &S, reads: SourceSet) -> bool {
        #[cfg(test)]
        LOOKED_UP.with(|count| count.set(count.get() + 1));
        self.until.is_met(&snapshot.lookup(reads, self.cluster, &self.kind, &self.name))
    }
}

impl Until {
    /// Whether that is what is waited for.
    pub fn is_met(&self, seen: &Lookup<'_>) -> bool {
        match (self, seen) {
            (Self::Present | Self::AtLeast { .. }, Lookup::Absent) => false,
            (_, Lookup::NotWatched)
            | (Self::Gone { .. } | Self::NewerThan { .. }, Lookup::Absent)
            | (Self::Present, Lookup::Present { .. }) => true,
            (Self::Gone { uid }, Lookup::Present { uid: seen, .. }) => *seen != uid,
            (Self::AtLeast { uid, version }, Lookup::Present { uid: seen, version: at }) => {
                // Versions that cannot be compared leave it to the deadline.
                *seen != uid || at.is_at_least(version) == Some(true)
            }
            (Self::NewerThan { uid, version }, Lookup::Present { uid: seen, version: at }) => {
                *seen != uid || version.is_at_least(at) == Some(false)
            }
        }
    }
}

#[cfg(test)]
thread_local! {
    /// Lookups of expectations by this thread: what waiting costs.
    pub(crate) static LOOKED_UP: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen<'a>(uid: &'a Uid, version: &'a ResourceVersion) -> Lookup<'a> {
        Lookup::Present { uid, version }
    }

    #[test]
    fn each_wait_ends_where_it_should() {
        let (uid, other) = (Uid::from("one"), Uid::from("two"));
        let [old, same, newer] = ["9", "10", "11"].map(ResourceVersion::from);
        let at_least = Until::AtLeast { uid: uid.clone(), version: same.clone() };
        let gone = Until::Gone { uid: uid.clone() };
        let newer_than = Until::NewerThan { uid: uid.clone(), version: same.clone() };
        let present = Until::Present;
        // Columns: absent, older, same, newer, another incarnation.
        for (until, expected) in [
            (&at_least, [false, false, true, true, true]),
            (&gone, [true, false, false, false, true]),
            (&newer_than, [true, false, false, true, true]),
            (&present, [false, true, true, true, true]),
        ] {
            let columns = [
                Lookup::Absent,
                seen(&uid, &old),
                seen(&uid, &same),
                seen(&uid, &newer),
                seen(&other, &old),
            ];
            assert_eq!(columns.map(|lookup| until.is_met(&lookup)), expected, "{until:?}");
            assert!(until.is_met(&Lookup::NotWatched));
        }
    }
}
