//! When something that came from the hub may go.
//!
//! Nothing on the hub has a finalizer of an importer, so absence has to be judged: a hub may be away, restored from a backup, or
//! built anew. What is there is applied at once; what is missing counts only where the hub's word can be trusted, and the
//! exporters had the time to restore it (docs/design/multicluster.md#when-something-may-go).

use fleet_accumulator::MassDeletionLimits;

/// How far the hub's word counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Trust {
    /// Not at all: it has never answered in the life of this process.
    Unknown,
    /// It does not accept this cluster, or not all of its watches are live: what is imported follows its exporters, as far as they
    /// show something newer. Nothing else changes.
    Answered,
    /// What it adds counts: all of its watches are live, but not for long enough.
    Known,
    /// What it lacks counts, too.
    Firm,
}

/// What the hub states about a Service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// Clusters export it.
    InForce,
    /// The last export was withdrawn.
    Withdrawn,
    /// Something that this agent cannot read.
    Unreadable,
    /// Nothing.
    Absent,
}

/// What an exporter's slice is on the hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// It is there.
    Present,
    /// It is being deleted.
    Ending,
    /// It is not there.
    Absent,
}

/// What becomes of an imported slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SliceFate {
    /// It follows the exporter's.
    Follow,
    /// It stays as it is.
    Keep,
    /// It goes.
    Remove,
}

/// What becomes of an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ImportFate {
    /// It follows all that the hub states.
    Follow,
    /// It follows where the hub adds something.
    Extend,
    /// It stays as it is, for this reason.
    Keep(Held),
    /// It stays as it is, and goes if the hub states nothing for a while: without the word that the last export was
    /// withdrawn, the hub has rather lost it, and its agent is about to write it again.
    Forget,
    /// It goes.
    Remove,
}

/// Why something is not removed although the hub lacks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// The hub's word does not count that far yet.
    Unsettled,
    /// The hub is another one than that which confirmed the import, and not all exporters have come back to it.
    Hub,
    /// Too much is missing at once.
    Brake,
}

impl Held {
    /// Every reason.
    pub const ALL: [Self; 3] = [Self::Unsettled, Self::Hub, Self::Brake];

    /// Label value in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unsettled => "unsettled",
            Self::Hub => "hub",
            Self::Brake => "brake",
        }
    }
}

/// Whether what a cluster exported may be forgotten: `marked`: this hub has confirmed the import; `published`: the
/// cluster has reported to this hub all that it exports.
pub(super) fn may_remove(trust: Trust, marked: bool, published: bool) -> bool {
    trust == Trust::Firm && (marked || published)
}

/// What becomes of a slice of a cluster, which is `listed` among the exporters or not.
pub(super) fn slice_fate(
    trust: Trust,
    listed: bool,
    source: Source,
    may_remove: bool,
) -> SliceFate {
    match (trust, listed, source) {
        (Trust::Unknown, ..) => SliceFate::Keep,
        (_, true, Source::Present) => SliceFate::Follow,
        (_, true, Source::Ending) => SliceFate::Remove,
        _ if may_remove => SliceFate::Remove,
        _ => SliceFate::Keep,
    }
}

/// What speaks for the hub's word on an import.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evidence {
    /// This hub has confirmed the import.
    pub(super) marked: bool,
    /// [`may_remove`] holds for each cluster that the import is from.
    pub(super) all_may_go: bool,
    /// Each of them is an exporter whose slices are there, or has published.
    pub(super) all_known: bool,
}

/// What becomes of an import that exists. `brake`: the hub lacks too much.
pub(super) fn import_fate(trust: Trust, word: Word, evidence: Evidence, brake: bool) -> ImportFate {
    let Evidence { marked, all_may_go, all_known } = evidence;
    match (trust, word) {
        (Trust::Unknown | Trust::Answered, _) | (_, Word::Unreadable) => {
            ImportFate::Keep(Held::Unsettled)
        }
        (Trust::Firm, Word::InForce) if marked || all_known => ImportFate::Follow,
        (_, Word::InForce) => ImportFate::Extend,
        (Trust::Known, _) => ImportFate::Keep(Held::Unsettled),
        (Trust::Firm, _) if !all_may_go => ImportFate::Keep(Held::Hub),
        (Trust::Firm, Word::Absent) if brake => ImportFate::Keep(Held::Brake),
        (Trust::Firm, Word::Absent) => ImportFate::Forget,
        (Trust::Firm, Word::Withdrawn) => ImportFate::Remove,
    }
}

/// Whether so many of all imports are missing on the hub without a word that it has rather lost them.
pub(super) fn is_too_much(missing: usize, all: usize) -> bool {
    MassDeletionLimits::default().exceeded_by(missing, all)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRUST: [Trust; 4] = [Trust::Unknown, Trust::Answered, Trust::Known, Trust::Firm];

    #[test]
    fn a_cluster_is_forgotten_where_the_hub_is_the_same_or_has_heard_it() {
        for (marked, published) in [(false, false), (false, true), (true, false), (true, true)] {
            for trust in TRUST {
                let expected = trust == Trust::Firm && (marked || published);
                assert_eq!(may_remove(trust, marked, published), expected, "{trust:?} {marked}");
            }
        }
    }

    /// Every rule of a slice, for each trust and each hub.
    #[test]
    fn slices_go_only_with_the_hubs_word() {
        use SliceFate::{Follow, Keep, Remove};
        let table = [
            // listed, source, [unknown, answered, known, firm and may not go, firm and may go]
            (true, Source::Present, [Keep, Follow, Follow, Follow, Follow]),
            (true, Source::Ending, [Keep, Remove, Remove, Remove, Remove]),
            (true, Source::Absent, [Keep, Keep, Keep, Keep, Remove]),
            (false, Source::Present, [Keep, Keep, Keep, Keep, Remove]),
            (false, Source::Ending, [Keep, Keep, Keep, Keep, Remove]),
            (false, Source::Absent, [Keep, Keep, Keep, Keep, Remove]),
        ];
        for (listed, source, expected) in table {
            let found = [
                slice_fate(Trust::Unknown, listed, source, false),
                slice_fate(Trust::Answered, listed, source, false),
                slice_fate(Trust::Known, listed, source, false),
                slice_fate(Trust::Firm, listed, source, false),
                slice_fate(Trust::Firm, listed, source, true),
            ];
            assert_eq!(found, expected, "{listed} {source:?}");
        }
    }

    /// Every rule of an import: trust × word × same hub or other × all exporters published or not.
    #[test]
    fn imports_go_only_with_the_hubs_word() {
        use ImportFate::{Extend, Follow, Forget, Keep, Remove};
        let table = [
            // word, [same hub, other hub and not all published, other hub and all published]
            (Trust::Unknown, Word::InForce, [Keep(Held::Unsettled); 3]),
            (Trust::Unknown, Word::Withdrawn, [Keep(Held::Unsettled); 3]),
            (Trust::Unknown, Word::Absent, [Keep(Held::Unsettled); 3]),
            (Trust::Answered, Word::InForce, [Keep(Held::Unsettled); 3]),
            (Trust::Answered, Word::Withdrawn, [Keep(Held::Unsettled); 3]),
            (Trust::Known, Word::InForce, [Extend; 3]),
            (Trust::Known, Word::Withdrawn, [Keep(Held::Unsettled); 3]),
            (Trust::Known, Word::Absent, [Keep(Held::Unsettled); 3]),
            (Trust::Firm, Word::InForce, [Follow, Extend, Follow]),
            (Trust::Firm, Word::Withdrawn, [Remove, Keep(Held::Hub), Remove]),
            (Trust::Firm, Word::Absent, [Forget, Keep(Held::Hub), Forget]),
            (Trust::Firm, Word::Unreadable, [Keep(Held::Unsettled); 3]),
        ];
        for (trust, word, expected) in table {
            let found =
                [(true, false), (false, false), (false, true)].map(|(marked, published)| {
                    let may_go = may_remove(trust, marked, published);
                    let evidence = Evidence { marked, all_may_go: may_go, all_known: published };
                    import_fate(trust, word, evidence, false)
                });
            assert_eq!(found, expected, "{trust:?} {word:?}");
        }
    }

    /// The brake is for what is missing without a word; the hub's word is never too much.
    #[test]
    fn the_brake_keeps_what_is_missing_without_a_word() {
        let evidence = Evidence { marked: true, all_may_go: true, all_known: true };
        let fate = |word| import_fate(Trust::Firm, word, evidence, true);
        assert_eq!(fate(Word::Absent), ImportFate::Keep(Held::Brake));
        assert_eq!(fate(Word::Withdrawn), ImportFate::Remove);
        assert_eq!(fate(Word::InForce), ImportFate::Follow);
        assert!(!is_too_much(20, 20) && is_too_much(21, 21));
        assert!(!is_too_much(30, 100) && is_too_much(31, 100));
    }
}
