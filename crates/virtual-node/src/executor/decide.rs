//! What an executor does about one import.

use std::time::Duration;

use fleet_api::offload::PodImportStatus;

use super::refused::{self, Refused};
use crate::hub::HubImport;
use crate::life::stops;
use crate::provider::{Provider, ProviderError, Write};

/// What an executor does about one import.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Execution {
    /// Writes in its own cluster.
    pub writes: Vec<Write>,
    /// The status that the import gets, if it differs.
    pub status: Option<Box<PodImportStatus>>,
    /// Whether the finalizer of the import is removed: nothing of the Pod is left.
    pub release: bool,
    /// Whether the Pod is there as it should be: nothing that was refused counts any more.
    pub is_settled: bool,
    /// Time until the next decision, even if nothing changes.
    pub again_after: Option<Duration>,
}

/// What an executor does about the import of a uid. `silent` is for how long it has had no sign of the origin, or of the hub, by its
/// own clock; `None` while it has. `refused` is what the API server of the cluster has refused about it last.
pub fn execute(
    uid: &str,
    import: &HubImport,
    provider: &impl Provider,
    silent: Option<Duration>,
    refused: Option<&Refused>,
) -> Execution {
    let export = &import.spec.export;
    let grace = import.spec.stop.as_ref().map(|stop| stop.grace_seconds);
    let grace = grace.or_else(|| import.deleting.then_some(0));
    match grace {
        Some(grace) => end(uid, import, provider, grace),
        None if stops(export.disconnect, silent) => cut_off(uid, import, provider),
        None => run(uid, import, provider, refused),
    }
}

/// Nothing is decided while it is not known what there is.
fn end(uid: &str, import: &HubImport, provider: &impl Provider, grace: i64) -> Execution {
    match provider.stop(uid, grace) {
        Ok(writes) => {
            Execution { writes, status: shown(uid, import, provider), ..Execution::default() }
        }
        Err(ProviderError::NotFound) if import.status.released => {
            Execution { release: true, ..Execution::default() }
        }
        Err(ProviderError::NotFound) => {
            let released = PodImportStatus { released: true, ..import.status.clone() };
            Execution { status: Some(Box::new(released)), ..Execution::default() }
        }
        Err(_) => Execution::default(),
    }
}

/// The origin counts on it that the Pod ends. It is reported as lost once the hub is reached again.
fn cut_off(uid: &str, import: &HubImport, provider: &impl Provider) -> Execution {
    let grace = super::cut_off::grace(Some(&import.spec.export.pod.0));
    let writes = provider.stop(uid, grace).unwrap_or_default();
    Execution { writes, status: shown(uid, import, provider), ..Execution::default() }
}

fn run(
    uid: &str,
    import: &HubImport,
    provider: &impl Provider,
    refused: Option<&Refused>,
) -> Execution {
    match provider.ensure(&import.spec.export) {
        Ok(writes) if writes.is_empty() => {
            let status = shown(uid, import, provider);
            Execution { status, is_settled: true, ..Execution::default() }
        }
        Ok(writes) => attempt(writes, current(uid, import, provider), import, refused),
        Err(ProviderError::Rejected(rejection)) => {
            let rejected = Some(rejection.report(&import.spec.export.spec_hash));
            let status = PodImportStatus { rejected, ..current(uid, import, provider) };
            Execution { status: changed(import, status), ..Execution::default() }
        }
        Err(ProviderError::Conflict | ProviderError::NotFound) => {
            Execution { status: shown(uid, import, provider), ..Execution::default() }
        }
        Err(ProviderError::Unavailable { .. }) => Execution::default(),
    }
}

/// Sends what is missing, unless it was refused a moment ago, and reports that it was.
fn attempt(
    writes: Vec<Write>,
    status: PodImportStatus,
    import: &HubImport,
    refused: Option<&Refused>,
) -> Execution {
    let hash = &import.spec.export.spec_hash;
    let refused = refused.filter(|_| refused::concerns(&import.status, hash));
    let rejected = refused::report(refused, &import.status, hash);
    let again_after = refused.map(|refused| refused.rest).filter(|rest| !rest.is_zero());
    let writes = if again_after.is_some() { Vec::new() } else { writes };
    let status = changed(import, PodImportStatus { rejected, ..status });
    Execution { writes, status, again_after, ..Execution::default() }
}

fn shown(uid: &str, import: &HubImport, provider: &impl Provider) -> Option<Box<PodImportStatus>> {
    changed(import, current(uid, import, provider))
}

fn current(uid: &str, import: &HubImport, provider: &impl Provider) -> PodImportStatus {
    let observed = provider.observed().remove(uid).and_then(|state| state.remote);
    let remote = observed.or_else(|| import.status.remote.clone());
    PodImportStatus { rejected: None, remote, released: import.status.released }
}

fn changed(import: &HubImport, status: PodImportStatus) -> Option<Box<PodImportStatus>> {
    let status = status.bounded();
    (status != import.status).then(|| Box::new(status))
}
