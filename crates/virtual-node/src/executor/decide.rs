//! What an executor does about one import.

use std::time::Duration;

use fleet_api::offload::PodImportStatus;

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
}

/// What an executor does about the import of a uid. `silent` is for how long it has had no sign of the origin, or of the hub, by its
/// own clock; `None` while it has.
pub fn execute(
    uid: &str,
    import: &HubImport,
    provider: &impl Provider,
    silent: Option<Duration>,
) -> Execution {
    let export = &import.spec.export;
    let grace = import.spec.stop.as_ref().map(|stop| stop.grace_seconds);
    let grace = grace.or_else(|| import.deleting.then_some(0));
    match grace {
        Some(grace) => end(uid, import, provider, grace),
        None if stops(export.disconnect, silent) => cut_off(uid, import, provider),
        None => run(uid, import, provider),
    }
}

/// Nothing is decided while it is not known what there is.
fn end(uid: &str, import: &HubImport, provider: &impl Provider, grace: i64) -> Execution {
    match provider.stop(uid, grace) {
        Ok(writes) => Execution { writes, status: shown(uid, import, provider), release: false },
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
    let writes = provider.stop(uid, crate::hub::DEFAULT_GRACE_SECONDS).unwrap_or_default();
    Execution { writes, status: shown(uid, import, provider), release: false }
}

fn run(uid: &str, import: &HubImport, provider: &impl Provider) -> Execution {
    match provider.ensure(&import.spec.export) {
        Ok(writes) => Execution { writes, status: shown(uid, import, provider), release: false },
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

fn shown(uid: &str, import: &HubImport, provider: &impl Provider) -> Option<Box<PodImportStatus>> {
    changed(import, current(uid, import, provider))
}

fn current(uid: &str, import: &HubImport, provider: &impl Provider) -> PodImportStatus {
    let observed = provider.observed().remove(uid).and_then(|state| state.remote);
    let remote = observed.or_else(|| import.status.remote.clone());
    PodImportStatus { rejected: None, remote, released: import.status.released }
}

fn changed(import: &HubImport, status: PodImportStatus) -> Option<Box<PodImportStatus>> {
    (status != import.status).then(|| Box::new(status))
}
