//! Choices: which MultiClusterService holds the import, and what its derived Service is called.

use fleet_api::{ObjectName, labels, names};

use super::subject::{Subject, Wish};

/// The MultiClusterService that holds the import: the one the ServiceImport belongs to or was
/// taken from, else the oldest. `None` while the ServiceImport still belongs to one that let go of it, or to somebody
/// else altogether.
pub(super) fn holder<'a>(subject: &Subject<'a>) -> Option<&'a Wish> {
    if subject.import.is_none() {
        let asked = |wish: &&Wish| {
            let mut requests = subject.requests.iter();
            subject.in_hub && requests.any(|request| wish.uid == request.reference.uid)
        };
        return subject.live_wishes().find(asked).or_else(|| subject.live_wishes().next());
    }
    let Some(owner) = subject.import_owner() else { return subject.disowned() };
    subject.live_wishes().find(|wish| wish.uid == owner)
}

/// Name of the derived Service: the one it has, else the candidate that the label names, if it is
/// free, else the first free candidate (design rule 6).
///
/// The label is followed to no Service but one that is proven to be the MultiClusterService's own;
/// whatever else it names is nobody's business of ours.
pub(super) fn derived_name(subject: &Subject<'_>, wish: &Wish) -> Option<ObjectName> {
    let ours = subject.derived_of(wish);
    let label = wish.meta.label(labels::DERIVED_SERVICE);
    let labelled = ours.iter().find(|service| Some(&*service.name.name) == label);
    if let Some(kept) = labelled.or_else(|| ours.first()) {
        return Some(kept.name.clone());
    }
    let free = || {
        names::derived_service_candidates(&wish.name)
            .map(|name| subject.in_system(&name))
            .filter(|name| subject.snapshot.services.get(name).is_none())
    };
    free().find(|name| Some(&*name.name) == label).or_else(|| free().next())
}
