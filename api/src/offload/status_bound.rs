//! The size of what an executor reports of a Pod.
//!
//! It is written for every change, copied on the hub and watched by two agents, and an executor can report as much as the bounds of
//! all fields together allow. So it has a bound as a whole: what is least needed goes first, and what traffic and controllers
//! depend on stays, whatever there is. Each who reads a report cuts it in the same way, so that nothing differs after that.

use std::io;

use serde::Serialize;

use super::{
    PodExportStatus, PodImportStatus, PodRejection, REMOTE_CONDITIONS, RemoteContainer,
    RemoteStatus,
};

/// Most bytes of the status of a PodImport, and of that of a PodExport.
pub const MAX_STATUS_BYTES: usize = 4096;
/// Bytes of what is beside the parts that are cut.
const REST: usize = 96;
/// Bytes of a message about a container or a condition before it is left out.
const SHORT: usize = 64;
/// Bytes of a message about a Pod that are left in any case.
const KEPT: usize = 256;
/// Bytes of a field's path that are left in any case.
const FIELD: usize = 64;

impl PodImportStatus {
    /// The same within the bound. Doing it again changes nothing.
    #[must_use]
    pub fn bounded(self) -> Self {
        let Self { rejected, remote, released } = self;
        let Parts { rejected, remote } = fit(Parts { rejected, remote });
        Self { rejected, remote, released }
    }
}

impl PodExportStatus {
    /// The same within the bound. What fits into the status of an import fits here.
    #[must_use]
    pub fn bounded(self) -> Self {
        let Self { accepted, rejected, remote, released } = self;
        let Parts { rejected, remote } = fit(Parts { rejected, remote });
        Self { accepted, rejected, remote, released }
    }
}

/// What is cut.
#[derive(Serialize)]
struct Parts {
    rejected: Option<PodRejection>,
    remote: Option<RemoteStatus>,
}

/// One way to make it smaller.
type Cut = fn(&mut Parts);

/// What goes first comes first.
const CUTS: [Cut; 20] = [
    |parts| parts.containers(|one| one.message_if(has_ended, SHORT)),
    |parts| parts.containers(|one| one.message_if(has_ended, 0)),
    |parts| parts.containers(|one| one.message_if(|_| true, SHORT)),
    |parts| parts.containers(|one| one.message_if(|_| true, 0)),
    |parts| parts.condition_messages(SHORT),
    |parts| parts.condition_messages(0),
    |parts| parts.pod_messages(KEPT),
    |parts| parts.containers(|one| one.container_id = None),
    |parts| parts.containers(|one| shorten(&mut one.image, SHORT)),
    |parts| parts.containers(|one| one.image.clear()),
    |parts| parts.remote(|remote| remote.conditions.retain(|one| crosses(&one.type_))),
    |parts| parts.containers(|one| (one.state.started_at, one.state.finished_at) = (None, None)),
    |parts| parts.containers(|one| shorten_some(&mut one.state.reason, SHORT / 2)),
    |parts| parts.condition_reasons(),
    |parts| parts.containers(|one| one.state.reason = None),
    |parts| parts.remote(|remote| remote.init_containers.retain(|one| !has_succeeded(one))),
    |parts| parts.pod_messages(0),
    |parts| parts.field(),
    |parts| parts.remote(|remote| remote.reason = None),
    |parts| parts.remote(|remote| remote.init_containers.clear()),
];

/// What an honest executor never needs.
const LAST_CUTS: [Cut; 3] = [
    |parts| parts.remote(|remote| remote.containers.clear()),
    |parts| parts.remote(|remote| remote.pod = None),
    // Two of one type would be written by a server without the definitions.
    |parts| parts.remote(|remote| remote.conditions.truncate(REMOTE_CONDITIONS.len())),
];

fn fit(mut parts: Parts) -> Parts {
    for cut in CUTS {
        if parts.fits() {
            return parts;
        }
        cut(&mut parts);
    }
    while !parts.fits() && parts.lose_container() {}
    for cut in LAST_CUTS {
        if !parts.fits() {
            cut(&mut parts);
        }
    }
    parts
}

impl Parts {
    fn fits(&self) -> bool {
        size(self) + REST <= MAX_STATUS_BYTES
    }

    fn remote(&mut self, cut: impl FnOnce(&mut RemoteStatus)) {
        if let Some(remote) = &mut self.remote {
            cut(remote);
        }
    }

    fn containers(&mut self, cut: impl Fn(&mut RemoteContainer)) {
        self.remote(|remote| {
            remote.containers.iter_mut().chain(&mut remote.init_containers).for_each(cut);
        });
    }

    fn condition_messages(&mut self, limit: usize) {
        self.remote(|remote| {
            remote.conditions.iter_mut().for_each(|one| shorten_some(&mut one.message, limit));
        });
    }

    fn field(&mut self) {
        if let Some(rejected) = &mut self.rejected {
            shorten(&mut rejected.field, FIELD);
        }
    }

    fn condition_reasons(&mut self) {
        self.remote(|remote| remote.conditions.iter_mut().for_each(|one| one.reason = None));
    }

    fn pod_messages(&mut self, limit: usize) {
        self.remote(|remote| shorten_some(&mut remote.message, limit));
        if let Some(rejected) = &mut self.rejected {
            shorten(&mut rejected.message, limit);
        }
    }

    /// The last one goes, of those that are left.
    fn lose_container(&mut self) -> bool {
        self.remote.as_mut().is_some_and(|remote| remote.containers.pop().is_some())
    }
}

impl RemoteContainer {
    fn message_if(&mut self, concerns: fn(&Self) -> bool, limit: usize) {
        if concerns(self) {
            shorten_some(&mut self.state.message, limit);
        }
    }
}

fn has_ended(container: &RemoteContainer) -> bool {
    container.state.exit_code.is_some()
}

fn has_succeeded(container: &RemoteContainer) -> bool {
    container.state.exit_code == Some(0) && !container.state.running
}

fn crosses(condition: &str) -> bool {
    REMOTE_CONDITIONS.contains(&condition)
}

fn shorten(text: &mut String, limit: usize) {
    text.truncate(text.floor_char_boundary(limit));
}

/// A text of which nothing is left is none.
fn shorten_some(text: &mut Option<String>, limit: usize) {
    if let Some(full) = text {
        shorten(full, limit);
        text.take_if(|text| text.is_empty());
    }
}

/// Bytes of a value as JSON.
fn size(value: &impl Serialize) -> usize {
    let mut count = Count(0);
    // Nothing that is counted fails.
    serde_json::to_writer(&mut count, value).map_or(usize::MAX, |()| count.0)
}

struct Count(usize);

impl io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
